"""The texts on explanatory pages and forms, in one TOML file per module that shows them."""

import tomllib
from importlib.resources import files
from typing import Any


def words_of(page: str) -> dict[str, Any]:
    """Return a page's texts, such as those in `method.toml`."""
    return tomllib.loads((files("bilateral.explorer.words") / f"{page}.toml").read_text(encoding="utf-8"))

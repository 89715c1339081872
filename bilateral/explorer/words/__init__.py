"""The words of pages that explain and of forms, a TOML file for each module that shows them."""

import tomllib
from importlib.resources import files
from typing import Any


def words_of(page: str) -> dict[str, Any]:
    """Return the words of a page, such as those of `method.toml`."""
    return tomllib.loads((files("bilateral.explorer.words") / f"{page}.toml").read_text(encoding="utf-8"))

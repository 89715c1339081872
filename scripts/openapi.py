"""`make openapi`: writes the OpenAPI document of the service to docs/openapi.json.

python -m scripts.openapi            write it
python -m scripts.openapi --check    fail if it is out of date
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database

PAGE = Path(__file__).parent.parent / "docs" / "openapi.json"


def document() -> str:
    """Return the document as text."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'index.sqlite'}"
        open_database(url).dispose()
        app = create_app(ApiSettings(database=url))
        try:
            return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"
        finally:
            app.state.service.close()


def main() -> None:
    """Write the document, or compare it."""
    text = document()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/openapi.json is out of date: run make openapi")


if __name__ == "__main__":
    main()

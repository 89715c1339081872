"""Writes screenshots of every page at three sizes into docs/explorer/. `make pictures` runs it on a made-up world."""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path
from typing import Final

import httpx
from PIL import Image

from bench.world.build import build
from bench.world.people import World
from bilateral.api.settings import ApiSettings
from bilateral.index.database import open_database
from scripts._browser import running_browser
from scripts._build import ROOT
from tests.api.world import served

FOLDER: Final = ROOT / "docs" / "explorer"
SIZES: Final = {"phone": (390, 844), "laptop": (1280, 1000), "wide": (1920, 1200)}
_WIDTH: Final = 900
"""The largest width of a picture: it is shown in pages of text."""


def main() -> None:
    """Make the world, and write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/world.sqlite"
        engine = open_database(database)
        build(engine, World(agents=400, ratings=12_000))
        engine.dispose()
        with served(ApiSettings(database=database, rate=None, query_seconds=10.0, max_silence=10**9)) as url:
            _write(url)


def _paths(url: str) -> dict[str, str]:
    """Return the path of each page."""
    content = httpx.get(f"{url}/31337/1.json", timeout=30).json()
    newest, asked = content["feedback"][0], content["validations"][0]
    return {
        "home": "/",
        "agent": "/31337/1",
        "account": f"/accounts/{newest['client']}",
        "rating": f"/31337/ratings/{newest['block']}-{newest['log_index']}",
        "validation": f"/31337/validations/{asked['request_hash']}",
        "search": "/search?side=server&tag=starred&clients=3",
        "compare": "/compare?first=31337/1&second=31337/2",
        "network": "/31337/1/network",
        "analysis": "/31337/analysis",
        "method": "/method",
    }


def _write(url: str) -> None:
    """Write the pictures of a service."""
    with running_browser() as browser:
        for size, (width, height) in SIZES.items():
            page = browser.new_page(base_url=url, viewport={"width": width, "height": height}, reduced_motion="reduce")
            for name, path in _paths(url).items():
                page.goto(path, wait_until="networkidle")
                if name == "network":
                    page.wait_for_selector("#graph[data-drawn]")
                _save(page.screenshot(), FOLDER / f"{name}-{size}.webp")
            page.close()
        page = browser.new_page(base_url=url, viewport={"width": 1280, "height": 1000}, color_scheme="dark")
        page.goto("/31337/1", wait_until="networkidle")
        _save(page.screenshot(), FOLDER / "agent-dark.webp")


def _save(picture: bytes, path: Path) -> None:
    """Write a picture, small."""
    image = Image.open(BytesIO(picture))
    image.thumbnail((_WIDTH, 2 * _WIDTH), Image.Resampling.LANCZOS)
    image.save(path, "WEBP", quality=60, method=6)


if __name__ == "__main__":
    main()

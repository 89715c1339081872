"""Pictures of web pages in docs/explorer/, small, and those of the living demo."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Final

from PIL import Image

from scripts._browser import running_browser
from scripts._build import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = ROOT / "docs" / "explorer"
"""The folder of the pictures."""

_WIDTH: Final = 900
"""The largest width of a picture: it is shown in pages of text."""


def write_play_pictures(url: str) -> None:
    """Write pictures of the living demo: its first page, the ring in the network, and the findings about it.

    Args:
        url: The address of its service.
    """
    with running_browser() as browser:
        page = browser.new_page(base_url=url, viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        for name, path in (("play", "/"), ("play-network", "/31337/network"), ("play-analysis", "/31337/analysis")):
            page.goto(path, wait_until="networkidle" if name != "play" else "load")
            if name == "play-network":
                page.wait_for_selector("#graph[data-drawn]")
            save(page.screenshot(), FOLDER / f"{name}.webp")


def save(picture: bytes, path: Path) -> None:
    """Write a picture, small.

    Args:
        picture: The picture, in any format.
        path: The file.
    """
    image = Image.open(BytesIO(picture))
    image.thumbnail((_WIDTH, 2 * _WIDTH), Image.Resampling.LANCZOS)
    image.save(path, "WEBP", quality=55, method=6)

"""Writes screenshots of the web pages into docs/explorer/. `make pictures` runs it.

It shows every page at three sizes: on a made-up world, on an index with every kind of evidence, with names of 300
characters and of none, and on one with an agent that a million clients rated. `ape run play --pictures` shows the
living demo.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx

from bench.popular import popular_world
from bench.world.build import build
from bench.world.people import World
from bilateral.api.settings import ApiSettings
from bilateral.index.store.database import open_database
from scripts._browser import running_browser
from scripts._pictures import FOLDER, save
from tests.api.world import served
from tests.explorer.stored import CLIENT, evidence_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from playwright.sync_api import Browser

SIZES: Final = {"phone": (390, 844), "laptop": (1280, 1000), "wide": (1920, 1200)}
_EVIDENCE: Final = {
    "analysis": "/base/analysis",
    "finding": "/base/findings/lockstep-1",
    "cluster": "/base/clusters/1",
    "buyer": f"/accounts/{CLIENT}",
    "payment": "/base/ratings/1-7",
    "long-name": "/31337/9",
    "nameless": "/31337/10",
    "look-alikes": "/search?q=agent",
    "empty-search": "/search?q=nothing",
    "problem": "/base/999",
}


_POPULAR: Final = {"million": "/31337/1", "million-ratings": "/31337/1/ratings", "whole-network": "/31337/network"}
"""The pages of an agent that a million clients rated, and of a network of 5,000 agents."""


def main() -> None:
    """Make the worlds, and write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with running_browser() as browser:
        with _site(lambda database: build(open_database(database), World(agents=400, ratings=12_000))) as url:
            _write(browser, url, _paths(url))
            page = browser.new_page(base_url=url, viewport={"width": 1280, "height": 1000}, color_scheme="dark")
            page.goto("/31337/1", wait_until="networkidle")
            save(page.screenshot(), FOLDER / "agent-dark.webp")
            page.close()
        with _site(evidence_index) as url:
            _write(browser, url, _EVIDENCE)
        with _site(popular_world) as url:
            _write(browser, url, _POPULAR)


@contextmanager
def _site(fill: Callable[[str], object]) -> Iterator[str]:
    """Serve a database that a function fills."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/index.sqlite"
        fill(database)
        with served(ApiSettings(database=database, rate=None, query_seconds=10.0, max_silence=10**9)) as url:
            yield url


def _paths(url: str) -> dict[str, str]:
    """Return the path of each page of the made-up world."""
    content = httpx.get(f"{url}/31337/1.json", timeout=30).json()
    newest, asked = content["feedback"][0], content["validations"][0]
    return {
        "home": "/",
        "agent": "/31337/1",
        "ratings": "/31337/1/ratings",
        "account": f"/accounts/{newest['client']}",
        "rating": f"/31337/ratings/{newest['block']}-{newest['log_index']}",
        "validation": f"/31337/validations/{asked['request_hash']}",
        "search": "/search?side=server&tag=starred&clients=3",
        "compare": "/compare?first=31337/1&second=31337/2",
        "network": "/31337/1/network",
        "method": "/method",
    }


def _write(browser: Browser, url: str, paths: Mapping[str, str]) -> None:
    """Write the pictures of a service: each page is loaded once, and shown at each size."""
    page = browser.new_page(base_url=url, reduced_motion="reduce", color_scheme="light")
    for name, path in paths.items():
        page.goto(path, wait_until="networkidle")
        if "network" in name:
            page.wait_for_selector("#graph[data-drawn]")
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            save(page.screenshot(), FOLDER / f"{name}-{size}.webp")
    page.close()


if __name__ == "__main__":
    main()

"""Writes screenshots of the web pages into docs/explorer/. `make pictures` runs it.

It shows every page at three sizes: on a made-up world, on an index with every kind of evidence, with names of 300
characters and of none, on one with an agent that a million clients rated, and the forms on a chain, with a wallet. The
pages of the second group are shown in the dark as well, and an agent's page on paper. `ape run play --pictures` shows
the living demo.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from bench.explorer import popular_world
from bench.world.build import build
from bench.world.people import World
from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database
from scripts._browser import running_browser
from scripts._pictures import FOLDER, save
from tests.api.world import CAROL, served
from tests.explorer.browser.market import running_market
from tests.explorer.browser.wallet import Wallet, install
from tests.explorer.stored import CLIENT, evidence_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from playwright.sync_api import Browser, Page, ViewportSize

_NEWER: Final = {
    "meaning": "/search?q=somebody+who+foretells+rain+and+storms&order=meaning",
    "embed": "/embed/31337/1",
    "api": "/openapi",
}
"""Pages that are shown in the dark as well."""

_PAPER: Final[ViewportSize] = {"width": 794, "height": 1123}
"""A sheet of A4, at 96 dots an inch."""

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


_FORMS: Final = {"register": "/act/register_agent?chain=31337", "rate": "/act/give_feedback?agent=31337:1"}
"""The forms of two actions. Others look like these."""

_POPULAR: Final = {"million": "/31337/1", "million-ratings": "/31337/1/ratings", "whole-network": "/31337/network"}
"""The pages of an agent that a million clients rated, and of a network of 5,000 agents."""


def main() -> None:
    """Make the worlds, and write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with running_browser() as browser:
        with _site(lambda database: build(open_database(database), World(agents=400, ratings=12_000))) as url:
            _write(browser, url, _paths(url))
            with _page(browser, url) as page:
                _write_looks(page, _NEWER)
                page.goto("/31337/1", wait_until="networkidle")
                _write_dark(page, "agent")
                page.emulate_media(color_scheme="light", media="print")
                page.set_viewport_size(_PAPER)
                save(page.screenshot(), FOLDER / "agent-print.webp")
        with _site(evidence_index) as url:
            _write(browser, url, _EVIDENCE)
        with _site(popular_world) as url:
            _write(browser, url, _POPULAR)
        with (
            tempfile.TemporaryDirectory() as folder,
            running_market(Path(folder)) as market,
            _page(browser, market.site) as page,
        ):
            install(page.context, Wallet(market.url, CAROL))  # type: ignore[no-untyped-call]  # of the tests
            _write_looks(page, _FORMS, _fill_in)


@contextmanager
def _page(browser: Browser, url: str) -> Iterator[Page]:
    """Open a page of a service."""
    with browser.new_context(base_url=url, reduced_motion="reduce", color_scheme="light") as context:
        yield context.new_page()


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
    with _page(browser, url) as page:
        for name, path in paths.items():
            page.goto(path, wait_until="networkidle")
            if "network" in name:
                page.wait_for_selector("#graph[data-drawn]")
            _write_sizes(page, name)


def _write_sizes(page: Page, name: str) -> None:
    """Write the pictures of a page at each size."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        save(page.screenshot(), FOLDER / f"{name}-{size}.webp")


def _write_looks(page: Page, paths: Mapping[str, str], prepare: Callable[[Page], None] = lambda _: None) -> None:
    """Write the pictures of pages at each size, and in the dark."""
    for name, path in paths.items():
        page.goto(path, wait_until="networkidle")
        prepare(page)
        _write_sizes(page, name)
        _write_dark(page, name)


def _write_dark(page: Page, name: str) -> None:
    """Write the picture of a page in the dark, on a laptop."""
    width, height = SIZES["laptop"]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark")
    save(page.screenshot(), FOLDER / f"{name}-dark.webp")
    page.emulate_media(color_scheme="light")


def _fill_in(page: Page) -> None:
    """Fill a form in up to what the wallet is asked to sign."""
    fields = {"Name": "Lighthouse", "Description": "It warns ships.", "Picture": "https://agent.example/light.png"}
    if not page.get_by_label("Name").count():
        fields = {"Value": "93", "Words": "It told me of the storm in time."}
    for label, text in fields.items():
        page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Connect a wallet").click()
    page.get_by_role("button", name="Sign in the wallet").wait_for()


if __name__ == "__main__":
    main()

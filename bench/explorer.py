"""`python -m bench.explorer`: the weight and speed of the web pages, on a database that `python -m bench.world` made.

    python -m bench.explorer --database sqlite:////path/world.sqlite

It starts one process of the service. It asks for pages of agents drawn at random, opens pages in the browser of the
lock file, and prints seconds, bytes, and the processor time of the service, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.api import agents
from bench.load import load, processor_seconds
from scripts._browser import running_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SIZES: Final = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .map((it) => [it.name, it.encodedBodySize])"""
_ROUNDS: Final = 5


def server_times(url: str, pid: int, paths: dict[str, list[str]]) -> None:
    """Print how long the service takes for each kind of page.

    Args:
        url: The service.
        pid: Its process.
        paths: The paths of each kind.
    """
    print("| page | p50 ms | p95 ms | processor ms |")
    print("| --- | --- | --- | --- |")
    for name, wanted in paths.items():
        asyncio.run(load(url, wanted[:20]))
        before = processor_seconds(pid)
        took = asyncio.run(load(url, wanted))
        used = (processor_seconds(pid) - before) / len(took) * 1000
        p50, p95 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.95))
        print(f"| {name} | {p50:.1f} | {p95:.1f} | {used:.1f} |")


def first_view(browser: Browser, url: str, path: str) -> tuple[float, int, int]:
    """Return the first contentful paint in milliseconds, the bytes of a first view, and those of its scripts.

    Args:
        browser: The browser.
        url: The service.
        path: The page.
    """
    found: list[tuple[float, int, int]] = []
    for _ in range(_ROUNDS):
        context = browser.new_context(base_url=url)
        page = context.new_page()
        page.goto(path, wait_until="networkidle")
        sizes: list[tuple[str, int]] = page.evaluate(_SIZES)
        paint: float = page.evaluate(_PAINT)
        scripts = sum(size for name, size in sizes if name.endswith(".js"))
        found.append((paint, sum(size for _, size in sizes), scripts))
        context.close()
    return sorted(found)[_ROUNDS // 2]


def drawn(browser: Browser, url: str, path: str) -> tuple[int, Any]:
    """Return the milliseconds until a network is drawn first, and its numbers of nodes and links.

    Args:
        browser: The browser.
        url: The service.
        path: The page of the network.
    """
    page = browser.new_context(base_url=url).new_page()
    page.goto(path)
    page.wait_for_selector("#graph[data-drawn]", timeout=60_000)
    numbers = page.locator("p.lede").inner_text()
    return int(page.locator("#graph").get_attribute("data-drawn") or 0), re.findall(
        r"[\d,]+(?= agents| links)", numbers
    )


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--requests", type=int, default=500)
    options = parser.parse_args()
    ids = [it.replace(":", "/") for it in agents(options.database, options.requests)]
    network = ids[0].partition("/")[0]
    paths = {
        "home": ["/"] * options.requests,
        "agent": [f"/{it}" for it in ids],
        "compare": [f"/compare?first={one}&second={two}" for one, two in pairwise(ids)],
        "search, a gate": ["/search?side=server&tag=starred&clients=3"] * (options.requests // 5),
        "neighbourhood": [f"/{it}/network" for it in ids[: options.requests // 5]],
    }
    command = [str(Path(sys.executable).with_name("bilateral")), "serve", "--no-index", "--port", "0"]
    arguments = ["--rate", "1000000/second", "--database", options.database]
    with subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True) as service:  # noqa: S603  # ours
        try:
            told = service.stderr.readline() if service.stderr else ""
            listening = re.search(r"listening on (\S+)", told)
            if listening is None:
                raise SystemExit(f"the service ended: {told}")
            url = listening[1]
            server_times(url, service.pid, paths)
            with running_browser() as browser:
                print("\n| page | first contentful paint ms | bytes | of it scripts |")
                print("| --- | --- | --- | --- |")
                for name, path in (("home", "/"), ("agent", f"/{ids[0]}"), ("search", paths["search, a gate"][0])):
                    paint, size, scripts = first_view(browser, url, path)
                    print(f"| {name} | {paint:.0f} | {size:,} | {scripts:,} |")
                milliseconds, numbers = drawn(browser, url, f"/{network}/network")
                print(
                    f"\nA network of {' agents and accounts, and '.join(numbers)} links: first drawn {milliseconds} ms."
                )
        finally:
            service.terminate()


if __name__ == "__main__":
    main()

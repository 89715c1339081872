"""`python -m bench.explorer`: the weight and speed of the web pages, on a database that `python -m bench.world` made.

    python -m bench.explorer --database sqlite:////path/world.sqlite
    python -m bench.explorer --small

The second command makes a small world and measures everything once, to see that the measurement itself works.

It starts one process of the service and asks for one page after the other: agents drawn at random, their accounts and
their records. It prints the time of an answer and the processor time of the service for it, which other programs
disturb least. It opens pages in the browser of the lock file, and compares all with the bounds. A second, small
database holds an agent with a million ratings, and a dense network.
"""

import argparse
import re
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx
from eth_utils.crypto import keccak
from playwright.sync_api import Browser
from sqlalchemy import func, insert, select, text

from bench.api import agents
from bench.load import served
from bench.report import print_head, print_row, within
from bench.world.build import build
from bench.world.people import REPUTATION, World
from bilateral.core.values.bounds import SHARES
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.reading.readers import Reader
from scripts._browser import running_browser

_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SIZES: Final = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .map((it) => [it.name, it.encodedBodySize])"""
_WORDS: Final = ("weather", "agent", "data", "service")
_ROUNDS: Final = 5
_MILLISECONDS: Final = 50
_BYTES: Final = 200_000
_SCRIPT_BYTES: Final = 20_000
_PAINTED: Final = 600
_DRAWN: Final = 1_000


AGENTS: Final = 5_000
RATINGS: Final = 1_000_000
_EACH: Final = 4
_TAG: Final = "starred"
_NUMBERS: Final = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows) "
_PLACE: Final = "SELECT :chain, :block + i / 1000, i % 1000, zeroblob(32), 1750000000 + i, zeroblob(32), :registry, "
_CLIENT: Final = "printf('0x%08x%032d', (i * 2654435761) % 4294967296, i)"
_FEEDBACK: Final = (
    "INSERT INTO new_feedback (chain_id, block_number, log_index, block_hash, block_time, transaction_hash, registry, "
    "agent_id, client_address, feedback_index, value, value_decimals, indexed_tag1, tag1, tag2, endpoint, "
    "feedback_uri, feedback_hash) {numbers}{place}1, "
    "{client}, 1, i % 101, 0, :hash, :tag, '', '', '', zeroblob(32) FROM n"
)
_COUNTERPARTS: Final = (
    "INSERT INTO counterpart (chain_id, registry, agent_id, side, tag, account, count, share_sum, unit_sum) "
    "{numbers}SELECT :chain, :registry, 1, 'server', :tag, {client}, 1, i % 101 * :share, 0 FROM n"
)
_RATED: Final = (
    "INSERT INTO client_rated (chain_id, block_number, log_index, block_hash, block_time, transaction_hash, registry, "
    "client_id, server_id, rating) {numbers}{place}"
    "(i / :each + 1 + i % :each * 37) % :agents + 1, i / :each % :agents + 1, i % 101 FROM n"
)


def popular_world(database: str, ratings: int = RATINGS) -> str:
    """Write the world into an empty SQLite database, and return the agent's path.

    Args:
        database: The URL.
        ratings: The number of clients that rated the agent, each once.
    """
    world = World(agents=AGENTS, ratings=1)
    engine = open_database(database)
    build(engine, world)
    with engine.begin() as connection:
        progress = schema.chain.c
        block = connection.execute(select(func.max(progress.block_number))).scalar_one() + 1
        values = {"registry": REPUTATION, "tag": _TAG, "hash": keccak(text=_TAG), "share": SHARES // 100}
        values |= {"chain": world.chain_id, "block": block, "rows": ratings, "each": _EACH, "agents": AGENTS}
        parts = {"numbers": _NUMBERS, "place": _PLACE, "client": _CLIENT}
        for statement in (_FEEDBACK, _COUNTERPARTS):
            connection.execute(text(statement.format(**parts)), values)
        values["rows"] = AGENTS * _EACH - 1
        connection.execute(text(_RATED.format(**parts)), values)
        row = (world.chain_id, REPUTATION, 1, "server", _TAG, ratings, ratings, 50 * ratings, SHARES // 2 * ratings)
        names = [column.name for column in rating_tables.summary.c]
        connection.execute(insert(rating_tables.summary), dict(zip(names, (*row, 50.0, 49.9), strict=True)))
        connection.execute(schema.chain.update().values(block_number=block + 1_000, head_number=block + 1_000))
    engine.dispose()
    return f"{world.chain_id}/1"


def processor_milliseconds(pid: int) -> float:
    """Return the processor time that all threads of the service have used."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e6


def server_times(url: str, pid: int, paths: dict[str, list[str]]) -> None:
    """Print how long the service takes for each kind of page.

    Args:
        url: The service.
        pid: Its process.
        paths: The paths of each kind.
    """
    columns = ("p50 ms", "p95 ms", "processor p50 ms", "processor p95 ms")
    print_head("page", "requests", *columns, "bound of it", "within")
    with httpx.Client(base_url=url, timeout=60, headers={"accept": "text/html"}) as client:
        for name, requests in paths.items():
            wall, work = [], []
            for path in (*requests[:5], *requests):
                before, began = processor_milliseconds(pid), time.perf_counter()
                client.get(path).raise_for_status()
                wall.append((time.perf_counter() - began) * 1000)
                work.append(processor_milliseconds(pid) - before)
            warm = [sorted(values[len(requests[:5]) :]) for values in (wall, work)]
            times = [values[int(len(values) * share)] for values in warm for share in (0.5, 0.95)]
            print_row(name, len(requests), *(f"{figure:.1f}" for figure in times), *within(times[-1], _MILLISECONDS))


def paths_of(url: str, ids: list[str]) -> dict[str, list[str]]:
    """Return the paths of each kind of page: agents, and their accounts and records.

    Args:
        url: The service.
        ids: The agents, such as `31337/247`.
    """
    network = ids[0].partition("/")[0]
    accounts, ratings, validations = [], [], []
    with httpx.Client(base_url=url, timeout=60) as client:
        for agent in ids[:100]:
            content = client.get(f"/{agent}.json").raise_for_status().json()
            accounts.append(f"/accounts/{content['agent']['owner']}")
            accounts += [f"/accounts/{row['client']}" for row in content["feedback"][:1]]
            ratings += [f"/{network}/ratings/{row['block']}-{row['log_index']}" for row in content["feedback"][:2]]
            validations += [f"/{network}/validations/{row['request_hash']}" for row in content["validations"][:1]]
    timings = {
        "home": ["/"] * len(ids),
        "agent": [f"/{agent}" for agent in ids],
        "agent, its ratings": [f"/{agent}/ratings?tag=starred" for agent in ids[:100]],
        "agent, its picture": [f"/{agent}.png" for agent in ids[:100]],
        "account": accounts,
        "rating": ratings,
        "validation": validations,
        "compare": [f"/compare?first={first}&second={two}" for first, two in pairwise(ids)],
        "search, a gate": ["/search?side=server&tag=starred&clients=3"] * 100,
        "search, an id": [f"/search?q={agent.replace('/', ':')}" for agent in ids[:100]],
        "search, a common word": [f"/search?q={word}" for word in _WORDS] * 25,
        "neighbourhood": [f"/{agent}/network" for agent in ids[:100]],
        "network": [f"/{network}/network"] * 100,
        "analysis": [f"/{network}/analysis"] * 100,
        "method": ["/method"] * 100,
    }
    return {name: wanted for name, wanted in timings.items() if wanted}


def first_view(browser: Browser, url: str, path: str) -> tuple[float, int, int]:
    """Return the first contentful paint in milliseconds, the bytes of a first view, and those of its scripts.

    Args:
        browser: The browser.
        url: The service.
        path: The page.
    """
    times: list[tuple[float, int, int]] = []
    for _ in range(_ROUNDS):
        context = browser.new_context(base_url=url)
        page = context.new_page()
        page.goto(path, wait_until="networkidle")
        sizes: list[tuple[str, int]] = page.evaluate(_SIZES)
        paint = float(page.wait_for_function(_PAINT, timeout=30_000).json_value())
        scripts = sum(size for name, size in sizes if name.endswith(".js"))
        times.append((paint, sum(size for _, size in sizes), scripts))
        context.close()
    return sorted(times)[_ROUNDS // 2]


def first_views(browser: Browser, url: str, paths: dict[str, list[str]]) -> None:
    """Print the weight of first views, and how soon something is seen."""
    print()
    bound = ("bound", "within")
    print_head("page", "first contentful paint ms", *bound, "bytes", *bound, "of it scripts", *bound)
    for name, requests in paths.items():
        if "network" not in name and name != "neighbourhood":
            paint, size, scripts = first_view(browser, url, requests[0])
            weights = (f"{size:,}", *within(size, _BYTES), f"{scripts:,}", *within(scripts, _SCRIPT_BYTES))
            print_row(name, f"{paint:.0f}", *within(paint, _PAINTED), *weights)


def drawn(browser: Browser, url: str, pid: int, path: str) -> None:
    """Print how long it takes until a network is drawn first: when it is made for this page, and a moment later."""
    page = browser.new_page(base_url=url)
    page.goto("/method")  # the browser of a person shows pages already
    page.close()
    print()
    columns = ("network", "nodes", "links", "first drawn ms", "of it processor of the service ms", "bound", "within")
    print_head(*columns)
    for name in ("made anew", "made a moment ago"):
        context = browser.new_context(base_url=url)
        page = context.new_page()
        before = processor_milliseconds(pid)
        page.goto(path)
        page.wait_for_selector("#graph[data-drawn]", timeout=60_000)
        milliseconds = int(page.locator("#graph").get_attribute("data-drawn") or 0)
        numbers: list[Any] = re.findall(r"[\d,]+(?= agents| links)", page.locator("p.lede").inner_text())
        used = processor_milliseconds(pid) - before
        print_row(name, *numbers, f"{milliseconds:,}", f"{used:.0f}", *within(milliseconds, _DRAWN))
        context.close()


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--database", help="the SQLAlchemy URL of a world that `python -m bench.world` made")
    which.add_argument("--small", action="store_true", help="make a small world, and measure everything once")
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database, requests, ratings = options.database, options.requests, RATINGS
        if options.small:
            database, requests, ratings = f"sqlite:///{Path(folder) / 'small.sqlite'}", 10, 10_000
            build(open_database(database), World(agents=400, ratings=12_000))
        reader = Reader(database, seconds=60.0)
        ids = [agent.replace(":", "/") for agent in reader.read(agents, requests)]
        reader.close()
        with served(database) as (url, pid), running_browser() as browser:
            paths = paths_of(url, ids)
            server_times(url, pid, paths)
            first_views(browser, url, paths)
        database = f"sqlite:///{Path(folder) / 'popular.sqlite'}"
        agent = popular_world(database, ratings)
        print(f"\nAn agent with {ratings:,} ratings by as many clients:\n")
        with served(database) as (url, pid), running_browser() as browser:
            ends = {"agent": "", "neighbourhood": "/network"}
            server_times(url, pid, {name: [f"/{agent}{end}"] * 20 for name, end in ends.items()})
            drawn(browser, url, pid, f"/{agent.partition('/')[0]}/network")


if __name__ == "__main__":
    main()

"""`python -m bench.checks`: the time of checks over HTTP, on an index of a made-up world.

python -m bench.checks --database sqlite:///world.sqlite
python -m bench.checks --database postgresql://… --agents 100000 --ratings 1000000 --questions 1000

An empty database is filled first, which takes minutes. Files are in data URIs, so they are read already.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import httpx
import uvicorn
from sqlalchemy import func, select

from bench.world.build import build
from bench.world.people import World
from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.checks import check_client, check_server, snapshot
from bilateral.events import NewFeedback
from bilateral.index import schema
from bilateral.index.database import open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection as Pipe

    from sqlalchemy import Engine

_LISTED: Final = 20
_BACK: Final = 50
_P95: Final = 0.95


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Measure checks on an index of a made-up world.")
    parser.add_argument("--database", required=True, metavar="URL")
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    engine = open_database(arguments.database)
    world = World(arguments.agents, arguments.ratings, arguments.seed)
    with engine.connect() as connection:
        is_empty = connection.execute(select(schema.chain.c.chain_id)).first() is None
    if is_empty:
        build(engine, world, lambda line: print(line, file=sys.stderr, flush=True))
    questions = _questions(engine, world, arguments.questions)
    print("| question | p50 ms over HTTP | p95 ms over HTTP | worst ms | CPU ms in Python |")
    print("|---|---:|---:|---:|---:|")
    parent, child = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(arguments.database, child), daemon=True)
    server.start()
    with httpx.Client(base_url=parent.recv(), timeout=30) as client:
        _wait(client)
        for name, paths in questions.items():
            times = sorted(_timed(client, path) for path in paths)
            cpu = _cpu(engine, paths)
            middle, late = times[len(times) // 2], times[int(len(times) * _P95)]
            print(f"| {name} | {middle:.1f} | {late:.1f} | {times[-1]:.1f} | {cpu:.1f} |", flush=True)
    server.terminate()
    server.join()
    engine.dispose()


def _questions(engine: Engine, world: World, count: int) -> dict[str, Sequence[httpx.URL]]:
    """Return the questions by their kind, about random agents. Popular agents are asked for more often."""
    chance = random.Random(world.seed)  # noqa: S311  # reproducible, not secret
    table = schema.EVENT_TABLES[NewFeedback]
    with engine.connect() as connection:
        last = connection.execute(select(func.max(schema.chain.c.block_number))).scalar_one()
        agents = connection.execute(select(func.count()).select_from(schema.agent)).scalar_one()
        before = select(func.count()).where(schema.agent.c.registered_block <= last - _BACK)
        known = connection.execute(before).scalar_one()
        clients = connection.execute(select(table.c.client_address).limit(_LISTED * 50)).scalars().all()
    listed = [("trust_account", address) for address in sorted(set(clients))[:_LISTED]]

    def urls(side: str, *options: tuple[str, str], among: int = agents) -> list[httpx.URL]:
        subject = "agent" if side == "server" else "client"
        asked = (f"{world.chain_id}:{1 + int(chance.random() ** 2.2 * among)}" for _ in range(count))
        return [httpx.URL(f"/v1/checks/{side}", params=[(subject, it), *options]) for it in asked]

    return {
        "server": urls("server"),
        f"server, {_LISTED} trusted accounts": urls("server", *listed),
        "server, raters above a lower bound": urls("server", ("minimum_lower_bound", "60")),
        f"server, {_BACK} blocks before the last": urls("server", ("at_block", str(last - _BACK)), among=known),
        "client": urls("client", ("server", f"{world.chain_id}:1")),
        "client, an account": [
            httpx.URL("/v1/checks/client", params={"client": chance.choice(clients)}) for _ in range(count)
        ],
    }


def _wait(client: httpx.Client) -> None:
    """Wait until the server answers."""
    while True:
        try:
            client.get("/healthz")
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return


def _timed(client: httpx.Client, url: httpx.URL) -> float:
    """Return the milliseconds of one question."""
    began = time.perf_counter()
    client.get(url).raise_for_status()
    return (time.perf_counter() - began) * 1000


def _cpu(engine: Engine, urls: Sequence[httpx.URL]) -> float:
    """Return the mean CPU milliseconds of plain questions in this process; nothing over HTTP is in them."""
    check: Callable[..., Any] = check_server if "agent" in urls[0].params else check_client
    subjects = [url.params.get("agent") or url.params.get("client") for url in urls[:100]]
    with snapshot(engine) as connection:
        check(connection, subjects[0])
    began = time.process_time()
    for subject in subjects:
        with snapshot(engine) as connection:
            check(connection, subject)
    return (time.process_time() - began) * 1000 / len(subjects)


def _serve(database: str, pipe: Pipe) -> None:
    """Serve in a process of its own, and tell its URL."""
    settings = ApiSettings(database=database, rate=None, query_seconds=30.0)
    config = uvicorn.Config(create_app(settings), port=0, log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    config.load()
    socket = config.bind_socket()
    pipe.send(f"http://127.0.0.1:{socket.getsockname()[1]}")
    server.run(sockets=[socket])


if __name__ == "__main__":
    main()

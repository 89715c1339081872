"""`python -m bench.api`: the speed of the service over HTTP, on an index of a made-up world.

    python -m bench.api --database sqlite:////path/world.sqlite

It starts one process of the service, and asks for agents drawn at random, over connections that stay open. It prints
requests a second, latencies, and the processor time of both for a request, which other programs disturb least. The
first row is an application that does nothing: the least that the HTTP server and the client take.
"""

import argparse
import random
from collections.abc import Callable
from typing import Final

from sqlalchemy import select

from bench.load import CONNECTIONS, Load, floor, measure, served
from bilateral.index.agents import tables as agent_tables
from bilateral.index.reading.readers import Reader

_P50: Final = 0.5
_P95: Final = 0.95
_RATE: Final = 1_000
_MILLISECONDS: Final = 15.0


def agents(database: str, count: int) -> list[str]:
    """Return ids of agents, drawn at random but the same each time.

    Args:
        database: The database.
        count: The number of ids.
    """
    reader = Reader(database, seconds=60.0)
    table = agent_tables.agent.c
    with reader.connect() as connection:
        rows = connection.execute(select(table.chain_id, table.agent_id).limit(100_000)).all()
    reader.close()
    return [f"{chain_id}:{agent_id}" for chain_id, agent_id in random.Random(1).choices(rows, k=count)]  # noqa: S311


def row(name: str, load: Load, limit: str = "", is_kept: Callable[[Load], bool] | None = None) -> str:
    """Return the row of a table.

    Args:
        name: The request.
        load: The answers.
        limit: The limit in words.
        is_kept: Checks it; None without a limit.
    """
    times = f"{load.rate:,.0f} | {load.at(_P50):.1f} | {load.at(_P95):.1f}"
    processor = f"{load.service * 1000:.2f} | {load.client * 1000:.2f}"
    verdict = "" if is_kept is None else "yes" if is_kept(load) else "no"
    return f"| {name} | {times} | {processor} | {limit} | {verdict} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Measure the service over HTTP, on an index of a made-up world.")
    parser.add_argument("--database", required=True, metavar="URL")
    parser.add_argument("--requests", type=int, default=5_000)
    options = parser.parse_args()
    ids = agents(options.database, options.requests)
    alone = [f"/v1/agents/{agent}" for agent in ids]
    newest = [f"/v1/agents/{agent}?newest=20" for agent in ids]
    print("| request | requests/s | p50 ms | p95 ms | processor ms of the service | of the client | limit | within |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    print(row("nothing", floor(options.requests)), flush=True)
    with served(options.database) as service:
        many = f"{CONNECTIONS} connections"
        load = measure(*service, alone)
        print(row(f"one agent, {many}", load, f"{_RATE:,}/s", lambda load: load.rate >= _RATE), flush=True)
        for name, connections in (("one connection", 1), (many, CONNECTIONS)):
            load = measure(*service, newest, connections)
            limit = f"p95 {_MILLISECONDS:g} ms"
            asked = f"one agent with its 20 newest feedback, {name}"
            print(row(asked, load, limit, lambda load: load.at(_P95) <= _MILLISECONDS), flush=True)


if __name__ == "__main__":
    main()

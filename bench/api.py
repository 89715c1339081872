"""`python -m bench.api`: the speed of the service over HTTP, on an index of a made-up world.

    python -m bench.api --database sqlite:////path/world.sqlite

It starts one process of the service, and asks for agents drawn at random, over connections that stay open. It prints
requests a second, latencies, and the processor time of both for a request, which other programs disturb least. The
first row is an application that does nothing: the least that the HTTP server and the client take.
"""

import random
from typing import Final

from sqlalchemy import select

from bench.load import CONNECTIONS, Load, floor, measure, served
from bench.report import options, print_head, print_row, within
from bilateral.index.agents import tables as agent_tables
from bilateral.index.reading.readers import Reader

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


def main() -> None:
    """Measure, and print a table."""
    arguments = options(__doc__, database=..., requests=5_000)
    ids = agents(arguments.database, arguments.requests)
    columns = ("request", "requests/s", "p50 ms", "p95 ms", "processor ms of the service", "of the client")
    print_head(*columns, "limit", "within")

    def show(name: str, load: Load, *verdict: str) -> None:
        figures = (f"{load.rate:,.0f}", f"{load.at(0.5):.1f}", f"{load.at(0.95):.1f}")
        print_row(name, *figures, f"{load.service * 1000:.2f}", f"{load.client * 1000:.2f}", *(verdict or ("", "")))

    show("nothing", floor(arguments.requests))
    with served(arguments.database) as service:
        load = measure(*service, [f"/v1/agents/{agent}" for agent in ids])
        show(f"one agent, {CONNECTIONS} connections", load, f"{_RATE:,}/s", "yes" if load.rate >= _RATE else "no")
        for name, connections in (("one connection", 1), (f"{CONNECTIONS} connections", CONNECTIONS)):
            load = measure(*service, [f"/v1/agents/{agent}?newest=20" for agent in ids], connections)
            show(f"one agent with its 20 newest feedback, {name}", load, *within(load.at(0.95), _MILLISECONDS, " ms"))


if __name__ == "__main__":
    main()

"""`python -m bench.api`: the speed of the service and of its checks over HTTP, on an index of a made-up world.

    python -m bench.api --database sqlite:///world.sqlite
    python -m bench.api --database postgresql://… --agents 100000 --ratings 1000000 --questions 1000

An empty database is filled first, which takes minutes. Files are in data URIs, so they are read already.
It starts one process of the service, and asks for agents drawn at random, over connections that stay open. It prints
requests a second, latencies, and the processor time of both for a request, which other programs disturb least. The
first row is an application that does nothing: the least that the HTTP server and the client take.
"""

import random
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from sqlalchemy import Connection, func, select

from bench.load import CONNECTIONS, Load, floor, measure, served
from bench.report import print_head, print_row, within
from bench.world.build import WorldParser, open_world
from bench.world.people import World
from bilateral.core.events import NewFeedback
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.reading.readers import Reader

_RATE: Final = 1_000
_MILLISECONDS: Final = 15.0
_CHECK_MILLISECONDS: Final = 25.0
_LISTED: Final = 20
_BACK: Final = 50


def agents(connection: Connection, count: int) -> list[str]:
    """Return ids of agents, drawn at random but the same each time."""
    table = agent_tables.agent.c
    rows = connection.execute(select(table.chain_id, table.agent_id).limit(100_000)).all()
    return [f"{chain_id}:{agent_id}" for chain_id, agent_id in random.Random(1).choices(rows, k=count)]  # noqa: S311


def checks(connection: Connection, world: World, count: int) -> dict[str, Sequence[str]]:
    """Return questions to checks by their kind, about random agents. Popular agents are asked for more often."""
    chance = random.Random(world.seed)  # noqa: S311  # reproducible, not secret
    table = schema.EVENT_TABLES[NewFeedback]
    last = connection.execute(select(func.max(schema.chain.c.block_number))).scalar_one()
    registered = select(func.count()).select_from(agent_tables.agent)
    before = registered.where(agent_tables.agent.c.registered_block <= last - _BACK)
    stored, earlier = (connection.execute(query).scalar_one() for query in (registered, before))
    clients = connection.execute(select(table.c.client_address).limit(_LISTED * 50)).scalars().all()
    listed = [("trust_account", address) for address in sorted(set(clients))[:_LISTED]]

    def urls(side: str, *options: tuple[str, str], among: int = stored) -> list[str]:
        subject = "agent" if side == "server" else "client"
        asked = (f"{world.chain_id}:{1 + int(chance.random() ** 2.2 * among)}" for _ in range(count))
        return [f"/v1/checks/{side}?{urlencode([(subject, subject_id), *options])}" for subject_id in asked]

    return {
        "server": urls("server"),
        f"server, {_LISTED} trusted accounts": urls("server", *listed),
        "server, raters above a lower bound": urls("server", ("minimum_lower_bound", "60")),
        f"server, {_BACK} blocks before the last": urls("server", ("at_block", str(last - _BACK)), among=earlier),
        "client": urls("client", ("server", f"{world.chain_id}:1")),
        "client, an account": [f"/v1/checks/client?client={chance.choice(clients)}" for _ in range(count)],
    }


def _show(name: str, load: Load, *verdict: str) -> None:
    figures = (f"{load.rate:,.0f}", f"{load.at(0.5):.1f}", f"{load.at(0.95):.1f}")
    print_row(name, *figures, f"{load.service * 1000:.2f}", f"{load.client * 1000:.2f}", *(verdict or ("", "")))


def main() -> None:
    """Measure, and print two tables."""
    parser = WorldParser("Measure the service and its checks on an index of a made-up world.")
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=500)
    arguments = parser.parsed()
    open_world(arguments)
    reader = Reader(arguments.database, seconds=60.0)
    ids = reader.read(agents, arguments.requests)
    world = World(arguments.agents, arguments.ratings, arguments.seed)
    questions = reader.read(checks, world, arguments.questions)
    reader.close()
    columns = ("request", "requests/s", "p50 ms", "p95 ms", "processor ms of the service", "of the client")
    print_head(*columns, "limit", "within")
    _show("nothing", floor(arguments.requests))
    with served(arguments.database) as service:
        load = measure(*service, [f"/v1/agents/{agent}" for agent in ids])
        _show(f"one agent, {CONNECTIONS} connections", load, f"{_RATE:,}/s", "yes" if load.rate >= _RATE else "no")
        for name, connections in (("one connection", 1), (f"{CONNECTIONS} connections", CONNECTIONS)):
            load = measure(*service, [f"/v1/agents/{agent}?newest=20" for agent in ids], connections)
            _show(f"one agent with its 20 newest feedback, {name}", load, *within(load.at(0.95), _MILLISECONDS, " ms"))
    print()
    print_head("check", "p50 ms", "p95 ms", "worst ms", "processor ms of the service", "limit ms", "within")
    with served(arguments.database) as service:
        for name, paths in questions.items():
            load = measure(*service, paths, connections=1)
            times = (load.at(0.5), load.at(0.95), load.seconds[-1] * 1000, load.service * 1000)
            print_row(name, *(f"{figure:.1f}" for figure in times), *within(times[1], _CHECK_MILLISECONDS))


if __name__ == "__main__":
    main()

"""`python -m bench.checks`: the time of checks over HTTP, on an index of a made-up world.

python -m bench.checks --database sqlite:///world.sqlite
python -m bench.checks --database postgresql://… --agents 100000 --ratings 1000000 --questions 1000

An empty database is filled first, which takes minutes. Files are in data URIs, so they are read already.
"""

import random
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from sqlalchemy import Engine, func, select

from bench.load import measure, served
from bench.report import print_head, print_row, within
from bench.world.build import WorldParser, open_world
from bench.world.people import World
from bilateral.core.events import NewFeedback
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database

_LISTED: Final = 20
_BACK: Final = 50
_MILLISECONDS: Final = 25.0


def main() -> None:
    """Measure, and print a table."""
    parser = WorldParser("Measure checks on an index of a made-up world.")
    parser.add_argument("--questions", type=int, default=500)
    arguments = parser.parsed()
    open_world(arguments)
    world = World(arguments.agents, arguments.ratings, arguments.seed)
    engine = open_database(arguments.database)
    questions = _questions(engine, world, arguments.questions)
    engine.dispose()
    columns = ("question", "p50 ms", "p95 ms", "worst ms", "processor ms of the service", "limit ms", "within")
    print_head(*columns)
    with served(arguments.database) as service:
        for name, paths in questions.items():
            load = measure(*service, paths, connections=1)
            times = (load.at(0.5), load.at(0.95), load.seconds[-1] * 1000, load.service * 1000)
            print_row(name, *(f"{milliseconds:.1f}" for milliseconds in times), *within(times[1], _MILLISECONDS))


def _questions(engine: Engine, world: World, count: int) -> dict[str, Sequence[str]]:
    """Return the questions by their kind, about random agents. Popular agents are asked for more often."""
    chance = random.Random(world.seed)  # noqa: S311  # reproducible, not secret
    table = schema.EVENT_TABLES[NewFeedback]
    with engine.connect() as connection:
        last = connection.execute(select(func.max(schema.chain.c.block_number))).scalar_one()
        agents = connection.execute(select(func.count()).select_from(agent_tables.agent)).scalar_one()
        before = select(func.count()).where(agent_tables.agent.c.registered_block <= last - _BACK)
        known = connection.execute(before).scalar_one()
        clients = connection.execute(select(table.c.client_address).limit(_LISTED * 50)).scalars().all()
    listed = [("trust_account", address) for address in sorted(set(clients))[:_LISTED]]

    def urls(side: str, *options: tuple[str, str], among: int = agents) -> list[str]:
        subject = "agent" if side == "server" else "client"
        asked = (f"{world.chain_id}:{1 + int(chance.random() ** 2.2 * among)}" for _ in range(count))
        return [f"/v1/checks/{side}?{urlencode([(subject, subject_id), *options])}" for subject_id in asked]

    return {
        "server": urls("server"),
        f"server, {_LISTED} trusted accounts": urls("server", *listed),
        "server, raters above a lower bound": urls("server", ("minimum_lower_bound", "60")),
        f"server, {_BACK} blocks before the last": urls("server", ("at_block", str(last - _BACK)), among=known),
        "client": urls("client", ("server", f"{world.chain_id}:1")),
        "client, an account": [f"/v1/checks/client?client={chance.choice(clients)}" for _ in range(count)],
    }


if __name__ == "__main__":
    main()

"""The options of commands that measure a made-up world, and the database that they name."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from bench.world.build import build
from bench.world.copies import repeat
from bench.world.people import World
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database

if TYPE_CHECKING:
    from sqlalchemy import Engine


class WorldParser(argparse.ArgumentParser):
    """A parser whose options name a world, and the database that has it.

    Args:
        description: See `argparse`.
        copies: True for an option `--copies`.
    """

    def __init__(self, description: str, *, copies: bool = False) -> None:
        super().__init__(description=description)
        self.add_argument("--database", required=True, metavar="URL")
        self.add_argument("--agents", type=int, default=100_000)
        self.add_argument("--ratings", type=int, default=1_000_000)
        self.add_argument("--seed", type=int, default=1)
        self.set_defaults(copies=1)
        if copies:
            self.add_argument("--copies", type=int, help="The number of worlds; one on SQLite.")

    def parsed(self) -> argparse.Namespace:
        """Return the options of the command line."""
        options = self.parse_args()
        if options.copies > 1 and options.database.startswith("sqlite"):
            self.error("--copies needs PostgreSQL: its server makes the copies")
        return options


def fill_world(engine: Engine, options: argparse.Namespace) -> None:
    """Fill an empty database with a world and its copies.

    Args:
        engine: The database.
        options: Those of `WorldParser`.
    """
    build(engine, World(options.agents, options.ratings, options.seed), _report)
    if options.copies > 1:
        repeat(engine, options.copies, _report)


def open_world(options: argparse.Namespace) -> int:
    """Fill a database with a world if it is empty.

    Args:
        options: Those of `WorldParser`.

    Returns:
        The number of agents.
    """
    engine = open_database(options.database)
    with engine.connect() as connection:
        is_empty = connection.execute(select(schema.chain.c.chain_id)).first() is None
    if is_empty:
        fill_world(engine, options)
    with engine.connect() as connection:
        stored: int = connection.execute(select(func.count()).select_from(agent_tables.agent)).scalar_one()
    engine.dispose()
    if stored < options.agents * options.copies:
        wanted = f"{options.agents * options.copies:,}"
        raise SystemExit(f"the database has {stored:,} agents, fewer than {wanted}: see --agents and --copies")
    return stored


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""`python -m bench.world`: fills a database with a made-up world.

python -m bench.world --database sqlite:///world.sqlite
python -m bench.world --database postgresql://… --copies 10

The second makes ten worlds of 100,000 agents, for they take minutes where one of 1,000,000 agents takes hours.
"""

from __future__ import annotations

import argparse
import sys
import time

from bench.world.build import build
from bench.world.copies import repeat
from bench.world.people import World
from bilateral.index.store.database import open_database


def main() -> None:
    """Fill a database, and say how long it took."""
    parser = argparse.ArgumentParser(description="Fill an empty database with a made-up world.")
    parser.add_argument("--database", required=True, metavar="URL")
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1, help="The number of worlds; one on SQLite.")
    arguments = parser.parse_args()
    if arguments.copies > 1 and arguments.database.startswith("sqlite"):
        parser.error("--copies needs PostgreSQL: its server makes the copies")
    began, cpu = time.perf_counter(), time.process_time()
    engine = open_database(arguments.database)
    world = World(arguments.agents, arguments.ratings, arguments.seed)
    build(engine, world, lambda line: print(line, file=sys.stderr, flush=True))
    if arguments.copies > 1:
        repeat(engine, arguments.copies, lambda line: print(line, file=sys.stderr, flush=True))
    engine.dispose()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    agents, ratings = arguments.agents * arguments.copies, arguments.ratings * arguments.copies
    print(f"{agents} agents, {ratings} ratings: {seconds:.0f} s, {cpu_seconds:.0f} s of CPU")


if __name__ == "__main__":
    main()

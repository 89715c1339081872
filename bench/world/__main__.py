"""`python -m bench.world`: fills a database with a made-up world.

python -m bench.world --database sqlite:///world.sqlite
python -m bench.world --database postgresql://… --copies 10

The second makes ten worlds of 100,000 agents, for they take minutes where one of 1,000,000 agents takes hours.
"""

import time

from bench.world.build import WorldParser, fill_world
from bilateral.index.log.database import open_database


def main() -> None:
    """Fill a database, and say how long it took."""
    arguments = WorldParser("Fill an empty database with a made-up world.", copies=True).parsed()
    began, cpu = time.perf_counter(), time.process_time()
    engine = open_database(arguments.database)
    fill_world(engine, arguments)
    engine.dispose()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    agents, ratings = arguments.agents * arguments.copies, arguments.ratings * arguments.copies
    print(f"{agents} agents, {ratings} ratings: {seconds:.0f} s, {cpu_seconds:.0f} s of CPU")


if __name__ == "__main__":
    main()

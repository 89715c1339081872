"""`python -m bench.scale 1000000 10000000`: the cost of a rating for index and analysis, by the number of ratings.

    python -m bench.scale 1000000
    python -m bench.scale 1000000 10000000 100000000

It stores synthetic feedback in a PostgreSQL of its own, by the worker's own store. At each named size it tells the
processor time of worker and server for a row since the size before, and the bytes of a row. The analysis runs on tables
of the same sizes, each in a process of its own. The exponent says how a cost grows: 0 is a cost that stays.
A size for which the disk or the memory is too small is left out, and the output says so.
"""

import argparse
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import psutil  # type: ignore[import-untyped]  # pgserver needs it
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from bench.index.measurement import tuned_server
from bench.trust.speed import speed
from bilateral.core.contracts import Registry
from bilateral.core.events import NewFeedback
from bilateral.core.identifiers import checksummed
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.database import open_database
from bilateral.index.log.rows import Row, rows_of
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from simulation.events import ADDRESSES

_CHAIN: Final = 1
_BATCH: Final = 50_000
"""The rows of a transaction: a worker far from the head stores as many."""

_RATINGS_OF_AGENT: Final = 100
"""Ratings for each agent, as in the plan for 100 million agents and 10 billion ratings."""

_RATER_SHARE: Final = 5
"""Ratings for each account that rates."""

_BYTES_OF_ROW: Final = 1_500
"""The disk of a row that a run asks for before it begins: the tables, and the log of PostgreSQL beside them."""

_GB_OF_MILLION: Final = 0.8
"""The memory of an analysis of a million ratings, with room."""

_TAG: Final = bytes(31) + b"\1"


@dataclass(frozen=True)
class Cost:
    """The cost of a row at one size.

    Attributes:
        rows: The rows in the tables.
        worker: Microseconds of the worker's processor time for a row, since the size before.
        server: The same of the server.
        size: Bytes of a row on disk, all tables and indexes together.
    """

    rows: int
    worker: float
    server: float
    size: float


def ratings(count: int, start: int, random: np.random.Generator, agents: int) -> list[Row]:
    """Return rows of synthetic feedback. Agents are as popular as a Pareto law says.

    Args:
        count: The number of rows.
        start: The number of rows before them.
        random: The source of chance.
        agents: The number of agents.
    """
    subjects = np.minimum((random.pareto(1.3, count) * agents * 0.02).astype(np.int64), agents - 1)
    raters = random.integers(0, max(1, (start + count) // _RATER_SHARE), count)
    values = random.integers(0, 101, count)
    registry, block = ADDRESSES[Registry.BIDIRECTIONAL], start // _BATCH + 1
    hashes = random.bytes(32 * count)
    rows: list[Row] = []
    columns = (subjects.tolist(), raters.tolist(), values.tolist())
    for place, (subject, rater, value) in enumerate(zip(*columns, strict=True)):
        digest = hashes[32 * place : 32 * place + 32]
        position = (_CHAIN, block, place, _hash(block), 1_770_000_000 + block, digest, registry)
        client = checksummed(f"0x{rater:040x}")
        texts = ("starred", "", "https://agent.example", "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7a")
        rows.append((*position, subject + 1, client, start + place + 1, value, 0, _TAG, *texts, digest, None))
    return rows


def fill(url: str, sizes: list[int], server: psutil.Process) -> Iterator[Cost]:
    """Store ratings, and yield the cost of a row at each size.

    Args:
        url: The database, empty.
        sizes: The sizes, the smallest first.
        server: The process of the server.
    """
    engine = open_database(url)
    registry = ADDRESSES[Registry.BIDIRECTIONAL]
    columns = schema.registry.c.keys()
    with engine.begin() as connection:
        row = (_CHAIN, registry, Registry.BIDIRECTIONAL.value, ADDRESSES[Registry.IDENTITY], 0)
        rows_of(connection).insert_if_absent(schema.registry, dict(zip(columns, row, strict=True)))
    store = ChainStore(engine, _CHAIN, PROJECTIONS)
    store.begin(Block(0, bytes(32), 0))
    cursor, stored, random = Block(0, bytes(32), 0), 0, np.random.default_rng(1)
    agents = max(10, sizes[-1] // _RATINGS_OF_AGENT)
    for size in sizes:
        before, worker, served = stored, 0.0, _processor(server)
        while stored < size:
            rows = ratings(min(_BATCH, size - stored), stored, random, agents)
            number = stored // _BATCH + 1
            end = Block(number, _hash(number), 1_770_000_000 + number)
            began = time.process_time()
            store.append(cursor, Batch(end, {schema.EVENT_TABLES[NewFeedback]: rows}, [end], number + 1_000))
            worker += time.process_time() - began
            cursor, stored = end, stored + len(rows)
        spent = _processor(server) - served
        with engine.connect() as connection:
            taken: int = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
        made = stored - before
        yield Cost(stored, worker / made * 1e6, spent / made * 1e6, taken / stored)
    engine.dispose()


def exponent(first: float, last: float, times: float) -> float:
    """Return the exponent of a cost's growth: 0 if the cost of a row stays, 1 if it grows as the rows do.

    Args:
        first: The cost of a row at the smaller size.
        last: The cost of a row at the larger size.
        times: The larger size in smaller ones.
    """
    return math.log(last / first) / math.log(times)


def _hash(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _processor(server: psutil.Process) -> float:
    """Return the processor seconds of a server: those of its processes that ended, too."""
    spent = sum(server.cpu_times()[:4])
    return float(spent + sum(sum(process.cpu_times()[:2]) for process in server.children(recursive=True)))


def _table(costs: list[Cost], analyses: dict[str, dict[str, float]]) -> Table:
    """Return the table of all costs, with the exponents."""
    table = Table("ratings", "worker µs/row", "server µs/row", "disk B/row", "analysis µs/row", "analysis B/row")
    cells_of: dict[int, list[float | None]] = {cost.rows: [cost.worker, cost.server, cost.size] for cost in costs}
    for size, spent in analyses.items():
        figures = (spent["processor"] / int(size) * 1e6, spent["gigabytes"] / int(size) * 2**30)
        cells_of.setdefault(int(size), [None] * 3).extend(figures)
    for rows, values in sorted(cells_of.items()):
        cells = [*values, *[None] * (5 - len(values))]
        table.add_row(f"{rows:,}", *("not measured" if cell is None else f"{cell:,.1f}" for cell in cells))
    complete = [(rows, values) for rows, values in sorted(cells_of.items()) if len(values) == 5 and None not in values]  # noqa: PLR2004
    if len(complete) > 1:
        (small, first), (large, last) = complete[0], complete[-1]
        pairs = zip(first, last, strict=True)
        table.add_row("exponent", *(f"{exponent(a or 1, b or 1, large / small):+.2f}" for a, b in pairs))
    return table


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="+", help="The numbers of ratings.")
    parser.add_argument("--no-analysis", action="store_true", help="Measure the index alone.")
    options = parser.parse_args()
    sizes, costs = sorted(options.sizes), []
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        fitting = [size for size in sizes if size * _BYTES_OF_ROW < free]
        for size in sizes[len(fitting) :]:
            print(f"the index of {size:,} ratings needs {size * _BYTES_OF_ROW / 1e9:,.0f} GB of disk: left out")
        with tuned_server(Path(folder) / "data") as server:
            for cost in fill(server.get_uri(), fitting, server.get_postmaster_info().process):
                costs.append(cost)
                print(f"index: {cost}", flush=True)
    memory = psutil.virtual_memory().available
    possible = [size for size in sizes if size / 1e6 * _GB_OF_MILLION * 1e9 < memory]
    Console(width=110).print(_table(costs, {} if options.no_analysis else speed(possible)))


if __name__ == "__main__":
    main()

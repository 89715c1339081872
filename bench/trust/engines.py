"""`python -m bench.trust.engines 1000000 10000000`: a whole analysis on arrays, DuckDB and Sail, side by side.

With `--spark` also on Apache Spark, which `make spark` installs. Each analysis runs in a process of its own and spreads
trust from a reader's list. It tells the seconds, the seconds of a processor of client and server, and the peaks of
their memory. Arrays take the memory that they need, and the clients of engines the gigabytes of `--memory`. DuckDB runs
inside the client. Sail and Spark have two workers. The answers of all engines are compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import ibis
from rich.console import Console
from rich.table import Table

from bench.trust.servers import peak, processor, running_sail, running_spark
from bench.trust.speed import tables
from bilateral.trust.disk import Budget, DiskArrays
from bilateral.trust.engine import Engine
from bilateral.trust.folders import is_database
from bilateral.trust.relational import Relational
from bilateral.trust.steps import ARRAYS
from bilateral.trust.tables import COLUMNS, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from bench.trust.servers import Server

SERVERS: Final[dict[str, Callable[[Path, int], AbstractContextManager[Server]]]] = {
    "Sail": running_sail,
    "Spark": running_spark,
}
"""The engines that are servers."""

MEMORY: Final = 1.0
"""The gigabytes of each engine's client: a laptop has them to spare."""

_ME: Final = "bench.trust.engines"


@dataclass(frozen=True)
class Analysis:
    """The cost of one analysis.

    Attributes:
        engine: The engine.
        rows: The number of opinions.
        seconds: The seconds that it took.
        client: The seconds of a processor of the client.
        server: The same of the server and its workers; 0 without a server.
        client_memory: The peak of the client's memory, in bytes.
        server_memory: The same of the server and its workers.
        answer: A digest of findings, flags and scores.
    """

    engine: str
    rows: int
    seconds: float
    client: float
    server: float
    client_memory: int
    server_memory: int
    answer: str


def compare(sizes: list[int], *, spark: bool = False, memory: float = MEMORY) -> Iterator[Analysis]:
    """Yield the cost of each analysis.

    Args:
        sizes: The numbers of opinions.
        spark: Analyse on Apache Spark, too.
        memory: The gigabytes of each engine's client.

    Raises:
        ValueError: Two engines give different answers.
    """
    for size in sizes:
        with TemporaryDirectory() as name:
            folder = Path(name)
            subprocess.run([sys.executable, "-m", _ME, "--make", name, str(size)], check=True)  # noqa: S603
            answers = set()
            for engine in ("arrays", "DuckDB", "Sail", *(["Spark"] if spark else [])):
                analysis = _analysed(engine, folder, size, memory)
                answers.add(analysis.answer)
                yield analysis
            if len(answers) > 1:
                raise ValueError(f"the engines differ at {size:,} opinions")


def shown(analyses: list[Analysis]) -> Table:
    """Return the costs as a table.

    Args:
        analyses: The costs.
    """
    table = Table("opinions", "engine", "seconds", "client, s", "server, s", "client, GB", "server, GB")
    for row in analyses:
        memory = (f"{size / 2**30:.2f}" if size else "" for size in (row.client_memory, row.server_memory))
        server = f"{row.server:.1f}" if row.server else ""
        table.add_row(f"{row.rows:,}", row.engine, f"{row.seconds:.0f}", f"{row.client:.1f}", server, *memory)
    return table


def _analysed(engine: str, folder: Path, size: int, memory: float) -> Analysis:
    """Run one analysis in a process of its own."""
    place, server = str(folder), None
    with ExitStack() as stack:
        if engine == "DuckDB":
            place = f"duckdb://{_database(folder)}"
        elif engine in SERVERS:
            own = folder / engine
            own.mkdir()
            server = stack.enter_context(SERVERS[engine](own, _free_port()))
            place = f"{server.url}/#{folder}"
        spent = processor(server.process) if server else 0.0
        began = time.monotonic()
        command = [sys.executable, "-m", _ME, "--analyse", place, "--memory", str(memory)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
        seconds = time.monotonic() - began
        worked, peak_of_server = (processor(server.process) - spent, server.memory()) if server else (0.0, 0)
    return Analysis(engine, size, seconds, float(told[0]), worked, int(told[1]), peak_of_server, told[2])


def _database(folder: Path) -> Path:
    """Return a file of DuckDB with the tables of a folder."""
    file = folder / "tables.duckdb"
    connection = ibis.duckdb.connect(file)
    for name in COLUMNS:
        connection.raw_sql(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
    connection.disconnect()
    return file


def _free_port() -> int:
    """Return a port that nobody uses now."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _analyse(place: str, memory: float) -> None:
    """Analyse tables, and tell the seconds of a processor, the peak of memory, and a digest of the answer."""
    with ExitStack() as stack:
        database = None
        if is_database(place):
            budget = Budget.of(memory, Path(stack.enter_context(TemporaryDirectory())))
            stack.enter_context(DiskArrays(budget.scratch, budget.arrays))
            database = Relational.open(place, budget)
        held = database.tables() if database else Tables.read(place)
        engine = Engine(steps=database or ARRAYS).fit(held, trusted=[held.feedback["client"][0].as_py()])
        if database:
            database.runner.close()
    digest = blake2b(digest_size=8)
    for values in (engine.suspicion_.total, engine.suspicion_.flagged, engine.scores_.score):
        digest.update(values.tobytes())
    digest.update(repr([(finding.detector, finding.sentence) for finding in engine.findings_]).encode())
    print(time.process_time(), peak(os.getpid()), digest.hexdigest())


def main() -> None:
    """Measure, and print the table; or do the work of one process of a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", help="The numbers of opinions.")
    parser.add_argument("--spark", action="store_true", help="Analyse on Apache Spark, too.")
    parser.add_argument("--make", metavar="FOLDER", help="Write tables of a size into a folder.")
    parser.add_argument("--analyse", metavar="PLACE", help="Analyse the tables of a folder or a database.")
    parser.add_argument("--memory", type=float, default=MEMORY, help="The gigabytes of each engine's client.")
    options = parser.parse_args()
    if options.analyse:
        _analyse(options.analyse, options.memory)
    elif options.make:
        tables(options.sizes[0]).write(Path(options.make))
    else:
        Console(width=110).print(shown(list(compare(options.sizes, spark=options.spark, memory=options.memory))))


if __name__ == "__main__":
    main()

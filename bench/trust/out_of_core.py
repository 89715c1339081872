"""`python -m bench.trust.out_of_core 100000000`: a whole analysis on DuckDB, in less memory than its arrays take.

A market of that size, as in `bench.trust.speed`, is made inside a database file. Its analysis runs as
`bilateral trust analyse --memory 4` does: the database takes a part of the memory, and large arrays are on disk. After
each step the run tells the time, the processor time, and the peak of this process's memory, which holds the database's.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import ibis
from rich.console import Console

from bilateral.trust.disk import Budget, DiskArrays
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.results import Results
from bilateral.trust.runs import Progress, Run

if TYPE_CHECKING:
    from collections.abc import Callable

_CLIENTS: Final = 5
_AGENTS: Final = 50
"""Opinions for each client and each agent, as in `bench.trust.speed`."""

_EXCHANGES: Final = 20
"""Accounts that fund all others, as in `bench.trust.speed`."""

_BYTES: Final = 600
"""The disk of an opinion that a run asks for: its rows in the database, and the arrays of the largest step."""

_NORMAL: Final = "(random() + random() + random() + random() - 2) * 1.732"
"""A draw of about a normal distribution."""

_MARKET: Final = (
    "CREATE TABLE agents AS SELECT range + 1 AS agent_id, printf('0x%040x', {clients} + range) AS owner, "
    "printf('0x%040x', {clients} + range) AS wallet, 'u' || range AS uri, 1.77e9 + random() * 1e6 AS ts, "
    "false AS is_validator FROM range({agents})",
    "CREATE TABLE feedback AS SELECT id, printf('0x%040x', client) AS client, agent_id, "
    "least(greatest(round(95 * pow(hash(agent_id) % 1000000 / 1e6, 0.25) + 9 * {normal}), 0), 100) AS value, "
    "'starred' AS tag, 1.77e9 + random() * 180 * 86400 AS ts, NULL::VARCHAR AS payment_tx FROM (SELECT range AS id, "
    "(least(pow(1 - random(), -1.1) * {clients} * 0.05, {clients} - 1)::BIGINT * 7919) % {clients} AS client, "
    "least(pow(1 - random(), -0.77) * {agents} * 0.02, {agents} - 1)::BIGINT + 1 AS agent_id FROM range({opinions}))",
    "CREATE TABLE payments AS SELECT printf('%x', id) AS tx, client AS payer, "
    "printf('0x%040x', {clients} + agent_id - 1) AS payee, agent_id, exp({normal} - 1) AS amount, ts - 100 AS ts "
    "FROM feedback WHERE random() < 0.6",
    "CREATE TABLE transfers AS SELECT CASE WHEN random() < 0.75 THEN printf('0x%040x', {people} + (random() * "
    "({exchanges} - 1))::BIGINT) ELSE printf('0x%040x', (random() * ({people} - 1))::BIGINT) END AS src, "
    "printf('0x%040x', range) AS dst, exp(3 + {normal}) AS amount, 1.77e9 - random() * 9e6 AS ts FROM range({people})",
)


def make(connection: Any, opinions: int) -> None:
    """Make the tables of a market in a database.

    Args:
        connection: An Ibis connection to DuckDB.
        opinions: The number of opinions.
    """
    clients, agents = opinions // _CLIENTS, max(opinions // _AGENTS, 10)
    sizes = {"clients": clients, "agents": agents, "people": clients + agents, "opinions": opinions}
    connection.raw_sql("SELECT setseed(0.5)")
    for statement in _MARKET:
        connection.raw_sql(statement.format(exchanges=_EXCHANGES, normal=_NORMAL, **sizes))


def analyse(
    file: Path, folder: Path, memory: float, tell: Callable[[str], None], *, in_database: bool = False
) -> Engine:
    """Analyse the tables of a database file within a limit of memory, and write the results.

    Args:
        file: The database file.
        folder: Takes arrays, rows that the database spills, and the results.
        memory: The gigabytes.
        tell: Takes a line after each step.
        in_database: Leave the relational steps to the database. Else it only reads the tables.
    """
    budget = Budget.of(memory, folder)

    def told(progress: Progress) -> None:
        spent, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        tell(f"{progress.spent:7.1f} s, {spent:7.1f} s of a processor, {peak:.2f} GiB at most: {progress.step}")

    with DiskArrays(folder, budget.arrays):
        database = Relational.open(f"duckdb://{file}", budget)
        run = Run(tell=told)
        tables = run.step("tables", database.tables)
        if in_database:
            engine = Engine(steps=database, run=run).fit(tables)
            database.runner.close()
        else:
            database.runner.close()
            engine = Engine(run=run).fit(tables)
        run.step("results", lambda: Results.of(engine).write(folder / "results"))
        return engine


def main() -> None:
    """Make a market, and tell what each step of its analysis took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opinions", type=int, help="The number of opinions.")
    parser.add_argument("--memory", type=float, default=4.0, help="The gigabytes of memory.")
    parser.add_argument("--folder", type=Path, help="A folder on a disk with room.")
    parser.add_argument("--in-database", action="store_true", help="Run the relational steps in the database, too.")
    options = parser.parse_args()
    console = Console(width=110)
    with TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < options.opinions * _BYTES:
            raise SystemExit(f"{options.opinions:,} opinions need {options.opinions * _BYTES / 1e9:,.0f} GB of disk")
        file = folder / "market.duckdb"
        connection = ibis.duckdb.connect(file, memory_limit="2GB", threads=2, temp_directory=folder)
        make(connection, options.opinions)
        connection.disconnect()
        console.print(f"{options.opinions:,} opinions, {file.stat().st_size / 1e9:.2f} GB in the database")
        engine = analyse(file, folder, options.memory, console.print, in_database=options.in_database)
        console.print(f"{len(engine.findings_)} findings, {engine.suspicion_.flagged.sum()} flagged accounts")


if __name__ == "__main__":
    main()

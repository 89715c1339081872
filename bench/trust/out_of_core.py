"""`python -m bench.trust.out_of_core 100000000`: the relational steps on DuckDB, in less memory than arrays take.

A market of that size is made inside a database file. Then each step of `bilateral.trust.relational` runs there, with
2.5 GB of memory for the database, or as `--memory` says. It tells the seconds, the seconds of a processor, and the peak
of this process's memory, which holds the database's. Arrays of accounts, which come out, are beside the limit. Trust is
left out: its edges would go in from arrays, 24 bytes each.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

import ibis
import numpy as np
from rich.console import Console

from bilateral.trust.relational import Relational
from bilateral.trust.steps import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bilateral.trust.ledger import Ledger
    from bilateral.trust.steps import Edges, Moves

_CLIENTS: Final = 5
_AGENTS: Final = 50
"""Opinions for each client and each agent, as in `bench.trust.speed`."""

_EXCHANGES: Final = 20
"""Accounts that fund all others, as in `bench.trust.speed`."""

_BYTES: Final = 120
"""The disk of an opinion that a run asks for: its row, its share of accounts and transfers, and room for spilling."""

_MARKET: Final = (
    "CREATE TABLE agents AS SELECT range + 1 AS agent_id, printf('0x%040x', {clients} + range) AS owner "
    "FROM range({agents})",
    "CREATE TABLE feedback AS SELECT range AS id, printf('0x%040x', (least(pow(1 - random(), -1.1) * {clients} * 0.05, "
    "{clients} - 1)::BIGINT * 7919) % {clients}) AS client, "
    "least(pow(1 - random(), -0.77) * {agents} * 0.02, {agents} - 1)::BIGINT + 1 AS agent_id, 'starred' AS tag "
    "FROM range({opinions})",
    "CREATE TABLE transfers AS SELECT CASE WHEN random() < 0.75 THEN printf('0x%040x', {people} + (random() * "
    "{exchanges})::BIGINT) ELSE printf('0x%040x', (random() * {people})::BIGINT) END AS src, "
    "printf('0x%040x', range) AS dst, 1 + random() AS amount, 1.77e9 - random() * 9e6 AS ts FROM range({people})",
    "CREATE TABLE accounts AS SELECT printf('0x%040x', range) AS address, range AS number FROM range({accounts})",
)


@dataclass(frozen=True)
class _Numbers:
    """The numbers of agents and subjects, which are all that the steps read of a ledger."""

    agent_ids: Any
    owner: Any
    subject_kind: Any
    accounts: int
    addresses: None = None
    tags: tuple[str, ...] = ()

    @property
    def constant_tags(self) -> Any:
        """No tag is constant: all values differ."""
        return np.zeros(0, np.int64)

    @property
    def agents(self) -> int:
        return len(self.agent_ids)

    @property
    def subjects(self) -> int:
        """The number of subjects, judged or not."""
        return len(self.subject_kind)


def make(connection: Any, opinions: int) -> tuple[int, int, int]:
    """Make the tables of a market in a database, and return the numbers of its clients, agents and accounts.

    Args:
        connection: An Ibis connection to DuckDB.
        opinions: The number of opinions.
    """
    clients, agents = opinions // _CLIENTS, max(opinions // _AGENTS, 10)
    accounts = clients + agents + _EXCHANGES + 1  # the last exchange, by rounding
    sizes = {"clients": clients, "agents": agents, "people": clients + agents, "opinions": opinions}
    connection.raw_sql("SELECT setseed(0.5)")
    for statement in _MARKET:
        connection.raw_sql(statement.format(exchanges=_EXCHANGES, accounts=accounts, **sizes))
    return clients, agents, accounts


def steps(connection: Any, clients: int, agents: int, size: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each relational step and its name; the next one may need its result.

    Args:
        connection: An Ibis connection to the database of `make`.
        clients: The number of clients.
        agents: The number of agents.
        size: The number of accounts.
    """
    relational = Relational(connection, accounts="accounts")
    kinds = (agents, size, agents, agents, agents)
    numbers = _Numbers(
        agent_ids=np.arange(agents) + 1,
        owner=clients + np.arange(agents),
        subject_kind=np.repeat(np.arange(KINDS, dtype=np.int8), kinds),
        accounts=size,
    )
    ledger, unread = cast("Ledger", numbers), cast("Any", None)
    group = np.full(size, -1, np.int64)

    def first() -> None:
        transfers = relational.first_transfers(cast("Any", range(size)), cast("Moves", unread))
        few = np.bincount(transfers.funder[transfers.funder >= 0], minlength=size) <= 150  # noqa: PLR2004  # as `kinship`
        funded = (transfers.funder >= 0) & few[transfers.funder]
        group[funded] = transfers.funder[funded]

    yield "first transfers", first
    yield "distinct pairs and degrees", lambda: relational.degrees(ledger, cast("Edges", unread))
    yield "co-targeting cells by funder", lambda: relational.cells(ledger, cast("Edges", unread), group, size)


def main() -> None:
    """Make a market, and tell what each step took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opinions", type=int, help="The number of opinions.")
    parser.add_argument("--memory", default="2500MB", help="The memory of DuckDB.")
    options = parser.parse_args()
    console = Console(width=110)
    with TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < options.opinions * _BYTES:
            raise SystemExit(f"{options.opinions:,} opinions need {options.opinions * _BYTES / 1e9:,.0f} GB of disk")
        file = Path(folder) / "market.duckdb"
        connection = ibis.duckdb.connect(file, memory_limit=options.memory, threads=2, temp_directory=folder)
        sizes: list[int] = []
        _told(console, "make the tables", lambda: sizes.extend(make(connection, options.opinions)))
        console.print(f"{file.stat().st_size / 1e9:.2f} GB on disk")
        for name, step in steps(connection, *sizes):
            _told(console, name, step)
        connection.disconnect()


def _told(console: Console, name: str, step: Callable[[], object]) -> None:
    """Run a step, and tell its time and the peak of memory so far."""
    began, worked = time.monotonic(), time.process_time()
    step()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    spent, worked = time.monotonic() - began, time.process_time() - worked
    console.print(f"{name}: {spent:.1f} s, {worked:.1f} s of a processor, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()

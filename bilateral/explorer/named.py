"""Findings of trust analysis as people read them: who acted, about which agents, and when."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from bilateral.index.tables import schema
from bilateral.query.findings import EvidenceRow, Finding, evidence, findings_about, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

SHOWN: Final = 12
"""The findings of an account or agent that a page shows: the strongest ones."""

_NAMED: Final = 3
_TABLES: Final = {table.name: table for table in schema.EVENT_TABLES.values()}


@dataclass(frozen=True, slots=True)
class NamedFinding:
    """A finding that names an account, with who acted and when.

    Attributes:
        chain_id: The chain.
        finding: The finding.
        part: The account's part in it: `actor`, `beneficiary` or `subject`.
        actors: The first accounts that acted.
        agents: The first agents that it is about, by the accounts that own them: short ids. They get no blame.
        moments: The times of the events that it rests on, the first 200, in Unix seconds.
    """

    chain_id: int
    finding: Finding
    part: str
    actors: tuple[str, ...]
    agents: tuple[str, ...]
    moments: tuple[int, ...]


def named_findings(
    connection: Connection, chain_id: int, identity: str, accounts: Iterable[str]
) -> tuple[NamedFinding, ...]:
    """Return the strongest findings that name one of some accounts.

    Args:
        connection: The database.
        chain_id: The chain.
        identity: The identity registry.
        accounts: The accounts, in checksum form.
    """
    named = []
    for finding, part in findings_about(connection, chain_id, identity, accounts)[:SHOWN]:
        of_finding = members(connection, chain_id, identity, finding.id)
        acting = [member.account for member in of_finding if member.part == "actor"][:_NAMED]
        about = [member.account for member in of_finding if member.part != "actor"]
        agents = tuple(agents_of(connection, chain_id, identity, about).values())[:_NAMED]
        times = moments_of(connection, chain_id, evidence(connection, chain_id, identity, finding.id))
        named.append(NamedFinding(chain_id, finding, part, tuple(acting), agents, times))
    return tuple(named)


def agents_of(connection: Connection, chain_id: int, identity: str, accounts: Sequence[str]) -> dict[str, str]:
    """Return the first agent that each account owns, as a short id. Accounts without one are left out.

    Args:
        connection: The database.
        chain_id: The chain.
        identity: The identity registry.
        accounts: The accounts, in checksum form.
    """
    columns = schema.agent.c
    query = select(columns.owner, func.min(columns.agent_id)).where(
        columns.chain_id == chain_id, columns.identity_registry == identity, columns.owner.in_(sorted(set(accounts)))
    )
    rows = connection.execute(query.group_by(columns.owner)).all()
    first = {owner: f"{chain_id}:{int(agent_id)}" for owner, agent_id in rows}
    return {account: first[account] for account in dict.fromkeys(accounts) if account in first}


def moments_of(connection: Connection, chain_id: int, rows: Iterable[EvidenceRow]) -> tuple[int, ...]:
    """Return the times of events, in Unix seconds. Transfers of funds have none in the index.

    Args:
        connection: The database.
        chain_id: The chain.
        rows: The events.
    """
    blocks: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row.table in _TABLES and row.log_index is not None:
            blocks[row.table].append(row.block)
    times: list[int] = []
    for table, wanted in blocks.items():
        columns = _TABLES[table].c
        query = select(columns.block_number, func.max(columns.block_time)).where(
            columns.chain_id == chain_id, columns.block_number.in_(sorted(set(wanted)))
        )
        of_block = dict(connection.execute(query.group_by(columns.block_number)).tuples().all())
        times += [of_block[number] for number in wanted if number in of_block]
    return tuple(sorted(times))

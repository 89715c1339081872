"""Trust analysis findings for human readers: who acted, about which agents, and when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, select

from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.standing.findings import Finding, evidence_of, findings_about, members_of
from bilateral.index.standing.tables import Part

MAX_FINDINGS: Final = 12
"""The maximum number of findings, strongest first, about an account or agent on a page."""

_MAX_NAMES: Final = 3  # names that fit into a finding's row
_ACTIONS: Final = {
    "lockstep": "rated {} together",
    "co-targeting": "rated {} alike, with the same source of funds",
    "links": "rated {}, linked by owner, wallet or funds",
    "wash payments": "paid {}, and the money came back",
    "blocks": "rated each other highly in a circle, and {}",
    "retaliation": "gave {} low ratings in return for criticism",
    "reviewed kin": "are controlled by reviewed accounts, and rated {}",
}
"""Phrases for the behaviour that each detector finds."""

_OTHER_ACTION: Final = "rated {}"
_TABLES: Final = {table.name: table for table in schema.EVENT_TABLES.values()}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding that involves an account, with the accounts that acted and the times.

    Attributes:
        part: The account's role in the finding: `actor`, `beneficiary` or `subject`.
        actors: The first few accounts that acted.
        acted: The number of accounts that acted, counted among the finding's first 200 accounts.
        beneficiaries: The first few agents whose owners benefited, as short ids.
        targets: The first few agents that the finding is about, as short ids. These agents are not blamed.
        moments: The times of the first 200 events that the finding is based on, in Unix seconds.
    """

    chain_id: int
    finding: Finding
    part: str
    actors: tuple[str, ...]
    acted: int
    beneficiaries: tuple[str, ...]
    targets: tuple[str, ...]
    moments: tuple[int, ...]

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that the finding mentions."""
        return self.beneficiaries + self.targets

    @property
    def deed(self) -> tuple[str, str]:
        """The words before and after the agents in a sentence about what the actors did to these agents."""
        before, _, after = _ACTIONS.get(self.finding.detector.replace("_", " "), _OTHER_ACTION).partition("{}")
        return before, after


def findings_of(
    connection: Connection, chain_id: int, identity: str, accounts: Iterable[str]
) -> tuple[FindingRow, ...]:
    """Return the strongest findings that involve any of the given accounts."""
    return with_members(
        connection, chain_id, identity, findings_about(connection, chain_id, identity, accounts)[:MAX_FINDINGS]
    )


def with_members(
    connection: Connection, chain_id: int, identity: str, about: Sequence[tuple[Finding, str]]
) -> tuple[FindingRow, ...]:
    """Return findings with the accounts that acted, the agents concerned, and the times."""
    ids = [finding.id for finding, _ in about]
    by_finding = members_of(connection, chain_id, identity, ids)
    subjects = [member.account for members in by_finding.values() for member in members if member.part != "actor"]
    agents = agents_of(connection, chain_id, identity, subjects)
    times = times_of(connection, chain_id, identity, ids)
    detailed = []
    for finding, part in about:
        members = by_finding.get(finding.id, ())
        acting = [member.account for member in members if member.part == Part.ACTOR]
        gained, targets = (
            tuple(dict.fromkeys(agents[row.account] for row in members if row.part == role and row.account in agents))
            for role in (Part.BENEFICIARY, Part.SUBJECT)
        )
        targets = tuple(agent for agent in targets if agent not in gained)[:_MAX_NAMES]
        firsts = tuple(acting[:_MAX_NAMES]), len(acting), gained[:_MAX_NAMES], targets
        detailed.append(FindingRow(chain_id, finding, part, *firsts, times[finding.id]))
    return tuple(detailed)


def agents_of(connection: Connection, chain_id: int, identity: str, accounts: Sequence[str]) -> dict[str, str]:
    """Return the first agent that each account owns, as a short id. Accounts without agents are left out."""
    columns = agent_tables.agent.c
    query = select(columns.owner, func.min(columns.agent_id)).where(
        columns.chain_id == chain_id, columns.identity_registry == identity, columns.owner.in_(sorted(set(accounts)))
    )
    rows = connection.execute(query.group_by(columns.owner)).all()
    first = {owner: f"{chain_id}:{int(agent_id)}" for owner, agent_id in rows}
    return {account: first[account] for account in dict.fromkeys(accounts) if account in first}


def times_of(
    connection: Connection, chain_id: int, identity: str, finding_ids: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the times of the events behind findings, in Unix seconds. Transfers of funds have no stored times."""
    events = [
        (id_, row.table, row.block)
        for id_, rows in evidence_of(connection, chain_id, identity, finding_ids).items()
        for row in rows
        if row.table in _TABLES and row.log_index is not None
    ]
    time_of: dict[tuple[str, int], int] = {}
    for table in {table for _, table, _ in events}:
        columns = _TABLES[table].c
        blocks = sorted({block for _, of_table, block in events if of_table == table})
        query = select(columns.block_number, func.max(columns.block_time)).where(
            columns.chain_id == chain_id, columns.block_number.in_(blocks)
        )
        rows = connection.execute(query.group_by(columns.block_number))
        time_of |= {(table, block): time for block, time in rows}
    times: dict[str, list[int]] = {id_: [] for id_ in finding_ids}
    for id_, table, block in events:
        if (time := time_of.get((table, block))) is not None:
            times[id_].append(time)
    return {id_: tuple(sorted(of_finding)) for id_, of_finding in times.items()}

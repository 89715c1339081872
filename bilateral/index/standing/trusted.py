"""The judgement of the stored trust analysis about accounts, clusters, and the clients of an agent."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, and_, func, select, union

from bilateral.core.events import NewAuthorizedFeedback
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as events
from bilateral.index.log.lists import in_parts
from bilateral.index.ratings.feedback import VIEW as FEEDBACK
from bilateral.index.reading.registries import AgentKey
from bilateral.index.standing import tables as schema
from bilateral.index.standing.tables import Part, of_registry

MAX_CLIENTS: Final = 5_000
"""The most clients of an agent that are judged. A node ends a call that sums up many more."""

MAX_ACCOUNTS: Final = 200
"""Accounts that an answer names, the most suspicious first: a ring may have thousands."""

_SUSPICION: Final = schema.suspicion
_AUTHORIZED: Final = events.EVENT_TABLES[NewAuthorizedFeedback]
_FALSE: Final = 0.5  # a rating that is false more likely than not
_RANKS_ONLY: Final = frozenset({"tied_by_others", "weak_signs"})
"""The parts of a suspicion that rank an account and never flag it."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """The judgement about an account. It is a reason to look, not a verdict.

    Attributes:
        suspicion: Its rank. If it is flagged, the sum of its parts, 2 or more: digits by which findings lie below a
            false discovery rate of 1, and weak signs. Else from 0 to 1.9, by weak signs alone, which see the other
            parts. 0 if it never acted, or if people found it innocent; 99 if they found it guilty.
        is_flagged: True if the analysis flags it.
        cluster: Its cluster; None if it is in none.
        trust: The trust that reaches it from the reader's list; None if none does, or without a list.
        parts: The share of each detector. `tied_by_others` and `weak_signs` only rank.
    """

    account: str
    suspicion: float
    is_flagged: bool
    cluster: int | None
    trust: float | None
    parts: dict[str, float]

    @property
    def detectors(self) -> tuple[str, ...]:
        """The detectors whose findings name it."""
        return tuple(name for name in self.parts if name not in _RANKS_ONLY)


@dataclass(frozen=True, slots=True)
class TrustedClients:
    """The clients whose feedback about an agent should count, as `getSummary` takes them (ERC-8004).

    Attributes:
        block_number: The block of the analysis. Clients of later feedback are not judged, and left out.
        clients: The accounts that count, the most trusted first.
        left_out: The accounts that gave feedback and do not count.
        by_list: True if the analysis spread trust from a reader's list. Without one, nothing withstands Sybils that no
            detector finds.
        is_complete: False if the agent has more clients than are judged.
    """

    agent: str
    block_number: int
    clients: tuple[str, ...]
    left_out: tuple[str, ...]
    by_list: bool
    is_complete: bool


def suspect(connection: Connection, chain_id: int, identity: str, account: str) -> Suspect:
    """Return the judgement about an account. An account that never acted has no suspicion."""
    query = _judgements(chain_id, identity).where(_SUSPICION.c.account == account)
    row = connection.execute(query).mappings().first()
    return Suspect(account, 0.0, False, None, None, {}) if row is None else _suspect(row)


def flagged_accounts(
    connection: Connection, chain_id: int, identity: str, among: Iterable[str] | None = None
) -> frozenset[str]:
    """Return the accounts that an analysis flags: those among some accounts, or the first 5,000."""
    columns = _SUSPICION.c
    query = _judgements(chain_id, identity).with_only_columns(columns.account).where(columns.is_flagged.is_(True))
    query = query.limit(5_000) if among is None else query.where(columns.account.in_(sorted(set(among))))
    return frozenset(connection.execute(query).scalars())


def cluster_accounts(connection: Connection, chain_id: int, identity: str, cluster: int) -> tuple[Suspect, ...]:
    """Return the accounts of a cluster, the most suspicious first: the first 200."""
    columns = _SUSPICION.c
    query = _judgements(chain_id, identity).where(columns.cluster == cluster)
    query = query.order_by(columns.suspicion.desc(), columns.account).limit(MAX_ACCOUNTS)
    return tuple(_suspect(row) for row in connection.execute(query).mappings())


def _judgements(chain_id: int, identity: str) -> Select[Any]:
    return select(_SUSPICION).where(*of_registry(_SUSPICION, chain_id, identity))


def _suspect(row: RowMapping) -> Suspect:
    fields = {name: row[name] for name in ("account", "suspicion", "is_flagged", "cluster", "trust")}
    return Suspect(**fields, parts=json.loads(row["parts"]))


def trusted_clients(connection: Connection, key: AgentKey) -> TrustedClients | None:
    """Return the clients of an agent whose feedback should count; None without an analysis.

    The rule is that of `bilateral.trust.policy`, on the stored results: a client is left out if it is flagged, if its
    feedback about this agent is probably false, or if it owns the agent; with a list, also if no trust reaches it.
    """
    analysis, agent = schema.analysis, agent_tables.agent
    of = (key.chain_id, key.identity_registry)
    run = connection.execute(select(analysis).where(*of_registry(analysis, *of))).mappings().first()
    if run is None:
        return None
    client = _feedback_up_to(key, run["block_number"]).c.client
    clients = list(connection.execute(select(client).distinct().limit(MAX_CLIENTS + 1)).scalars())
    judged = _judged(connection, key, clients[:MAX_CLIENTS])
    owner = connection.execute(select(agent.c.owner).where(*key.of(agent.c))).scalar_one_or_none()
    left_out = {owner} | _false_clients(connection, key, run, judged)
    left_out |= {account for account, row in judged.items() if row["is_flagged"]}
    by_list = run["trusted_accounts"] > 0
    if by_list:
        left_out |= {account for account in clients if account not in judged or judged[account]["trust"] is None}

    def rank(account: str) -> tuple[float, str]:
        if account not in judged:
            return 0.0, account
        return (-judged[account]["trust"] if by_list else judged[account]["suspicion"]), account

    considered = set(clients[:MAX_CLIENTS])
    chosen = tuple(sorted(considered - left_out, key=rank))
    is_complete = len(clients) <= MAX_CLIENTS
    return TrustedClients(
        key.id, run["block_number"], chosen, tuple(sorted(considered & left_out)), by_list, is_complete
    )


def _feedback_up_to(key: AgentKey, block: int) -> Any:
    """Return the client and the place of each feedback on an agent that an analysis up to a block saw."""
    parts = []
    for table, further in ((FEEDBACK, [FEEDBACK.c.is_revoked.is_(False)]), (_AUTHORIZED, [])):
        columns = table.c.client_address.label("client"), table.c.block_number, table.c.log_index
        parts.append(select(*columns).where(*key.in_registries(table.c), table.c.block_number <= block, *further))
    return union(*parts).subquery("given")


def _judged(connection: Connection, key: AgentKey, clients: list[str]) -> Mapping[str, RowMapping]:
    query = _judgements(key.chain_id, key.identity_registry)
    rows = (connection.execute(query.where(_SUSPICION.c.account.in_(part))).mappings() for part in in_parts(clients))
    return {row["account"]: row for row in chain.from_iterable(rows)}


def _false_clients(
    connection: Connection, key: AgentKey, run: RowMapping, judged: Mapping[str, RowMapping]
) -> set[str]:
    """Return the accounts whose feedback on an agent is probably false, by the findings that they acted in."""
    ratings = _feedback_up_to(key, run["block_number"])
    member, event, finding = schema.finding_member, schema.finding_row, schema.finding
    same_finding = ("chain_id", "identity_registry", "finding_id")
    query = (
        select(ratings.c.client, func.max(finding.c.strength))
        .select_from(ratings)
        .join(event, and_(*(event.c[name] == ratings.c[name] for name in ("block_number", "log_index"))))
        .join(finding, and_(*(finding.c[name] == event.c[name] for name in same_finding)))
        .join(member, and_(*(member.c[name] == event.c[name] for name in same_finding)))
        .where(*of_registry(event, key.chain_id, key.identity_registry), member.c.account == ratings.c.client)
        .where(event.c.table_name.in_(["new_feedback", "new_authorized_feedback"]), member.c.part == Part.ACTOR)
        .group_by(ratings.c.client)
    )
    false = set()
    for client, strength in connection.execute(query):
        row = judged.get(client)
        if row is None or row["suspicion"] == 0:
            continue  # people reviewed it, and found it innocent
        evidence = sum(part for name, part in json.loads(row["parts"]).items() if name not in _RANKS_ONLY)
        claimed, certainty = (min(figure / (2 * run["threshold"]), 1.0) for figure in (strength, evidence))
        if max(claimed, certainty * min(1.0, 2 * claimed)) >= _FALSE:
            false.add(client)
    return false

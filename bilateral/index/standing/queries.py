"""Agents' stored standings, and what trust analysis found about accounts, clusters and an agent's clients."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, and_, func, insert, select, union, update

from bilateral.core.events import NewAuthorizedFeedback
from bilateral.core.text import printable
from bilateral.core.values.standing import Currency, Side, Standing, StandingReason, StandingsState, Status
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as events
from bilateral.index.log.dialects import in_parts
from bilateral.index.ratings.feedback import VIEW as FEEDBACK
from bilateral.index.reading.registries import AgentKey, Registries, numbers_by_chain
from bilateral.index.standing import tables as schema
from bilateral.index.standing.tables import AnalysisKey, Part, of_registry, standing, standing_refresh
from bilateral.index.standing.words import MARKS, why

_MAX_PROBLEM: Final = 500
"""The maximum number of characters of a problem to store."""

STALE_SECONDS: Final = 600.0
"""The number of seconds by which standings may lag behind the chain before they count as stale."""

_STALE_REFRESHES: Final = 3
"""The lag, in refresh durations, below which standings are not stale. In large indexes, refreshes take long."""


def stored_standing(
    connection: Connection, chain_id: int, identity: str, agent_id: int, side: str = "server"
) -> Standing | None:
    """Return an agent's standing on one side, with the standing's block and time; None before the first analysis."""
    same = [standing_refresh.c[name] == standing.c[name] for name in ("chain_id", "identity_registry")]
    query = (
        select(standing, standing_refresh.c.block_number, standing_refresh.c.made_at)
        .join(standing_refresh, and_(*same))
        .where(standing.c.chain_id == chain_id, standing.c.identity_registry == identity)
        .where(standing.c.side == side, standing.c.agent_id == agent_id)
    )
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    values = {**row, "agent_id": int(row["agent_id"]), "lower": row["lower_bound"], "upper": row["upper_bound"]}
    return Standing.of(values, row["block_number"], row["made_at"])


def standings_of(connection: Connection, key: AgentKey) -> tuple[Standing, ...]:
    """Return an agent's standing as a server and, if rated as one, as a client; empty before the first analysis."""
    of_sides = (stored_standing(connection, key.chain_id, key.identity_registry, key.agent_id, side) for side in Side)
    return tuple(stored for stored in of_sides if stored is not None and (stored.side == Side.SERVER or stored.raters))


@dataclass(frozen=True, slots=True)
class Doubt:
    """An agent's doubtful status, with which every list marks the agent.

    Attributes:
        status: `held_back` or `contested`.
        side: The side for which the agent has this status, `server` or `client`.
        sentence: The reason, in one sentence.
    """

    status: str
    side: str
    sentence: str


def doubts_of(connection: Connection, registries: Registries, ids: Iterable[str | None]) -> dict[str, Doubt]:
    """Return the doubts about those given agents that are held back or contested, keyed by short id.

    For an agent that is doubted on both sides, `held_back` takes precedence over `contested`; if both statuses are
    equal, the server side takes precedence.
    """
    columns, doubts = standing.c, dict[str, Doubt]()
    for chain_id, requested in numbers_by_chain(ids).items():
        query = select(columns.agent_id, columns.side, columns.status, columns.reasons).where(
            columns.chain_id == chain_id,
            columns.identity_registry == registries.identity_of(chain_id),
            columns.side.in_(tuple(Side)),
            columns.status.in_(tuple(MARKS)),
        )
        for part in in_parts(requested):
            rows = connection.execute(query.where(columns.agent_id.in_(part)))
            for row in sorted(rows, key=lambda row: (row.status == Status.HELD_BACK, row.side)):
                reasons = (StandingReason(**reason) for reason in json.loads(row.reasons))
                doubts[f"{chain_id}:{int(row.agent_id)}"] = Doubt(row.status, row.side, why(row.status, reasons))
    return doubts


def chains_with_standings(connection: Connection, chains: Sequence[int], side: str) -> list[int]:
    """Return the chains on which agents have standings on a side."""
    columns = standing.c
    queries = {chain_id: (columns.chain_id == chain_id, columns.side == side) for chain_id in chains}
    query = select(columns.side).limit(1)
    return [chain_id for chain_id, of in queries.items() if connection.execute(query.where(*of)).first()]


def analysed_chains(connection: Connection, chains: Sequence[int]) -> list[int]:
    """Return those of the given chains that have been analysed."""
    columns = standing_refresh.c
    query = select(columns.chain_id).where(columns.chain_id.in_(chains), columns.block_number.is_not(None)).distinct()
    analysed = set(connection.execute(query).scalars())
    return [chain_id for chain_id in chains if chain_id in analysed]


def statuses(
    connection: Connection, keys: Sequence[tuple[int, str, int]], side: str = "server"
) -> dict[tuple[int, str, int], tuple[str, float, str | None, float | None]]:
    """Return the agents' status, lower bound, main reason and rating, keyed by chain, registry and id."""
    columns = standing.c
    key = columns.chain_id, columns.identity_registry, columns.agent_id
    is_requested = [
        column.in_(sorted(set(values))) for column, values in zip(key, zip(*keys, strict=True), strict=True)
    ]
    query = select(*key, columns.status, columns.lower_bound, columns.reasons, columns.rating)
    rows = connection.execute(query.where(*is_requested, columns.side == side))
    return {(row[0], row[1], int(row[2])): (row[3], row[4], first_code(row[5]), row[6]) for row in rows}


def first_code(reasons: str | None) -> str | None:
    """Return the code of the main reason in a standing's stored reasons."""
    listed: list[dict[str, Any]] = json.loads(reasons or "[]")
    return listed[0]["code"] if listed else None


def identity_registries(connection: Connection) -> list[AnalysisKey]:
    """Return the identity registries whose agents are in an index, sorted by chain and address."""
    table = events.registry
    query = select(table.c.chain_id, table.c.identity_registry).distinct()
    return [AnalysisKey(*row) for row in connection.execute(query.order_by(*query.selected_columns))]


def stored_problem(connection: Connection, key: AnalysisKey) -> str | None:
    """Return the problem that is recorded for a registry; None if there is none."""
    return connection.execute(select(standing_refresh.c.problem).where(key.of(standing_refresh))).scalar_one_or_none()


def standings_states(connection: Connection, chain_id: int | None = None) -> dict[int, StandingsState]:
    """Return the state of each chain's standings. If a chain has several registries, the oldest state is returned."""
    columns, chain = standing_refresh.c, events.chain.c
    query = (
        select(columns.chain_id, columns.block_number, columns.made_at, columns.problem, columns.seconds)
        .add_columns(chain.block_number)
        .join(events.chain, chain.chain_id == columns.chain_id)
        .order_by(columns.made_at.desc().nulls_last())
    )
    if chain_id is not None:  # then no other chain's server is queried
        query = query.where(columns.chain_id == chain_id)
    states: dict[int, StandingsState] = {}
    for number, block, made_at, problem, seconds, head in connection.execute(query):
        states[number] = StandingsState(block, made_at, problem, _currency(block, made_at, seconds or 0.0, head))
    return states


def _currency(block: int | None, made_at: int | None, seconds: float, head: int) -> Currency:
    if block is None or made_at is None:
        return Currency.MISSING
    is_late = time.time() - made_at > max(STALE_SECONDS, _STALE_REFRESHES * seconds)
    return Currency.STALE if block < head and is_late else Currency.CURRENT


def note_problem(connection: Connection, key: AnalysisKey, problem: str | None) -> None:
    """Record why the last analysis of a registry failed; None if it succeeded."""
    reported = None if problem is None else printable(problem)[:_MAX_PROBLEM]
    note(connection, key, {"problem": reported, "problem_at": None if reported is None else int(time.time())})


def note(connection: Connection, key: AnalysisKey, values: Mapping[str, Any]) -> None:
    """Write values to the refresh state of a registry's standings."""
    if connection.execute(update(standing_refresh).where(key.of(standing_refresh)).values(**values)).rowcount == 0:
        connection.execute(insert(standing_refresh).values(**key.columns, **values))


MAX_CLIENTS: Final = 5_000
"""The maximum number of an agent's clients to judge. Nodes abort `getSummary` calls for many more clients."""

MAX_ACCOUNTS: Final = 200
"""The maximum number of accounts in a response, because a ring may have thousands."""

_SUSPICION: Final = schema.suspicion
_AUTHORIZED: Final = events.EVENT_TABLES[NewAuthorizedFeedback]
_FALSE: Final = 0.5  # above this, a rating is more likely false than not
_RANKS_ONLY: Final = frozenset({"tied_by_others", "weak_signs"})
"""The parts of a suspicion that only rank an account and never flag it."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """The assessment of an account, which is a reason to investigate rather than a verdict.

    Attributes:
        suspicion: The value that ranks accounts. For a flagged account, it is at least 2 and the sum of `parts`: weak
            signs, and the negative base-10 logarithms of its findings' false discovery rates. For other accounts, it is
            between 0 and 1.9, based only on weak signs, which take the other parts into account. It is 0 if the account
            never acted or human reviewers cleared it, and 99 if reviewers confirmed a violation.
        is_flagged: True if the analysis flags the account.
        cluster: The account's cluster; None if the account is in no cluster.
        trust: The trust that reaches the account from the list of trusted accounts; None if none does or there is no
            list.
        parts: Each detector's share of the suspicion. `tied_by_others` and `weak_signs` only affect the rank.
    """

    account: str
    suspicion: float
    is_flagged: bool
    cluster: int | None
    trust: float | None
    parts: dict[str, float]

    @property
    def detectors(self) -> tuple[str, ...]:
        """The detectors whose findings include the account."""
        return tuple(name for name in self.parts if name not in _RANKS_ONLY)


@dataclass(frozen=True, slots=True)
class TrustedClients:
    """The clients whose feedback on an agent should count, in the form of `getSummary` (ERC-8004).

    Attributes:
        block_number: The block of the analysis. Clients that gave feedback only later are left out.
        clients: The accounts whose feedback should count, most trusted first.
        left_out: The accounts whose feedback should not count.
        by_list: True if the analysis spread trust from a list of trusted accounts. Without a list, nothing protects
            against fake accounts (Sybils) that the detectors miss.
        is_complete: False if the agent has more clients than were judged.
    """

    agent: str
    block_number: int
    clients: tuple[str, ...]
    left_out: tuple[str, ...]
    by_list: bool
    is_complete: bool


def suspect(connection: Connection, chain_id: int, identity: str, account: str) -> Suspect:
    """Return the assessment of an account. An account that never acted has a suspicion of 0."""
    query = _judgements(chain_id, identity).where(_SUSPICION.c.account == account)
    row = connection.execute(query).mappings().first()
    return Suspect(account, 0.0, False, None, None, {}) if row is None else _suspect(row)


def flagged_accounts(
    connection: Connection, chain_id: int, identity: str, among: Iterable[str] | None = None
) -> frozenset[str]:
    """Return the flagged accounts in an analysis: those in `among` or, without that argument, the first 5,000."""
    columns = _SUSPICION.c
    query = _judgements(chain_id, identity).with_only_columns(columns.account).where(columns.is_flagged.is_(True))
    query = query.limit(5_000) if among is None else query.where(columns.account.in_(sorted(set(among))))
    return frozenset(connection.execute(query).scalars())


def cluster_accounts(connection: Connection, chain_id: int, identity: str, cluster: int) -> tuple[Suspect, ...]:
    """Return a cluster's first 200 accounts, most suspicious first."""
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
    """Return the clients whose feedback on an agent should count; None if there is no analysis.

    The rule in `bilateral.trust.policy` is applied to the stored results: a client is left out if it is flagged, if its
    feedback on this agent is probably false, if it owns the agent, or if no trust from the list reaches it.
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
    """Return the client and position of all feedback on an agent that an analysis up to a block includes."""
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
    """Return the accounts whose feedback on an agent is probably false according to findings in which they acted."""
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
            continue  # human reviewers found the account innocent
        evidence = sum(part for name, part in json.loads(row["parts"]).items() if name not in _RANKS_ONLY)
        claimed, certainty = (min(figure / (2 * run["threshold"]), 1.0) for figure in (strength, evidence))
        if max(claimed, certainty * min(1.0, 2 * claimed)) >= _FALSE:
            false.add(client)
    return false

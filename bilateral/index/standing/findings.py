"""The stored results of trust analysis: findings, clusters and scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, func, select, union_all

from bilateral.index.reading.registries import hexadecimal
from bilateral.index.standing import tables as schema
from bilateral.index.standing.tables import Part, of_registry

MAX_FINDINGS: Final = 100
"""The maximum number of findings on a page."""

MAX_ROWS: Final = 200
"""The maximum number of members, and of evidence rows, of a finding in one response."""


@dataclass(frozen=True, slots=True)
class AnalysisRun:
    """A stored analysis of an identity registry.

    Attributes:
        identity_registry: The identity registry whose agents were analysed.
        block_number: The last block that the analysis includes.
        made_at: The time of the analysis, in Unix seconds.
        agents: The number of agents.
        opinions: The number of feedback entries, ratings and validations.
        threshold: The suspicion at or above which an account is flagged.
        flagged: The number of accounts that the analysis flags.
        findings: The number of findings in the analysis.
    """

    chain_id: int
    identity_registry: str
    block_number: int
    made_at: int
    agents: int
    opinions: int
    threshold: float
    flagged: int
    findings: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the trust analysis.

    Attributes:
        id: The id of the finding, which links to its page contain.
        detector: The detector that produced the finding.
        q_value: The false discovery rate at which the finding is significant.
        statistic: The statistic on which the finding is based.
        sentence: A sentence that describes the finding.
        members: The number of accounts in the finding.
    """

    id: str
    detector: str
    q_value: float
    strength: float
    statistic: str
    sentence: str
    members: int


@dataclass(frozen=True, slots=True)
class Member:
    """An account in a finding.

    Attributes:
        part: The account's role: `actor`, `beneficiary` or `subject`.
    """

    account: str
    part: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """An event on which a finding is based.

    Attributes:
        table: The kind of table row that records the event.
        log_index: The event's position in the block; None for a transfer of funds.
        transaction: The event's transaction; None if unknown.
    """

    table: str
    block: int
    log_index: int | None
    transaction: str | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Accounts that seem to be under common control.

    Attributes:
        cluster: The cluster's number, a digest of its members, which changes only if the members change.
        accounts: The number of accounts in the cluster.
        flagged: The number of flagged accounts in the cluster.
        suspicion: The highest suspicion of an account in the cluster.
    """

    cluster: int
    accounts: int
    flagged: int
    suspicion: float


@dataclass(frozen=True, slots=True)
class TrustScore:
    """An agent's score, from which false ratings are excluded.

    Attributes:
        side: The role in which the agent was rated: `server`, `client` or `validator`.
        score: The score; None if the agent has no opinions that count.
        raters: The number of raters.
        effective: The effective number of raters: raters who are not independent count less.
        status: `ok`, `thin evidence`, `contested` or `flagged`.
    """

    side: str
    score: float | None
    lower_bound: float | None
    raters: int
    effective: float
    status: str


def analysis_run(connection: Connection, chain_id: int, identity: str) -> AnalysisRun | None:
    """Return the stored analysis of an identity registry; None if there is none."""
    run, suspicion, finding = schema.analysis, schema.suspicion, schema.finding
    names = ("chain_id", "identity_registry", "block_number", "made_at", "agents", "opinions", "threshold")
    query = select(*(run.c[name] for name in names)).where(*of_registry(run, chain_id, identity))
    row = connection.execute(query).first()
    if row is None:
        return None
    flagged = select(func.count()).where(*of_registry(suspicion, chain_id, identity), suspicion.c.is_flagged.is_(True))
    findings = select(func.count()).where(*of_registry(finding, chain_id, identity))
    return AnalysisRun(*row, *(connection.execute(counting).scalar_one() for counting in (flagged, findings)))


def findings(connection: Connection, chain_id: int, identity: str, *finding_ids: str) -> tuple[Finding, ...]:
    """Return an analysis's 100 strongest findings, strongest first, or only the findings with the given ids."""
    finding, member = schema.finding, schema.finding_member
    count = (
        select(func.count())
        .where(*of_registry(member, chain_id, identity), member.c.finding_id == finding.c.finding_id)
        .correlate(finding)
        .scalar_subquery()
    )
    names = ("finding_id", "detector", "q_value", "strength", "statistic", "sentence")
    query = select(*(finding.c[name] for name in names), count).where(*of_registry(finding, chain_id, identity))
    if finding_ids:
        query = query.where(finding.c.finding_id.in_(finding_ids))
    rows = connection.execute(query.order_by(finding.c.strength.desc(), finding.c.finding_id).limit(MAX_FINDINGS))
    return tuple(Finding(*values) for values in map(tuple, rows))


def findings_about(
    connection: Connection, chain_id: int, identity: str, accounts: Iterable[str]
) -> tuple[tuple[Finding, str], ...]:
    """Return the findings in which one of the given accounts occurs, each with the account's role in the finding."""
    member = schema.finding_member
    rows = connection.execute(
        select(member.c.finding_id, member.c.part)
        .where(*of_registry(member, chain_id, identity), member.c.account.in_(sorted(accounts)))
        .limit(MAX_FINDINGS)
    )
    ranked = sorted(
        rows, key=lambda row: tuple(Part).index(row.part), reverse=True
    )  # the gravest role among several accounts
    parts = {row.finding_id: row.part for row in ranked}
    matching = findings(connection, chain_id, identity, *sorted(parts)) if parts else ()
    return tuple((finding, parts[finding.id]) for finding in matching)


def members_of(
    connection: Connection, chain_id: int, identity: str, finding_ids: Iterable[str]
) -> dict[str, tuple[Member, ...]]:
    """Return the accounts in each finding, up to the first 200."""
    rows = _first_rows(connection, schema.finding_member, (chain_id, identity), finding_ids, ("part", "account"))
    return {id_: tuple(Member(row.account, row.part) for row in some) for id_, some in rows.items()}


def evidence_of(
    connection: Connection, chain_id: int, identity: str, finding_ids: Iterable[str]
) -> dict[str, tuple[EvidenceRow, ...]]:
    """Return up to 200 of the events on which each finding is based. See `members_of`."""
    names = ("position", "table_name", "block_number", "log_index", "transaction_hash")
    rows = _first_rows(connection, schema.finding_row, (chain_id, identity), finding_ids, names)
    return {
        id_: tuple(EvidenceRow(table, block, log, hexadecimal(hash_)) for _, _, table, block, log, hash_ in of_finding)
        for id_, of_finding in rows.items()
    }


def clusters(connection: Connection, chain_id: int, identity: str) -> tuple[Cluster, ...]:
    """Return an analysis's 100 most suspicious clusters of accounts, most suspicious first."""
    suspicion = schema.suspicion
    flagged = func.sum(func.coalesce(suspicion.c.is_flagged.cast(schema.analysis.c.trusted_accounts.type), 0))
    rows = connection.execute(
        select(suspicion.c.cluster, func.count(), flagged, func.max(suspicion.c.suspicion))
        .where(*of_registry(suspicion, chain_id, identity), suspicion.c.cluster.is_not(None))
        .group_by(suspicion.c.cluster)
        .order_by(func.max(suspicion.c.suspicion).desc(), suspicion.c.cluster)
        .limit(MAX_FINDINGS)
    )
    return tuple(Cluster(int(number), count, int(some), worst) for number, count, some, worst in rows)


def trust_scores(
    connection: Connection, chain_id: int, identity: str, subjects: Iterable[str]
) -> tuple[TrustScore, ...]:
    """Return an agent's scores, which exclude false ratings."""
    columns = schema.trust_score.c
    names = ("side", "score", "lower_bound", "raters", "effective", "status")
    query = select(*(columns[name] for name in names)).where(*of_registry(schema.trust_score, chain_id, identity))
    query = query.where(columns.side.in_(["server", "client", "validator"]), columns.subject.in_(sorted(subjects)))
    return tuple(TrustScore(*row) for row in connection.execute(query.order_by(columns.side)))


def _first_rows(
    connection: Connection, table: Table, place: tuple[int, str], finding_ids: Iterable[str], names: Sequence[str]
) -> dict[str, list[Row[*tuple[Any, ...]]]]:
    """Return each finding's first 200 rows in the order of the given columns, using a single statement."""
    columns = [table.c[name] for name in names]
    first = [
        select(table.c.finding_id, *columns)
        .where(*of_registry(table, *place), table.c.finding_id == finding_id)
        .order_by(*columns[:2])
        .limit(MAX_ROWS)
        .subquery()
        for finding_id in sorted(finding_ids)
    ]
    rows: dict[str, list[Row[*tuple[Any, ...]]]] = {}
    if first:
        for row in connection.execute(union_all(*map(select, first))):
            rows.setdefault(row.finding_id, []).append(row)
    for of_finding in rows.values():
        of_finding.sort(key=lambda row: row[1:3])  # databases do not guarantee the order of a union
    return rows

"""A chain as of a block. Everything that a check reads, including the trust analysis, is limited to that block."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Connection, Table, Text, and_, bindparam, func, literal_column, select, union_all

from bilateral.checks.errors import BlockNotHeldError, FindingsNotHeldError, OtherHistoryError, UnknownChainError
from bilateral.checks.verdicts import DAY, AsOf, BuyerRecord, EventEvidence, Finding, FoundFindings
from bilateral.core.events import Event
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import unindexed
from bilateral.index.reading.prepared import Prepared, at_most
from bilateral.index.reading.registries import canonical_first
from bilateral.index.standing import tables
from bilateral.index.standing.tables import Part

_MOST_FINDINGS: Final = 5  # only the strongest matter, and each needs a query for its evidence
_EXAMPLES: Final = 3  # examples per finding; enough to understand it
_RUN: Final = tables.analysis.c
_ANALYSES: Final = Prepared(
    select(_RUN.identity_registry, _RUN.block_number, _RUN.run, _RUN.seen_block)
    .add_columns(_RUN.first_run, _RUN.first_seen_block)
    .where(_RUN.chain_id == bindparam("chain_id"))
)
_EVENTS: Final = {table.name: (event.abi_name, table) for event, table in schema.EVENT_TABLES.items()}
"""The event tables by table name, each with the Solidity name of its events."""

_ANY: Final = 2**63 - 1  # the largest BIGINT

IDENTITY: Final = "IdentityRegistry"
OPEN_REGISTRIES: Final = ("ReputationRegistry", "BidirectionalReputationRegistry")
AUTHORIZED: Final = "AuthorizedReputationRegistry"
VALIDATION: Final = "ValidationRegistry"


@dataclass(frozen=True)
class AsOfBlock:
    """A chain as of a block.

    Attributes:
        connection: A connection from `snapshot`, used to read the chain.
        is_head: True if this is the last indexed block, whose state the derived tables contain.
        history: The hash of the block that contains the last event up to this block; None before the first event.
        time: The time of that event, in Unix seconds; None before the first event.
        files: The newest file observation that counts; None to count all up to the block.
        payments: The last block whose payments count; None to count all that were stored as of the block.
        analysis: The newest trust analysis that counts; None for the newest as of the block.
        measurements: The newest measurement that counts; None to count all up to the block.
        registries: The chain's registries, oldest first: address, kind, and address of the identity registry.
    """

    connection: Connection = field(compare=False, repr=False)
    chain_id: int
    block: int
    is_head: bool
    history: bytes | None
    time: int | None
    files: int | None = None
    payments: int | None = None
    analysis: int | None = None
    measurements: int | None = None
    registries: tuple[tuple[str, str, str | None], ...] = field(default=(), compare=False, repr=False)

    @property
    def bounds(self) -> dict[str, Any]:
        """The parameters of the condition that `covering` returns."""
        return {"chain_id": self.chain_id, "block": self.block}

    @property
    def newest_file(self) -> int:
        """The newest file observation that counts: `files` if set, or else the largest possible number."""
        return _ANY if self.files is None else self.files

    @property
    def newest_measurement(self) -> int:
        """The newest measurement that counts: `measurements` if set, or else the largest possible number."""
        return _ANY if self.measurements is None else self.measurements

    def seconds_since(self, time: int) -> int:
        """Return the number of seconds from a time to the block's time."""
        return (self.time or time) - time

    def days_since(self, time: int) -> int:
        """Return the number of full days from a time to the block's time."""
        return max(0, self.seconds_since(time)) // DAY

    def stamp(self, **newest: int) -> AsOf:
        """Return an answer's `AsOf`, with the newest input of each kind that the answer used."""
        history = None if self.history is None else "0x" + self.history.hex()
        return AsOf(self.chain_id, self.block, history, self.time, **newest)


class Findings(Protocol):
    """A source of trust analysis findings.

    The source may return only facts as of the block, so that answers can be reproduced.
    """

    def __call__(self, connection: Connection, as_of: AsOfBlock, accounts: Sequence[str]) -> FoundFindings:
        """Return the findings about some accounts as of a block."""


class BuyerRecords(Protocol):
    """A source of buyers' records."""

    def __call__(self, connection: Connection, as_of: AsOfBlock, account: str) -> BuyerRecord | None:
        """Return a buyer's record as of a block; None if there is none."""


def as_of_block(  # noqa: PLR0913  # one a source of an answer
    connection: Connection,
    chain_id: int | None,
    at_block: int | None = None,
    *,
    history: bytes | None = None,
    files: int | None = None,
    payments: int | None = None,
    analysis: int | None = None,
    measurements: int | None = None,
) -> AsOfBlock:
    """Return the chain as of a check's block."""
    records = [] if chain_id is None else _CHAIN.records(connection, {"chain_id": chain_id})
    records = records or _CHAINS.records(connection, {})
    rows = {row.chain_id: row for row in records}
    if chain_id is None and len(rows) == 1:
        (chain_id,) = rows
    row = None if chain_id is None else rows.get(chain_id)
    if chain_id is None or row is None:
        raise UnknownChainError(chain_id, sorted(rows))
    block = row.block_number if at_block is None else at_block
    # The cursor of a chain without indexed blocks is one before its first block.
    if not row.first_block - 1 <= block <= row.block_number:
        raise BlockNotHeldError(block, row.first_block, row.block_number)
    last = _last_event(connection, chain_id, block)
    as_of = AsOfBlock(
        connection=connection,
        chain_id=chain_id,
        block=block,
        is_head=block == row.block_number,
        history=None if last is None else bytes(last.block_hash),
        time=None if last is None else last.block_time,
        files=files,
        payments=payments,
        analysis=analysis,
        measurements=measurements,
        registries=tuple(
            (record.address, record.kind, record.identity_registry)
            for record in records
            if record.chain_id == chain_id and record.address is not None
        ),
    )
    if history is not None and history != as_of.history:
        raise OtherHistoryError(block)
    return as_of


def covering(table: Table) -> ColumnElement[bool]:
    """Return the condition that selects an event table's rows up to a block. Its parameters are in `bounds`."""
    # Without this, SQLite would look rows up by block, although nearly all rows precede the block.
    return (table.c.chain_id == bindparam("chain_id")) & (unindexed(table.c.block_number) <= bindparam("block"))


def place_of(table: Table) -> tuple[ColumnElement[Any], ...]:
    """Return the columns that `evidence_of` needs, and the event's time."""
    names = ("registry", "block_number", "log_index", "transaction_hash", "block_time")
    return tuple(table.c[name] for name in names)


def event_label(event: type[Event]) -> ColumnElement[str]:
    """Return the column that contains an event's class."""
    return literal_column(f"'{event.__name__}'", Text).label("event")


def registries(as_of: AsOfBlock, identity: str) -> dict[str, str]:
    """Return the kinds of the registries that belong to an identity registry, keyed by address."""
    return {address: kind for address, kind, of in as_of.registries if of == identity}


def identity_registries(as_of: AsOfBlock) -> list[str]:
    """Return the chain's identity registries. The first one is the default for ids without a registry."""
    return canonical_first(as_of.chain_id, [address for address, kind, _ in as_of.registries if kind == IDENTITY])


def evidence_of(event: str, row: Any) -> EventEvidence:
    """Return an event as evidence."""
    return EventEvidence(event, row.registry, row.block_number, row.log_index, "0x" + bytes(row.transaction_hash).hex())


def _newest_events() -> Any:
    parts = []
    for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log):
        columns = (table.c.block_number, table.c.log_index, table.c.block_hash, table.c.block_time)
        newest = (
            select(*columns)
            .where(table.c.chain_id == bindparam("chain_id"), table.c.block_number <= bindparam("block"))
            .order_by(table.c.block_number.desc(), table.c.log_index.desc())
            .limit(at_most(1))
            .subquery()
        )
        parts.append(select(newest))
    return union_all(*parts)


_NEWEST_EVENTS: Final = Prepared(_newest_events())

_IN_CHAINS: Final = (
    select(schema.chain.c.chain_id, schema.chain.c.first_block, schema.chain.c.block_number)
    .add_columns(schema.registry.c.address, schema.registry.c.kind, schema.registry.c.identity_registry)
    .outerjoin(schema.registry, schema.registry.c.chain_id == schema.chain.c.chain_id)
    .order_by(schema.registry.c.first_block, schema.registry.c.address)
)
_CHAINS: Final = Prepared(_IN_CHAINS)
_CHAIN: Final = Prepared(_IN_CHAINS.where(schema.chain.c.chain_id == bindparam("chain_id")))
"""The statement that reads one chain, without querying the database servers of other chains."""


def _last_event(connection: Connection, chain_id: int, block: int) -> Any:
    rows = _NEWEST_EVENTS.records(connection, {"chain_id": chain_id, "block": block})
    return max(rows, key=lambda row: (row.block_number, row.log_index), default=None)


def stored_findings(connection: Connection, as_of: AsOfBlock, accounts: Sequence[str]) -> FoundFindings:
    """Return the strongest stored findings in which the accounts acted or gained, and their highest suspicion score.

    A mere mention in a finding does not count against an account, which may be unaware of what happened. An analysis
    applies to checks at or after the block at which it was stored.

    Args:
        connection: A connection from `snapshot`.
        as_of: The block.

    Raises:
        FindingsNotHeldError: A later analysis replaced the one as of that block.
    """
    used = _analyses(as_of)
    member, finding = tables.finding_member, tables.finding
    key = ("chain_id", "identity_registry", "finding_id")
    query = (
        select(
            finding.c.finding_id, finding.c.detector, finding.c.sentence, finding.c.identity_registry, member.c.account
        )
        .join(member, and_(*(member.c[name] == finding.c[name] for name in key)))
        .where(member.c.chain_id == as_of.chain_id, member.c.account.in_(sorted(accounts)))
        .where(member.c.identity_registry.in_(sorted(used)))
        .where(member.c.part.in_([Part.ACTOR, Part.BENEFICIARY]))
        .order_by(finding.c.strength.desc(), finding.c.finding_id, member.c.account)
        .limit(_MOST_FINDINGS * len(set(accounts)) + 1)
    )
    strongest: dict[tuple[str, str], Finding] = {}
    for row in connection.execute(query) if used else ():
        name = (row.identity_registry, row.finding_id)
        if name not in strongest and len(strongest) < _MOST_FINDINGS:
            evidence = _evidence(as_of, *name)
            strongest[name] = Finding(row.finding_id, row.account, row.detector, row.sentence, evidence=evidence)
    ranked = tables.suspicion.c
    greatest = select(func.max(ranked.suspicion)).where(
        ranked.chain_id == as_of.chain_id,
        ranked.identity_registry.in_(sorted(used)),
        ranked.account.in_(sorted(accounts)),
    )
    suspicion = connection.execute(greatest).scalar_one() if used else None
    return FoundFindings(tuple(strongest.values()), max(used.values(), default=0), suspicion)


def _analyses(as_of: AsOfBlock) -> dict[str, int]:
    used: dict[str, int] = {}
    for row in _ANALYSES.records(as_of.connection, {"chain_id": as_of.chain_id}):
        last = row.run if as_of.analysis is None else as_of.analysis
        if row.seen_block <= as_of.block and row.run <= last:
            used[row.identity_registry] = row.run
        elif row.first_seen_block <= as_of.block and row.first_run <= last:
            raise FindingsNotHeldError(as_of.block, row.block_number)
    return used


def _evidence(as_of: AsOfBlock, identity: str, finding_id: str) -> tuple[EventEvidence, ...]:
    rested = tables.finding_row
    query = (
        select(rested.c.table_name, rested.c.block_number, rested.c.log_index)
        .where(rested.c.chain_id == as_of.chain_id, rested.c.identity_registry == identity)
        .where(rested.c.finding_id == finding_id, rested.c.log_index.is_not(None))
        .order_by(rested.c.position)
        .limit(_EXAMPLES)
    )
    evidence = []
    for name, block, log_index in as_of.connection.execute(query).all():
        if name in _EVENTS:
            event, table = _EVENTS[name]
            place = select(*place_of(table)).where(
                table.c.chain_id == as_of.chain_id, table.c.block_number == block, table.c.log_index == log_index
            )
            row = as_of.connection.execute(place).one_or_none()
            evidence += [] if row is None else [evidence_of(event, row)]
    return tuple(evidence)

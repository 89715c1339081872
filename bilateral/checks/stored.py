"""The findings of the stored trust analysis, as reasons of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, bindparam, func, select

from bilateral.checks.as_of_block import event_names
from bilateral.checks.errors import FindingsNotHeldError
from bilateral.checks.providers import Finding, FoundFindings
from bilateral.checks.verdicts import EventEvidence
from bilateral.index.log import tables as events
from bilateral.index.reading.prepared import Prepared
from bilateral.index.standing import tables as schema
from bilateral.index.standing.tables import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment

_MOST_FINDINGS: Final = 5  # the strongest decide; each takes a query for its evidence
_SHOWN: Final = 3  # examples are enough to follow a finding
_MADE: Final = schema.analysis.c
_ANALYSES: Final = Prepared(
    select(_MADE.identity_registry, _MADE.block_number, _MADE.run, _MADE.seen_block)
    .add_columns(_MADE.first_run, _MADE.first_seen_block)
    .where(_MADE.chain_id == bindparam("chain_id"))
)


def stored_findings(connection: Connection, moment: Moment, accounts: Sequence[str]) -> FoundFindings:
    """Return the strongest findings of the stored analysis about accounts that acted or gain, and their suspicion.

    An account that a finding is merely about gets no reason: it may not know of the finding. An analysis counts from
    the block at which it was stored.

    Args:
        connection: A connection of `snapshot`.

    Raises:
        FindingsNotHeldError: A later analysis replaced that of the moment.
    """
    used = _analyses(connection, moment)
    member, finding = schema.finding_member, schema.finding
    key = ("chain_id", "identity_registry", "finding_id")
    query = (
        select(
            finding.c.finding_id, finding.c.detector, finding.c.sentence, finding.c.identity_registry, member.c.account
        )
        .join(member, and_(*(member.c[name] == finding.c[name] for name in key)))
        .where(member.c.chain_id == moment.chain_id, member.c.account.in_(sorted(accounts)))
        .where(member.c.identity_registry.in_(sorted(used)))
        .where(member.c.part.in_([Part.ACTOR, Part.BENEFICIARY]))
        .order_by(finding.c.strength.desc(), finding.c.finding_id, member.c.account)
        .limit(_MOST_FINDINGS * len(set(accounts)) + 1)
    )
    known: dict[tuple[str, str], Finding] = {}
    for row in connection.execute(query) if used else ():
        name = (row.identity_registry, row.finding_id)
        if name not in known and len(known) < _MOST_FINDINGS:
            evidence = _evidence(connection, moment, *name)
            known[name] = Finding(row.finding_id, row.account, row.detector, row.sentence, evidence=evidence)
    ranked = schema.suspicion.c
    greatest = select(func.max(ranked.suspicion)).where(
        ranked.chain_id == moment.chain_id,
        ranked.identity_registry.in_(sorted(used)),
        ranked.account.in_(sorted(accounts)),
    )
    suspicion = connection.execute(greatest).scalar_one() if used else None
    return FoundFindings(tuple(known.values()), max(used.values(), default=0), suspicion)


def _analyses(connection: Connection, moment: Moment) -> dict[str, int]:
    """Return the number of each analysis that was stored by a moment, by identity registry."""
    used: dict[str, int] = {}
    for row in _ANALYSES.records(connection, {"chain_id": moment.chain_id}):
        last = row.run if moment.analysis is None else moment.analysis
        # An analysis of a database from before these columns counts from the last block that it saw.
        seen, first_seen = (
            row.block_number if block is None else block for block in (row.seen_block, row.first_seen_block)
        )
        if seen <= moment.block and (row.run or 0) <= (last or 0):
            used[row.identity_registry] = row.run or 0
        elif first_seen <= moment.block and (row.first_run or 0) <= (last or 0):
            raise FindingsNotHeldError(moment.block, row.block_number)
    return used


def _evidence(connection: Connection, moment: Moment, identity: str, finding_id: str) -> tuple[EventEvidence, ...]:
    """Return a few events that a finding rests on."""
    rested = schema.finding_row
    query = (
        select(rested.c.table_name, rested.c.block_number, rested.c.log_index)
        .where(rested.c.chain_id == moment.chain_id, rested.c.identity_registry == identity)
        .where(rested.c.finding_id == finding_id, rested.c.log_index.is_not(None))
        .order_by(rested.c.position)
        .limit(_SHOWN)
    )
    evidence = []
    for name, block, log_index in connection.execute(query).all():
        table = events.metadata.tables.get(name)
        if table is None or name not in event_names():
            continue
        place = select(table.c.registry, table.c.transaction_hash).where(
            table.c.chain_id == moment.chain_id, table.c.block_number == block, table.c.log_index == log_index
        )
        row = connection.execute(place).one_or_none()
        if row is not None:
            transaction = "0x" + bytes(row.transaction_hash).hex()
            evidence.append(EventEvidence(event_names()[name], row.registry, block, log_index, transaction))
    return tuple(evidence)

"""The findings and standings of the stored trust analysis, as facts of checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, and_, bindparam, func, select

from bilateral.checks.errors import FindingsNotHeldError
from bilateral.checks.from_index.as_of_block import AsOfBlock, event_names
from bilateral.checks.from_index.subjects import Subject
from bilateral.checks.providers import Finding, FoundFindings
from bilateral.checks.verdicts import EventEvidence
from bilateral.core.values.standing import Side, Standing
from bilateral.index.log import tables as events
from bilateral.index.reading.prepared import Prepared
from bilateral.index.standing import tables as schema
from bilateral.index.standing.queries import standings_states, stored_standing
from bilateral.index.standing.tables import Part

_MOST_FINDINGS: Final = 5  # the strongest decide; each takes a query for its evidence
_EXAMPLES: Final = 3  # examples are enough to follow a finding
_RUN: Final = schema.analysis.c
_ANALYSES: Final = Prepared(
    select(_RUN.identity_registry, _RUN.block_number, _RUN.run, _RUN.seen_block)
    .add_columns(_RUN.first_run, _RUN.first_seen_block)
    .where(_RUN.chain_id == bindparam("chain_id"))
)


def stored_findings(connection: Connection, as_of: AsOfBlock, accounts: Sequence[str]) -> FoundFindings:
    """Return the strongest findings of the stored analysis about accounts that acted or gain, and their suspicion.

    An account that a finding is merely about gets no reason: it may not know of the finding. An analysis counts from
    the block at which it was stored.

    Args:
        connection: A connection of `snapshot`.
        as_of: The block.

    Raises:
        FindingsNotHeldError: A later analysis replaced that of the as_of.
    """
    used = _analyses(as_of)
    member, finding = schema.finding_member, schema.finding
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
    ranked = schema.suspicion.c
    greatest = select(func.max(ranked.suspicion)).where(
        ranked.chain_id == as_of.chain_id,
        ranked.identity_registry.in_(sorted(used)),
        ranked.account.in_(sorted(accounts)),
    )
    suspicion = connection.execute(greatest).scalar_one() if used else None
    return FoundFindings(tuple(strongest.values()), max(used.values(), default=0), suspicion)


def standing_of(
    subject: Subject | None, as_of: AsOfBlock, side: Side, analysis: int | None
) -> tuple[Standing | None, str | None]:
    """Return the standing behind a decision, and why no current analysis stands behind it; None if one does.

    A standing counts only with the analysis that counts at the block. Clients without ratings need none.
    """
    if analysis is None:
        return None, None
    if not analysis:
        return None, "No trust analysis has weighed the ratings yet."
    standing = None
    if subject is not None:
        place = as_of.chain_id, subject.identity, subject.history.agent_id
        standing = stored_standing(as_of.connection, *place, side)
    if standing is None and side == Side.SERVER:
        return None, "No trust analysis has seen the agent yet."
    if as_of.is_head and as_of.analysis is None:
        state = standings_states(as_of.connection, as_of.chain_id).get(as_of.chain_id)
        if state is not None and state.is_stale:
            return standing, f"The last trust analysis is {(state.age or 0) / 60:.0f} minutes old."
    return standing, None


def _analyses(as_of: AsOfBlock) -> dict[str, int]:
    """Return the number of each analysis that was stored by a as_of, by identity registry."""
    used: dict[str, int] = {}
    for row in _ANALYSES.records(as_of.connection, {"chain_id": as_of.chain_id}):
        last = row.run if as_of.analysis is None else as_of.analysis
        # An analysis of a database from before these columns counts from the last block that it saw.
        seen, first_seen = (
            row.block_number if block is None else block for block in (row.seen_block, row.first_seen_block)
        )
        if seen <= as_of.block and (row.run or 0) <= (last or 0):
            used[row.identity_registry] = row.run or 0
        elif first_seen <= as_of.block and (row.first_run or 0) <= (last or 0):
            raise FindingsNotHeldError(as_of.block, row.block_number)
    return used


def _evidence(as_of: AsOfBlock, identity: str, finding_id: str) -> tuple[EventEvidence, ...]:
    """Return a few events that a finding rests on."""
    rested = schema.finding_row
    query = (
        select(rested.c.table_name, rested.c.block_number, rested.c.log_index)
        .where(rested.c.chain_id == as_of.chain_id, rested.c.identity_registry == identity)
        .where(rested.c.finding_id == finding_id, rested.c.log_index.is_not(None))
        .order_by(rested.c.position)
        .limit(_EXAMPLES)
    )
    evidence = []
    for name, block, log_index in as_of.connection.execute(query).all():
        table = events.metadata.tables.get(name)
        if table is None or name not in event_names():
            continue
        place = select(table.c.registry, table.c.transaction_hash).where(
            table.c.chain_id == as_of.chain_id, table.c.block_number == block, table.c.log_index == log_index
        )
        row = as_of.connection.execute(place).one_or_none()
        if row is not None:
            transaction = "0x" + bytes(row.transaction_hash).hex()
            evidence.append(EventEvidence(event_names()[name], row.registry, block, log_index, transaction))
    return tuple(evidence)

"""Sponsored feedback in the database, accepted once per payment, and the sponsoring accounts' budgets."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, func, select, update
from sqlalchemy.exc import IntegrityError

from bilateral.index.log.dialects import insert_into, insert_new
from bilateral.node import answers
from bilateral.x402.aggregator import tables
from bilateral.x402.aggregator.evidence import Evidence
from bilateral.x402.aggregator.messages import Submission
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.aggregator.tables import SIGNED_COLUMNS, State, sponsored_feedback
from bilateral.x402.proof.verdicts import Payment

SECONDS_A_DAY: Final = 86_400  # seconds; Unix time has no leap seconds


def reading(engine: Engine) -> Connection:
    """Open a read-only connection."""
    return engine.connect().execution_options(bilateral_reader=True)


class Sponsored:
    """Feedback that an aggregator accepted: the columns of its row (see `docs/index.md`) and values derived from them.

    Attributes:
        id: The id that the aggregator assigned to the feedback.
        transaction: The latest transaction's hash; None before a transaction exists.
        accepted_at: When the feedback was accepted.
    """

    def __init__(self, row: Row[Any]) -> None:
        self._row, self.id, self.state = row, int(row.feedback_id), State(row.state)
        self.transaction = None if row.transaction_hash is None else "0x" + bytes(row.transaction_hash).hex()
        self.accepted_at = datetime.fromtimestamp(row.accepted_at, UTC)

    def __getattr__(self, column: str) -> Any:
        """Return a column of the row."""
        return getattr(self._row, column)

    @property
    def is_waiting(self) -> bool:
        """True until the feedback has a transaction or has failed."""
        return self.transaction is None and self.state in {State.QUEUED, State.SENT}


def read_feedback(connection: Connection, feedback_id: int) -> Sponsored | None:
    """Return the sponsored feedback entry with the given id, or None if there is none."""
    table = sponsored_feedback
    row = connection.execute(select(table).where(table.c.feedback_id == feedback_id)).one_or_none()
    return None if row is None else Sponsored(row)


def list_feedback(
    connection: Connection, chosen: Mapping[str, Any], *, before: int | None = None, limit: int = 50
) -> list[Sponsored]:
    """Return sponsored feedback, newest first. Ids only increase, so pages do not shift as feedback is added.

    Args:
        chosen: The required value for each column; a value of None matches everything.
    """
    table = sponsored_feedback
    query = select(table).order_by(table.c.feedback_id.desc()).limit(limit)
    query = query.where(*(table.c[name] == choice for name, choice in chosen.items() if choice is not None))
    if before is not None:
        query = query.where(table.c.feedback_id < before)
    return [Sponsored(row) for row in connection.execute(query)]


@dataclass(frozen=True)
class Tally:
    """Counts for one band of feedback values. Tallies show whether negative feedback is rejected more often.

    Attributes:
        band: The band's number, from 0 (values below 10 out of 100) to 9 (values from 90); -1 for rejected messages
            without a readable value.
        accepted: The number of accepted entries, by state.
        refused: The number of rejections, by code.
    """

    band: int
    accepted: dict[str, int]
    refused: dict[str, int]


def band_of(value: int, decimals: int) -> int:
    """Return the band of a value. See `Tally`."""
    return min(value // int(10 ** (decimals + 1)), 9)


def tally_feedback(connection: Connection) -> list[Tally]:
    """Count accepted and rejected feedback in each band of values."""
    tallies = {band: Tally(band, {}, {}) for band in range(-1, 10)}
    table = sponsored_feedback
    columns = (table.c.value, table.c.value_decimals, table.c.state)
    for value, decimals, state, count in connection.execute(select(*columns, func.count()).group_by(*columns)):
        accepted = tallies[band_of(value, decimals)].accepted
        accepted[state] = accepted.get(state, 0) + count
    refused = tables.refused_feedback
    query = select(refused.c.band, refused.c.code, func.sum(refused.c.count)).group_by(refused.c.band, refused.c.code)
    for band, code, count in connection.execute(query):
        tallies[band].refused[code] = int(count)
    return list(tallies.values())


def spent_on(connection: Connection, chain_id: int, account: str, day: int) -> int:
    """Return a day's costs in wei: the amount already paid plus the amount that pending feedback may still cost."""
    table = tables.sponsor_day
    query = select(table.c.cost).where(table.c.chain_id == chain_id, table.c.account == account, table.c.day == day)
    return int(connection.execute(query).scalar_one_or_none() or 0)


class BudgetSpentError(Exception):
    """The cost would exceed the day's budget. Nothing was changed."""


def lock_account(connection: Connection, chain: SponsoredChain) -> Row[Any]:
    """Return a sponsoring account's row, locked against changes by others until the database transaction ends."""
    key = {"chain_id": chain.chain_id, "account": chain.account}
    insert_new(connection, tables.sponsor, [{**key, "leased_until": 0.0}])
    query = select(tables.sponsor).where(*(tables.sponsor.c[name] == value for name, value in key.items()))
    return connection.execute(query.with_for_update()).one()


def spend(connection: Connection, chain: SponsoredChain, day: int, wei: int, *, is_paid: bool = False) -> None:
    """Add an amount to a day's costs. The caller must have locked the account's row."""
    key = {"chain_id": chain.chain_id, "account": chain.account, "day": day}
    conditions = [tables.sponsor_day.c[name] == value for name, value in key.items()]
    insert_new(connection, tables.sponsor_day, [{**key, "cost": 0}])
    cost = int(connection.execute(select(tables.sponsor_day.c.cost).where(*conditions)).scalar_one()) + wei
    if wei > 0 and cost > chain.budget and not is_paid:
        raise BudgetSpentError
    connection.execute(update(tables.sponsor_day).where(*conditions).values(cost=cost))


class Acceptance:
    """Adds feedback to the queue, once per payment. Any process may use it.

    Args:
        clock: Returns the time, in Unix seconds.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine, self._clock = engine, clock

    def find(self, submission: Submission) -> Sponsored | None:
        """Return the feedback stored earlier for the same message, or None if there is none."""
        with reading(self._engine) as connection:
            return _find_same(connection, submission, _of_payment(connection, submission))

    def accept(
        self, chain: SponsoredChain, submission: Submission, evidence: Evidence, cost: int
    ) -> tuple[Sponsored, bool]:
        """Store feedback that passed all checks."""
        for _ in evidence.payments:
            try:
                with self._engine.begin() as connection:
                    return self._accept(connection, chain, submission, evidence, cost)
            except IntegrityError:  # a parallel request was faster
                continue
        raise _duplicate(submission)

    def refuse_duplicate(self, submission: Submission, evidence: Evidence) -> None:
        """Reject feedback if the reviewer has already given feedback for all payments in the transaction."""
        with reading(self._engine) as connection:
            _free_payment(evidence, submission, _of_payment(connection, submission))

    def count_refusals(self, counts: Mapping[tuple[str, int], int]) -> None:
        """Add rejections to today's counts."""
        if not counts:
            return
        day = int(self._clock()) // SECONDS_A_DAY
        with self._engine.begin() as connection:
            for (code, band), count in sorted(counts.items()):
                key = {"day": day, "code": code, "band": band}
                insert = insert_into(connection, tables.refused_feedback).values(**key, count=count)
                total = {"count": tables.refused_feedback.c["count"] + count}
                connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=total))

    def _accept(
        self, connection: Connection, chain: SponsoredChain, submission: Submission, evidence: Evidence, cost: int
    ) -> tuple[Sponsored, bool]:
        now = self._clock()
        lock_account(connection, chain)
        accepted = _of_payment(connection, submission)
        same = _find_same(connection, submission, accepted)
        if same is not None:
            return same, False
        payment = _free_payment(evidence, submission, accepted)
        _refuse_second_at_once(connection, chain, submission)
        try:
            spend(connection, chain, int(now) // SECONDS_A_DAY, cost)
        except BudgetSpentError:
            raise FeedbackRefusedError(
                Code.BUDGET_EXHAUSTED,
                "today's budget is spent: try again tomorrow, or send the feedback yourself",
                retry_seconds=SECONDS_A_DAY - int(now) % SECONDS_A_DAY,
            ) from None
        values = _columns(chain, submission, evidence, payment)
        values |= {"cost": cost, "day": int(now) // SECONDS_A_DAY, "next_at": now}
        values |= {"accepted_at": int(now), "changed_at": int(now)}
        stored = sponsored_feedback.insert().values(values).returning(sponsored_feedback)
        return Sponsored(connection.execute(stored).one()), True


def _of_payment(connection: Connection, submission: Submission) -> list[Row[Any]]:
    """Return the reviewer's feedback for the payments in a transaction, except failed entries."""
    table = sponsored_feedback
    query = select(table).where(
        table.c.payment_transaction == submission.payment_hash,
        table.c.client == submission.reviewer.address,
        table.c.state != State.FAILED,
    )
    return list(connection.execute(query))


def _find_same(connection: Connection, submission: Submission, accepted: Iterable[Row[Any]]) -> Sponsored | None:
    """Find feedback that the same message created earlier. Reject a proof that was used for a different payment."""
    content_hash = submission.content_hash
    for row in accepted:
        if bytes(row.content_hash) == content_hash:
            return Sponsored(row)
    table = sponsored_feedback
    query = select(table.c.task_ref).where(table.c.interaction_hash == submission.interaction_hash).limit(1)
    used = connection.execute(query).scalar_one_or_none()
    if used is not None and used.lower() != submission.task_ref.lower():
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, f"the proof belongs to a different payment, {used}")
    return None


def _free_payment(evidence: Evidence, submission: Submission, accepted: Iterable[Row[Any]]) -> Payment:
    used_logs = {row.payment_log_index for row in accepted}
    for payment in evidence.payments:
        if payment.log_index not in used_logs:
            return payment
    raise _duplicate(submission)


def _refuse_second_at_once(connection: Connection, chain: SponsoredChain, submission: Submission) -> None:
    """Reject feedback while the reviewer has a pending entry for the agent, because the next index is uncertain."""
    table = sponsored_feedback
    query = select(table.c.feedback_id).where(
        table.c.chain_id == chain.chain_id,
        table.c.agent_id == submission.feedback.agent_id,
        table.c.client == submission.reviewer.address,
        table.c.state.in_((State.QUEUED, State.SENT)),
    )
    if connection.execute(query.limit(1)).one_or_none() is not None:
        problem = "an earlier feedback entry by the reviewer for this agent is not on chain yet: sign again once it is"
        raise FeedbackRefusedError(Code.PENDING_FEEDBACK, problem)


def _duplicate(submission: Submission) -> FeedbackRefusedError:
    problem = f"the reviewer has already given different feedback for the payment {submission.task_ref}"
    return FeedbackRefusedError(Code.DUPLICATE_TASK_REF, problem)


def _columns(chain: SponsoredChain, submission: Submission, evidence: Evidence, payment: Payment) -> dict[str, Any]:
    feedback = submission.feedback
    return {
        "chain_id": chain.chain_id,
        "payment_transaction": submission.payment_hash,
        "payment_log_index": payment.log_index,
        "payment_asset": payment.asset,
        "payment_amount": payment.amount,
        "client": feedback.client_address,
        "task_ref": submission.task_ref,
        "interaction_hash": submission.interaction_hash,
        "content_hash": submission.content_hash,
        "proof": "bound" if evidence.is_bound else "unbound",
        "file": "checked" if evidence.is_file_checked else "unchecked",
        **{name: getattr(feedback, name) for name in SIGNED_COLUMNS},
        "signature": submission.registry_signature,
        "state": State.QUEUED,
        "account": chain.account,
        "attempts": 0,
    }


def cost_of(receipt: Mapping[str, Any]) -> int:
    """Return a transaction's cost in wei, including the layer-1 fee if the node reports one."""
    gas, price = (answers.quantity(receipt.get(name)) for name in ("gasUsed", "effectiveGasPrice"))
    return gas * price + answers.quantity(receipt.get("l1Fee") or "0x0")

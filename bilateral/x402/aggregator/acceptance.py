"""Accepts feedback into the durable queue of an aggregator, once a payment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Engine, Select, select
from sqlalchemy.exc import IntegrityError

from bilateral.x402.aggregator.evidence import Evidence, Payment
from bilateral.x402.aggregator.messages import Submission
from bilateral.x402.aggregator.records import SECONDS_A_DAY, BudgetSpentError, Sponsored, add_count, lock_account, spend
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.aggregator.tables import SIGNED_COLUMNS, State, refused_feedback, sponsored_feedback

_RETRY_SECONDS: Final = 5  # two blocks of most chains


class Acceptance:
    """Takes feedback into the queue. Any process may do so.

    Args:
        clock: Returns the time, in Unix seconds.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    def find(self, submission: Submission) -> Sponsored | None:
        """Return the feedback that the same message began before; None if there is none."""
        table = sponsored_feedback
        with self._engine.connect().execution_options(bilateral_reader=True) as connection:
            query = _of_payment(submission).where(table.c.content_hash == submission.content_hash)
            row = connection.execute(query).one_or_none()
            if row is not None:
                return Sponsored.of(row)
            _refuse_used_proof(connection, submission)
            return None

    def accept(
        self, chain: SponsoredChain, submission: Submission, evidence: Evidence, cost: int
    ) -> tuple[Sponsored, bool]:
        """Store a feedback that passed all checks."""
        for _ in evidence.payments:
            try:
                with self._engine.begin() as connection:
                    return self._accept(connection, chain, submission, evidence, cost)
            except IntegrityError:  # another request was faster
                continue
        raise _duplicate(submission)

    def refuse_duplicate(self, submission: Submission, evidence: Evidence) -> None:
        """Refuse a feedback if the reviewer has given others for all payments of the transaction."""
        with self._engine.connect().execution_options(bilateral_reader=True) as connection:
            used_logs = {row.payment_log_index for row in connection.execute(_of_payment(submission))}
        if {payment.log_index for payment in evidence.payments} <= used_logs:
            raise _duplicate(submission)

    def count_refusals(self, counts: Mapping[tuple[str, int], int]) -> None:
        """Add refusals to those of today."""
        if not counts:
            return
        day = int(self._clock()) // SECONDS_A_DAY
        with self._engine.begin() as connection:
            for (code, band), count in sorted(counts.items()):
                key = {"day": day, "code": code, "band": band}
                add_count(connection, refused_feedback, key, "count", count)

    def _accept(
        self, connection: Connection, chain: SponsoredChain, submission: Submission, evidence: Evidence, cost: int
    ) -> tuple[Sponsored, bool]:
        table, now = sponsored_feedback, self._clock()
        lock_account(connection, chain)
        accepted = connection.execute(_of_payment(submission)).all()
        for row in accepted:
            if bytes(row.content_hash) == submission.content_hash:
                return Sponsored.of(row), False
        _refuse_used_proof(connection, submission)
        used_logs = {row.payment_log_index for row in accepted}
        payment = next((payment for payment in evidence.payments if payment.log_index not in used_logs), None)
        if payment is None:
            raise _duplicate(submission)
        _refuse_second_at_once(connection, chain, submission)
        try:
            spend(connection, chain, int(now) // SECONDS_A_DAY, cost)
        except BudgetSpentError:
            raise FeedbackRefusedError(
                Code.BUDGET_EXHAUSTED,
                "the budget of the day is spent: try again tomorrow, or send the feedback yourself",
                retry_seconds=SECONDS_A_DAY - int(now) % SECONDS_A_DAY,
            ) from None
        values = {**_values(chain, submission, evidence, payment), **_initial(chain, cost, now)}
        stored = connection.execute(table.insert().values(values).returning(table)).one()
        return Sponsored.of(stored), True


def _of_payment(submission: Submission) -> Select[Any]:
    """Select the reviewer's feedback for the payments of a transaction, without what failed."""
    table = sponsored_feedback
    return select(table).where(
        table.c.payment_transaction == _payment_hash(submission),
        table.c.client == submission.reviewer.address,
        table.c.state != State.FAILED,
    )


def _refuse_used_proof(connection: Connection, submission: Submission) -> None:
    """Refuse a proof that was given for another payment: the signed hash contains the payment's transaction."""
    table = sponsored_feedback
    query = select(table.c.task_ref).where(table.c.interaction_hash == submission.interaction_hash).limit(1)
    used = connection.execute(query).scalar_one_or_none()
    if used is not None and used.lower() != submission.task_ref.lower():
        raise FeedbackRefusedError(Code.INVALID_AGENT_SIGNATURE, f"the proof is of another payment, {used}")


def _refuse_second_at_once(connection: Connection, chain: SponsoredChain, submission: Submission) -> None:
    """Refuse feedback while another one of the reviewer for the agent is on its way: its index is not known yet."""
    table = sponsored_feedback
    query = select(table.c.feedback_id).where(
        table.c.chain_id == chain.chain_id,
        table.c.agent_id == submission.feedback.agent_id,
        table.c.client == submission.reviewer.address,
        table.c.state.in_((State.QUEUED, State.SENT)),
    )
    if connection.execute(query.limit(1)).one_or_none() is not None:
        raise FeedbackRefusedError(
            Code.PENDING_FEEDBACK,
            "an earlier feedback of the reviewer for this agent is not on chain yet: sign again once it is",
            retry_seconds=_RETRY_SECONDS,
        )


def _duplicate(submission: Submission) -> FeedbackRefusedError:
    problem = f"the reviewer has given another feedback for the payment {submission.task_ref}"
    return FeedbackRefusedError(Code.DUPLICATE_TASK_REF, problem)


def _values(chain: SponsoredChain, submission: Submission, evidence: Evidence, payment: Payment) -> dict[str, Any]:
    feedback = submission.feedback
    return {
        "chain_id": chain.chain_id,
        "payment_transaction": _payment_hash(submission),
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
    }


def _initial(chain: SponsoredChain, cost: int, now: float) -> dict[str, Any]:
    second = int(now)
    return {
        "state": State.QUEUED,
        "account": chain.account,
        "day": second // SECONDS_A_DAY,
        "cost": cost,
        "attempts": 0,
        "next_at": now,
        "accepted_at": second,
        "changed_at": second,
    }


def _payment_hash(submission: Submission) -> bytes:
    return bytes.fromhex(submission.payment.transaction.removeprefix("0x"))

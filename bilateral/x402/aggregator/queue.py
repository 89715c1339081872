"""The durable queue of an aggregator: accepted feedback with its nonces, transactions and costs.

Only one process at a time works on an account's queue: the process that holds the queue's lease. Every change requires
the lease, so a process that was suspended until its lease expired cannot change anything when it resumes.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, Table, func, select, update

from bilateral.x402.aggregator.records import SECONDS_A_DAY, lock_account, reading, spend, spent_on
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.aggregator.tables import OPEN, State, sponsor, sponsored_feedback, sponsored_transaction

_AT_ONCE: Final = 100  # rows per query; an account has at most 16 pending transactions


class LeaseLostError(Exception):
    """Another process is now working on the queue. Nothing was changed."""


@dataclass(frozen=True)
class Signed:
    """A signed transaction for sponsored feedback.

    Attributes:
        raw: The raw transaction.
        fees: The transaction's gas limit and fees.
        is_empty: True if the transaction only uses up its nonce, without sending feedback.
        signed_at: When the transaction was signed.
    """

    hash: bytes
    raw: bytes
    nonce: int
    fees: Mapping[str, int]
    is_empty: bool
    signed_at: float


class WorkQueue:
    """The queue of one account on one chain. Changes without the queue's lease raise `LeaseLostError`.

    Args:
        lease_seconds: How many seconds a lease lasts.
        clock: Returns the time, in Unix seconds.
    """

    def __init__(
        self, engine: Engine, chain: SponsoredChain, lease_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._engine, self._chain, self._seconds, self._clock = engine, chain, lease_seconds, clock
        self._token = secrets.token_bytes(16)

    def take_lease(self) -> bool:
        """Take the lease, or renew it. Return False if another process holds it."""
        now = self._clock()
        with self._engine.begin() as connection:
            row = lock_account(connection, self._chain)
            if row.lease not in (None, self._token) and row.leased_until > now:
                return False
            lease = update(sponsor).where(*self._key(sponsor))
            connection.execute(lease.values(lease=self._token, leased_until=now + self._seconds))
        return True

    def release_lease(self) -> None:
        """Release the lease, so another process can work on the queue immediately."""
        with self._engine.begin() as connection:
            ours = (*self._key(sponsor), sponsor.c.lease == self._token)
            connection.execute(update(sponsor).where(*ours).values(lease=None, leased_until=0.0))

    def due(self, limit: int = _AT_ONCE) -> list[Row[Any]]:
        """Return queued feedback that is due, oldest first, up to the given limit."""
        table = sponsored_feedback
        is_due = (table.c.state == State.QUEUED, table.c.next_at <= self._clock())
        query = select(table).where(*self._key(table), *is_due).order_by(table.c.feedback_id).limit(max(limit, 0))
        with reading(self._engine) as connection:
            return list(connection.execute(query))

    def sent(self) -> list[tuple[Row[Any], list[Signed]]]:
        """Return sent but unconfirmed feedback in nonce order. Each entry includes its transactions, newest first."""
        table, other = sponsored_feedback, sponsored_transaction
        is_sent = table.c.state.in_((State.SENT, State.INCLUDED))
        query = select(table).where(*self._key(table), is_sent).order_by(table.c.nonce).limit(_AT_ONCE)
        with reading(self._engine) as connection:
            rows = list(connection.execute(query))
            ids = [row.feedback_id for row in rows]
            signed: dict[int, list[Signed]] = {feedback_id: [] for feedback_id in ids}
            rivals = select(other).where(other.c.feedback_id.in_(ids)).order_by(other.c.signed_at.desc())
            for row in connection.execute(rivals):
                facts = row.nonce, json.loads(row.fees), row.is_empty, row.signed_at
                signed[row.feedback_id].append(Signed(bytes(row.transaction_hash), bytes(row.raw), *facts))
        return [(row, signed[row.feedback_id]) for row in rows]

    def is_open(self) -> bool:
        """Return whether any feedback in the queue still requires work."""
        table = sponsored_feedback
        with reading(self._engine) as connection:
            query = select(table.c.feedback_id).where(*self._key(table), table.c.state.in_(OPEN)).limit(1)
            return connection.execute(query).one_or_none() is not None

    def charge(self, cost: int) -> None:
        """Add to today's costs an amount that was paid for something other than feedback."""
        with self._leased() as connection:
            spend(connection, self._chain, int(self._clock()) // SECONDS_A_DAY, cost, is_paid=True)

    def has_budget(self) -> bool:
        """Return whether any of today's budget is left."""
        with reading(self._engine) as connection:
            day = int(self._clock()) // SECONDS_A_DAY
            return spent_on(connection, self._chain.chain_id, self._chain.account, day) < self._chain.budget

    def assign_nonce(self, row: Row[Any], pending_count: int, cost: int) -> int:
        """Assign the next nonce to queued feedback, and add the feedback's cost to today's costs."""
        table = sponsored_feedback
        with self._leased() as connection:
            used = connection.execute(select(func.max(table.c.nonce)).where(*self._key(table))).scalar_one()
            nonce = max(pending_count, -1 if used is None else used + 1)
            self._charge(connection, row, cost)
            self._set(connection, row, state=State.SENT, nonce=nonce, attempts=0, problem=None)
        return int(nonce)

    def store_transaction(self, row: Row[Any], signed: Signed, cost: int) -> None:
        """Store a signed transaction. It must be stored before it is sent."""
        with self._leased() as connection:
            self._charge(connection, row, cost)
            values = {name: getattr(signed, name) for name in ("nonce", "raw", "is_empty", "signed_at")}
            keys = {"transaction_hash": signed.hash, "feedback_id": row.feedback_id}
            stored = sponsored_transaction.insert().values(**keys, **values, fees=json.dumps(dict(signed.fees)))
            connection.execute(stored)
            self._set(connection, row, transaction_hash=signed.hash)

    def postpone(self, row: Row[Any], seconds: float, problem: str | None) -> None:
        """Postpone feedback by the given number of seconds."""
        self._update(row, attempts=row.attempts + 1, next_at=self._clock() + seconds, problem=problem)

    def note(self, row: Row[Any], problem: str) -> None:
        """Record the reason why feedback will fail once its nonce is used up."""
        self._update(row, failure=problem)

    def requeue(self, row: Row[Any], problem: str) -> None:
        """Put a feedback entry back in the queue, because another transaction from the account used its nonce."""
        self._update(row, state=State.QUEUED, nonce=None, next_at=self._clock(), problem=problem)

    def include(self, row: Row[Any], transaction: bytes, block: int) -> None:
        """Record the block that contains the feedback's transaction."""
        if (row.state, row.block_number, row.transaction_hash) != (State.INCLUDED, block, transaction):
            self._update(row, state=State.INCLUDED, transaction_hash=transaction, block_number=block, problem=None)

    def leave_block(self, row: Row[Any]) -> None:
        """Record that the feedback's transaction is no longer in any block."""
        self._update(row, state=State.SENT, block_number=None, next_at=self._clock())

    def finish(self, row: Row[Any], state: State, *, cost: int, problem: str | None = None, **columns: Any) -> None:
        """Record the feedback's outcome, its actual cost, `gas_used`, `block_number` and `transaction_hash`."""
        with self._leased() as connection:
            self._charge(connection, row, cost, is_paid=True)
            values = {"gas_used": None, "block_number": None, **columns}
            self._set(connection, row, state=state, problem=problem, **values)

    def _charge(self, connection: Connection, row: Row[Any], cost: int, *, is_paid: bool = False) -> None:
        """Replace the feedback's cost. Actual costs count towards the day of the estimate, estimates towards today."""
        table = sponsored_feedback
        query = select(table.c.day, table.c.cost).where(table.c.feedback_id == row.feedback_id)
        charged = connection.execute(query).one()
        day = charged.day if is_paid else int(self._clock()) // SECONDS_A_DAY
        spend(connection, self._chain, charged.day, -charged.cost)
        spend(connection, self._chain, day, cost, is_paid=is_paid)
        self._set(connection, row, day=day, cost=cost)

    def _update(self, row: Row[Any], **values: Any) -> None:
        with self._leased() as connection:
            self._set(connection, row, **values)

    def _set(self, connection: Connection, row: Row[Any], **values: Any) -> None:
        table = sponsored_feedback
        changed = update(table).where(table.c.feedback_id == row.feedback_id)
        connection.execute(changed.values(**values, changed_at=int(self._clock())))

    @contextmanager
    def _leased(self) -> Iterator[Connection]:
        """Open a database transaction, during which no other process can take the lease."""
        with self._engine.begin() as connection:
            if lock_account(connection, self._chain).lease != self._token:
                raise LeaseLostError
            yield connection

    def _key(self, table: Table) -> tuple[Any, Any]:
        return table.c.chain_id == self._chain.chain_id, table.c.account == self._chain.account

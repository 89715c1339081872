"""The worker of an aggregator: sends the queue of one account, and looks after each transaction until it is confirmed.

A transaction is stored before it is sent. After a kill at any point, the next process finds the nonce, the transaction,
or its receipt, and continues there. The registry takes a signed feedback once, so that even a transaction sent twice
gives one feedback.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Engine, Row

from bilateral.client import Client
from bilateral.client.operations import fees, transactions
from bilateral.client.state import Sent
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import BilateralError
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log.database import named_database_errors
from bilateral.node import answers
from bilateral.x402.aggregator import sponsoring
from bilateral.x402.aggregator.blind import BlindRelay
from bilateral.x402.aggregator.queue import LeaseLostError, Signed, WorkQueue
from bilateral.x402.aggregator.records import BudgetSpentError
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.aggregator.sponsoring import AccountStatus, SignedMessage
from bilateral.x402.aggregator.tables import State

_LOG: Final = logging.getLogger(__name__)
_FIRST_SECONDS: Final = 1.0
"""The first pause after a failure; it doubles."""

_MOST_SECONDS: Final = 300.0
"""The longest pause: a node that is back is used after five minutes."""

_IDLE_SECONDS: Final = 2.0
"""The looks of a process that sends nothing, for a queue whose sender has ended."""

_MOST_PENDING: Final = 16
"""Transactions of the account that may wait for a block. Nodes drop those of accounts with many more."""

_LAG_SECONDS: Final = 15.0
"""Nodes behind one name may differ for so long about which nonces are used."""

_NONCE_USED: Final = "another transaction of the account has the nonce"


class Submitter:
    """Sends the queue of one account.

    Args:
        settings: The settings of the aggregator.
        client: A client of the chain with the sponsor's signer. No other thread uses it.
        clock: Returns the time, in Unix seconds.
        count: Called with the name and the amount of each event worth counting.
    """

    def __init__(  # noqa: PLR0913  # its collaborators
        self,
        engine: Engine,
        chain: SponsoredChain,
        settings: AggregatorSettings,
        client: Client,
        *,
        clock: Callable[[], float] = time.time,
        count: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self._relay = BlindRelay(engine, chain, client, charge=self._charge, clock=clock)
        self.queue = WorkQueue(engine, chain, settings.lease_seconds, clock)
        self._chain, self._settings, self._clock, self._count = chain, settings, clock, count
        self._run, self._state = client.runner.run, client.state

    def run(self, stop: threading.Event, wake: threading.Event) -> None:
        """Work until told to stop. A failure of the node or the database is waited out."""
        failures = 0
        while not stop.is_set():
            try:
                with named_database_errors():
                    is_open = self.step()
                failures = 0
            except BilateralError as failure:
                _LOG.warning("feedback waits on chain %s: %s", self._chain.network, failure)
                failures, is_open = failures + 1, True
            wait = self._chain.poll_seconds if is_open else min(self._settings.lease_seconds / 3, _IDLE_SECONDS)
            wake.wait(max(wait, back_off(failures) if failures else 0))
            wake.clear()
        with suppress(DatabaseUnavailableError), named_database_errors():  # the lease ends by itself
            self.queue.release_lease()

    def step(self) -> bool:
        """Make one pass: look at what was sent, then send what is due."""
        if not self.queue.take_lease():
            return True
        try:
            pending = self._watch()
            for row in self.queue.due(_MOST_PENDING - pending):
                self._send(row)
            # In this thread and under this lease, so that two transactions of the account never share a nonce.
            is_relaying = self._relay.step(back_off, self.queue.has_budget)
            return self.queue.is_open() or is_relaying
        except LeaseLostError:
            return True

    def _charge(self, cost: int) -> None:
        self.queue.charge(cost)
        self._count("gas_wei", cost)

    def _send(self, row: Row[Any]) -> None:
        try:
            prepared: Sent[Any] = self._run(sponsoring.prepare(self._state, SignedMessage.of_row(row)))
        except BilateralError as failure:
            if isinstance(failure, ContractRevertError) and sponsoring.is_final(failure):
                self.queue.finish(row, State.FAILED, cost=0, problem=str(failure))
                self._count("failed", 1)
            else:
                self.queue.postpone(row, back_off(row.attempts), self._public_problem(failure))
            return
        try:
            nonce = self.queue.assign_nonce(row, prepared.nonce, fees.most(prepared.transaction))
            self._sign_and_send(row, prepared, nonce)
        except BudgetSpentError:
            self.queue.postpone(row, _MOST_SECONDS, "the budget of the day is spent")

    def _sign_and_send(self, row: Row[Any], prepared: Sent[Any], nonce: int, *, is_empty: bool = False) -> None:
        signed = self._run(transactions.sign(self._state, prepared, nonce))
        raw, hash_ = bytes(signed.raw or b""), bytes.fromhex(str(signed.hash)[2:])
        stored = Signed(hash_, raw, nonce, sponsoring.fees_of(prepared), is_empty, self._clock())
        self.queue.store_transaction(row, stored, fees.most(prepared.transaction))
        self._broadcast(row, stored)
        self._count("submitted", 1)

    def _broadcast(self, row: Row[Any], signed: Signed) -> None:
        """Send a stored transaction, and say when to send it again if no block takes it."""
        failure = self._run(sponsoring.broadcast(signed.raw))
        problem = None if failure is None else self._public_problem(failure)
        self.queue.postpone(row, min(self._settings.resend_seconds * 2**row.attempts, _MOST_SECONDS), problem)

    def _watch(self) -> int:
        """Look at everything that was sent and is not confirmed. Return the number that waits for a block."""
        sent = self.queue.sent()
        if not sent:
            return 0
        hashes = [signed.hash for _, all_signed in sent for signed in all_signed]
        status: AccountStatus = self._run(sponsoring.look(self._state, hashes))
        pending = 0
        for row, all_signed in sent:
            mined = next((signed for signed in all_signed if signed.hash in status.receipts), None)
            if mined is not None:
                self._in_block(row, mined, status)
            elif row.state == State.INCLUDED:
                self.queue.leave_block(row)
            else:
                pending += 1
                self._pending(row, all_signed, status)
        return pending

    def _in_block(self, row: Row[Any], signed: Signed, status: AccountStatus) -> None:
        receipt = status.receipts[signed.hash]
        block = answers.quantity(receipt.get("blockNumber"))
        if status.head - block + 1 < self._chain.confirmations:
            self.queue.include(row, signed.hash, block)
            return
        problem = row.failure if signed.is_empty else self._run(self._outcome(row, signed, receipt))
        cost, gas = sponsoring.paid(receipt), answers.quantity(receipt.get("gasUsed"))
        state = State.FAILED if signed.is_empty or problem else State.CONFIRMED
        place = {"transaction_hash": signed.hash, "block_number": block}
        self.queue.finish(row, state, cost=cost, problem=problem, gas_used=gas, **place)
        self._count(state.value, 1)
        self._count("gas_wei", cost)

    def _outcome(self, row: Row[Any], signed: Signed, receipt: Any) -> Any:
        prepared = yield from sponsoring.restore(self._state, SignedMessage.of_row(row), signed.fees)
        return (yield from sponsoring.outcome(self._state, prepared, signed.hash, receipt))

    def _pending(self, row: Row[Any], all_signed: list[Signed], status: AccountStatus) -> None:
        now = self._clock()
        if status.used > row.nonce:
            if row.problem != _NONCE_USED:
                self.queue.postpone(row, _LAG_SECONDS, _NONCE_USED)
            elif now >= row.next_at:
                self.queue.requeue(row, _NONCE_USED)
        elif now < row.next_at:
            return
        elif not all_signed or all_signed[0].nonce != row.nonce:  # the process ended before it had signed
            self._sign_anew(row, None)
        elif now - all_signed[0].signed_at >= self._chain.replace_seconds:
            self._sign_anew(row, all_signed[0])
        else:
            self._broadcast(row, all_signed[0])

    def _sign_anew(self, row: Row[Any], previous: Signed | None) -> None:
        try:
            prepared, is_empty = self._replacement(row, previous)
            if previous is not None:
                prepared = sponsoring.outbid(self._state, prepared, previous.fees)
            self._sign_and_send(row, prepared, row.nonce, is_empty=is_empty)
        except (BilateralError, BudgetSpentError) as failure:
            if previous is not None:
                self._run(sponsoring.broadcast(previous.raw))
            is_budget = isinstance(failure, BudgetSpentError)
            problem = "the budget of the day does not allow the fees" if is_budget else self._public_problem(failure)
            self.queue.postpone(row, back_off(row.attempts), problem)

    def _public_problem(self, failure: Exception) -> str:
        """Log a failure, and return the words about it that may be published: a node's own may hold secrets."""
        if isinstance(failure, ContractRevertError):
            return str(failure)
        _LOG.warning("feedback waits on chain %s: %s", self._chain.network, failure)
        reason = failure.reason if isinstance(failure, BilateralError) else type(failure).__name__
        return f"{reason}: it is tried again"

    def _replacement(self, row: Row[Any], previous: Signed | None) -> tuple[Sent[Any], bool]:
        """Prepare a feedback again; or an empty transaction, and True, if the registry refuses it for good."""
        if previous is None or not previous.is_empty:
            try:
                message = SignedMessage.of_row(row)
                if previous is None:
                    return self._run(sponsoring.prepare(self._state, message)), False
                return self._run(sponsoring.prepare_again(self._state, message, previous.fees)), False
            except ContractRevertError as revert:
                if not sponsoring.is_final(revert):
                    raise
                self.queue.note(row, str(revert))
        return self._run(sponsoring.prepare_empty(self._state)), True


def back_off(attempts: int) -> float:
    """Return the seconds until the next attempt."""
    return float(min(_FIRST_SECONDS * 2 ** min(attempts, 16), _MOST_SECONDS))

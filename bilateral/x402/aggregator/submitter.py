"""An aggregator's worker: sends one account's queued feedback, and tracks each transaction until it is confirmed.

A transaction is stored before it is sent. If the process is killed at any point, the next process finds the nonce, the
transaction or its receipt, and continues from there. The registry accepts signed feedback only once, so even if a
transaction is sent twice, only one entry results.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Engine, Row

from bilateral.client import Client
from bilateral.client.operations import confirmations, feedback, fees, registries, transactions
from bilateral.client.state import ClientState, Sent
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.identifiers import AgentId
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log.database import named_database_errors
from bilateral.node import answers
from bilateral.node.refusals import Refusal
from bilateral.node.steps import Batch, Operation, Rpc
from bilateral.x402.aggregator.blind import BlindRelay
from bilateral.x402.aggregator.queue import LeaseLostError, Signed, WorkQueue
from bilateral.x402.aggregator.records import BudgetSpentError, cost_of
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.aggregator.tables import SIGNED_COLUMNS, State

FUNCTION: Final = "giveFeedbackBySig"

_FINAL_REASONS: Final = frozenset(
    {"signature_expired", "signature_voided", "invalid_signature", "self_feedback", "too_much_feedback"}
)


@dataclass(frozen=True)
class SignedMessage:
    """Feedback signed by its client, in the form that `giveFeedbackBySig` expects.

    Attributes:
        agent_id: The rated agent.
        arguments: The arguments of `giveFeedbackBySig`.
    """

    agent_id: int
    client: str
    arguments: tuple[Any, ...]

    @classmethod
    def of_row(cls, row: Row[Any]) -> SignedMessage:
        """Return the signed message stored in a row of the queue."""
        return cls.of(row, row.client, row.signature)

    @classmethod
    def of(cls, fields: Any, client: str, signature: bytes) -> SignedMessage:
        """Collect the arguments from an object whose attributes have the same names as the columns."""
        *params, file_hash, deadline = (getattr(fields, name) for name in SIGNED_COLUMNS)
        return cls(fields.agent_id, client, (client, (*params, bytes(file_hash)), deadline, bytes(signature)))


def is_final(revert: ContractRevertError) -> bool:
    """Return whether feedback that the registry now rejects can never be accepted.

    Feedback whose index is too high may be accepted later, because a reorganisation may have removed an earlier entry.
    """
    if revert.reason == "unexpected_feedback_index":
        index, expected = (revert.arguments.get(name) for name in ("feedbackIndex", "expected"))
        return not (isinstance(index, int) and isinstance(expected, int) and index > expected)
    return revert.reason in _FINAL_REASONS


def prepare(state: ClientState, message: SignedMessage) -> Operation[Sent[Any]]:
    """Simulate signed feedback, and set its gas limit and fees."""
    decode = yield from _decoder(state, message)
    return (yield from transactions.prepare(state, Registry.REPUTATION, FUNCTION, message.arguments, decode))


def restore(state: ClientState, message: SignedMessage, fees_: Mapping[str, int]) -> Operation[Sent[Any]]:
    """Rebuild a prepared feedback transaction from the signed message and the stored fees."""
    decode = yield from _decoder(state, message)
    data = registries.calldata(Registry.REPUTATION, FUNCTION, message.arguments)
    deployment = yield from registries.connect(state)
    to = deployment.address_of(Registry.REPUTATION)
    transaction = {"to": to, "data": "0x" + data.hex(), "chainId": deployment.chain_id, "value": 0, **fees_}
    return Sent(Registry.REPUTATION, transaction, fees_["gas"], decode)


def prepare_again(state: ClientState, message: SignedMessage, previous: Mapping[str, int]) -> Operation[Sent[Any]]:
    """Prepare pending feedback again, with current fees. The simulation ignores pending transactions."""
    prepared = yield from restore(state, message, previous)
    call = {name: prepared.transaction[name] for name in ("to", "data")}
    yield from registries.simulate({"from": registries.address_of(state), **call})
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    return replace(prepared, transaction=prepared.transaction | price)


def _decoder(state: ClientState, message: SignedMessage) -> Operation[Any]:
    deployment = yield from registries.connect(state)
    return feedback.feedback_decoder(AgentId(message.agent_id, deployment.chain_id), message.client)


def prepare_empty(state: ClientState) -> Operation[Sent[Any]]:
    """Prepare a transaction that only uses up a nonce."""
    deployment = yield from registries.connect(state)
    sender = registries.require_address(state)
    call = {"from": sender, "to": sender, "data": "0x"}
    estimate, history = yield Batch((Rpc("eth_estimateGas", (call,)), fees.HISTORY))
    if isinstance(estimate, Exception):
        raise estimate
    gas = answers.quantity(estimate)
    price = yield from fees.quote(state, history)
    transaction = {"chainId": deployment.chain_id, "to": sender, "value": 0, "data": "0x", "gas": gas + gas // 5}
    return Sent(Registry.REPUTATION, {**transaction, **price}, gas, lambda _: True)


def outbid(state: ClientState, prepared: Sent[Any], previous: Mapping[str, int]) -> Sent[Any]:
    """Raise a transaction's fees, so that it replaces a pending transaction with the same nonce."""
    higher = fees.replacing(state, prepared.transaction["chainId"], previous, prepared.transaction)
    raised = replace(prepared, transaction=prepared.transaction | higher)
    fees.require_cost(state, raised.transaction)
    return raised


def fees_of(prepared: Sent[Any]) -> dict[str, int]:
    """Return a transaction's gas limit and fees."""
    names = ("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
    return {name: prepared.transaction[name] for name in names if name in prepared.transaction}


def broadcast(raw: bytes) -> Operation[errors.BilateralError | None]:
    """Send a stored transaction. It may have been sent before."""
    try:
        yield Rpc("eth_sendRawTransaction", ("0x" + raw.hex(),))
    except errors.NODE_FAILURES as failure:
        if isinstance(failure, errors.NodeError) and Refusal.of(failure) is Refusal.HAS_IT:
            return None
        return failure
    return None


@dataclass(frozen=True)
class AccountStatus:
    """The state of an account's transactions, as reported by a node.

    Attributes:
        head: The latest block's number.
        used: The number of nonces used by transactions in blocks.
        receipts: The receipts of the transactions that are in blocks, keyed by transaction hash.
    """

    head: int
    used: int
    receipts: Mapping[bytes, dict[str, Any]]


def look(state: ClientState, hashes: Sequence[bytes]) -> Operation[AccountStatus]:
    """Look up the account's transactions in one batch."""
    requests = (
        Rpc("eth_blockNumber", ()),
        Rpc("eth_getTransactionCount", (registries.address_of(state), "latest")),
        *(Rpc("eth_getTransactionReceipt", ("0x" + hash_.hex(),)) for hash_ in hashes),
    )
    results = yield Batch(requests)
    for result in results:
        if isinstance(result, Exception):
            raise result
    receipts = {
        hash_: answers.record(receipt)
        for hash_, receipt in zip(hashes, results[2:], strict=True)
        if receipt is not None
    }
    return AccountStatus(answers.quantity(results[0]), answers.quantity(results[1]), receipts)


def outcome(state: ClientState, prepared: Sent[Any], hash_: bytes, receipt: Mapping[str, Any]) -> Operation[str | None]:
    """Return why a feedback transaction failed, according to its receipt, or None if it succeeded."""
    try:
        yield from confirmations.outcome_of(state, prepared, "0x" + hash_.hex(), receipt)
    except (ContractRevertError, errors.TransactionFailedError, errors.UnexpectedAnswerError) as problem:
        return str(problem)
    return None


_LOG: Final = logging.getLogger(__name__)
_FIRST_SECONDS: Final = 1.0
"""The pause after the first failure, in seconds. It doubles with each further failure."""

_MOST_SECONDS: Final = 300.0
"""The maximum pause, in seconds. A node that has recovered is used again within five minutes."""

_IDLE_SECONDS: Final = 2.0
"""How often, in seconds, an idle process checks whether a queue's previous worker has stopped."""

_MOST_PENDING: Final = 16
"""The maximum number of pending transactions. Nodes drop transactions from accounts with many more."""

_LAG_SECONDS: Final = 15.0
"""How long, in seconds, nodes behind the same host name may disagree on which nonces have been used."""

_NONCE_USED: Final = "another transaction from the account used the nonce"


class Submitter:
    """Sends the feedback in one account's queue.

    Args:
        settings: The settings of the aggregator.
        client: An SDK client for the chain, with the sponsor's signer. No other thread may use it.
        clock: Returns the time, in Unix seconds.
        count: Called with the name and amount of each counted event.
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
        """Process the queue until stopped. Retry after node or database failures."""
        failures = 0
        while not stop.is_set():
            try:
                with named_database_errors():
                    is_open = self.step()
                failures = 0
            except errors.BilateralError as failure:
                _LOG.warning("feedback is waiting on chain %s: %s", self._chain.network, failure)
                failures, is_open = failures + 1, True
            wait = self._chain.poll_seconds if is_open else min(self._settings.lease_seconds / 3, _IDLE_SECONDS)
            wake.wait(max(wait, back_off(failures) if failures else 0))
            wake.clear()
        with suppress(DatabaseUnavailableError), named_database_errors():  # the lease expires by itself
            self.queue.release_lease()

    def step(self) -> bool:
        """Make one pass: check the feedback that was already sent, then send the feedback that is due."""
        if not self.queue.take_lease():
            return True
        try:
            pending = self._watch()
            for row in self.queue.due(_MOST_PENDING - pending):
                self._send(row)
            # This shares the thread and lease, so that two of the account's transactions never share a nonce.
            is_relaying = self._relay.step(back_off, self.queue.has_budget)
            return self.queue.is_open() or is_relaying
        except LeaseLostError:
            return True

    def _charge(self, cost: int) -> None:
        self.queue.charge(cost)
        self._count("gas_wei", cost)

    def _send(self, row: Row[Any]) -> None:
        try:
            prepared: Sent[Any] = self._run(prepare(self._state, SignedMessage.of_row(row)))
        except errors.BilateralError as failure:
            if isinstance(failure, ContractRevertError) and is_final(failure):
                self.queue.finish(row, State.FAILED, cost=0, problem=str(failure))
                self._count("failed", 1)
            else:
                self.queue.postpone(row, back_off(row.attempts), self._public_problem(failure))
            return
        try:
            nonce = self.queue.assign_nonce(row, prepared.nonce, fees.most(prepared.transaction))
            self._sign_and_send(row, prepared, nonce)
        except BudgetSpentError:
            self.queue.postpone(row, _MOST_SECONDS, "today's budget is spent")

    def _sign_and_send(self, row: Row[Any], prepared: Sent[Any], nonce: int, *, is_empty: bool = False) -> None:
        signed = self._run(transactions.sign(self._state, prepared, nonce))
        raw, hash_ = bytes(signed.raw or b""), bytes.fromhex(str(signed.hash)[2:])
        stored = Signed(hash_, raw, nonce, fees_of(prepared), is_empty, self._clock())
        self.queue.store_transaction(row, stored, fees.most(prepared.transaction))
        self._broadcast(row, stored)
        self._count("submitted", 1)

    def _broadcast(self, row: Row[Any], signed: Signed) -> None:
        """Send a stored transaction, and schedule the next attempt in case it is not included in a block."""
        failure = self._run(broadcast(signed.raw))
        problem = None if failure is None else self._public_problem(failure)
        self.queue.postpone(row, min(self._settings.resend_seconds * 2**row.attempts, _MOST_SECONDS), problem)

    def _watch(self) -> int:
        """Check all feedback that was sent but is not confirmed. Return how many entries are not in a block yet."""
        sent = self.queue.sent()
        if not sent:
            return 0
        hashes = [signed.hash for _, all_signed in sent for signed in all_signed]
        status: AccountStatus = self._run(look(self._state, hashes))
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
        cost, gas = cost_of(receipt), answers.quantity(receipt.get("gasUsed"))
        state = State.FAILED if signed.is_empty or problem else State.CONFIRMED
        place = {"transaction_hash": signed.hash, "block_number": block}
        self.queue.finish(row, state, cost=cost, problem=problem, gas_used=gas, **place)
        self._count(state.value, 1)
        self._count("gas_wei", cost)

    def _outcome(self, row: Row[Any], signed: Signed, receipt: Any) -> Any:
        prepared = yield from restore(self._state, SignedMessage.of_row(row), signed.fees)
        return (yield from outcome(self._state, prepared, signed.hash, receipt))

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
                prepared = outbid(self._state, prepared, previous.fees)
            self._sign_and_send(row, prepared, row.nonce, is_empty=is_empty)
        except (errors.BilateralError, BudgetSpentError) as failure:
            if previous is not None:
                self._run(broadcast(previous.raw))
            is_budget = isinstance(failure, BudgetSpentError)
            problem = "the day's budget does not cover the fees" if is_budget else self._public_problem(failure)
            self.queue.postpone(row, back_off(row.attempts), problem)

    def _public_problem(self, failure: Exception) -> str:
        """Log a failure, and return a message that may be published: a node's own message may contain secrets."""
        if isinstance(failure, ContractRevertError):
            return str(failure)
        _LOG.warning("feedback is waiting on chain %s: %s", self._chain.network, failure)
        reason = failure.reason if isinstance(failure, errors.BilateralError) else type(failure).__name__
        return f"{reason}: it will be retried"

    def _replacement(self, row: Row[Any], previous: Signed | None) -> tuple[Sent[Any], bool]:
        """Prepare feedback again; if the registry permanently rejects it, return an empty transaction and True."""
        if previous is None or not previous.is_empty:
            try:
                message = SignedMessage.of_row(row)
                if previous is None:
                    return self._run(prepare(self._state, message)), False
                return self._run(prepare_again(self._state, message, previous.fees)), False
            except ContractRevertError as revert:
                if not is_final(revert):
                    raise
                self.queue.note(row, str(revert))
        return self._run(prepare_empty(self._state)), True


def back_off(attempts: int) -> float:
    """Return how many seconds to wait before the next attempt."""
    return float(min(_FIRST_SECONDS * 2 ** min(attempts, 16), _MOST_SECONDS))

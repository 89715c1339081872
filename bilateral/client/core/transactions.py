"""Transactions: simulated and paid for, given a nonce that no other of the client has, sent, waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from eth_utils.crypto import keccak

from bilateral.client.core import answers, chain, documents, lookups, signing
from bilateral.client.core.refusals import Refusal
from bilateral.client.session import NonceMemory
from bilateral.client.steps import Exclusive, Pause, Rpc
from bilateral.errors import (
    BilateralError,
    InsufficientFundsError,
    MalformedNodeAnswerError,
    NodeError,
    NotSentError,
    SendUncertainError,
    TransactionDroppedError,
    TransactionFailedError,
    TransactionPendingError,
    TransactionReplacedError,
    UnexpectedAnswerError,
)
from bilateral.reverts import ContractRevertError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.contracts import Registry

T = TypeVar("T")

_NONCE_TRIES: Final = 5
_NONCE_MEMORY_SECONDS: Final = 60.0
_FEE_BLOCKS: Final = 10


@dataclass(frozen=True)
class Sent(Generic[T]):
    """A transaction, sent or, by a client that only tries, not.

    Attributes:
        registry: The registry that it calls.
        transaction: The transaction, as web3.py writes one.
        gas: The gas that the node estimates.
        decode: Makes the result of the events that the registry logged.
        hash: Its hash; None if it was not sent.
        raw: It, signed; None if it was not.
    """

    registry: Registry
    transaction: dict[str, Any]
    gas: int
    decode: Callable[[Sequence[Log]], T]
    hash: str | None = None
    raw: bytes | None = None


class NonceTakenError(Exception):
    """Another transaction has the nonce. Nothing was sent."""


def send(
    session: Session, registry: Registry, signature: str, arguments: Sequence[Any], decode: Callable[[Sequence[Log]], T]
) -> Operation[Sent[T]]:
    """Call a function of a registry by a transaction.

    Args:
        session: The client's.
        registry: The registry.
        signature: The function's signature.
        arguments: Its arguments.
        decode: Makes the result of the events that the registry logged.

    Raises:
        ContractRevertError: The registry would refuse. Nothing was sent.
        InsufficientFundsError: The signer cannot pay. Nothing was sent.
        SendUncertainError: The node did not say whether it took the transaction.
    """
    prepared = yield from prepare(session, registry, signature, arguments, decode)
    if session.dry_run:
        nonce = yield from next_nonce(session)
        return replace(prepared, transaction=prepared.transaction | {"nonce": nonce})
    sent: Sent[T] = yield Exclusive(_send_with_next_nonce(session, prepared))
    return sent


def prepare(
    session: Session, registry: Registry, signature: str, arguments: Sequence[Any], decode: Callable[[Sequence[Log]], T]
) -> Operation[Sent[T]]:
    """Simulate a transaction, and decide what it may cost. It has no nonce yet.

    A document among its arguments is stored once the registry would take the transaction.

    Raises:
        ContractRevertError: The registry would refuse.
        InsufficientFundsError: The signer cannot pay.
        DocumentError: A document cannot be stored.
    """
    sender = chain.require_address(session)
    if documents.are_published(session, arguments):
        yield from prepare(session, registry, signature, documents.rehearsed(arguments), decode)
    arguments = yield from documents.settled(session, arguments)
    data = chain.calldata(registry, signature, arguments)
    to = yield from chain.require_code(session, registry)
    deployment = yield from chain.connect(session)
    gas = yield from _estimate({"from": sender, "to": to, "data": "0x" + data.hex()})
    fees = yield from _fees()
    limit = gas + gas // 5  # others may change storage in between, and with it what it costs
    yield from _require_balance(sender, limit * (fees["gasPrice"] if "gasPrice" in fees else fees["maxFeePerGas"]))
    transaction = {
        "chainId": deployment.chain_id,
        "to": to,
        "value": 0,
        "data": "0x" + data.hex(),
        "gas": limit,
        **fees,
    }
    return Sent(registry, transaction, gas, decode)


def next_nonce(session: Session) -> Operation[int]:
    """The nonce of the signer's next transaction: what the node says, or what this client knows better."""
    nonce = yield from lookups.transaction_count(session, "pending")
    is_fresh = time.monotonic() - session.nonces.known_at < _NONCE_MEMORY_SECONDS
    return max(nonce, session.nonces.next) if is_fresh else nonce


def send_with_nonce(session: Session, prepared: Sent[T], nonce: int) -> Operation[Sent[T]]:
    """Sign a transaction and send it.

    Raises:
        NonceTakenError: Another transaction has the nonce.
        InsufficientFundsError: The signer cannot pay.
        SignerFailedError: The signer raised an exception of its own.
        SendUncertainError: The node did not say whether it took the transaction.
        NodeError: The node refuses it for another reason.
    """
    signer = chain.require_signer(session)
    transaction = prepared.transaction | {"nonce": nonce}
    raw = yield from signing.transaction(signer, transaction)
    hash_ = "0x" + keccak(raw).hex()
    try:
        yield from _hand_over(session, nonce, hash_, raw)
    except (BilateralError, NonceTakenError):
        raise
    except BaseException as interruption:  # an interrupt, or a task that is cancelled: it passes, with the hash
        session.nonces = NonceMemory()
        interruption.add_note(f"Transaction {hash_} may have been sent. Look it up before a new try.")
        raise
    session.nonces = NonceMemory(nonce + 1, time.monotonic())
    return replace(prepared, transaction=transaction, hash=hash_, raw=raw)


def _hand_over(session: Session, nonce: int, hash_: str, raw: bytes) -> Operation[None]:
    """Give the node a signed transaction. That it fails to say that it took it is nothing if it knows it afterwards."""
    try:
        yield Rpc("eth_sendRawTransaction", ("0x" + raw.hex(),))
    except lookups.NODE_FAILURES as failure:
        said = failure.node_message if isinstance(failure, NodeError) else ""
        meaning = Refusal.of(failure)
        is_priced_out = meaning is Refusal.PRICE_TOO_LOW_TO_REPLACE
        is_of_nonce = is_priced_out or meaning is Refusal.NONCE_USED
        if meaning is Refusal.HAS_IT:
            return
        if is_of_nonce:
            is_sent = yield from lookups.has_its_nonce(session, nonce, hash_, is_priced_out=is_priced_out)
        else:
            is_sent = yield from lookups.knows(hash_)
        if is_sent:
            return
        session.nonces = NonceMemory()
        if is_sent is None or meaning is Refusal.UNCLEAR:
            message = f"was handed to the node, which did not say whether it took it: {failure}"
            raise SendUncertainError(message, hash_, raw) from failure
        if is_of_nonce:
            session.nonces = NonceMemory(nonce + 1, time.monotonic())
            raise NonceTakenError(said) from None
        if meaning is Refusal.INSUFFICIENT_FUNDS:
            raise InsufficientFundsError(str(chain.address_of(session)), said) from None
        raise


def wait(session: Session, sent: Sent[T], timeout: float, confirmations: int) -> Operation[T]:
    """Wait for a transaction, see `Handle.wait`. Failures of the node are waited out."""
    if sent.hash is None:
        raise NotSentError("nothing was sent: the client only tries (dry_run=True)")
    end = time.monotonic() + timeout
    nonce_used_since: float | None = None
    while True:
        failure: Exception | None = None
        try:
            receipt = yield from lookups.receipt(sent.hash)
            if receipt is not None:
                depth = yield from _depth(receipt, confirmations)
                if depth >= confirmations:
                    return (yield from _outcome(sent, sent.hash, receipt))
            elif (yield from lookups.is_nonce_used(session, int(sent.transaction["nonce"]))):
                nonce_used_since = nonce_used_since or time.monotonic()
                is_settled = time.monotonic() - nonce_used_since >= lookups.LAG_SECONDS
                if is_settled and (yield from lookups.knows(sent.hash)) is False:
                    raise TransactionReplacedError("was replaced by another of its nonce", sent.hash, sent.raw)
            else:
                nonce_used_since = None
        except lookups.NODE_FAILURES as error:
            failure = error
        left = end - time.monotonic()
        if left <= 0:
            yield from _give_up(session, sent.hash, sent.raw, timeout, failure)
        yield Pause(min(session.poll_interval, max(left, 0)))


def the(logs: Sequence[Log], event: str) -> Mapping[str, Any]:
    """The fields of the first event of a kind.

    Raises:
        UnexpectedAnswerError: There is none, although the transaction succeeded.
    """
    found = next((log.fields for log in logs if log.name == event), None)
    if found is None:
        raise UnexpectedAnswerError(f"it succeeded, but did not log {event}: that is another contract")
    return found


def _send_with_next_nonce(session: Session, prepared: Sent[T]) -> Operation[Sent[T]]:
    """Send with the next nonce, and with a later one where somebody else with the same key was faster."""
    refusal = ""
    for _ in range(_NONCE_TRIES):
        nonce = yield from next_nonce(session)
        try:
            return (yield from send_with_nonce(session, prepared, nonce))
        except NonceTakenError as taken:
            refusal = str(taken)
    raise NodeError("eth_sendRawTransaction", None, refusal)


def _estimate(call: Mapping[str, Any]) -> Operation[int]:
    """The gas that a transaction needs, for which the node simulates it.

    Raises:
        ContractRevertError: The contract would refuse.
        InsufficientFundsError: The sender cannot pay.
    """
    try:
        return answers.quantity((yield Rpc("eth_estimateGas", (dict(call),))))
    except NodeError as error:
        if "insufficient funds" in error.node_message.lower():
            raise InsufficientFundsError(str(call["from"]), error.node_message) from None
        revert = answers.revert_of(error)
        if revert is None:
            raise
        if not revert.data:  # some nodes say why in calls only
            yield from chain.simulate(call)
        raise revert from revert.__cause__


def _fees() -> Operation[dict[str, int]]:
    """What to pay for gas: enough for the base fee to double, and what others have paid lately on top of it."""
    try:
        history = answers.record((yield Rpc("eth_feeHistory", (hex(_FEE_BLOCKS), "latest", [50]))))
        base = answers.quantity(history["baseFeePerGas"][-1])
        tips = [tip for rewards in history.get("reward") or [] if (tip := answers.quantity(rewards[0]))]
    except (NodeError, MalformedNodeAnswerError, KeyError, IndexError, TypeError):
        return {"gasPrice": answers.quantity((yield Rpc("eth_gasPrice")))}
    tip = median_low(tips) if tips else answers.quantity((yield Rpc("eth_maxPriorityFeePerGas")))
    return {"maxFeePerGas": 2 * base + tip, "maxPriorityFeePerGas": tip}


def _require_balance(sender: str, wei: int) -> Operation[None]:
    """Refuse to go on for an account that could not pay. A simulation costs nothing, so nodes do not look."""
    balance = answers.quantity((yield Rpc("eth_getBalance", (sender, "latest"))))
    if balance < wei:
        raise InsufficientFundsError(sender, f"it has {balance} wei, and the transaction may cost {wei}")


def _depth(receipt: Mapping[str, Any], confirmations: int) -> Operation[int]:
    """In how many blocks a transaction is; not looked up if one is enough."""
    block = answers.quantity(receipt.get("blockNumber"))
    if confirmations <= 1:
        return 1
    last = yield from chain.latest_block()
    return last - block + 1


def _outcome(sent: Sent[T], hash_: str, receipt: Mapping[str, Any]) -> Operation[T]:
    """The result of a transaction that is in a block.

    Raises:
        ContractRevertError: The registry refused.
        TransactionFailedError: It failed otherwise.
        UnexpectedAnswerError: The registry logged something else than it does.
    """
    if answers.quantity(receipt.get("status")) == 1:
        address = str(sent.transaction["to"]).lower()
        entries = [it for it in answers.records(receipt.get("logs")) if str(it.get("address")).lower() == address]
        try:
            with chain.given_by(sent.registry):
                return sent.decode([log for entry in entries if (log := chain.read_log(sent.registry, entry))])
        except UnexpectedAnswerError as error:
            raise UnexpectedAnswerError(f"transaction {hash_}: {error}", hash_) from None
    block = answers.quantity(receipt.get("blockNumber"))
    call = {name: sent.transaction[name] for name in ("to", "data")} | {
        "from": receipt.get("from"),
        "gas": hex(sent.transaction["gas"]),
    }
    for state in (block - 1, block):  # before its block, and after it: it ran somewhere in between
        try:
            yield from chain.simulate(call, hex(state))
        except ContractRevertError as revert:
            if revert.data:
                revert.transaction = hash_
                raise
        except lookups.NODE_FAILURES:
            continue
    raise TransactionFailedError("is in a block and failed, and the node does not tell why", hash_, sent.raw)


def _give_up(
    session: Session, hash_: str, raw: bytes | None, timeout: float, failure: Exception | None
) -> Operation[None]:
    """Say what became of a transaction that was waited for in vain."""
    if failure is None and (yield from lookups.knows(hash_)) is False:
        session.nonces = NonceMemory()
        raise TransactionDroppedError("is in no block, and the node does not know it any more", hash_, raw)
    why = f": {failure}" if failure else ""
    raise TransactionPendingError(f"is not in enough blocks after {timeout:g} seconds{why}", hash_, raw) from failure

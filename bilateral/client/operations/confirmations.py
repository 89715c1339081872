"""Functions that wait for a transaction and return its outcome: the result decoded from the receipt, or the error."""

import time
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from bilateral.client.operations import registries
from bilateral.client.state import ClientState, NonceMemory, Sent
from bilateral.core import errors
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.contracts.logs import RawLog
from bilateral.core.events import Event
from bilateral.node import answers
from bilateral.node.steps import Operation, Pause, Rpc

T = TypeVar("T")


LAG_SECONDS: Final = 15.0
"""The maximum number of seconds by which one node may lag behind another node with the same host name."""


def read_receipt(hash_: str) -> Operation[dict[str, Any] | None]:
    """Return a transaction's receipt, or None if the transaction is not in a block."""
    answer = yield Rpc("eth_getTransactionReceipt", (hash_,))
    return None if answer is None else answers.record(answer)


def knows(hash_: str) -> Operation[bool | None]:
    """Check whether the node has a transaction or its receipt. Return None if the node fails to respond."""
    try:
        answer = yield Rpc("eth_getTransactionByHash", (hash_,))
        return isinstance(answer, dict) or (yield from read_receipt(hash_)) is not None
    except errors.NODE_FAILURES:
        return None


def transaction_count(state: ClientState, block: str = "latest") -> Operation[int]:
    """Return how many transactions the signer has sent by the end of a block, which may be `pending`."""
    return answers.quantity((yield Rpc("eth_getTransactionCount", (registries.address_of(state), block))))


def is_nonce_used(state: ClientState, nonce: int, block: str = "latest") -> Operation[bool]:
    """Check whether the signer had used a nonce by the end of the given block."""
    return (yield from transaction_count(state, block)) > nonce


def has_its_nonce(state: ClientState, nonce: int, hash_: str, *, is_priced_out: bool) -> Operation[bool | None]:
    """Check whether the transaction itself used its nonce, after the node reported that the nonce is already used.

    This can happen if a proxy forwards the transaction twice and reports only the second result. A transaction that the
    node does not have may still be on its way, so only a block that contains a different transaction with the same
    nonce proves that this transaction did not use it.
    """
    end = time.monotonic() + LAG_SECONDS
    while True:
        has_it = yield from knows(hash_)
        if has_it:
            return True
        try:
            in_block = yield from _in_block(state, nonce)
            if in_block is not None:
                return in_block == hash_
        except errors.NODE_FAILURES:
            has_it = None
        if time.monotonic() >= end:
            return has_it if is_priced_out else None
        yield Pause(state.poll_interval)


def _in_block(state: ClientState, nonce: int) -> Operation[str | None]:
    """Return the hash of the signer's mined transaction with a nonce, or None. Recent blocks are searched first."""
    used = yield from registries.latest_block()
    if not (yield from is_nonce_used(state, nonce, hex(used))):
        return None
    step = 1
    while used >= step and (yield from is_nonce_used(state, nonce, hex(used - step))):
        used, step = used - step, 2 * step
    unused = max(used - step, -1)
    while used - unused > 1:
        middle = (unused + used) // 2
        if (yield from is_nonce_used(state, nonce, hex(middle))):
            used = middle
        else:
            unused = middle
    block = answers.record((yield Rpc("eth_getBlockByNumber", (hex(used), True))))
    sender = str(registries.address_of(state)).lower()
    return next(
        (
            "0x" + answers.data(record.get("hash")).hex()
            for record in answers.records(block.get("transactions"))
            if str(record.get("from")).lower() == sender and answers.quantity(record.get("nonce")) == nonce
        ),
        None,
    )


def wait(state: ClientState, sent: Sent[T], timeout: float, confirmations: int) -> Operation[T]:
    """Wait for a transaction, and keep waiting if the node fails. See `Handle.wait`."""
    if sent.hash is None:
        raise errors.NotSentError("nothing was sent: this is a dry run, or a batch that has not been sent yet")
    end = time.monotonic() + timeout
    nonce_used_since: float | None = None
    while True:
        failure: Exception | None = None
        try:
            hash_, receipt = yield from _receipt(sent)
            if receipt is not None:
                block = answers.quantity(receipt.get("blockNumber"))
                if confirmations <= 1 or (yield from registries.latest_block()) - block + 1 >= confirmations:
                    return (yield from outcome_of(state, sent, hash_, receipt))
            elif (yield from is_nonce_used(state, int(sent.transaction["nonce"]))):
                nonce_used_since = nonce_used_since or time.monotonic()
                is_settled = time.monotonic() - nonce_used_since >= LAG_SECONDS
                if is_settled and (yield from knows(sent.hash)) is False:
                    raise errors.TransactionReplacedError(
                        "was replaced by another transaction with the same nonce", sent.hash, sent.raw
                    )
            else:
                nonce_used_since = None
        except errors.NODE_FAILURES as error:
            failure = error
        remaining = end - time.monotonic()
        if remaining <= 0:
            yield from _give_up(state, sent.hash, sent.raw, timeout, failure)
        yield Pause(min(state.poll_interval, max(remaining, 0)))


def _receipt(sent: Sent[Any]) -> Operation[tuple[str, dict[str, Any] | None]]:
    """Return the hash and receipt of a transaction, or of an earlier transaction that it was meant to replace."""
    for hash_ in (str(sent.hash), *sent.earlier):
        receipt = yield from read_receipt(hash_)
        if receipt is not None:
            return hash_, receipt
    return str(sent.hash), None


def outcome_of(state: ClientState, sent: Sent[T], hash_: str, receipt: Mapping[str, Any]) -> Operation[T]:
    """Return the result of a transaction that is in a block."""
    status = answers.quantity(receipt.get("status"))
    _require_ours(state, sent, hash_, receipt)
    if status == 1:
        try:
            with registries.blame_registry(sent.registry):
                return sent.decode(_events(sent, receipt))
        except errors.UnexpectedAnswerError as error:
            raise errors.UnexpectedAnswerError(f"transaction {hash_}: {error}", hash_) from None
    block = answers.quantity(receipt.get("blockNumber"))
    call = {name: sent.transaction[name] for name in ("to", "data")} | {
        "from": receipt.get("from"),
        "gas": hex(sent.transaction["gas"]),
    }
    for after in (block - 1, block):  # the transaction ran somewhere between these two states
        try:
            yield from registries.simulate(call, hex(after))
        except ContractRevertError as revert:
            if revert.data:
                revert.transaction = hash_
                raise
        except errors.NODE_FAILURES:
            continue
    raise errors.TransactionFailedError("was mined but failed, and the node returned no reason", hash_, sent.raw)


def _require_ours(state: ClientState, sent: Sent[Any], hash_: str, receipt: Mapping[str, Any]) -> None:
    """Check that a receipt belongs to the transaction that was sent, because a proxy may return a different one."""
    ours = {"transactionHash": hash_, "from": registries.address_of(state), "to": sent.transaction["to"]}
    for name, expected in ours.items():
        if answers.data(receipt.get(name)) != bytes.fromhex(str(expected)[2:]):
            raise errors.UnexpectedAnswerError(
                f"transaction {hash_}: the node returned a receipt with a different {name}; try another node", hash_
            )


def _events(sent: Sent[Any], receipt: Mapping[str, Any]) -> list[Event]:
    raw = [RawLog.from_json(entry) for entry in answers.records(receipt.get("logs"))]
    registry = str(sent.transaction["to"]).lower()
    ours = [log for log in raw if log.position.address.lower() == registry]
    return [event for log in ours if (event := registries.decode(sent.registry, log))]


def _give_up(
    state: ClientState, hash_: str, raw: bytes | None, timeout: float, failure: Exception | None
) -> Operation[None]:
    if failure is None and (yield from knows(hash_)) is False:
        state.nonces = NonceMemory()
        raise errors.TransactionDroppedError("was not included in a block, and the node has dropped it", hash_, raw)
    why = f": {failure}" if failure else ""
    raise errors.TransactionPendingError(
        f"does not have enough confirmations after {timeout:g} seconds{why}", hash_, raw
    ) from failure

"""Replacing a pending transaction by another with its nonce: a faster one, or one that does nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bilateral.client.operations import fees, lookups, rebuilding, registries, transactions
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError, NotSentError, TransactionDroppedError, TransactionReplacedError
from bilateral.core.text import quoted
from bilateral.node import answers
from bilateral.node.steps import Batch, Exclusive, Rpc

if TYPE_CHECKING:
    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation

T = TypeVar("T")

_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")


def find(state: ClientState, transaction_hash: str) -> Operation[Sent[bool]]:
    """Find a transaction of the signer, see `Client.find_transaction`."""
    if not _HASH.fullmatch(transaction_hash):
        raise InvalidArgumentError(f"{quoted(transaction_hash)} is not 0x and 64 hexadecimal digits")
    hash_ = transaction_hash.lower()
    sender = registries.require_address(state)
    deployment = yield from registries.connect_to_sign(state)
    answer = yield Rpc("eth_getTransactionByHash", (hash_,))
    if answer is None:
        raise TransactionDroppedError("is unknown to the node", hash_)
    transaction = rebuilding.require_transaction(answer, hash_, sender, deployment.chain_id)
    return transactions.Sent(
        Registry.IDENTITY, transaction, transaction["gas"], lambda _: True, hash=hash_, nonce=transaction["nonce"]
    )


def speed_up(state: ClientState, sent: Sent[T]) -> Operation[Sent[T]]:
    """Send a transaction again with higher fees, see `Handle.speed_up`."""
    if sent.hash is None:
        raise NotSentError("nothing was sent, so nothing can be sped up")
    if (yield from lookups.receipt(sent.hash)) is not None:
        return sent
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    chain_id = int(sent.transaction["chainId"])
    transaction = sent.transaction | fees.replacing(state, chain_id, sent.transaction, price)
    faster = replace(sent, transaction=transaction, hash=None, raw=None, earlier=(sent.hash, *sent.earlier))
    try:
        sent_again: Sent[T] = yield Exclusive(_send(state, faster, sent.hash))
    except TransactionReplacedError:
        if (yield from lookups.receipt(sent.hash)) is None:
            raise
        return sent  # a block took it meanwhile
    return sent_again


def cancel(state: ClientState, sent: Sent[Any]) -> Operation[Sent[bool]]:
    """Send an empty transaction with the nonce of a pending one, see `Handle.cancel`."""
    if sent.hash is None:
        raise NotSentError("nothing was sent, so nothing can be cancelled")
    sender = registries.require_address(state)
    if (yield from lookups.receipt(sent.hash)) is not None:
        raise TransactionReplacedError("is in a block already, so it cannot be cancelled", sent.hash, sent.raw)
    call = {"from": sender, "to": sender, "data": "0x"}
    gas = answers.quantity((yield Rpc("eth_estimateGas", (call,))))
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    chain_id = int(sent.transaction["chainId"])
    empty = {"chainId": chain_id, "to": sender, "value": 0, "data": "0x", "gas": gas + gas // 5}
    empty |= {"nonce": sent.transaction["nonce"]} | fees.replacing(state, chain_id, sent.transaction, price)
    nothing = transactions.Sent(sent.registry, empty, gas, lambda _: True)
    sent_again: Sent[bool] = yield Exclusive(_send(state, nothing, sent.hash))
    return sent_again


def _send(state: ClientState, prepared: Sent[T], former: str) -> Operation[Sent[T]]:
    """Send a transaction with the nonce that it has. This client may know of later nonces; keep them."""
    fees.require_cost(state, prepared.transaction)
    yield from transactions.require_balance(state, fees.most(prepared.transaction))
    if state.dry_run:
        return prepared
    known = state.nonces
    try:
        return (yield from transactions.send_with_nonce(state, prepared, int(prepared.transaction["nonce"])))
    except transactions.NonceTakenError:
        raise TransactionReplacedError("is in a block already, or another with its nonce is", former) from None
    finally:
        state.nonces = known

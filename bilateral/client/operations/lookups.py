"""Look-ups of a transaction: is it known, in which block is it, and did another one take its nonce?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from bilateral.client.operations import registries
from bilateral.core.errors import NODE_FAILURES
from bilateral.node import answers
from bilateral.node.steps import Pause, Rpc

if TYPE_CHECKING:
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation

LAG_SECONDS: Final = 15.0
"""For how long two nodes behind one name may differ: one of them does not know yet what the other has told."""


def receipt(hash_: str) -> Operation[dict[str, Any] | None]:
    """Return the receipt of a transaction; None if it is in no block."""
    answer = yield Rpc("eth_getTransactionReceipt", (hash_,))
    return None if answer is None else answers.record(answer)


def knows(hash_: str) -> Operation[bool | None]:
    """Check whether the node knows a transaction, or its receipt; None if it fails to say."""
    try:
        answer = yield Rpc("eth_getTransactionByHash", (hash_,))
        return isinstance(answer, dict) or (yield from receipt(hash_)) is not None
    except NODE_FAILURES:
        return None


def transaction_count(state: ClientState, block: str = "latest") -> Operation[int]:
    """Return the number of the signer's transactions by the end of a block; `pending` counts pending ones too."""
    return answers.quantity((yield Rpc("eth_getTransactionCount", (registries.address_of(state), block))))


def is_nonce_used(state: ClientState, nonce: int, block: str = "latest") -> Operation[bool]:
    """Check whether a block, or one before it, holds a transaction of the signer with a nonce."""
    return (yield from transaction_count(state, block)) > nonce


def has_its_nonce(state: ClientState, nonce: int, hash_: str, *, is_priced_out: bool) -> Operation[bool | None]:
    """Check whether a transaction took its own nonce, after a node said that the nonce is taken.

    It may be: a proxy may have handed it over twice, and told how that ended the second time. The node that is asked
    about it may not know it yet. So only a block in which there is another of that nonce proves that it is not.

    Args:
        state: The client's.
        hash_: The transaction's hash.
        is_priced_out: True if another transaction with that nonce is pending. No block shows that one yet, so that this
            one stays unknown must do.

    Returns:
        Whether it is; None if that does not become clear for as long as nodes may differ.
    """
    end = time.monotonic() + LAG_SECONDS
    while True:
        is_known = yield from knows(hash_)
        if is_known:
            return True
        try:
            in_block = yield from _in_block(state, nonce)
            if in_block is not None:
                return in_block == hash_
        except NODE_FAILURES:
            is_known = None
        if time.monotonic() >= end:
            return is_known if is_priced_out else None
        yield Pause(state.poll_interval)


def _in_block(state: ClientState, nonce: int) -> Operation[str | None]:
    """Return the hash of the signer's transaction with a nonce if a block, most likely a late one, holds it."""
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

"""What a node knows of a transaction: whether it has it, in which block it is, whether it is the one of its nonce."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from bilateral.client.core import answers, chain
from bilateral.client.steps import Pause, Rpc
from bilateral.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError, NodeUnreachableError

if TYPE_CHECKING:
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation

NODE_FAILURES: Final = (NodeError, NodeUnreachableError, NodeTimeoutError, MalformedNodeAnswerError)

LAG_SECONDS: Final = 15.0
"""For how long two nodes behind one name may differ: one of them does not know yet what the other has told."""


def receipt(hash_: str) -> Operation[dict[str, Any] | None]:
    """The receipt of a transaction; None if it is in no block."""
    answer = yield Rpc("eth_getTransactionReceipt", (hash_,))
    return None if answer is None else answers.record(answer)


def knows(hash_: str) -> Operation[bool | None]:
    """Whether the node knows a transaction, or its receipt; None if it fails to say."""
    try:
        found = yield Rpc("eth_getTransactionByHash", (hash_,))
        return isinstance(found, dict) or (yield from receipt(hash_)) is not None
    except NODE_FAILURES:
        return None


def transaction_count(session: Session, block: str = "latest") -> Operation[int]:
    """How many transactions of the signer's there are by the end of a block, `pending` for those on their way, too."""
    return answers.quantity((yield Rpc("eth_getTransactionCount", (chain.address_of(session), block))))


def is_nonce_used(session: Session, nonce: int, block: str = "latest") -> Operation[bool]:
    """Whether a transaction of the signer's with a nonce is in a block, or in one before it."""
    return (yield from transaction_count(session, block)) > nonce


def has_its_nonce(session: Session, nonce: int, hash_: str, *, is_priced_out: bool) -> Operation[bool | None]:
    """Whether a transaction is the one that has its nonce, where a node said that one has it.

    It may be: a proxy may have handed it over twice, and told how that ended the second time. The node that is asked
    about it may not know it yet. So only a block in which there is another of that nonce proves that it is not.

    Args:
        session: The client's.
        nonce: The nonce.
        hash_: The transaction's hash.
        is_priced_out: Whether the node has another of that nonce on its way. No block shows that one yet, so that this
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
            in_block = yield from _in_block(session, nonce)
            if in_block is not None:
                return in_block == hash_
        except NODE_FAILURES:
            is_known = None
        if time.monotonic() >= end:
            return is_known if is_priced_out else None
        yield Pause(session.poll_interval)


def _in_block(session: Session, nonce: int) -> Operation[str | None]:
    """The hash of the signer's transaction with a nonce, if it is in a block, which most likely is one of the last."""
    used = yield from chain.latest_block()
    if not (yield from is_nonce_used(session, nonce, hex(used))):
        return None
    step = 1
    while used >= step and (yield from is_nonce_used(session, nonce, hex(used - step))):
        used, step = used - step, 2 * step
    unused = max(used - step, -1)
    while used - unused > 1:
        middle = (unused + used) // 2
        if (yield from is_nonce_used(session, nonce, hex(middle))):
            used = middle
        else:
            unused = middle
    block = answers.record((yield Rpc("eth_getBlockByNumber", (hex(used), True))))
    sender = str(chain.address_of(session)).lower()
    return next(
        (
            "0x" + answers.data(each.get("hash")).hex()
            for each in answers.records(block.get("transactions"))
            if str(each.get("from")).lower() == sender and answers.quantity(each.get("nonce")) == nonce
        ),
        None,
    )

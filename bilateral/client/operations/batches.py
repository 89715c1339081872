"""Many writes at once: prepared together, and sent with consecutive nonces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bilateral.client.operations import fees, registries, transactions
from bilateral.core.errors import NODE_FAILURES, BatchInterruptedError, BilateralError
from bilateral.node.steps import Batch, Exclusive, Rpc, together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.node.steps import Operation

_AT_A_TIME: Final = 50
"""Transactions of one request to the node. If one fails, those behind it in the same request may be pending."""


def send_all(
    state: ClientState, writes: Sequence[Operation[Sent[Any]]], note: Callable[[int, Sent[Any]], None]
) -> Operation[None]:
    """Prepare writes together, and send them in order.

    Args:
        state: The client's state.
        writes: The writes, as operations of a state that collects.
        note: Is told the position and transaction of each write that was sent; in a dry run, of each.

    Raises:
        BilateralError: A write cannot be prepared, or they cost too much together. Nothing was sent.
        BatchInterruptedError: Sending stopped in the middle.
    """
    yield from registries.connect(state)
    prepared = yield from together(writes)
    if state.dry_run:
        for position, write in enumerate(prepared):
            nonce = int(write.transaction["nonce"]) + position
            note(position, replace(write, transaction=write.transaction | {"nonce": nonce}))
        return
    yield from transactions.require_balance(state, sum(fees.most(signing.transaction) for signing in prepared))
    yield Exclusive(_send(state, prepared, note))


def _send(state: ClientState, prepared: Sequence[Sent[Any]], note: Callable[[int, Sent[Any]], None]) -> Operation[None]:
    """Sign and send transactions in order, with consecutive nonces."""
    sent: list[str] = []
    nonce = (yield from transactions.next_nonce(state)) if prepared else 0
    for start in range(0, len(prepared), _AT_A_TIME):
        part: list[Sent[Any]] = []
        try:
            for number, write in enumerate(prepared[start : start + _AT_A_TIME], start):
                part.append((yield from transactions.sign(state, write, nonce + number)))
            failures = yield from _send_part(state, part)
        except BilateralError as error:
            raise BatchInterruptedError(tuple(sent), len(prepared) - len(sent), str(error)) from error
        except BaseException as interruption:  # an interrupt or a cancelled task: it passes, with the hashes
            maybe = ", ".join([*sent, *(str(signed.hash) for signed in part)])
            interruption.add_note(f"These transactions may have been sent: {maybe or 'none'}.")
            raise
        for number, (write, failure) in enumerate(zip(part, failures, strict=True), start):
            if failure is None:
                sent.append(str(write.hash))
                note(number, write)
        first = next((failure for failure in failures if failure is not None), None)
        if first is not None:
            raise BatchInterruptedError(tuple(sent), len(prepared) - len(sent), str(first)) from first
        transactions.remember_nonce(state, nonce + start + len(part) - 1)


def _send_part(state: ClientState, part: Sequence[Sent[Any]]) -> Operation[list[Exception | None]]:
    """Send signed transactions by one request. Return for each None if the node accepted it, else the error."""
    requests = tuple(Rpc("eth_sendRawTransaction", ("0x" + bytes(signed.raw or b"").hex(),)) for signed in part)
    try:
        answers = yield Batch(requests)
    except NODE_FAILURES as failure:
        answers = [failure] * len(part)
    failures: list[Exception | None] = []
    for write, answer in zip(part, answers, strict=True):
        failures.append(None)
        if isinstance(answer, Exception):
            try:
                yield from transactions.settle(state, write, answer)
            except (BilateralError, transactions.NonceTakenError) as error:
                failures[-1] = error
    return failures

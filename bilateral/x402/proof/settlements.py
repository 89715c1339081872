"""The on-chain state of a payment that was sent: used, canceled, unused, or expired."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.core.errors import NODE_FAILURES, BilateralError
from bilateral.core.payments import PaymentKind, SignedPayment
from bilateral.core.payments.contracts import (
    AUTHORIZATION_CANCELED,
    AUTHORIZATION_USED,
    NONCE_INVALIDATED,
    PERMIT2,
    TRANSFER,
)
from bilateral.core.payments.settling import address_topic
from bilateral.core.payments.signed import WORD
from bilateral.node import answers
from bilateral.node.payments import receipt_log
from bilateral.node.steps import Operation, Rpc
from bilateral.x402.proof.payments import PaymentProblemError, find_transfer, may_settle, signed_payment

_AUTHORIZATION_STATE: Final = keccak(text="authorizationState(address,bytes32)")[:4]
_NONCE_BITMAP: Final = keccak(text="nonceBitmap(address,uint256)")[:4]
_WORD_BITS: Final = 8 * WORD  # the number of nonces in a word of the bitmap

SEARCHED_BLOCKS: Final = 1_000
"""How many of the latest blocks to search for a payment's transaction. Public nodes allow this many."""

_MOST_TRANSFERS: Final = 50
"""How many of the latest transfers between the two accounts to read. Each takes two requests, or three with a trace."""


@dataclass(frozen=True)
class Settlement:
    """The on-chain state of a payment that was sent.

    Attributes:
        is_paid: True if the authorization was used, False if it has not been used so far, None if unknown.
        transaction: The transaction that used the authorization; None if it was not found.
        problem: The reason why the state is unknown; empty otherwise.
        is_expired: True if the authorization is unused and can no longer be used.
        is_canceled: True if the payer canceled the authorization, so that nobody can use it.
        amount: The amount that a Permit2 payment moved; None if its transaction was not found, in which case a payment
            with the scheme `upto` may have moved anything from 1 to the ceiling.
        signed: The payment as its payer signed it; None if its kind is unsupported.
    """

    is_paid: bool | None
    transaction: str | None = None
    problem: str = ""
    is_expired: bool = False
    is_canceled: bool = False
    amount: int | None = None
    signed: SignedPayment | None = None


def find_settlement(
    accepted: Mapping[str, Any], payload: Mapping[str, Any], confirmations: int = 1
) -> Operation[Settlement]:
    """Look up whether an authorization was used, and by which transaction."""
    try:
        signed = signed_payment(accepted, payload)
    except PaymentProblemError as error:
        return Settlement(None, problem=str(error))
    return (yield from look_up(signed, confirmations))


def look_up(signed: SignedPayment, confirmations: int = 1, searched_blocks: int | None = None) -> Operation[Settlement]:
    """Look up whether a payment was made and, if the transaction is recent, by which transaction."""
    latest = yield from latest_block()
    block = max(0, latest - confirmations + 1)
    is_over = (yield from block_time(block)).timestamp() > signed.last_second
    # A later block may use an authorization that this one did not use, unless it has expired in this block.
    if not (yield from _is_used(signed, hex(block) if is_over else "latest")):
        return Settlement(False, is_expired=is_over, signed=signed)
    search = _used_authorization if signed.kind is PaymentKind.EIP3009 else _used_nonce
    first = max(0, latest - (SEARCHED_BLOCKS if searched_blocks is None else searched_blocks))
    try:
        return replace((yield from search(signed, first)), signed=signed)
    except BilateralError:
        return Settlement(True, signed=signed)  # a used authorization is paid, even if the node returns no logs


def nonce_call(signed: SignedPayment) -> tuple[dict[str, str], int]:
    """Return the call that reads whether a payment's nonce is used or canceled, and the nonce's bit in the result."""
    contract, data, bit = signed.asset, _AUTHORIZATION_STATE + address_topic(signed.payer) + signed.nonce, 0
    if signed.kind is not PaymentKind.EIP3009:
        word, bit = divmod(int.from_bytes(signed.nonce), _WORD_BITS)
        contract, data = PERMIT2, _NONCE_BITMAP + address_topic(signed.payer) + word.to_bytes(WORD)
    return {"to": contract, "data": "0x" + data.hex()}, bit


def _is_used(signed: SignedPayment, at: str) -> Operation[bool]:
    call, bit = nonce_call(signed)
    state = answers.data((yield Rpc("eth_call", (call, at))))
    if len(state) != WORD:
        answers.malformed(f"a 32-byte word: {call['to']} has no payment nonces")
    return bool(int.from_bytes(state) >> bit & 1)


def _used_authorization(signed: SignedPayment, first: int) -> Operation[Settlement]:
    events = [AUTHORIZATION_USED, AUTHORIZATION_CANCELED]
    logs = yield from _logs(first, signed.asset, events, address_topic(signed.payer), signed.nonce)
    if any(receipt_log(log).topics[0] == AUTHORIZATION_CANCELED for log in logs):
        return Settlement(False, is_expired=True, is_canceled=True)
    return Settlement(True, _transaction_of(logs[0]) if logs else None)


def _used_nonce(signed: SignedPayment, first: int) -> Operation[Settlement]:
    """Find the transaction that used a Permit2 nonce. Logs do not contain nonces, so transfers are examined."""
    payer = address_topic(signed.payer)
    transfers = yield from _logs(first, signed.asset, [TRANSFER], payer, address_topic(signed.payee))
    possible = [_transaction_of(log) for log in reversed(transfers) if may_settle(signed, receipt_log(log))]
    for transaction in list(dict.fromkeys(possible))[:_MOST_TRANSFERS]:
        with suppress(PaymentProblemError):
            _, transfer = yield from find_transfer(signed, transaction)
            return Settlement(True, transaction, amount=int.from_bytes(transfer.data))
    word, bit = divmod(int.from_bytes(signed.nonce), _WORD_BITS)
    for log in (yield from _logs(first, PERMIT2, [NONCE_INVALIDATED], payer)):
        invalidated = answers.data(log.get("data"))
        is_same_word = int.from_bytes(invalidated[:WORD]) == word
        if is_same_word and int.from_bytes(invalidated[WORD : 2 * WORD]) >> bit & 1:
            # An owner may also invalidate a nonce that is used already.
            before = hex(answers.quantity(log.get("blockNumber")) - 1)
            try:
                is_paid = yield from _is_used(signed, before)
            except NODE_FAILURES:
                problem = "it was canceled, and the node cannot determine whether it had been used"
                return Settlement(None, problem=problem, is_canceled=True)
            return Settlement(is_paid, is_expired=not is_paid, is_canceled=not is_paid)
    return Settlement(True)


def _logs(first: int, contract: str, events: list[bytes], *topics: bytes) -> Operation[list[dict[str, Any]]]:
    query = {
        "address": contract,
        "topics": [["0x" + event.hex() for event in events], *("0x" + topic.hex() for topic in topics)],
        "fromBlock": hex(first),
        "toBlock": "latest",
    }
    return answers.records((yield Rpc("eth_getLogs", (query,))))


def _transaction_of(log: dict[str, Any]) -> str:
    return "0x" + answers.data(log.get("transactionHash")).hex()

"""On-chain payments: finds, in a transaction's receipt, the transfer that settled a signed payment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.core.identifiers.caip import is_foreign
from bilateral.core.payments import (
    PROVABLE,
    InvalidPaymentError,
    PaymentKind,
    ReceiptLog,
    SignedPayment,
    kind_of_terms,
    signed_part,
)
from bilateral.core.payments.contracts import TRANSFER
from bilateral.core.payments.kinds import SIGNED_PARTS
from bilateral.core.payments.settling import address_topic
from bilateral.core.payments.signed import WORD
from bilateral.node import answers
from bilateral.node.payments import NO_TRACE, read_transfers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana.payments import message_key
from bilateral.x402.proof.verdicts import NOT_PROVABLE, Payment

_EVM_SCHEMES: Final = ("upto", "batch-settlement", "auth-capture")


class PaymentProblemError(Exception):
    """The transaction is not the requested payment. The message states why.

    Attributes:
        code: `payment_not_found`, `payment_mismatch`, `paid_less`, `payment_unconfirmed`, `not_provable`, or the code
            of an `InvalidPaymentError`.
        is_final: False if a later check may have a different result.
    """

    def __init__(self, problem: str, code: str = "payment_mismatch", *, is_final: bool | None = None) -> None:
        super().__init__(problem)
        self.code = code
        self.is_final = code == "payment_mismatch" if is_final is None else is_final


def signed_payment(accepted: Mapping[str, Any], payload: Mapping[str, Any]) -> SignedPayment:
    """Read a payment payload that this client sent."""
    try:
        return SignedPayment.of(accepted, payload)
    except InvalidPaymentError as error:
        raise PaymentProblemError(str(error), error.code, is_final=True) from None


def expiry_of(signed: SignedPayment) -> str:
    """Return the latest time at which a payment can be settled, as text."""
    try:
        return f"{datetime.fromtimestamp(signed.last_second, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):  # the time may lie after the year 9999
        return f"Unix time {signed.last_second}"


def find_payment(signed: SignedPayment, transaction: str, confirmations: int) -> Operation[Payment]:
    """Find a signed payment in the transaction that is said to have settled it."""
    block, transfer = yield from find_transfer(signed, transaction)
    is_upto, moved = signed.kind is PaymentKind.PERMIT2_UPTO, int.from_bytes(transfer.data)
    if moved < signed.amount and not is_upto:
        problem = f"only {moved} of {signed.asset} arrived at {signed.payee}, but the price is {signed.amount}"
        raise PaymentProblemError(problem, "paid_less", is_final=True)
    depth = (yield from latest_block()) - block + 1
    if depth < confirmations:
        raise PaymentProblemError(f"the payment has {depth} of {confirmations} confirmations", "payment_unconfirmed")
    time, ceiling = (yield from block_time(block)), signed.amount if is_upto else None
    sides = signed.payer, signed.payee, signed.asset
    return Payment(*sides, moved, block, transfer.log_index, time, signed.kind, ceiling)


def find_transfer(signed: SignedPayment, transaction: str) -> Operation[tuple[int, ReceiptLog]]:
    """Return the block and the transfer with which a transaction settled a payment. The amount may be too small."""
    reply = yield Rpc("eth_getTransactionReceipt", (transaction,))
    if reply is None:
        raise PaymentProblemError("the transaction is not in any block", "payment_not_found")
    receipt = answers.record(reply)
    if answers.quantity(receipt.get("status")) != 1:
        raise PaymentProblemError("the transaction failed", "payment_not_found", is_final=True)
    transfers = yield from read_transfers(transaction, receipt, signed.payer, signed.payee)
    expected = signed.nonce if signed.kind is PaymentKind.EIP3009 else signed
    for log, kind, payment in transfers:
        if not may_settle(signed, log):
            continue
        if payment == expected:
            return answers.quantity(receipt.get("blockNumber")), log
        if kind is None and signed.kind is not PaymentKind.EIP3009:
            raise PaymentProblemError(NO_TRACE, NOT_PROVABLE, is_final=True)
    amount = f"{'at most ' if signed.kind is PaymentKind.PERMIT2_UPTO else ''}{signed.amount} of {signed.asset}"
    problem = f"the transaction does not transfer {amount} from {signed.payer} to {signed.payee} by this authorization"
    raise PaymentProblemError(problem)


def may_settle(signed: SignedPayment, log: ReceiptLog) -> bool:
    """Return True if a transfer may have made this payment. A Permit2 payment cannot exceed the signed amount."""
    sides = TRANSFER, address_topic(signed.payer), address_topic(signed.payee)
    is_possible = log.address == signed.asset and log.topics == sides and len(log.data) == WORD
    moved = int.from_bytes(log.data)
    return is_possible and moved > 0 and (moved <= signed.amount or signed.kind is PaymentKind.EIP3009)


def unsupported_kind(scheme: object, network: str, extra: object) -> str | None:
    """Return a code such as `erc7710_not_supported` if payments on the given terms cannot be checked here, or None.

    On non-EVM chains, the chain's own reader checks payments with the scheme `exact`.
    """
    method = extra.get("assetTransferMethod") if isinstance(extra, Mapping) else None
    if not network.startswith("eip155:"):
        name = scheme if scheme in _EVM_SCHEMES else method
        return _code(name) if name in (*_EVM_SCHEMES, "permit2") else None
    if kind_of_terms(scheme, extra) in PROVABLE:
        return None
    return _code(method if scheme in ("exact", "upto") else scheme)


def _code(name: object) -> str:
    return f"{re.sub(r'[^a-z0-9-]', '_', str(name)[:40].lower())}_not_supported"


def is_ambiguous(payload: Mapping[str, Any], network: str = "") -> bool:
    """Return whether a facilitator may interpret a payment differently than this package does.

    This is the case if the payment has two authorizations, of which a facilitator would settle only one; if its account
    or nonce is not text, because a facilitator treats 1000, 1000.5 and 1000.9 as the same nonce; or, on a non-EVM
    chain, if its transaction has trailing bytes or is not canonical base64, because facilitators ignore both.
    """
    if is_foreign(network):
        return message_key(network, payload) is None
    _, signed = signed_part(payload)
    if signed is None:
        return sum(name in payload for name in SIGNED_PARTS) > 1
    return not all(isinstance(signed.get(name), str) for name in ("from", "nonce"))


def payer_of(payload: Mapping[str, Any]) -> str | None:
    """Return the account that signed a payment on an EVM chain, in checksum form, or None."""
    _, signed = signed_part(payload)
    text = None if signed is None else signed.get("from")
    try:
        return checksummed(text) if isinstance(text, str) else None
    except MalformedIdentifierError:
        return None

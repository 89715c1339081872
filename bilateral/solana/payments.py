"""Payments in the `exact` scheme on Solana: a client's signed transaction, and its outcome on the chain."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.core.errors import MalformedIdentifierError, MalformedNodeAnswerError
from bilateral.core.errors.solana import MalformedAccountError, SolanaError, SolanaPaymentError, UnknownTransactionError
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana.addresses import TOKEN_PROGRAMS, address_bytes, token_account
from bilateral.solana.nodes import Commitment, SolanaNode, decoded, whole
from bilateral.solana.transactions import MAX_TRANSACTION, SignedTransaction

_TRANSFER: Final = 3  # `Transfer` of the token program
_TRANSFER_CHECKED: Final = 12  # `TransferChecked` of the token program
_TRANSFER_WITH_FEE: Final = 26  # `TransferFeeExtension` of Token-2022
_TRANSFERS: Final = frozenset({_TRANSFER, _TRANSFER_CHECKED, _TRANSFER_WITH_FEE})
_TRANSFER_BYTES: Final = 10  # `TransferChecked`: its number, 8 bytes of an amount, and decimals
_TRANSFER_ACCOUNTS: Final = 4  # source, mint, destination and authority
_MAX_AMOUNT_DIGITS: Final = 20
"""The number of decimal digits in the largest possible amount, 2^64 - 1."""

PAYMENT_MISSING: Final = "payment_not_found"
_LATEST_VERSION: Final = 0
"""The latest supported transaction version. Nodes do not return transactions of later versions."""


@dataclass(frozen=True)
class Transfer:
    """A transfer instruction that specifies its token (`TransferChecked`).

    Attributes:
        index: The instruction's position in the transaction.
        program: The token's program.
        mint: The token.
        destination: The token account to be credited.
        authority: The account that pays and signs.
        amount: The amount, in the token's smallest unit.
    """

    index: int
    program: str
    mint: str
    destination: str
    authority: str
    amount: int


@dataclass(frozen=True)
class SignedPayment:
    """A payment that a client signed.

    Attributes:
        transaction: The transaction. The fee payer may not have signed it yet.
        transfer: The only transfer in the transaction.
    """

    transaction: SignedTransaction
    transfer: Transfer

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> SignedPayment:
        """Read the `payload` field of a payment payload."""
        try:
            transaction = signed_transaction(payload)
        except MalformedAccountError as error:
            raise SolanaPaymentError(str(error)) from None
        if transaction.has_lookups:
            raise SolanaPaymentError("the transaction loads accounts from lookup tables, which may change")
        transfers = [
            (index, instruction)
            for index, instruction in enumerate(transaction.instructions)
            if instruction.program in TOKEN_PROGRAMS and instruction.data[:1] and instruction.data[0] in _TRANSFERS
        ]
        if len(transfers) != 1:
            raise SolanaPaymentError(f"the transaction has {len(transfers)} transfers instead of one")
        index, instruction = transfers[0]
        data, places = instruction.data, instruction.accounts
        if data[0] != _TRANSFER_CHECKED or len(data) != _TRANSFER_BYTES or len(places) < _TRANSFER_ACCOUNTS:
            raise SolanaPaymentError("the transaction's transfer is not a TransferChecked instruction")
        _, mint, destination, authority = (transaction.accounts[place] for place in places[:_TRANSFER_ACCOUNTS])
        if places[3] >= transaction.signers:
            raise SolanaPaymentError(f"the payer {authority} did not sign the transaction")
        amount = int.from_bytes(data[1:9], "little")
        return cls(transaction, Transfer(index, instruction.program, mint, destination, authority, amount))


@dataclass(frozen=True)
class ExpectedPayment:
    """The agreed terms, with the payment that the client signed.

    Attributes:
        asset: The token.
        payee: The account to be paid (`payTo`), which owns the token account that is credited.
        amount: The agreed amount, in the token's smallest unit.
        signed: The payment that was signed.
    """

    asset: str
    payee: str
    amount: int
    signed: SignedPayment

    @classmethod
    def of(cls, accepted: Mapping[str, Any], payload: Mapping[str, Any]) -> ExpectedPayment:
        """Read a payment, and check that the signed terms match the agreed terms."""
        signed = SignedPayment.of(payload)
        try:
            asset, payee, amount = accepted["asset"], accepted["payTo"], accepted["amount"]
            address_bytes(asset)
            address_bytes(payee)
            if not amount.isdecimal() or not amount.isascii() or len(amount) > _MAX_AMOUNT_DIGITS or not int(amount):
                raise ValueError(amount)  # noqa: TRY301  # as any other invalid amount
        except (KeyError, TypeError, ValueError, AttributeError, MalformedIdentifierError):
            raise SolanaPaymentError("the payment's asset, payTo or amount is malformed for Solana") from None
        expected, transfer = cls(asset, payee, int(amount), signed), signed.transfer
        if transfer.mint != asset:
            raise SolanaPaymentError(f"the transaction transfers {transfer.mint}, not {asset}")
        if transfer.destination != token_account(payee, asset, transfer.program):
            raise SolanaPaymentError(f"the transaction pays {transfer.destination}, which is not an account of {payee}")
        if transfer.amount < expected.amount:
            raise SolanaPaymentError(f"the transaction transfers {transfer.amount}, not the agreed {expected.amount}")
        return expected


@dataclass(frozen=True)
class ChainPayment:
    """A payment that was found on the chain.

    Attributes:
        amount: The amount that arrived, in the token's smallest unit.
        time: The time of the payment's slot.
    """

    amount: int
    slot: int
    time: datetime


def find_payment(
    node: SolanaNode, expected: ExpectedPayment, transaction: str, confirmations: int
) -> Operation[ChainPayment]:
    """Look up a payment on the chain."""
    yield from node.require_chain()
    commitment: Commitment = "finalized" if confirmations > 1 else node.commitment
    answer = yield from _transaction(transaction, commitment)
    is_waited_for = answer is None and commitment == "finalized"
    if is_waited_for and (yield from _transaction(transaction, "confirmed")) is not None:
        problem = "the payment is confirmed, but not yet finalized"
        raise SolanaPaymentError(problem, "payment_unconfirmed", is_final=False)
    if answer is None:
        raise UnknownTransactionError(transaction)
    return arrived(expected, answers.record(answer), transaction)


def arrived(expected: ExpectedPayment, answer: Mapping[str, Any], transaction: str) -> ChainPayment:
    """Check a payment against the node's response to `getTransaction`, ignoring what a facilitator reports."""
    meta = answer.get("meta")
    if not isinstance(meta, dict) or "err" not in meta:
        raise SolanaError("the node did not return the transaction's outcome")
    content = decoded(answer.get("transaction"), MAX_TRANSACTION)
    try:
        signed = SignedTransaction.of(content)
    except MalformedAccountError as error:
        raise MalformedNodeAnswerError(f"the node's response is not a transaction: {error}") from None
    if signed.id != transaction:
        raise SolanaPaymentError(f"the node returned transaction {signed.id} instead of {transaction}")
    if signed.message != expected.signed.transaction.message:
        raise SolanaPaymentError("the transaction differs from the client's signed transaction")
    if meta["err"] is not None:
        raise SolanaPaymentError(f"the transaction failed: {str(meta['err'])[:200]}", PAYMENT_MISSING)
    destination = signed.accounts.index(expected.signed.transfer.destination)
    before, _ = _balance(meta.get("preTokenBalances"), destination, expected.asset)
    after, owner = _balance(meta.get("postTokenBalances"), destination, expected.asset)
    if owner != expected.payee:
        raise SolanaPaymentError(f"the credited account belongs to {owner or 'nobody'}, not to {expected.payee}")
    if after - before < expected.amount:
        raise SolanaPaymentError(f"{after - before} arrived at {expected.payee}, not the agreed {expected.amount}")
    seconds = answer.get("blockTime")
    if seconds is None:
        raise SolanaError("the node did not return the payment's time")
    try:
        time = datetime.fromtimestamp(whole(seconds), UTC)
    except (OverflowError, OSError, ValueError):
        answers.malformed("a time")
    return ChainPayment(after - before, whole(answer.get("slot")), time)


def signed_transaction(payload: Mapping[str, Any]) -> SignedTransaction:
    """Return a payload's transaction in the only accepted form: canonical base 64 without trailing bytes."""
    text = payload.get("transaction")
    try:
        if not isinstance(text, str) or len(text) > 2 * MAX_TRANSACTION:
            raise ValueError(text)  # noqa: TRY301  # as text that is not base 64
        content = base64.b64decode(text, validate=True)
        if base64.b64encode(content).decode() != text:
            raise ValueError(text)  # noqa: TRY301
    except (binascii.Error, ValueError):
        problem = f"expected at most {MAX_TRANSACTION} bytes in base 64"
        raise MalformedAccountError("a transaction", problem) from None
    return SignedTransaction.of(content)


def message_key(network: str, payload: Mapping[str, Any]) -> bytes | None:
    """Return a key that is the same for every copy of a payment, regardless of signatures and other fields."""
    try:
        return keccak(network.encode() + b"\n" + signed_transaction(payload).message)
    except MalformedAccountError:
        return None


def _transaction(transaction: str, commitment: Commitment) -> Operation[Any]:
    options = {"encoding": "base64", "commitment": commitment, "maxSupportedTransactionVersion": _LATEST_VERSION}
    return (yield Rpc("getTransaction", (transaction, options)))


def _balance(balances: Any, place: int, mint: str) -> tuple[int, str]:
    if balances is None:
        raise SolanaError("the node did not return the transaction's balances")
    entries = [entry for entry in answers.records(balances) if entry.get("accountIndex") == place]
    if not entries:
        return 0, ""
    amount = answers.record(entries[0].get("uiTokenAmount")).get("amount")
    if len(entries) > 1 or not isinstance(amount, str) or not amount.isdecimal() or len(amount) > _MAX_AMOUNT_DIGITS:
        answers.malformed("balances of tokens")
    return (int(amount) if entries[0].get("mint") == mint else 0), str(entries[0].get("owner"))

"""Payments on chain: the receipt of a transaction, read for one transfer of one token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.core.errors import BilateralError, MalformedIdentifierError, MalformedNodeAnswerError
from bilateral.core.events.decoder import paired_nonces
from bilateral.core.identifiers import checksummed
from bilateral.core.identifiers.caip import is_foreign
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana.payments import message_key
from bilateral.x402.proof.verdicts import Payment

TRANSFER: Final = keccak(text="Transfer(address,address,uint256)")
AUTHORIZATION_USED: Final = keccak(text="AuthorizationUsed(address,bytes32)")
_AUTHORIZATION_CANCELED: Final = keccak(text="AuthorizationCanceled(address,bytes32)")

_AUTHORIZATION_STATE: Final = keccak(text="authorizationState(address,bytes32)")[:4]

SEARCHED_BLOCKS: Final = 1_000
"""The latest blocks in which the transaction of a payment is looked for. Public nodes answer for as many."""

EIP_3009: Final = "authorization"
PERMIT2: Final = "permit2Authorization"
SIGNED_PARTS: Final = (EIP_3009, PERMIT2)
"""The parts of a payment of the scheme `exact` that a payer signs, one for each kind of transfer."""

_SUPPORTED_METHODS: Final = (None, "eip3009", "default")
"""The values of `extra.assetTransferMethod` that mean EIP-3009; `default` is the SDK's own name for it."""

WORD: Final = 32  # bytes of a word of the contract ABI

_TOPICS: Final = 3
"""The topics of both events."""


class PaymentProblemError(Exception):
    """The transaction is not the payment that was asked for. The message says why.

    Attributes:
        code: `payment_not_found`, `payment_mismatch` or `payment_unconfirmed`.
        is_final: False if a later look may have another result.
    """

    def __init__(self, problem: str, code: str = "payment_mismatch", *, is_final: bool | None = None) -> None:
        super().__init__(problem)
        self.code = code
        self.is_final = code == "payment_mismatch" if is_final is None else is_final


@dataclass(frozen=True)
class ExpectedPayment:
    """A payment as the client signed it.

    Attributes:
        transaction: The transaction's hash.
        asset: The token.
        payer: The account that pays.
        payee: The account to be paid, `payTo`.
        amount: The agreed amount, in the token's smallest unit.
        nonce: The authorization's nonce (EIP-3009), 32 bytes; None for other kinds of transfers.
    """

    transaction: str
    asset: str
    payer: str
    payee: str
    amount: int
    nonce: bytes | None

    @classmethod
    def of(cls, accepted: dict[str, Any], payload: dict[str, Any], transaction: str) -> ExpectedPayment:
        """Read a payment payload that this client sent."""
        _, signed = signed_part(payload)
        try:
            amount, nonce = int(accepted["amount"]), None
            if amount <= 0:
                raise ValueError(amount)  # noqa: TRY301  # as any other invalid amount
            if EIP_3009 in payload and payload[EIP_3009]["nonce"] is not None:
                nonce = bytes.fromhex(payload[EIP_3009]["nonce"].removeprefix("0x")).rjust(WORD, b"\0")
            accounts = accepted["asset"], signed["from"], accepted["payTo"]  # type: ignore[index]
            asset, payer, payee = map(checksummed, accounts)
            return cls(transaction, asset, payer, payee, amount, nonce)
        except (KeyError, TypeError, ValueError, AttributeError, MalformedIdentifierError):
            raise PaymentProblemError("the payment is not a transfer by signature on an EVM chain") from None


def find_payment(expected: ExpectedPayment, confirmations: int) -> Operation[Payment]:
    """Find a payment in the receipt of its transaction."""
    reply = yield Rpc("eth_getTransactionReceipt", (expected.transaction,))
    if reply is None:
        raise PaymentProblemError("the transaction is not in any block", "payment_not_found")
    receipt = answers.record(reply)
    if answers.quantity(receipt.get("status")) != 1:
        raise PaymentProblemError("the transaction failed", "payment_not_found", is_final=True)
    logs = [ReceiptLog.of(record) for record in answers.records(receipt.get("logs"))]
    transfers = _transfers(expected, logs)
    transferred = (TRANSFER, address_topic(expected.payer), address_topic(expected.payee))
    paid = [log for log in transfers if log.topics == transferred and int.from_bytes(log.data) >= expected.amount]
    if not paid:
        amount = f"{expected.amount} of {expected.asset} from {expected.payer} to {expected.payee}"
        raise PaymentProblemError(f"the transaction does not transfer {amount}")
    block = answers.quantity(receipt.get("blockNumber"))
    depth = (yield from latest_block()) - block + 1
    if depth < confirmations:
        raise PaymentProblemError(f"the payment has {depth} of {confirmations} confirmations", "payment_unconfirmed")
    amount_paid, time = int.from_bytes(paid[0].data), (yield from block_time(block))
    return Payment(expected.payer, expected.payee, expected.asset, amount_paid, block, paid[0].index, time)


@dataclass(frozen=True)
class Settlement:
    """The state on chain of a payment that was sent.

    Attributes:
        is_paid: True if the authorization was used, False if not yet; None if that is unknown.
        transaction: The transaction that used it; None if it was not found.
        problem: The reason why nothing is known; empty otherwise.
        is_expired: True if the authorization is unused, and can never be used any more.
    """

    is_paid: bool | None
    transaction: str | None = None
    problem: str = ""
    is_expired: bool = False


def find_settlement(accepted: dict[str, Any], payload: dict[str, Any], confirmations: int = 1) -> Operation[Settlement]:
    """Look up whether an authorization (EIP-3009) was used, and by which transaction."""
    try:
        expected = ExpectedPayment.of(accepted, payload, "")
        valid_before = int(payload[EIP_3009]["validBefore"])
    except PaymentProblemError as error:
        return Settlement(None, problem=str(error))
    except (KeyError, TypeError, ValueError):
        return Settlement(None, problem="only payments by EIP-3009, with a validBefore, are looked up")
    payer, nonce = address_topic(expected.payer), expected.nonce or b""
    latest = yield from latest_block()
    block = max(0, latest - confirmations + 1)
    is_over = (yield from block_time(block)).timestamp() >= valid_before
    # A later block may have used what this one did not, unless the authorization had expired in this one.
    at = hex(block) if is_over else "latest"
    data = "0x" + (_AUTHORIZATION_STATE + payer + nonce).hex()
    if not any(answers.data((yield Rpc("eth_call", ({"to": expected.asset, "data": data}, at))))):
        return Settlement(False, is_expired=is_over)
    topics = ["0x" + topic.hex() for topic in (payer, nonce)]
    query = {
        "address": expected.asset,
        "topics": [["0x" + event.hex() for event in (AUTHORIZATION_USED, _AUTHORIZATION_CANCELED)], *topics],
        "fromBlock": hex(max(0, latest - SEARCHED_BLOCKS)),
        "toBlock": "latest",
    }
    try:
        logs = answers.records((yield Rpc("eth_getLogs", (query,))))
        if any(ReceiptLog.of(log).topics[0] == _AUTHORIZATION_CANCELED for log in logs):
            return Settlement(False, is_expired=True)
        return Settlement(True, "0x" + answers.data(logs[0].get("transactionHash")).hex() if logs else None)
    except BilateralError:
        return Settlement(True)  # the authorization is used, so it is paid even if the node gives no logs


@dataclass(frozen=True)
class ReceiptLog:
    """A log of a receipt."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    index: int

    @classmethod
    def of(cls, log: dict[str, Any]) -> ReceiptLog:
        """Read a log."""
        topics = log.get("topics")
        try:
            account = checksummed(log["address"].lower())
        except (KeyError, AttributeError, MalformedIdentifierError):
            account = ""
        if not account or not isinstance(topics, list):
            raise MalformedNodeAnswerError("the node's answer is not a log")
        data, index = answers.data(log.get("data")), answers.quantity(log.get("logIndex"))
        return cls(account, tuple(answers.data(topic) for topic in topics), data, index)


def _transfers(expected: ExpectedPayment, logs: list[ReceiptLog]) -> list[ReceiptLog]:
    """Return the transfers that may be a payment, whatever their payees and amounts: with a nonce, at most one."""
    payer = address_topic(expected.payer)
    of_asset = (log for log in logs if log.address == expected.asset and len(log.topics) == _TOPICS)
    ours = [log for log in of_asset if log.topics[1] == payer]
    transfers = [log for log in ours if log.topics[0] == TRANSFER and len(log.data) == WORD]
    if expected.nonce is None:
        return transfers
    used = {("", log.index): log.topics[2] for log in ours if log.topics[0] == AUTHORIZATION_USED}
    if expected.nonce not in used.values():
        raise PaymentProblemError("the transaction does not use this authorization")
    nonces = paired_nonces([("", transfer.index) for transfer in transfers], used)
    return [transfer for transfer in transfers if nonces.get(("", transfer.index)) == expected.nonce]


def address_topic(address: str) -> bytes:
    """Return an address as a topic."""
    return bytes.fromhex(address[2:]).rjust(WORD, b"\0")


def signed_part(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the authorization that a payment of the scheme `exact` signs, and its name.

    A payment with two of them has none: a facilitator settles one, and ignores what the other one says.
    """
    names = [name for name in SIGNED_PARTS if name in payload]
    signed = payload[names[0]] if len(names) == 1 else None
    return (names[0], signed) if isinstance(signed, dict) else ("", None)


def unsupported_kind(scheme: Any, network: str, extra: Any, payload: Mapping[str, Any] | None = None) -> str | None:
    """Return the code for terms or a payment that nobody here can judge, such as `permit2_not_supported`; None if none.

    Only transfers with authorization (EIP-3009) can be checked on EVM chains. Permit2 and `upto` have other rules for
    nonces, amounts and events.
    """
    method = extra.get("assetTransferMethod") if isinstance(extra, dict) else None
    method = "permit2" if PERMIT2 in (payload or {}) else method
    if scheme != "exact" and (network.startswith("eip155:") or scheme == "upto"):
        return f"{_code(scheme)}_not_supported"
    if method not in _SUPPORTED_METHODS and (network.startswith("eip155:") or method == "permit2"):
        return f"{_code(method)}_not_supported"
    return None


def _code(name: object) -> str:
    return re.sub(r"[^a-z0-9-]", "_", str(name)[:40].lower())


def is_ambiguous(payload: Mapping[str, Any], network: str = "") -> bool:
    """Tell whether a payment may be another one for a facilitator than for us.

    It has two authorizations, of which a facilitator would settle one; or its account or its nonce is not text:
    a facilitator takes 1000, 1000.5 and 1000.9 for one nonce. On a foreign chain, its transaction is not in
    canonical base 64, or bytes follow it: facilitators ignore both.
    """
    if is_foreign(network):
        return message_key(network, payload) is None
    _, signed = signed_part(payload)
    if signed is None:
        return sum(name in payload for name in SIGNED_PARTS) > 1
    return not all(isinstance(signed.get(name), str) for name in ("from", "nonce"))


def payer_of(payload: Mapping[str, Any]) -> str | None:
    """Return the account that signed a payment of the scheme `exact`, in checksum form; None if there is none."""
    _, signed = signed_part(payload)
    text = None if signed is None else signed.get("from")
    try:
        return checksummed(text) if isinstance(text, str) else None
    except MalformedIdentifierError:
        return None

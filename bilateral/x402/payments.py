"""Payments on chain: the receipt of a transaction, read for one transfer of one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eth_utils.crypto import keccak

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.errors import MalformedIdentifierError, MalformedNodeAnswerError
from bilateral.identifiers import checksummed
from bilateral.node import answers
from bilateral.node.steps import Rpc
from bilateral.x402.verdicts import Payment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bilateral.node.steps import Operation

TRANSFER: Final = keccak(text="Transfer(address,address,uint256)")
AUTHORIZATION_USED: Final = keccak(text="AuthorizationUsed(address,bytes32)")

_WORD: Final = 32

_TOPICS: Final = 3
"""The topics of both events."""


class PaymentProblemError(Exception):
    """The transaction is not the payment that was asked for. The message says why.

    Attributes:
        code: `payment_not_found`, `payment_mismatch` or `payment_unconfirmed`.
    """

    def __init__(self, problem: str, code: str = "payment_mismatch") -> None:
        """Compose the message from the problem."""
        super().__init__(problem)
        self.code = code


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
        """Read a payment payload that this client sent.

        Raises:
            PaymentProblemError: It is not a payment by signature on an EVM chain.
        """
        signed = payload.get("authorization") or payload.get("permit2Authorization")
        try:
            amount = int(accepted["amount"])
            if amount <= 0:
                raise ValueError(amount)  # noqa: TRY301  # as any other invalid amount
            nonce = payload["authorization"]["nonce"] if "authorization" in payload else None
            return cls(
                transaction=transaction,
                asset=checksummed(accepted["asset"]),
                payer=checksummed(signed["from"]),  # type: ignore[index]
                payee=checksummed(accepted["payTo"]),
                amount=amount,
                nonce=None if nonce is None else bytes.fromhex(nonce.removeprefix("0x")).rjust(_WORD, b"\0"),
            )
        except (KeyError, TypeError, ValueError, AttributeError, MalformedIdentifierError):
            raise PaymentProblemError("the payment is not a transfer by signature on an EVM chain") from None


def find_payment(expected: ExpectedPayment, confirmations: int) -> Operation[Payment]:
    """Find a payment in the receipt of its transaction.

    Args:
        expected: The payment.
        confirmations: The number of blocks that must hold or follow the transaction.

    Raises:
        PaymentProblemError: The transaction is unknown, failed, too recent, or another payment.
    """
    found = yield Rpc("eth_getTransactionReceipt", (expected.transaction,))
    if found is None:
        raise PaymentProblemError("the transaction is not in any block", "payment_not_found")
    receipt = answers.record(found)
    if answers.quantity(receipt.get("status")) != 1:
        raise PaymentProblemError("the transaction failed", "payment_not_found")
    logs = [ReceiptLog.of(each) for each in answers.records(receipt.get("logs"))]
    transfers = _transfers(expected, logs)
    transferred = (TRANSFER, address_topic(expected.payer), address_topic(expected.payee))
    paid = [it for it in transfers if it.topics == transferred and int.from_bytes(it.data) >= expected.amount]
    if not paid:
        amount = f"{expected.amount} of {expected.asset} from {expected.payer} to {expected.payee}"
        raise PaymentProblemError(f"the transaction does not transfer {amount}")
    block = answers.quantity(receipt.get("blockNumber"))
    depth = (yield from latest_block()) - block + 1
    if depth < confirmations:
        problem = f"the payment has {depth} of {confirmations} confirmations"
        raise PaymentProblemError(problem, "payment_unconfirmed")
    time = yield from block_time(block)
    amount_paid = int.from_bytes(paid[0].data)
    return Payment(expected.payer, expected.payee, expected.asset, amount_paid, block, paid[0].index, time)


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
        topics, address = log.get("topics"), log.get("address")
        if not isinstance(topics, list) or not isinstance(address, str):
            raise MalformedNodeAnswerError("the node's answer is not a log")
        try:
            account = checksummed(address.lower())
        except MalformedIdentifierError:
            raise MalformedNodeAnswerError("the node's answer is not a log") from None
        data, index = answers.data(log.get("data")), answers.quantity(log.get("logIndex"))
        return cls(account, tuple(answers.data(each) for each in topics), data, index)


def _transfers(expected: ExpectedPayment, logs: list[ReceiptLog]) -> list[ReceiptLog]:
    """Return the transfers that may be a payment, whatever their payees and amounts: with a nonce, at most one.

    Raises:
        PaymentProblemError: The transaction does not use the authorization.
    """
    payer = address_topic(expected.payer)
    ours = [it for it in logs if it.address == expected.asset and len(it.topics) == _TOPICS and it.topics[1] == payer]
    transfers = [it for it in ours if it.topics[0] == TRANSFER and len(it.data) == _WORD]
    if expected.nonce is None:
        return transfers
    nonces = {it.index: it.topics[2] for it in ours if it.topics[0] == AUTHORIZATION_USED}
    if expected.nonce not in nonces.values():
        raise PaymentProblemError("the transaction does not use this authorization")
    return [it for it, nonce in _with_nonces(transfers, nonces) if nonce == expected.nonce]


def _with_nonces(transfers: list[ReceiptLog], nonces: dict[int, bytes]) -> Iterator[tuple[ReceiptLog, bytes]]:
    """Pair an account's transfers with its authorizations: a transaction may hold several payments of one client.

    A token logs the use of an authorization and its transfer one after the other (as `with_nonces` of the index). From
    the last transfer to the first, the pairs are right in both orders. A transfer without an authorization that stands
    before a use and its transfer takes neither.
    """
    left = dict(nonces)
    for it in sorted(transfers, key=lambda each: each.index, reverse=True):
        for neighbour in (it.index + 1, it.index - 1):
            if neighbour in left:
                yield it, left.pop(neighbour)
                break


def address_topic(address: str) -> bytes:
    """Return an address as a topic."""
    return bytes.fromhex(address[2:]).rjust(_WORD, b"\0")


def payer_of(payload: Mapping[str, Any]) -> str | None:
    """Return the account that signed a payment of the scheme `exact`, in checksum form; None if there is none.

    Args:
        payload: The payment.
    """
    for name in ("authorization", "permit2Authorization"):
        signed = payload.get(name)
        text = signed.get("from") if isinstance(signed, dict) else None
        if isinstance(text, str):
            try:
                return checksummed(text)
            except MalformedIdentifierError:
                return None
    return None

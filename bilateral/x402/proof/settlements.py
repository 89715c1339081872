"""The state on chain of a payment that was sent: used, canceled, or unused, until its deadline or for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.core.errors import BilateralError
from bilateral.core.payments import PaymentKind, SignedPayment
from bilateral.core.payments.contracts import AUTHORIZATION_CANCELED, AUTHORIZATION_USED
from bilateral.core.payments.settling import address_topic
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.x402.proof.payments import PaymentProblemError, receipt_log, signed_payment

_AUTHORIZATION_STATE: Final = keccak(text="authorizationState(address,bytes32)")[:4]

SEARCHED_BLOCKS: Final = 1_000
"""The latest blocks in which the transaction of a payment is looked for. Public nodes answer for as many."""


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


def find_settlement(
    accepted: Mapping[str, Any], payload: Mapping[str, Any], confirmations: int = 1
) -> Operation[Settlement]:
    """Look up whether an authorization was used, and by which transaction."""
    try:
        signed = signed_payment(accepted, payload)
    except PaymentProblemError as error:
        return Settlement(None, problem=str(error))
    if signed.kind is not PaymentKind.EIP3009:
        return Settlement(None, problem="only payments by EIP-3009 are looked up")
    latest = yield from latest_block()
    block = max(0, latest - confirmations + 1)
    is_over = (yield from block_time(block)).timestamp() >= signed.deadline
    # A later block may have used what this one did not, unless the authorization had expired in this one.
    at = hex(block) if is_over else "latest"
    payer = address_topic(signed.payer)
    data = "0x" + (_AUTHORIZATION_STATE + payer + signed.nonce).hex()
    if not any(answers.data((yield Rpc("eth_call", ({"to": signed.asset, "data": data}, at))))):
        return Settlement(False, is_expired=is_over)
    return (yield from _used_authorization(signed, latest))


def _used_authorization(signed: SignedPayment, latest: int) -> Operation[Settlement]:
    topics = ["0x" + topic.hex() for topic in (address_topic(signed.payer), signed.nonce)]
    query = {
        "address": signed.asset,
        "topics": [["0x" + event.hex() for event in (AUTHORIZATION_USED, AUTHORIZATION_CANCELED)], *topics],
        "fromBlock": hex(max(0, latest - SEARCHED_BLOCKS)),
        "toBlock": "latest",
    }
    try:
        logs = answers.records((yield Rpc("eth_getLogs", (query,))))
        if any(receipt_log(log).topics[0] == AUTHORIZATION_CANCELED for log in logs):
            return Settlement(False, is_expired=True)
        return Settlement(True, "0x" + answers.data(logs[0].get("transactionHash")).hex() if logs else None)
    except BilateralError:
        return Settlement(True)  # the authorization is used, so it is paid even if the node gives no logs

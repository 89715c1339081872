"""Checks of a payment before the application runs, and of its settlement."""

import logging
import re
from typing import Any, Final, TypeAlias

from x402.schemas import AbortResult, SettleResponse
from x402.schemas.hooks import SkipSettleResult

from bilateral.core.payments import PROVABLE, InvalidPaymentError, PaymentKind, SignedPayment, kind_of
from bilateral.x402.proof.checking import UNSUPPORTED
from bilateral.x402.proof.errors import InvalidMessageError
from bilateral.x402.proof.payments import is_ambiguous, payer_of, unsupported_kind
from bilateral.x402.proof.profiles import PROFILE_8004
from bilateral.x402.proof.settlements import Settlement
from bilateral.x402.proof.types import X402_VERSION
from bilateral.x402.proof.verifier import Verifier
from bilateral.x402.server.exchange import CURRENT

logger = logging.getLogger("bilateral.x402")

Context: TypeAlias = Any
"""The SDK's context for a hook. Its types permit x402 version 1, which is always rejected first."""

_AMOUNT: Final = re.compile("[0-9]{1,78}")  # 2^256 has 78 digits

PERMIT2_KINDS: Final = PROVABLE - {PaymentKind.EIP3009}


def payment_kind(context: Context) -> PaymentKind:
    """Return a payment's kind."""
    return kind_of(_terms(context), context.payment_payload.payload)


def payment_problem(context: Context) -> str | None:
    """Return the code of the reason why a payment cannot be settled as agreed or cannot be proven, or None.

    Clients check their payments just as strictly, so the client could not verify the answer to a payment that fails
    here.
    """
    if context.payment_payload.x402_version != X402_VERSION:
        return "unsupported_x402_version"
    terms, payload = context.requirements, context.payment_payload.payload
    network, problem = str(terms.network), UNSUPPORTED
    if is_ambiguous(payload, network):
        return "ambiguous_payment"
    code = unsupported_kind(terms.scheme, network, terms.extra)
    if code is None and network.startswith("eip155:"):
        kind = payment_kind(context)
        if kind is PaymentKind.AUTH_CAPTURE:
            code = f"{kind}_not_supported"
        else:
            try:
                SignedPayment.of(_terms(context), payload)
            except InvalidPaymentError as error:
                code, problem = error.code, str(error)
    if code is not None:
        logger.warning("payment refused (%s): %s", code, problem)
    return code


def find_settlement(verifier: Verifier, context: Context) -> Settlement:
    """Look up whether an authorization was used."""
    return verifier.find_settlement(_agreed(context), seconds=0)


def check_nonce(verifier: Verifier, context: Context) -> AbortResult | None:
    """Reject an authorization that the chain no longer accepts. Facilitators are not required to check this."""
    settlement, exchange = find_settlement(verifier, context), CURRENT.get()
    if settlement.is_paid or settlement.is_canceled:
        return AbortResult("nonce_used")
    if settlement.is_expired:
        return AbortResult("authorization_expired")
    if exchange is not None:
        exchange.is_unused = settlement.is_paid is False
    return None


def settlement_problem(context: Context, pending: str | None) -> str:
    """Return the code of the problem if an amount must not be settled; otherwise an empty string.

    Args:
        context: The settlement, whose amount the application can set with `Settlement-Overrides`.
        pending: The amount of an earlier settlement that may still succeed, or None.
    """
    if context.payment_payload.x402_version != X402_VERSION:
        return "unsupported_x402_version"
    scheme, amount = context.requirements.scheme, context.requirements.amount
    agreed, problem = context.payment_payload.accepted.amount, ""
    if pending not in {None, amount}:
        problem = "settlement_amount_changed"
    elif scheme == "exact" and amount != agreed:
        problem = "settlement_amount_mismatch"
    elif scheme == "upto" and not (_AMOUNT.fullmatch(amount) and _AMOUNT.fullmatch(agreed)):
        problem = "settlement_amount_invalid"
    elif scheme == "upto" and int(amount) > int(agreed):
        problem = "settlement_exceeds_ceiling"
    elif is_free(context) and not _allows_free_answers(context):
        problem = "nothing_charged"
    return problem


def is_free(context: Context) -> bool:
    """Return True if the application charges nothing although the payer signed a maximum amount."""
    amount = context.requirements.amount
    return context.requirements.scheme == "upto" and amount != "" and not amount.strip("0")


def settlement(context: Context, transaction: str, amount: str | None) -> SkipSettleResult:
    """Return a settlement made without a facilitator, in the SDK's format. A free answer has no transaction."""
    network, payer = str(context.requirements.network), payer_of(context.payment_payload.payload)
    settled = SettleResponse(success=True, transaction=transaction, network=network, payer=payer, amount=amount)
    return SkipSettleResult(settled)


def settlement_on_chain(verifier: Verifier, context: Context) -> SkipSettleResult | None:
    """Return the on-chain settlement of exactly this payment, or None if there is none."""
    settled = verifier.find_settled(_agreed(context))
    if settled is None or settled.transaction is None:
        return None
    return settlement(context, settled.transaction, None if settled.amount is None else str(settled.amount))


def _terms(context: Context) -> dict[str, Any]:
    return dict(context.requirements.model_dump(mode="json", by_alias=True))


def _agreed(context: Context) -> dict[str, Any]:
    """Return a payment with the server's terms and the agreed amount, not the amount to be charged."""
    payload = context.payment_payload
    return {"accepted": _terms(context) | {"amount": payload.accepted.amount}, "payload": payload.payload}


def _allows_free_answers(context: Context) -> bool:
    try:
        return PROFILE_8004.info_of((context.declared_extensions or {}).get(PROFILE_8004.key)).free_answers
    except InvalidMessageError:
        return False

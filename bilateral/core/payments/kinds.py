"""Kinds of x402 payments. A payment's kind depends on its scheme, transfer method and spender."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from bilateral.core.payments.contracts import ESCROW_COLLECTORS, EXACT_PROXY, UPTO_PROXY

EIP_3009: Final = "authorization"
PERMIT2: Final = "permit2Authorization"
SIGNED_PARTS: Final = (EIP_3009, PERMIT2)
"""The names of the parts of a payload that a payer signs, one for each transfer method."""


class PaymentKind(StrEnum):
    """The way in which an x402 payment moves money on an EVM chain."""

    EIP3009 = "eip3009"
    """Scheme `exact`: the token moves the amount that the payer signed (`transferWithAuthorization`)."""
    PERMIT2_EXACT = "permit2-exact"
    """Scheme `exact`: a proxy moves the signed amount through Permit2."""
    PERMIT2_UPTO = "permit2-upto"
    """Scheme `upto`: a proxy moves the amount that the seller charges, at most the signed maximum."""
    CHANNEL = "channel"
    """Scheme `batch-settlement`: the seller claims payments from the buyer's deposit."""
    AUTH_CAPTURE = "auth-capture"
    """An escrow holds the money until the seller captures it."""
    PLAIN = "plain"
    """A plain token transfer that settles no signed payment."""
    UNKNOWN = "unknown"
    """The terms or the payload match no other kind."""


PROVABLE: Final = frozenset({PaymentKind.EIP3009, PaymentKind.PERMIT2_EXACT, PaymentKind.PERMIT2_UPTO})
"""The kinds whose payments can each be proven by a transaction."""

_METHODS: Final[dict[object, PaymentKind]] = {
    None: PaymentKind.EIP3009,
    "eip3009": PaymentKind.EIP3009,
    "default": PaymentKind.EIP3009,  # the SDK's own name
    "permit2": PaymentKind.PERMIT2_EXACT,
}
"""The kind for each `extra.assetTransferMethod` of the `exact` scheme."""

_SCHEMES: Final[dict[object, PaymentKind]] = {
    "upto": PaymentKind.PERMIT2_UPTO,
    "batch-settlement": PaymentKind.CHANNEL,
    "auth-capture": PaymentKind.AUTH_CAPTURE,
}

PROXIES: Final = {PaymentKind.PERMIT2_EXACT: EXACT_PROXY, PaymentKind.PERMIT2_UPTO: UPTO_PROXY}
"""The spender that a payer authorises, for each kind of Permit2 payment."""

_COLLECTORS: Final = frozenset(collector.lower() for collector in ESCROW_COLLECTORS)


def kind_of_terms(scheme: object, extra: object) -> PaymentKind:
    """Return the kind of payment that a server's terms require."""
    method = extra.get("assetTransferMethod") if isinstance(extra, Mapping) else None
    method = method if isinstance(method, str | None) else ""
    if scheme == "exact":
        return _METHODS.get(method, PaymentKind.UNKNOWN)
    if not isinstance(scheme, str) or (scheme == "upto" and method not in {None, "permit2"}):
        return PaymentKind.UNKNOWN
    return _SCHEMES.get(scheme, PaymentKind.UNKNOWN)


def signed_part(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name and content of the part that a payer signs; an empty name and None if there is none.

    A payment with two such parts is treated as having none, because a facilitator would settle one part and ignore the
    other.
    """
    names = [name for name in SIGNED_PARTS if name in payload]
    signed = payload[names[0]] if len(names) == 1 else None
    return (names[0], signed) if isinstance(signed, Mapping) else ("", None)


def kind_of(accepted: Mapping[str, Any], payload: Mapping[str, Any]) -> PaymentKind:
    """Return a payment's kind.

    An `auth-capture` payload looks like an `exact` payload, except that the signed spender or payee is an escrow's
    token collector, or that the payload contains a salt.
    """
    terms = kind_of_terms(accepted.get("scheme"), accepted.get("extra"))
    name, signed = signed_part(payload)
    if terms in {PaymentKind.CHANNEL, PaymentKind.AUTH_CAPTURE}:
        return terms
    if signed is None:
        return PaymentKind.UNKNOWN
    spender = str(signed.get("to" if name == EIP_3009 else "spender")).lower()
    if "salt" in payload or spender in _COLLECTORS:
        return PaymentKind.AUTH_CAPTURE
    if name == EIP_3009:
        return terms if terms is PaymentKind.EIP3009 else PaymentKind.UNKNOWN
    # A payer may use Permit2 even if the terms of the `exact` scheme specify no method.
    kind = terms if terms is PaymentKind.PERMIT2_UPTO else PaymentKind.PERMIT2_EXACT
    is_exact = accepted.get("scheme") == "exact" and terms is not PaymentKind.UNKNOWN
    is_proxy = spender == PROXIES[kind].lower()
    return kind if is_proxy and (is_exact or terms is kind) else PaymentKind.UNKNOWN

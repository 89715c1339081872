"""The authorization that a payer signs, parsed strictly, so that every facilitator interprets it in the same way."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers.caip import ZERO_ADDRESS, checksummed
from bilateral.core.payments.kinds import (
    EIP_3009,
    PROVABLE,
    SIGNED_PARTS,
    PaymentKind,
    kind_of,
    kind_of_terms,
    signed_part,
)
from bilateral.core.payments.kinds import PERMIT2 as PERMIT2_PART

WORD: Final = 32  # bytes of a word of the contract ABI
_MOST: Final = 2**256 - 1
_DECIMAL: Final = re.compile("0|[1-9][0-9]{0,77}")


class InvalidPaymentError(Exception):
    """No transaction can settle the payment as agreed. The message states the reason.

    Attributes:
        code: The machine-readable reason, such as `payee_mismatch`.
        field: The path of the invalid field, such as `permit2Authorization.witness.to`.
    """

    def __init__(self, code: str, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.code, self.field = code, field


@dataclass(frozen=True)
class SignedPayment:
    """A payment as signed by its payer.

    Attributes:
        kind: The payment's kind, one of `PROVABLE`.
        asset: The token.
        payer: The account that pays. All accounts are in checksum form.
        payee: The account to be paid: `payTo` in the accepted terms.
        amount: The agreed amount in the token's smallest unit; for `upto`, the maximum.
        nonce: The nonce in 32 bytes.
        valid_after: The start of validity, in Unix seconds. EIP-3009 payments are valid after this time, Permit2
            payments from this time on.
        deadline: The end of validity, in Unix seconds. EIP-3009 payments are valid before this time, Permit2 payments
            up to and including it.
        facilitator: The only account that may settle the payment (`upto`); None if any account may.
    """

    kind: PaymentKind
    asset: str
    payer: str
    payee: str
    amount: int
    nonce: bytes
    valid_after: int
    deadline: int
    facilitator: str | None = None

    @property
    def last_second(self) -> int:
        """The last second, in Unix time, at which the payment can be settled."""
        return self.deadline - (self.kind is PaymentKind.EIP3009)

    @classmethod
    def of(cls, accepted: Mapping[str, Any], payload: Mapping[str, Any]) -> "SignedPayment":
        """Parse a payment from the accepted terms and the payload.

        Raises:
            InvalidPaymentError: The kind of payment is not supported, a field is missing or invalid, or the signed
                terms differ from the accepted ones.
        """
        name, signed = signed_part(payload)
        if signed is None:
            is_ambiguous = sum(part in payload for part in SIGNED_PARTS) > 1
            code, problem = (
                ("ambiguous_payment", "contains several") if is_ambiguous else ("unsupported_payment", "contains none")
            )
            raise InvalidPaymentError(code, "", f"the payment {problem} of the parts {' and '.join(SIGNED_PARTS)}")
        kind = kind_of(accepted, payload)
        terms = kind_of_terms(accepted.get("scheme"), accepted.get("extra"))
        if name == PERMIT2_PART and terms in PROVABLE and kind is not PaymentKind.AUTH_CAPTURE:
            _check_permit2(kind, str(accepted["scheme"]), signed)
        if kind not in PROVABLE:
            raise InvalidPaymentError("unsupported_payment", "", f"a payment of kind {kind} cannot be verified")
        asset, payee = _account(accepted, "asset"), _account(accepted, "payTo")
        amount = _number(accepted, "amount")
        if amount == 0:
            raise InvalidPaymentError("invalid_amount", "amount", "the price must not be 0")
        payer = _account(signed, f"{name}.from")
        if kind is PaymentKind.EIP3009:
            _require(payee, _account(signed, f"{name}.to"), "payee_mismatch", f"{name}.to")
            nonce = authorization_nonce(signed.get("nonce"))
            if nonce is None:
                raise InvalidPaymentError("invalid_nonce", f"{name}.nonce", "not 32 bytes in hexadecimal digits")
            _require(amount, _number(signed, f"{name}.value"), "amount_mismatch", f"{name}.value")
            times = _number(signed, f"{name}.validAfter"), _number(signed, f"{name}.validBefore")
            return cls(kind, asset, payer, payee, amount, nonce, *times)
        permitted, witness = signed["permitted"], signed["witness"]
        _require(payee, _account(witness, f"{name}.witness.to"), "payee_mismatch", f"{name}.witness.to")
        _require(asset, _account(permitted, f"{name}.permitted.token"), "asset_mismatch", f"{name}.permitted.token")
        _require(amount, _number(permitted, f"{name}.permitted.amount"), "amount_mismatch", f"{name}.permitted.amount")
        number = _number(signed, f"{name}.nonce", "invalid_nonce")
        times = _number(witness, f"{name}.witness.validAfter"), _number(signed, f"{name}.deadline")
        facilitator = _account(witness, f"{name}.witness.facilitator") if kind is PaymentKind.PERMIT2_UPTO else None
        return cls(kind, asset, payer, payee, amount, number.to_bytes(WORD), *times, facilitator)


def _check_permit2(kind: PaymentKind, scheme: str, signed: Mapping[str, Any]) -> None:
    """Check the fields that distinguish a payment through an x402 proxy from any other use of Permit2."""
    for part, form in {"permitted": Mapping, "witness": Mapping, "spender": str}.items():
        if not isinstance(signed.get(part), form):
            problem = f"missing, or not {'text' if form is str else 'an object'}"
            raise InvalidPaymentError(f"missing_{part}", f"{PERMIT2_PART}.{part}", problem)
    if kind is PaymentKind.UNKNOWN:
        problem = f"{signed['spender'][:80]!r} is not the proxy for {scheme}"
        raise InvalidPaymentError("unknown_spender", f"{PERMIT2_PART}.spender", problem)
    field, facilitator = f"{PERMIT2_PART}.witness.facilitator", signed["witness"].get("facilitator")
    if scheme == "upto" and (facilitator is None or facilitator == ZERO_ADDRESS):
        raise InvalidPaymentError(
            "missing_facilitator", field, "missing, so either anyone could settle the payment, or no one could"
        )
    if scheme == "exact" and facilitator is not None:
        raise InvalidPaymentError("unexpected_facilitator", field, "the proxy for the exact scheme uses no facilitator")


def _require(expected: object, signed: object, code: str, field: str) -> None:
    if signed != expected:
        raise InvalidPaymentError(code, field, f"{signed} was signed, but {expected} was agreed")


def _account(record: Mapping[str, Any], path: str) -> str:
    value = record.get(path.rpartition(".")[2])
    try:
        return checksummed(value)  # type: ignore[arg-type]  # another type is malformed
    except (MalformedIdentifierError, AttributeError, TypeError):
        raise InvalidPaymentError("invalid_payment", path, f"{str(value)[:80]!r} is not an address") from None


def _number(record: Mapping[str, Any], path: str, code: str = "invalid_payment") -> int:
    """Parse a number in decimal digits. Other forms are rejected, because facilitators interpret them differently."""
    value = record.get(path.rpartition(".")[2])
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value) or int(value) > _MOST:
        problem = f"{str(value)[:80]!r} is not a number from 0 to 2^256 - 1 in decimal digits"
        raise InvalidPaymentError(code, path, problem)
    return int(value)


def authorization_nonce(text: object) -> bytes | None:
    """Parse an EIP-3009 nonce as leniently as facilitators do: 0x and trailing zeros may be missing."""
    if not isinstance(text, str):
        return None
    try:
        nonce = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return None
    return nonce.ljust(WORD, b"\0") if len(nonce) <= WORD else None


def authorization_identity(network: str, asset: str, payload: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return a key that is the same for every copy of an authorization; None if there is no authorization.

    An EIP-3009 nonce can be used once per token and payer. A Permit2 nonce can be used once per owner, regardless of
    the token, spender and signature.
    """
    name, signed = signed_part(payload)
    if signed is None or "from" not in signed or "nonce" not in signed:
        return None
    account, text = str(signed["from"]).lower().removeprefix("0x"), str(signed["nonce"])
    if name == EIP_3009:
        nonce = authorization_nonce(text)
        return network, asset.lower(), account, text if nonce is None else nonce.hex()
    try:
        number = str(int(text, 0) if text.lower().startswith("0x") else int(text))
    except ValueError:
        number = text  # no facilitator can parse it
    return network, "permit2", account, number

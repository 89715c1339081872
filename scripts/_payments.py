"""Signed payments of x402's `exact` scheme, in the test token, for benchmarks, tests and the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

if TYPE_CHECKING:
    from ape.api import AccountAPI
    from eth_account.messages import SignableMessage

NEVER = 2**32 - 1
"""A time that no test reaches."""

_FIELDS = {
    "from": "address",
    "to": "address",
    "value": "uint256",
    "validAfter": "uint256",
    "validBefore": "uint256",
    "nonce": "bytes32",
}


@dataclass(frozen=True)
class Payment:
    """A transfer that a buyer signed (EIP-3009).

    Attributes:
        terms: Payer, payee, amount, the two times, and the nonce.
        signature: The signature, 65 bytes.
    """

    terms: tuple[str, str, int, int, int, bytes]
    signature: bytes

    @property
    def whole(self) -> tuple[Any, ...]:
        """The arguments of the token's `transferWithAuthorization` with a signature in one piece."""
        return (*self.terms, self.signature)

    def settled_in(self, token: Any, *, in_parts: bool = False) -> tuple[Any, ...]:
        """Return the arguments of the registry's `settle`.

        Args:
            token: The token, or its address.
            in_parts: True for the overload with `v`, `r` and `s`.
        """
        parts = (self.signature[64], self.signature[:32], self.signature[32:64]) if in_parts else (self.signature,)
        return (*self.terms, token, *parts)


def sign_payment(  # noqa: PLR0913, PLR0917  # the terms of a payment
    token: Any,
    chain_id: int,
    signer: AccountAPI,
    payee: str,
    amount: int,
    number: int,
    payer: str | None = None,
    times: tuple[int, int] = (0, NEVER),
) -> Payment:
    """Sign a payment in the test token.

    Args:
        token: The token.
        chain_id: EIP-155 id of the chain.
        signer: The account that signs.
        payee: The account that is paid.
        amount: The amount, in the token's smallest unit.
        number: The number of the payment; each gives another nonce.
        payer: The account that pays; the signer by default.
        times: `validAfter` and `validBefore`, in Unix time.

    Returns:
        The payment.
    """
    terms = (str(payer or signer.address), str(payee), amount, *times, keccak(number.to_bytes(32)))
    signature: Any = signer.sign_message(payment_message(terms, token.address, chain_id))
    return Payment(terms, signature.encode_rsv())


def payment_message(terms: tuple[str, str, int, int, int, bytes], token: str, chain_id: int) -> SignableMessage:
    """Return the message that the payer signs (EIP-3009).

    Args:
        terms: See `Payment`.
        token: The address of the test token.
        chain_id: EIP-155 id of the chain.
    """
    domain = {"name": "Test Dollar", "version": "2", "chainId": chain_id, "verifyingContract": token}
    types = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in _FIELDS.items()]}
    return encode_typed_data(domain, types, dict(zip(_FIELDS, terms, strict=True)))

"""Discounts inside x402 for holders of tier credentials, who need not show the buyer's main wallet.

The payer is on chain. A holder that the main wallet funded shows the main wallet, whatever the credential hides.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from x402.http.types import HTTPRequestContext

from bilateral.buyers.credentials import require_use, verify_credential
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential
from bilateral.core.errors import BilateralError
from bilateral.core.signatures import Domain

HEADER: Final = "Buyer-Tier-Credential"

_MOST_CHARACTERS: Final = 4_096
"""A credential in this form has less than 1,000 characters. Strangers choose the header."""


def credential_headers(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers with which a holder shows a credential: with the request for a price, and with the payment."""
    fields = {name: answer[name] for name in ("message", "signature")}
    return {HEADER: b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode()}


class TierDiscounts:
    """The discounts of a seller.

    Args:
        percentages: The discount of each tier, in percent. A tier that is left out has that of the next lower one.
    """

    def __init__(self, percentages: Mapping[BuyerTier, Decimal]) -> None:
        self._percentages = dict(percentages)

    @property
    def minimum(self) -> BuyerTier:
        """The lowest tier with a discount."""
        return min(self._percentages, key=_level)

    def percentage_of(self, tier: BuyerTier) -> Decimal:
        """Return the discount of a tier that is at least the lowest one with a discount, in percent."""
        return self._percentages[max((lower for lower in self._percentages if lower.level <= tier.level), key=_level)]


def _level(tier: BuyerTier) -> int:
    return tier.level


class CredentialDiscounts(TierDiscounts):
    """The discounts of a seller for tiers that credentials prove. Give them to `BuyerPricing`.

    Args:
        percentages: As `TierDiscounts`.
        domain: The domain of the registry of buyers.
        attestor: The registry's attestor. An attestor that is a contract needs `verify_credential_on_chain` instead.
        policy: The hash of the scoring policy whose tiers count.
        scope: The seller's scope, see `bilateral.buyers.credentials.agent_scope`.
    """

    def __init__(
        self, percentages: Mapping[BuyerTier, Decimal], domain: Domain, attestor: str, *, policy: bytes, scope: bytes
    ) -> None:
        super().__init__(percentages)
        self._domain = domain
        self._attestor = attestor
        self._policy = policy
        self._scope = scope

    def credential_in(self, request: HTTPRequestContext) -> TierCredential | None:
        """Return the credential of a request if it is for this seller today; None costs the full price."""
        text = request.adapter.get_header(HEADER)
        if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
            return None
        try:
            credential, signature = _read(text)
            require_use(credential, credential.holder, policy=self._policy, scope=self._scope, minimum=self.minimum)
        except (binascii.Error, ValueError, KeyError, TypeError, RecursionError, BilateralError):
            return None
        return credential if verify_credential(credential, signature, self._domain, self._attestor) else None


def _read(text: str) -> tuple[TierCredential, bytes]:
    """Read a header. Malformed ones raise any of the errors that `credential_in` takes for no credential."""
    fields = json.loads(b64decode(text, validate=True))
    message = fields["message"]
    words = {name: bytes.fromhex(message[name][2:]) for name in ("policy", "scope", "pseudonym")}
    tier = BuyerTier.of_level(message["tier"])
    credential = TierCredential(message["holder"], message["issuedAt"], message["validUntil"], tier=tier, **words)
    return credential, bytes.fromhex(fields["signature"][2:])

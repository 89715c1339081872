"""Discounts inside x402 by private proofs of a tier, which show neither the buyer nor its exact tier.

The payer is on chain. A payer that the main wallet funded shows the main wallet, whatever the proof hides.
"""

from __future__ import annotations

import asyncio
import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from x402.http.types import HTTPRequestContext

from bilateral.buyers.errors import TierProofRefusedError
from bilateral.buyers.private.tiers import TierProof
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.errors import BilateralError
from bilateral.x402.server.tier_credentials import TierDiscounts

if TYPE_CHECKING:
    from bilateral.buyers.private.tiers import TierVerifier

HEADER: Final = "Buyer-Tier-Proof"

MOST_CHARACTERS: Final = 4_096
"""The longest header. A proof in this form has 1,200 characters. Strangers choose the header."""


def proof_headers(proof: TierProof) -> dict[str, str]:
    """Return the headers with which a payer shows a proof: with the request for a price, and with the payment.

    The request names the payer, too: by the header `X-Buyer-Address`.
    """
    return {HEADER: b64encode(json.dumps(proof.to_json(), separators=(",", ":")).encode()).decode()}


def read_proof_header(text: str) -> TierProof:
    """Read a header."""
    if len(text) > MOST_CHARACTERS:
        raise TierProofRefusedError("proof_header_too_large", f"the header has more than {MOST_CHARACTERS} characters")
    try:
        fields = json.loads(b64decode(text, validate=True), object_pairs_hook=_without_repetition)
    except (binascii.Error, ValueError, RecursionError) as problem:
        raise TierProofRefusedError("proof_header_invalid", f"the header is not JSON in base 64: {problem}") from None
    if not isinstance(fields, dict):
        raise TierProofRefusedError("proof_header_invalid", "the header has no JSON object")
    return TierProof.from_json(fields)


class ProofDiscounts(TierDiscounts):
    """The discounts of a seller for tiers that are proven privately. Give them to `BuyerPricing`.

    Args:
        percentages: As `TierDiscounts`.
        verifier: The seller's verifier. Its `minimum` is the lowest tier with a discount.
    """

    def __init__(self, percentages: Mapping[BuyerTier, Decimal], verifier: TierVerifier) -> None:
        super().__init__(percentages)
        self._verifier = verifier

    async def check(self, request: HTTPRequestContext, payer: str) -> TierProof:
        """Check the proof of a request for its payer. The payer's later requests of the day need no verification."""
        text = request.adapter.get_header(HEADER)
        if not isinstance(text, str):
            raise TierProofRefusedError("proof_header_invalid", f"the request has no header {HEADER}")
        proof = read_proof_header(text)
        await asyncio.to_thread(self._verifier.check, proof, payer)
        return proof

    async def proof_of(self, request: HTTPRequestContext, payer: str | None) -> TierProof | None:
        """Return the valid proof of a request; None costs the full price."""
        if payer is None or not isinstance(request.adapter.get_header(HEADER), str):
            return None
        try:
            return await self.check(request, payer)
        except BilateralError:  # also a node that does not answer
            return None


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of pairs whose names differ."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name appears twice")
    return fields

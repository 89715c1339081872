"""Buyer discounts in x402: the price depends on who claims to be paying, and that claim is checked.

Buyers identify themselves before the price is set, with the query parameter `buyerAddress` or the header
`X-Buyer-Address`. This is only a claim. The payment is signed by its payer, so a false claim is rejected before any
money moves.

Payers that hold a credential for a tier (a level of buyer reputation), or a private proof of one, need not reveal the
buyer's main wallet. However, the payer is public on chain: if the main wallet funded the payer, the link between them
is visible despite the credential or proof.
"""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import httpx
from x402.http.types import HTTPRequestContext
from x402.schemas import AssetAmount
from x402.schemas.hooks import AbortResult, VerifyContext

from bilateral.buyers.credentials import require_use, verify_credential
from bilateral.buyers.discounts import discounted_amount
from bilateral.buyers.errors import TierProofRefusedError
from bilateral.buyers.private.tiers import TierProof
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential
from bilateral.core.errors import BilateralError, MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import Domain
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.payments import payer_of

if TYPE_CHECKING:
    from bilateral.buyers.private.tiers import TierVerifier

HEADER: Final = "X-Buyer-Address"
PARAMETER: Final = "buyerAddress"
MISMATCH: Final = "buyer_mismatch"
"""The reason for rejecting a payment from anyone other than the claimed buyer."""

_MOST_BUYERS: Final = 10_000
"""The maximum number of buyers whose discounts are cached."""

_LENGTH: Final = 42  # characters of an address: 0x, and two digits for each of 20 bytes
_MOST: Final = 100  # per cent

_FAILURE_SECONDS: Final = 30.0
"""How many seconds the full price applies after a failed lookup, so that both requests of a purchase get it."""

CREDENTIAL_HEADER: Final = "Buyer-Tier-Credential"
PROOF_HEADER: Final = "Buyer-Tier-Proof"
MOST_CHARACTERS: Final = 4_096
"""The maximum header length. A credential has fewer than 1,000 characters, a proof about 1,200."""

Lookup = Callable[[str], Decimal | None]
"""A function that returns a buyer's discount in percent, or None if it cannot be determined at the moment."""


def service_lookup(provider: str, seller: str, *, service: str | None = None, seconds: float = 2.0) -> Lookup:
    """Return a function that looks up a buyer's discount at a reputation service, or returns None if that fails.

    A discount policy applies only to the seller's service with which it was published. A discount that does not cover
    all services is granted only if you specify `service`.

    Args:
        provider: The reputation service's URL (`reputationProvider` in the well-known document): `https://…/api/buyer`.
        seller: The seller's global id.
        service: The name of the seller's service that is paid for; None if the seller has one policy for all services.
        seconds: The maximum time to wait for a response.
    """

    def look_up(buyer: str) -> Decimal | None:
        try:
            url = f"{provider.rstrip('/')}/{buyer}/discount"
            question = {"sellerGlobalId": seller} | ({} if service is None else {"serviceName": service})
            response = httpx.get(url, params=question, timeout=seconds)
            response.raise_for_status()
            answer = response.json()
            # Services without a price are listed only in `services`, which other providers' responses lack.
            offered = answer["services"] if "services" in answer else answer["originalPricing"]
            if not set(offered) <= set(answer["discount"]["appliesTo"]):
                return Decimal(0)
            percentage = Decimal(str(answer["discount"]["percentage"]))
        except (httpx.HTTPError, ValueError, ArithmeticError, KeyError, TypeError):
            return None
        return percentage if 0 <= percentage <= _MOST else None

    return look_up


def credential_headers(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that present a credential, both for the price request and for the payment."""
    return _encoded(CREDENTIAL_HEADER, {name: answer[name] for name in ("message", "signature")})


def proof_headers(proof: TierProof) -> dict[str, str]:
    """Return the headers that present a payer's proof, both for the price request and for the payment.

    The request must also identify the payer, in the header `X-Buyer-Address`.
    """
    return _encoded(PROOF_HEADER, proof.to_json())


def _encoded(header: str, fields: Mapping[str, Any]) -> dict[str, str]:
    return {header: b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode()}


class TierDiscounts:
    """A seller's discounts for the buyers in each tier.

    Args:
        percentages: Each tier's discount, in percent. An omitted tier gets the discount of the nearest lower tier.
    """

    def __init__(self, percentages: Mapping[BuyerTier, Decimal]) -> None:
        self._percentages = dict(percentages)

    @property
    def minimum(self) -> BuyerTier:
        """The lowest tier with a discount."""
        return min(self._percentages, key=attrgetter("level"))

    def percentage_of(self, tier: BuyerTier) -> Decimal:
        """Return a tier's discount in percent. The tier must not be below the lowest tier with a discount."""
        reached = (lower for lower in self._percentages if lower.level <= tier.level)
        return self._percentages[max(reached, key=attrgetter("level"))]


class CredentialDiscounts(TierDiscounts):
    """A seller's discounts for tiers proven by credentials. Pass it to `BuyerPricing`.

    Args:
        percentages: As for `TierDiscounts`.
        domain: The buyer registry's EIP-712 domain.
        attestor: The registry's attestor, which signs credentials. If it is a contract, use
            `verify_credential_on_chain` instead of this class.
        policy: The hash of the scoring policy whose tiers are accepted.
        scope: The seller's scope. See `bilateral.buyers.credentials.agent_scope`.
    """

    def __init__(
        self, percentages: Mapping[BuyerTier, Decimal], domain: Domain, attestor: str, *, policy: bytes, scope: bytes
    ) -> None:
        super().__init__(percentages)
        self._domain, self._attestor, self._policy, self._scope = domain, attestor, policy, scope

    def credential_in(self, request: HTTPRequestContext) -> TierCredential | None:
        """Return a request's credential if it is valid for this seller today, or None if the full price applies."""
        text = request.adapter.get_header(CREDENTIAL_HEADER)
        if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
            return None
        try:
            credential, signature = _read_credential(text)
            require_use(credential, credential.holder, policy=self._policy, scope=self._scope, minimum=self.minimum)
        except (ValueError, KeyError, TypeError, BilateralError):
            return None
        return credential if verify_credential(credential, signature, self._domain, self._attestor) else None


def _read_credential(text: str) -> tuple[TierCredential, bytes]:
    fields = decode_header(text) or {}
    message = fields["message"]
    words = {name: bytes.fromhex(message[name][2:]) for name in ("policy", "scope", "pseudonym")}
    tier = BuyerTier.of_level(message["tier"])
    credential = TierCredential(message["holder"], message["issuedAt"], message["validUntil"], tier=tier, **words)
    return credential, bytes.fromhex(fields["signature"][2:])


class ProofDiscounts(TierDiscounts):
    """A seller's discounts for tiers that are proven privately. Pass it to `BuyerPricing`.

    Args:
        percentages: As for `TierDiscounts`.
        verifier: The seller's proof verifier. Its `minimum` must be the lowest tier with a discount.
    """

    def __init__(self, percentages: Mapping[BuyerTier, Decimal], verifier: TierVerifier) -> None:
        super().__init__(percentages)
        self._verifier = verifier

    async def check(self, request: HTTPRequestContext, payer: str) -> TierProof:
        """Check that a request's proof is valid for the payer. The same payer's proof is verified only once per day."""
        text = request.adapter.get_header(PROOF_HEADER)
        if not isinstance(text, str):
            raise TierProofRefusedError("proof_header_invalid", f"the request has no header {PROOF_HEADER}")
        proof = read_proof_header(text)
        await asyncio.to_thread(self._verifier.check, proof, payer)
        return proof

    async def proof_of(self, request: HTTPRequestContext, payer: str | None) -> TierProof | None:
        """Return a request's proof if it is valid, or None if the full price applies."""
        if payer is None or not isinstance(request.adapter.get_header(PROOF_HEADER), str):
            return None
        try:
            return await self.check(request, payer)
        except BilateralError:  # including errors from an unresponsive node
            return None


def read_proof_header(text: str) -> TierProof:
    """Read a proof header."""
    if len(text) > MOST_CHARACTERS:
        raise TierProofRefusedError("proof_header_too_large", f"the header has more than {MOST_CHARACTERS} characters")
    fields = decode_header(text)
    if fields is None:
        raise TierProofRefusedError("proof_header_invalid", "the header is not a JSON object in base 64")
    return TierProof.from_json(fields)


class BuyerPricing:
    """A route's price for each buyer.

    Args:
        lookup: Returns a buyer's discount in percent. The function runs in a thread. If it returns None, the buyer pays
            the full price, and the discount is looked up again after half a minute.
        asset: The token.
        amount: The full price in the token's smallest unit.
        extra: The name and version of the token's EIP-712 domain.
        credentials: The discounts for holders of tier credentials; None for no such discounts. If a request includes a
            credential, the credential determines the price, regardless of the claimed buyer.
        proofs: The discounts for private tier proofs; None for no such discounts. The proof must be for the payer that
            the request specifies. If the proof is rejected, the payer pays the price without the discount.
        hold_seconds: How many seconds a buyer's price stays the same, because both requests of a purchase need the same
            price.
    """

    def __init__(  # noqa: PLR0913  # settings
        self,
        lookup: Lookup,
        asset: str,
        amount: int,
        extra: Mapping[str, Any],
        *,
        credentials: CredentialDiscounts | None = None,
        proofs: ProofDiscounts | None = None,
        hold_seconds: float = 600.0,
    ) -> None:
        self._lookup, self._credentials, self._proofs = lookup, credentials, proofs
        self._asset, self._amount, self._extra, self._hold_seconds = asset, amount, dict(extra), hold_seconds
        self._amounts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def price(self, context: HTTPRequestContext) -> AssetAmount:
        """Return the price for a request. Pass this method to `PaymentOption(price=…)`.

        Args:
            context: The request.
        """
        buyer, credential = claimed_buyer(context), self._credential_of(context)
        if self._credentials is not None and credential is not None:
            amount = discounted_amount(self._amount, self._credentials.percentage_of(credential.tier))
        elif self._proofs is not None and (proof := await self._proofs.proof_of(context, buyer)) is not None:
            amount = discounted_amount(self._amount, self._proofs.percentage_of(proof.minimum))
        else:
            amount = self._amount if buyer is None else await self._amount_for(buyer)
        return AssetAmount(asset=self._asset, amount=str(amount), extra=dict(self._extra))

    async def check_payer(self, context: VerifyContext) -> AbortResult | None:
        """Reject a payment not made by the claimed buyer or credential holder. Pass this method to `on_before_verify`.

        Args:
            context: The payment.
        """
        request = getattr(context.transport_context, "request", None)
        if request is None:
            return None
        credential = self._credential_of(request)
        buyer = claimed_buyer(request) if credential is None else credential.holder
        is_payer = buyer in {None, payer_of(context.payment_payload.payload)}  # without a buyer, the price is full
        return None if is_payer else AbortResult(reason=MISMATCH)

    def customer_of(self, context: HTTPRequestContext) -> bytes | None:
        """Return the day's pseudonym for the buyer behind a request's credential. All the buyer's accounts share it.

        Args:
            context: The request.

        Returns:
            The pseudonym; None if the request has no credential for this seller.
        """
        credential = self._credential_of(context)
        return None if credential is None else credential.pseudonym

    def _credential_of(self, context: HTTPRequestContext) -> TierCredential | None:
        return None if self._credentials is None else self._credentials.credential_in(context)

    async def _amount_for(self, buyer: str) -> int:
        now = time.monotonic()
        until, amount = self._amounts.get(buyer, (now, 0))
        if until > now:
            return amount
        percentage = await asyncio.to_thread(self._lookup, buyer)
        amount = discounted_amount(self._amount, percentage or Decimal(0))
        seconds = min(_FAILURE_SECONDS, self._hold_seconds) if percentage is None else self._hold_seconds
        self._amounts[buyer] = now + seconds, amount
        self._amounts.move_to_end(buyer)
        while len(self._amounts) > _MOST_BUYERS:  # anyone can choose the addresses
            self._amounts.popitem(last=False)
        return amount


def claimed_buyer(context: HTTPRequestContext) -> str | None:
    """Return the buyer that a request claims to be from, in checksum form, or None if it makes no such claim.

    Args:
        context: The request.
    """
    text = context.adapter.get_query_param(PARAMETER) or context.adapter.get_header(HEADER)
    try:
        return checksummed(text) if isinstance(text, str) and len(text) == _LENGTH else None
    except MalformedIdentifierError:
        return None

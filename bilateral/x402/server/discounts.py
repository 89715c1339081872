"""Discounts for buyers inside x402: a price that depends on who says he pays, and a check that he does.

The buyer names itself before the price is known: by the query parameter `buyerAddress` or the header `X-Buyer-Address`.
It is only a claim. The payment is signed by its payer, so a payer who claims to be somebody else is refused before any
money moves.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import httpx
from x402.http.types import HTTPRequestContext
from x402.schemas import AssetAmount
from x402.schemas.hooks import AbortResult, VerifyContext

from bilateral.buyers.discounts import discounted_amount
from bilateral.core.contracts.buyer_terms import TierCredential
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.x402.proof.payments import payer_of

if TYPE_CHECKING:
    from bilateral.x402.server.tier_credentials import CredentialDiscounts
    from bilateral.x402.server.tier_proofs import ProofDiscounts

HEADER: Final = "X-Buyer-Address"
PARAMETER: Final = "buyerAddress"
MISMATCH: Final = "buyer_mismatch"
"""The reason with which a payment of somebody else than the claimed buyer is refused."""

_MOST_BUYERS: Final = 10_000
"""Buyers whose discount is remembered."""

_LENGTH: Final = 42  # characters of an address: 0x, and two digits for each of 20 bytes
_MOST: Final = 100  # per cent

_FAILURE_SECONDS: Final = 30.0
"""The seconds for which a failed look-up keeps the full price: both requests of a payment arrive within them."""

Lookup = Callable[[str], Decimal | None]
"""Returns the discount of a buyer in percent; None if nobody can tell now."""


def service_lookup(provider: str, seller: str, *, service: str | None = None, seconds: float = 2.0) -> Lookup:
    """Return what asks a service for discounts. It returns None if the service does not answer as one.

    A policy holds for the service of the seller that it was published with. A discount that not all services have
    counts only if the service is named.

    Args:
        provider: The URL of the service, `reputationProvider` of the well-known document: `https://…/api/buyer`.
        seller: The global id of the seller.
        service: The name of the seller's service that is paid; None if the seller has one policy for all.
        seconds: The longest wait for an answer.
    """

    def look_up(buyer: str) -> Decimal | None:
        try:
            url = f"{provider.rstrip('/')}/{buyer}/discount"
            question = {"sellerGlobalId": seller} | ({} if service is None else {"serviceName": service})
            response = httpx.get(url, params=question, timeout=seconds)
            response.raise_for_status()
            answer = response.json()
            # Services without a price are in `services` alone, which the answers of other providers lack.
            offered = answer["services"] if "services" in answer else answer["originalPricing"]
            if not set(offered) <= set(answer["discount"]["appliesTo"]):
                return Decimal(0)
            percentage = Decimal(str(answer["discount"]["percentage"]))
        except (httpx.HTTPError, ValueError, ArithmeticError, KeyError, TypeError):
            return None
        return percentage if 0 <= percentage <= _MOST else None

    return look_up


class BuyerPricing:
    """The price of a route for each buyer.

    Args:
        lookup: Returns the discount of a buyer in percent. It runs in a thread. For None the buyer has the full price,
            and is looked up again after half a minute.
        asset: The token.
        amount: The full price in the token's smallest unit.
        extra: The name and version of the token's EIP-712 domain.
        credentials: The discounts for holders of tier credentials; None for no such discount. A request that shows a
            credential has its price, whomever else it names.
        proofs: The discounts for private proofs of a tier; None for no such discount. The request names its payer, for
            whom the proof is made. A refused proof has the price that the payer has without it.
        hold_seconds: The seconds for which a buyer's price stays the same: both requests of a payment need the same
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
        self._lookup = lookup
        self._credentials = credentials
        self._proofs = proofs
        self._asset = asset
        self._amount = amount
        self._extra = dict(extra)
        self._hold_seconds = hold_seconds
        self._amounts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def price(self, context: HTTPRequestContext) -> AssetAmount:
        """Return the price of a request: give this to `PaymentOption(price=…)`.

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
        """Refuse a payment of somebody else than the buyer or holder of the request: give this to `on_before_verify`.

        Args:
            context: The payment.
        """
        request = getattr(context.transport_context, "request", None)
        credential = None if request is None else self._credential_of(request)
        buyer = None if request is None else claimed_buyer(request)
        if credential is not None:
            buyer = credential.holder
        if buyer is None:
            return None  # the full price, for anybody
        payer = payer_of(context.payment_payload.payload)
        return None if payer == buyer else AbortResult(reason=MISMATCH)

    def customer_of(self, context: HTTPRequestContext) -> bytes | None:
        """Return the pseudonym of the buyer behind a request's credential. All its holders have the same one today.

        Args:
            context: The request.

        Returns:
            The pseudonym; None without a credential for this seller.
        """
        credential = self._credential_of(context)
        return None if credential is None else credential.pseudonym

    def _credential_of(self, context: HTTPRequestContext) -> TierCredential | None:
        """Return the valid credential of a request."""
        return None if self._credentials is None else self._credentials.credential_in(context)

    async def _amount_for(self, buyer: str) -> int:
        """Return the price of a buyer, the same for some time."""
        now = time.monotonic()
        cached = self._amounts.get(buyer)
        if cached is not None and cached[0] > now:
            return cached[1]
        percentage = await asyncio.to_thread(self._lookup, buyer)
        amount = discounted_amount(self._amount, percentage or Decimal(0))
        seconds = min(_FAILURE_SECONDS, self._hold_seconds) if percentage is None else self._hold_seconds
        self._amounts[buyer] = now + seconds, amount
        self._amounts.move_to_end(buyer)
        while len(self._amounts) > _MOST_BUYERS:  # strangers choose the addresses
            self._amounts.popitem(last=False)
        return amount


def claimed_buyer(context: HTTPRequestContext) -> str | None:
    """Return the buyer whom a request names, in checksum form; None if it names none.

    Args:
        context: The request.
    """
    text = context.adapter.get_query_param(PARAMETER) or context.adapter.get_header(HEADER)
    if not isinstance(text, str) or len(text) != _LENGTH:
        return None
    try:
        return checksummed(text)
    except MalformedIdentifierError:
        return None

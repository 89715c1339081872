"""The Buyer Reputation Protocol's search (section 5.4): agents, with prices for a given buyer."""

# ruff: noqa: N815  # the specification's names

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from bilateral.api.answers import JSON, one_of, tagged
from bilateral.api.buyers import read_buyer
from bilateral.api.service import service_of
from bilateral.buyers.discounts import Verdict, discounted
from bilateral.buyers.records import Number, Standing, encode
from bilateral.buyers.score import score_of, tier_of
from bilateral.buyers.sellers import Offer, best_discount, is_withheld, read_offers
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search.filters import AgentSearch, Gate
from bilateral.index.search.queries import FoundAgent, search_agents

router = APIRouter(tags=["buyers"], default_response_class=Response)


@dataclass(frozen=True)
class Pricing:
    """A seller's lowest price, before and after the discount for the buyer."""

    original: Number
    discounted: Number
    discountPercent: Number
    currency: str


@dataclass(frozen=True)
class BuyerDiscount:
    """A seller's discount for the buyer. `code` is an extension."""

    eligible: bool
    reason: str
    code: Verdict


@dataclass(frozen=True)
class SearchResult:
    """An agent that was found. Its name and description are untrusted text.

    Attributes:
        globalId: The agent's global id.
        name: The agent's name; null if it has no registration file.
        description: The beginning of the agent's description.
        x402: True if the agent's registration file declares x402 support.
        pricing: The agent's lowest price; null if it has not published any.
        buyerDiscount: The discount for the buyer; null if no buyer is specified.
    """

    globalId: str
    name: str | None
    description: str | None
    x402: bool | None
    pricing: Pricing | None
    buyerDiscount: BuyerDiscount | None


@dataclass(frozen=True)
class SearchMeta:
    """The size of the result: `total` is the number of results on this page; `next` is the next page's cursor."""

    total: int
    next: str | None


@dataclass(frozen=True)
class BuyerContext:
    """The buyer in a search (Buyer Reputation Protocol, section 5.4)."""

    buyerAddress: str
    buyerTier: str
    buyerScore: int
    discountsAvailable: bool
    note: str


@dataclass(frozen=True)
class SearchAnswer:
    """The results of a search (Buyer Reputation Protocol, section 5.4)."""

    results: tuple[SearchResult, ...]
    meta: SearchMeta
    buyerContext: BuyerContext | None


class PricedSearch(BaseModel):
    """A search for agents with prices for a buyer."""

    q: Annotated[str | None, Query(max_length=1_000, description="Words from the registration file.")] = None
    buyerAddress: Annotated[str | None, Query(max_length=200, description="The buyer: 0x…, or eip155:…:0x….")] = None
    chain: Annotated[int | None, Query(ge=1, lt=2**63)] = None
    minScore: Annotated[int | None, Query(ge=0, le=100, description="The minimum mean under the tag starred.")] = None
    x402Only: bool = False
    limit: Annotated[int, Query(ge=1, le=100)] = 20
    cursor: Annotated[str | None, Query(max_length=1_200)] = None
    policy: Annotated[str | None, Query(max_length=64)] = None


@router.get("/api/search", responses=one_of(SearchAnswer, 404, 422))
def search_with_prices(request: Request, query: Annotated[PricedSearch, Query()]) -> Response:
    """Find agents, with the prices that each offers a buyer."""
    service = service_of(request)
    gates = () if query.minScore is None else (Gate(tag="starred", minimum=Decimal(query.minScore)),)
    search = AgentSearch(
        text=query.q,
        chains=() if query.chain is None else (query.chain,),
        x402=True if query.x402Only else None,
        gates=gates,
    )
    service.require_indexed(search.chains)
    with service.reader.connect() as connection:
        page = search_agents(connection, search, limit=query.limit, cursor=query.cursor)
        standing, held_back = None, False
        if query.buyerAddress is not None:
            standing = read_buyer(
                connection, query.buyerAddress, query.chain, query.policy or service.settings.buyers.policy
            )
            held_back = is_withheld(connection, standing.chain_id, standing.buyer)
        keys = [AgentKey(agent.chain_id, agent.identity_registry, int(agent.agent_id), ()) for agent in page.items]
        offers = read_offers(connection, keys)
    results = tuple(
        _result(agent, offers.get((key.chain_id, key.identity_registry, key.agent_id)), standing, is_withheld=held_back)
        for agent, key in zip(page.items, keys, strict=True)
    )
    context = None if standing is None else _context(standing, results)
    return tagged(request, encode(SearchAnswer(results, SearchMeta(len(results), page.next), context)), JSON)


def _result(agent: FoundAgent, offer: Offer | None, standing: Standing | None, *, is_withheld: bool) -> SearchResult:
    """Return a result. Its price is the buyer's for the cheapest service, under that service's policy."""
    prices = {} if offer is None else offer.prices
    cheapest = min(prices, key=lambda name: (prices[name], name), default=None)
    percentage, discount = Decimal(0), None
    if standing is not None:
        discounts = {}
        if offer is not None and standing.chain_id == agent.chain_id:
            discounts = offer.discounts_for(standing, is_withheld=is_withheld)
        best = best_discount(discounts)[0] if cheapest not in discounts else discounts[cheapest]
        percentage = best.percentage
        reason = best.reason
        if best.verdict is Verdict.GRANTED:
            reason = f"Seller offers {percentage}% to {tier_of(standing.weighed.metrics).value}+ buyers"
        discount = BuyerDiscount(best.verdict is Verdict.GRANTED, reason, best.verdict)
    pricing = None
    if cheapest is not None:
        price = prices[cheapest]
        pricing = Pricing(price, discounted(price, percentage), percentage, "USDC")
    return SearchResult(agent.global_id, agent.name, agent.description, agent.x402_support, pricing, discount)


def _context(standing: Standing, results: tuple[SearchResult, ...]) -> BuyerContext:
    tier: BuyerTier = tier_of(standing.weighed.metrics)
    most: Any = tier.discount_eligibility
    note = (
        f"Your {tier.value} tier qualifies you for up to {most}% discount from participating sellers"
        if most
        else f"Your {tier.value} tier has no discount yet: become a verified buyer with 3 payments and $10 of volume"
    )
    available = any(
        search_result.buyerDiscount is not None and search_result.buyerDiscount.eligible for search_result in results
    )
    return BuyerContext(standing.buyer, tier.value, score_of(standing.weighed.metrics), available, note)

"""Routes that read buyers (Buyer Reputation Protocol, sections 5.1, 5.2 and 9)."""

# ruff: noqa: N803, N815  # the specification's names

import re
import time
from dataclasses import dataclass
from email.utils import format_datetime
from http import HTTPStatus
from re import Match
from typing import Annotated, Any, Final, Literal

from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from bilateral.api import buyers
from bilateral.api.answers import JSON, ProblemError, one_of, tagged
from bilateral.api.buyers import buyer_registries, provider_of, read_buyer
from bilateral.api.layers import Shortcut
from bilateral.api.service import Service, service_of
from bilateral.buyers.acceptance import messages_about
from bilateral.buyers.discounts import BuyerIncentives, discounted
from bilateral.buyers.issuing import ResultSigner, result_of
from bilateral.buyers.proofs import find_signer
from bilateral.buyers.records import Standing, buyer_id, encode, profile_of, recent_transactions
from bilateral.buyers.registry import read_registry_records
from bilateral.buyers.score import score_of, tier_of
from bilateral.buyers.sellers import Offer, best_discount, is_withheld, read_offers
from bilateral.index.reading.registries import AgentKey, Registries

router = APIRouter(tags=["buyers"], default_response_class=Response)

INCENTIVES_TYPE: Final = "https://agentarena.site/spec/buyer-incentives#v1"
"""The media type of the well-known document (section 9)."""

_MAX_AGE: Final = 300
"""Seconds for which caches may store a response, which limits the age of a displayed score."""

_PROOF_SECONDS: Final = 600
"""The maximum validity of a proof, in seconds, after which a copied proof is useless."""

_SIGNATURE: Final = re.compile("(?:0x)?(?:[0-9a-fA-F]{2}){1,10000}")

_AnyChain = Annotated[
    Annotated[int, Field(ge=1, lt=2**63)] | Literal["all"] | None,
    Query(description="The chain, or `all`; the service's first chain by default."),
]


@router.get("/api/buyer/{address}", responses=one_of(buyers.ExpandedProfile, 401, 422))
async def read_profile(
    request: Request,
    address: buyers.BuyerPath,
    chainId: _AnyChain = None,
    policy: buyers.ScoringPolicyName = None,
    expand: Annotated[str | None, Query(max_length=40, description="recentTransactions or messages")] = None,
) -> Response:
    """Return a buyer's reputation. For a buyer without payments, all figures are zero."""
    service = service_of(request)
    name = policy or service.settings.buyers.policy
    if expand not in (None, "recentTransactions", "messages"):
        detail = f"expand {expand!r} is unknown: use recentTransactions or messages"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail)
    registries = await service.registries_briefly()

    def read(connection: Connection) -> tuple[Standing, buyers.Profile]:
        if chainId == "all":
            standing = buyers.read_buyer_everywhere(connection, address, name, is_expanded=expand is not None)
        else:
            standing = read_buyer(connection, address, chainId, name)
        return standing, _with_records(connection, standing, registries)

    def read_more(connection: Connection) -> buyers.ExpandedProfile:
        key = standing.chain_id, standing.buyer
        payments = recent_transactions(connection, *key) if expand == "recentTransactions" else None
        messages = messages_about(connection, *key) if expand == "messages" else None
        return buyers.ExpandedProfile(**vars(profile), recentTransactions=payments, messages=messages)

    standing, profile = await service.read_aside(read)
    if expand is None:
        return tagged(request, encode(profile), JSON)
    await service.buyer_work.run(_require_consent, request, standing)  # it may query a node
    return tagged(request, encode(await service.read_aside(read_more)), JSON)


def _with_records(connection: Connection, standing: Standing, registries: Registries) -> buyers.Profile:
    places = buyer_registries(registries, standing.chain_id)
    records = read_registry_records(connection, standing.buyer, places) if places else ()
    return buyers.Profile(**vars(profile_of(standing)), registryRecords=records)


async def _profile_json(service: Service, match: Match[str], query: bytes) -> bytes | None:
    """Return a profile as JSON; None if the route has to validate the query."""
    plain = _PLAIN.fullmatch(query)
    if plain is None:
        return None
    registries = await service.registries_briefly()
    policy = (plain[1] or b"").decode() or service.settings.buyers.policy

    def read(connection: Connection) -> buyers.Profile:
        return _with_records(connection, read_buyer(connection, match[1], None, policy), registries)

    return encode(await service.read_briefly(read))


_PLAIN: Final = re.compile(rb"(?:policy=([a-z0-9.-]{1,64}))?")

shortcuts = (Shortcut("/api/buyer/{address}", re.compile("/api/buyer/([^/]{1,200})"), _profile_json),)


def consent_text(buyer_id: str, until: int) -> str:
    """Return the text that a buyer signs (EIP-191) to see its own payments."""
    return f"Show the payments of {buyer_id} until {until}"


def _require_consent(request: Request, standing: Standing) -> None:
    """Require the buyer's signature to show its payments, unless the service shows them to everyone."""
    settings = service_of(request).settings.buyers
    if settings.shows_transactions:
        return
    identity = buyer_id(standing.chain_id, standing.buyer)
    until, signature = (request.headers.get(f"x-buyer-{name}", "") for name in ("until", "signature"))
    is_timely = until.isdecimal() and len(until) < 12 and 0 <= int(until) - time.time() <= _PROOF_SECONDS  # noqa: PLR2004
    if is_timely and _SIGNATURE.fullmatch(signature):
        text = encode_defunct(text=consent_text(identity, int(until)))
        digest = keccak(b"\x19" + text.version + text.header + text.body)
        proof = bytes.fromhex(signature.removeprefix("0x"))
        if find_signer(digest, standing.chain_id, proof, {standing.buyer}, settings.nodes) is not None:
            return
    detail = (
        "only the buyer can see its payments: send X-Buyer-Until (Unix seconds, at most ten minutes ahead), and "
        f"X-Buyer-Signature, a signature over the text {consent_text(identity, 0)[:-1]}… (EIP-191; contracts: ERC-1271)"
    )
    raise ProblemError(HTTPStatus.UNAUTHORIZED, "signature_required", detail)


@router.post("/api/buyers", responses=one_of(buyers.Profiles, 422))
def read_profiles(request: Request, batch: buyers.Batch) -> Response:
    """Return the reputation of up to 100 buyers."""
    service = service_of(request)
    name = batch.policy or service.settings.buyers.policy
    with service.reader.connect() as connection:
        profiles = tuple(
            profile_of(read_buyer(connection, address, batch.chainId, name)) for address in batch.addresses
        )
    return Response(encode(buyers.Profiles(profiles)), media_type=JSON, headers={"Cache-Control": "no-store"})


class DiscountQuery(BaseModel):
    """A seller, optionally one of its services, and the chain and scoring policy for the buyer."""

    sellerGlobalId: Annotated[
        str, Query(max_length=200, description="The seller, as eip155:8453:0x…%23247: encode # as %23.")
    ]
    serviceName: Annotated[str | None, Query(max_length=200, description="One service; all services by default.")] = (
        None
    )
    chainId: buyers.PaymentChain = None
    policy: buyers.ScoringPolicyName = None


@router.get("/api/buyer/{address}/discount", responses=one_of(buyers.DiscountAnswer, 404, 422))
def read_discount(request: Request, address: buyers.BuyerPath, query: Annotated[DiscountQuery, Query()]) -> Response:
    """Return the discount that a seller offers a buyer, for one or all of its services."""
    service = service_of(request)
    now = int(time.time())
    seller = seller_of(service, query.sellerGlobalId)
    with service.reader.connect() as connection:
        standing = read_buyer(
            connection,
            address,
            query.chainId or seller.chain_id,
            query.policy or service.settings.buyers.policy,
            now=now,
        )
        offers = read_offers(connection, [seller])
        held_back = is_withheld(connection, standing.chain_id, standing.buyer)
    offer: Offer | None = offers.get((seller.chain_id, seller.identity_registry, seller.agent_id), Offer())
    if query.serviceName is not None:
        offer = offer and offer.of_service(query.serviceName)
    if offer is None:
        detail = f"the seller {seller.global_id} has published no service with the name {query.serviceName!r}"
        raise ProblemError(HTTPStatus.NOT_FOUND, "service_not_found", detail)
    end = buyers.end_of_day(now)
    discounts = offer.discounts_for(standing, is_withheld=held_back)
    discount, applies_to = best_discount(discounts)
    answer = buyers.DiscountAnswer(
        buyerId=f"eip155:{standing.chain_id}:{standing.buyer}",
        sellerGlobalId=seller.global_id,
        buyerTier=tier_of(standing.weighed.metrics).value,
        buyerScore=score_of(standing.weighed.metrics),
        discount=buyers.DiscountTerms(
            discount.percentage,
            discount.reason,
            applies_to,
            end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            discount.verdict.value,
            discount.warnings,
        ),
        originalPricing=offer.prices,
        discountedPricing={name: discounted(price, discounts[name].percentage) for name, price in offer.prices.items()},
        scoringPolicy=standing.policy.name,
        services={
            name: buyers.ServiceDiscount(discount.percentage, discount.reason, discount.verdict)
            for name, discount in discounts.items()
        },
    )
    response = tagged(request, encode(answer), JSON)
    response.headers["Expires"] = format_datetime(end, usegmt=True)
    response.headers["Cache-Control"] = f"private, max-age={min(_MAX_AGE, int(end.timestamp()) - now)}"
    return response


def seller_of(service: Service, text: str) -> AgentKey:
    """Return the seller with a global id."""
    if text.lower().startswith("eip155:") and text.count(":") == 2 and "#" not in text and "0x" in text:  # noqa: PLR2004
        detail = f"sellerGlobalId {text} does not identify an agent: encode the # in a global id as %23"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail)
    return service.agent_key(text)


@dataclass(frozen=True)
class SignedResult(buyers.SignedMessage):
    """A buyer's score with signatures that third parties can verify: EIP-712 and a JSON Web Signature."""

    jws: str


@router.get("/api/buyer/{address}/signed", responses=one_of(SignedResult, 404, 422))
def read_signed(
    request: Request,
    address: buyers.BuyerPath,
    chainId: buyers.PaymentChain = None,
    policy: buyers.ScoringPolicyName = None,
) -> Response:
    """Return a buyer's score, signed by this service and valid for an hour."""
    service = service_of(request)
    signer = signer_of(request)
    now = int(time.time())
    with service.reader.connect() as connection:
        standing = read_buyer(connection, address, chainId, policy or service.settings.buyers.policy, now=now)
    signed = signer.sign(result_of(standing, now), provider_of(request))
    return Response(encode(signed), media_type=JSON, headers={"Cache-Control": "no-store"})


def signer_of(request: Request) -> ResultSigner:
    """Return the signer of results, or raise a problem if none is configured."""
    signer: ResultSigner | None = getattr(request.app.state, "buyer_signer", None)
    if signer is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_key", "this service has no signing key, so it cannot sign")
    return signer


@router.get("/.well-known/jwks.json", responses=one_of(dict[str, Any], 404))
def read_keys(request: Request) -> Response:
    """Return the public key for signed results (RFC 7517)."""
    return _cached(request, encode(signer_of(request).key_set))


@dataclass(frozen=True)
class IncentivesDocument:
    """A seller's buyer policy (section 9)."""

    type: str
    sellerGlobalId: str
    buyerIncentives: dict[str, Any]
    reputationProvider: str


@router.get("/.well-known/agent-buyer-incentives.json", responses=one_of(IncentivesDocument, 404))
def read_incentives(request: Request) -> Response:
    """Return the buyer policy of the agent to which this service belongs."""
    settings = service_of(request).settings.buyers
    if not settings.seller:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_seller", "this service does not belong to a seller")
    policy = BuyerIncentives.model_validate(settings.incentives or {"enabled": False})
    content = IncentivesDocument(
        INCENTIVES_TYPE,
        settings.seller,
        policy.model_dump(exclude_none=True, exclude_unset=True),
        provider_of(request) + "/api/buyer",
    )
    return _cached(request, encode(content))


def _cached(request: Request, body: bytes) -> Response:
    response = tagged(request, body, JSON)
    response.headers["Cache-Control"] = f"public, max-age={_MAX_AGE}"
    return response

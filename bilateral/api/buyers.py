"""Functions and models that the buyer routes share, for settings, buyers' records, and rejections."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from bilateral.api.answers import JSON, PROBLEM, ProblemError
from bilateral.api.guard import origin_of
from bilateral.api.service import service_of
from bilateral.buyers import records
from bilateral.buyers.acceptance import MessageAbout
from bilateral.buyers.policies import policy_of
from bilateral.buyers.records import BuyerProfile, Standing, parse_buyer
from bilateral.buyers.registry import RegistryRecords
from bilateral.core.contracts import Registry
from bilateral.index.reading.registries import Registries

BuyerPath = Annotated[str, Path(max_length=200, description="0x…, or eip155:8453:0x….")]
PaymentChain = Annotated[
    int | None, Query(ge=1, lt=2**63, description="The chain; the service's first chain by default.")
]
ScoringPolicyName = Annotated[str | None, Query(max_length=64, description="The scoring policy, such as brp-1.0.")]

_MOST_DEPTH: Final = 16  # messages have a few levels, whereas Python's recursion limit is a thousand


def read_buyer(
    connection: Connection, text: str, chain_id: int | None, policy: str, *, now: int | None = None
) -> Standing:
    """Read the record of the buyer that a caller specified."""
    chain, buyer, block = locate_buyer(connection, text, chain_id)
    as_of = int(time.time()) if now is None else now
    return records.read_standing(connection, chain, buyer, policy_of(policy), as_of, block)


def locate_buyer(connection: Connection, text: str, chain_id: int | None) -> tuple[int, str, int]:
    """Return a buyer's chain and address, and the chain's last read block."""
    of_id, buyer = parse_buyer(text)
    if None not in (of_id, chain_id) and of_id != chain_id:
        detail = f"the buyer is on chain {of_id}, but chainId is {chain_id}"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail)
    cursors = records.read_cursors(connection, chain_id or of_id)
    chain = chain_id or of_id or next(iter(cursors), None)
    if chain is None or chain not in cursors:
        supported = ", ".join(map(str, records.read_cursors(connection))) or "none"
        detail = f"the service does not read payments on chain {chain}: it reads those on {supported}"
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "unsupported_chain", detail)
    return chain, buyer, cursors[chain]


def read_buyer_everywhere(connection: Connection, text: str, policy: str, *, is_expanded: bool) -> Standing:
    """Read a buyer's record across all chains."""
    chain, buyer = parse_buyer(text)
    if chain is not None or is_expanded:
        detail = "chainId=all requires a plain address and no expand: payments and messages are listed per chain"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail)
    return records.read_everywhere(connection, buyer, policy_of(policy), int(time.time()))


def provider_of(request: Request) -> str:
    """Return the public URL of this service."""
    settings = service_of(request).settings
    host, port = request.scope.get("server") or ("127.0.0.1", settings.port)
    arrived = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return settings.buyers.provider.rstrip("/") or origin_of(request.scope, settings) or arrived


def end_of_day(now: int) -> datetime:
    """Return the last second of the current UTC day."""
    day = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0)
    return day + timedelta(days=1) - timedelta(seconds=1)


def buyer_registries(registries: Registries, chain_id: int) -> tuple[tuple[int, str], ...]:
    """Return the chain and address of each indexed buyer registry."""
    by_chain = registries.by_chain
    chains = by_chain if chain_id == records.ALL_CHAINS else (chain_id,)
    return tuple(
        (chain, account.address)
        for chain in chains
        for account in by_chain.get(chain, ())
        if account.kind == Registry.BUYERS
    )


def described_body(body: type[BaseModel], answer: type, *statuses: int) -> dict[str, Any]:
    """Return the OpenAPI description of a route that parses its request body itself."""
    problems = {status: dict(PROBLEM) for status in (400, 401, 404, 409, 413, 414, 422, 429, 431, 500, 503, *statuses)}
    schema = body.model_json_schema()
    for definition in schema.pop("$defs", {}).items():
        schema = _inlined(schema, *definition)
    return {
        "response_class": Response,
        "responses": {200: {"model": answer}, **problems},
        "openapi_extra": {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}},
    }


def _inlined(schema: Any, name: str, definition: Any) -> Any:
    if isinstance(schema, dict):
        if schema.get("$ref") == f"#/$defs/{name}":
            return _inlined(definition, name, {})
        return {key: _inlined(value, name, definition) for key, value in schema.items()}
    return [_inlined(part, name, definition) for part in schema] if isinstance(schema, list) else schema


async def answer_to_buyer(
    request: Request, buyer: str, answer: Callable[[Request, str, dict[str, Any]], Any]
) -> Response:
    """Handle a POST request about a buyer in a thread that may wait for a node. Prevent caching."""
    value = await json_body(request)
    content = await service_of(request).buyer_work.run(answer, request, parse_buyer(buyer)[1], value)
    return Response(msgspec.json.encode(content), media_type=JSON, headers={"Cache-Control": "no-store"})


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    try:
        value = msgspec.json.decode(await request.body())
        _require_depth(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_json", f"the body is not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_json", "the body is not a JSON object")
    return value


def _require_depth(value: Any, depth: int = 0) -> None:
    if depth > _MOST_DEPTH:
        raise RecursionError("its values are nested too deeply")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_depth(part, depth + 1)


# ruff: noqa: N815  # the specification's names


_MOST_BUYERS: Final = 100
"""The maximum number of buyers per request, because each needs separate SQL statements."""


@dataclass(frozen=True)
class SignedMessage:
    """A message signed according to EIP-712."""

    domain: dict[str, Any]
    primaryType: str
    types: dict[str, Any]
    message: dict[str, Any]
    signer: str
    signature: str


@dataclass(frozen=True)
class Profile(BuyerProfile):
    """A buyer's profile, with records from on-chain buyer registries, which count attested payments separately."""

    registryRecords: tuple[RegistryRecords, ...] = ()


@dataclass(frozen=True)
class ExpandedProfile(Profile):
    """A profile with the buyer's latest payments (Buyer Reputation Protocol, 4.1) or with messages about the buyer."""

    recentTransactions: tuple[records.RecentTransaction, ...] | None = None
    messages: tuple[MessageAbout, ...] | None = None


@dataclass(frozen=True)
class DiscountTerms:
    """A buyer's discount (Buyer Reputation Protocol, section 5.2). `code` and `warnings` are extensions."""

    percentage: records.Number
    reason: str
    appliesTo: tuple[str, ...]
    validUntil: str
    code: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ServiceDiscount:
    """A buyer's discount for one service, under the policy published with the service."""

    percentage: records.Number
    reason: str
    code: str


@dataclass(frozen=True)
class DiscountAnswer:
    """A seller's discount for a buyer (Buyer Reputation Protocol, 5.2). `scoringPolicy` and `services` are extensions.

    `discount` is the largest discount, and `appliesTo` lists the services that offer it. `services` contains the
    discount for each service.
    """

    buyerId: str
    sellerGlobalId: str
    buyerTier: str
    buyerScore: int
    discount: DiscountTerms
    originalPricing: dict[str, records.Number]
    discountedPricing: dict[str, records.Number]
    scoringPolicy: str
    services: dict[str, ServiceDiscount]


@dataclass(frozen=True)
class Profiles:
    """Several buyers' profiles, in the order of the request."""

    buyers: tuple[BuyerProfile, ...]


class Batch(BaseModel):
    """The buyers in a batch request."""

    addresses: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=_MOST_BUYERS)]
    chainId: Annotated[int | None, Field(ge=1, lt=2**63, strict=True)] = None
    policy: Annotated[str | None, Field(max_length=64)] = None

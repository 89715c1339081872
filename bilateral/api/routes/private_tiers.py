"""Routes of private tiers: buyers become members of the groups, and everybody reads the lists of a day."""

# ruff: noqa: N815  # the names of the service

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Engine

from bilateral.api.answers import JSON, one_of, tagged
from bilateral.api.buyers import answer_to_buyer, described_body, read_buyer
from bilateral.api.problems import ProblemError
from bilateral.api.service import service_of
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.messages import TierMember
from bilateral.buyers.policies import policy_of
from bilateral.buyers.private.members import read_last_sizes, read_published, take_member
from bilateral.buyers.private.terms import IDENTITY_BYTES, SCALAR_ORDER, TIERS, member_domain
from bilateral.buyers.requests import parse_body
from bilateral.buyers.score import tier_of
from bilateral.core.contracts.buyer_terms import policy_hash
from bilateral.core.signatures import recover_signer

router = APIRouter(tags=["buyers"], default_response_class=Response)

_DAY_SECONDS: Final = 86_400  # seconds; Unix time has no leap seconds
_SIGNATURE: Final = r"^0x[0-9a-fA-F]{130}$"
_IDENTITY: Final = rf"^0x[0-9a-fA-F]{{{2 * IDENTITY_BYTES}}}$"

_Buyer = Annotated[str, Path(max_length=200, description="0x…, or eip155:8453:0x….")]
_Policy = Annotated[str, Path(max_length=64, description="The scoring policy, such as brp-1.0.")]


class TierMemberBody(BaseModel):
    """The wish of a buyer to be a member of the groups for private proofs. All of it is ours."""

    commitment: Annotated[str, Field(pattern=r"^[0-9]{1,77}$")]
    chainId: Annotated[int, Field(gt=0, lt=2**63, strict=True)]
    policy: Annotated[str, Field(max_length=64)]
    fromEpoch: Annotated[int, Field(gt=0, lt=2**32, strict=True)]
    signature: Annotated[str, Field(pattern=_SIGNATURE)]
    identity: Annotated[str, Field(pattern=_IDENTITY, description="Public key and signature of the identity.")] = ""


@dataclass(frozen=True)
class MemberTaken:
    """A buyer that is a member from a day on.

    Attributes:
        policy: The scoring policy.
        fromEpoch: The first UTC day of the commitment, in days since the beginning of Unix time.
        tier: The tier of the buyer now. The anchored one counts.
    """

    buyer: str
    policy: str
    fromEpoch: int
    tier: str


@dataclass(frozen=True)
class TierGroups:
    """The groups of the last day by one policy.

    Attributes:
        policy: The scoring policy.
        epoch: The UTC day, in days since the beginning of Unix time.
        members: The number of members of each group, by tier.
    """

    policy: str
    epoch: int
    members: dict[str, int]


@router.post("/api/buyer/{address}/tier-member", **described_body(TierMemberBody, MemberTaken, 403))
async def join(request: Request, address: _Buyer) -> Response:
    """Make a buyer a member of the groups for private proofs of its tier, as the buyer signs (EIP-712).

    The commitment is that of a Semaphore v4 identity. The identity signs, too (EdDSA-Poseidon): the hash of the digest
    that the buyer signs, without its last byte. All of it becomes public with the list of its first day.
    """
    return await answer_to_buyer(request, address, _join)


def _join(request: Request, buyer: str, value: dict[str, Any]) -> MemberTaken:
    """Check the wish of a buyer, and store it."""
    service, now = service_of(request), int(time.time())
    settings = service.settings.buyers
    body = parse_body(TierMemberBody, value)
    policy = policy_of(body.policy).name
    if policy not in (settings.credential_policies or (settings.policy,)):
        detail = f"this service has no groups by the policy {policy}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "policy_not_issued", detail)
    commitment, account = int(body.commitment), _any(buyer)
    if not 0 < commitment < SCALAR_ORDER:
        detail = "commitment must be above 0 and below the order of the scalar field"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_body", detail)
    message = TierMember(account, commitment, policy_hash(policy), body.fromEpoch, body.chainId)
    signature = bytes.fromhex(body.signature[2:])
    if recover_signer(message.digest(member_domain(body.chainId)), signature) != buyer:
        detail = f"the signature is not of {buyer}. A contract cannot be a member: everybody checks signatures by key"
        raise BuyerRefusalError(HTTPStatus.UNAUTHORIZED, "invalid_signature", detail)
    if not body.identity:
        detail = "identity is missing: the identity signs the same message as the buyer, as `join_tiers` does"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "identity_unproven", detail)
    with service.reader.connect() as connection:
        tier = tier_of(read_buyer(connection, buyer, body.chainId, policy, now=now).weighed.metrics)
    if tier not in TIERS:
        detail = f"the buyer's tier is {tier.value}, and groups begin with {TIERS[0].value}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "tier_too_low", detail)
    take_member(_engine(request), message, policy, signature + bytes.fromhex(body.identity[2:]), now)
    return MemberTaken(buyer, policy, body.fromEpoch, tier.value)


@router.get("/api/tier-lists/{policy}/{epoch}", responses=one_of(dict[str, Any], 404, 422))
def read_list(
    request: Request, policy: _Policy, epoch: Annotated[int, Path(ge=0, lt=2**32, description="The UTC day.")]
) -> Response:
    """Return the list of members of a day, the same for everybody. Its trees have the roots on chain."""
    document = read_published(_engine(request), policy, epoch)
    if document is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_tier_list", f"there is no list of day {epoch} by {policy}")
    response = tagged(request, document, JSON)
    response.headers["Cache-Control"] = f"public, max-age={_DAY_SECONDS}, immutable"
    return response


@router.get("/api/tier-groups/{policy}", responses=one_of(TierGroups, 404, 422))
def read_groups(request: Request, policy: _Policy) -> Response:
    """Return the number of members of each group of the last day. A proof hides its author among them."""
    last = read_last_sizes(_engine(request), policy)
    if last is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_tier_list", f"there is no list by {policy}")
    return tagged(request, msgspec.json.encode(TierGroups(policy, *last)), JSON)


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.buyer_engine
    return engine


def _any(value: str) -> Any:
    """Return a text as any type: it is an address in checksum form."""
    return value

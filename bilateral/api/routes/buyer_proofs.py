"""Routes for proofs that third parties can verify: anchored states, tier credentials and private tiers."""

# ruff: noqa: N803, N815  # the names of the specification and the service

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection, Engine

from bilateral.api import buyers
from bilateral.api.answers import JSON, ProblemError, one_of, tagged
from bilateral.api.routes.buyers import signer_of
from bilateral.api.service import Service, service_of
from bilateral.buyers.anchoring import read_proof
from bilateral.buyers.anchors import leaf_of
from bilateral.buyers.credentials import issue_credential
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.issuing import Pseudonyms
from bilateral.buyers.messages import TierMember, domain_of
from bilateral.buyers.policies import policy_of
from bilateral.buyers.private.members import read_last_sizes, read_published, take_member
from bilateral.buyers.private.tiers import IDENTITY_BYTES, SCALAR_ORDER, TIERS
from bilateral.buyers.proofs import require_signer
from bilateral.buyers.records import ALL_CHAINS, iso
from bilateral.buyers.registry import PostedAnchor, read_attestor, read_last_anchor
from bilateral.buyers.requests import CredentialBody, address_of, parse_body
from bilateral.buyers.score import tier_of
from bilateral.core.contracts.buyer_terms import BuyerState, TierCredential, policy_hash
from bilateral.core.signatures import Domain, recover_signer

router = APIRouter(tags=["buyers"], default_response_class=Response)

_REQUEST_SECONDS: Final = 600
"""The maximum validity of a signed request, in seconds, after which a copy of the request is useless."""

_LIFETIME: Final = 3_600
"""The validity of a credential, in seconds. When its tier drops, a buyer can show the old one for this long."""


@dataclass(frozen=True)
class AnchoredState:
    """A buyer's state in the latest Merkle tree whose root is on chain, in the format that `verifyBuyer` accepts.

    Attributes:
        registry: The buyer registry that contains the root, as `eip155:8453:0x…`.
        transaction: The transaction that published the root.
        madeAt: The time as of which the ages in the score are computed.
        scoringPolicy: The name of the policy whose hash is in the state.
        state: The `BuyerState` fields, in order. 256-bit numbers are strings.
        leaf: The state's leaf in the tree.
        proof: The sibling hashes, from the leaf up.
    """

    registry: str
    epoch: int
    root: str
    transaction: str
    block: int
    madeAt: str
    scoringPolicy: str
    state: dict[str, Any]
    leaf: str
    proof: tuple[str, ...]


@dataclass(frozen=True)
class Credential(buyers.SignedMessage):
    """A tier credential (EIP-712), in the format that `verifyCredential` accepts.

    Attributes:
        primaryType: The name of the struct.
        types: The definition of the struct.
        message: The struct's values.
        signer: The registry's attestor.
        scoringPolicy: The name of the policy whose hash is in the message.
    """

    scoringPolicy: str


@router.get("/api/buyer/{address}/anchor", responses=one_of(AnchoredState, 404, 422))
def read_anchor(
    request: Request,
    address: buyers.BuyerPath,
    chainId: buyers.PaymentChain = None,
    policy: buyers.ScoringPolicyName = None,
) -> Response:
    """Return a buyer's anchored state, with the proof that it is in the tree whose root is on chain."""
    service = service_of(request)
    name = policy or service.settings.buyers.policy
    with service.reader.connect() as connection:
        chain_id, buyer, _ = buyers.locate_buyer(connection, address, chainId)
        posted, place = _last_anchor(service, connection)
        proven = read_proof(connection, (*place, posted.epoch), buyer, chain_id, policy_of(name).name)
    if proven is None:
        detail = f"the tree for epoch {posted.epoch} has no state for {buyer} under policy {name}"
        raise ProblemError(HTTPStatus.NOT_FOUND, "not_anchored", detail)
    answer = AnchoredState(
        f"eip155:{place[0]}:{place[1]}",
        posted.epoch,
        "0x" + posted.root.hex(),
        "0x" + posted.transaction.hex(),
        posted.block,
        iso(posted.made_at),
        name,
        _fields_of(proven.state),
        "0x" + leaf_of(proven.state).hex(),
        tuple("0x" + sibling.hex() for sibling in proven.proof),
    )
    return tagged(request, msgspec.json.encode(answer), JSON)


def _last_anchor(service: Service, connection: Connection) -> tuple[PostedAnchor, tuple[int, str]]:
    for chain_id, registry in buyers.buyer_registries(service.registries(), ALL_CHAINS):
        posted = read_last_anchor(connection, chain_id, registry)
        if posted is not None:
            return posted, (chain_id, registry)
    raise ProblemError(HTTPStatus.NOT_FOUND, "no_anchor", "the index contains no root posted on chain by this service")


def _fields_of(state: BuyerState) -> dict[str, Any]:
    names = (
        *("buyer", "chainId", "score", "tier", "payments", "volume", "firstPaymentAt", "lastPaymentAt", "reviews"),
        *("reviewSum", "feedbackSellers", "feedbackSum", "disputes", "policy", "blockNumber"),
    )
    values = dict(zip(names, state.arguments, strict=True))
    return {**values, "volume": str(state.volume), "policy": "0x" + state.policy.hex()}


@router.post("/api/buyer/{address}/credential", **buyers.described_body(CredentialBody, Credential, 403, 404, 429))
async def issue(request: Request, address: buyers.BuyerPath) -> Response:
    """Issue a credential for a buyer's tier to another address. The buyer signs the request (EIP-712).

    It is valid for an hour, but not beyond the end of the UTC day. `scope` specifies where it is used. Within a scope,
    all addresses that hold credentials of the same buyer (at most eight) share one `pseudonym` per day.
    """
    return await buyers.answer_to_buyer(request, address, _issue)


def _issue(request: Request, buyer: str, value: dict[str, Any]) -> Credential:
    service, signer, now = service_of(request), signer_of(request), int(time.time())
    settings = service.settings.buyers
    body = parse_body(CredentialBody, value)
    policy = policy_of(body.policy or settings.policy).name
    issued_by = settings.credential_policies or (settings.policy,)
    if policy not in issued_by:
        detail = f"this service issues credentials under {', '.join(issued_by)}, not under {policy}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "policy_not_issued", detail)
    holder = address_of(body.holder, "holder")
    if not 0 <= body.expiresAt - now <= _REQUEST_SECONDS:
        detail = f"expiresAt must be within the next {_REQUEST_SECONDS} seconds"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "expired_request", detail)
    signature = bytes.fromhex(body.signature[2:])
    require_signer(body.message(buyer, holder, policy), domain_of(body.chainId), signature, {buyer}, settings.nodes)
    with service.reader.connect() as connection:
        standing = buyers.read_buyer(connection, buyer, body.chainId, policy, now=now)
        registry = _attested_by(service, connection, body.chainId, signer.address)
    scope = bytes.fromhex(body.scope[2:])
    pseudonyms: Pseudonyms = request.app.state.buyer_pseudonyms
    pseudonym = pseudonyms.admit(buyer, holder, scope, now)
    tier = tier_of(standing.weighed.metrics)
    credential = issue_credential(
        holder, tier, policy_hash(policy), scope=scope, pseudonym=pseudonym, lifetime=_LIFETIME, at=now
    )
    checked: Any = registry
    return _signed(credential, Domain(body.chainId, checked), signer, policy)


def _attested_by(service: Service, connection: Connection, chain_id: int, key: str) -> str:
    for _, registry in buyers.buyer_registries(service.registries(), chain_id):
        if read_attestor(connection, chain_id, registry) == key:
            return registry
    detail = f"no buyer registry on chain {chain_id} has {key}, this service's key, as its attestor"
    raise ProblemError(HTTPStatus.NOT_FOUND, "not_attestor", detail)


def _signed(credential: TierCredential, domain: Domain, signer: Any, policy: str) -> Credential:
    values = dict(zip(credential.solidity_types, credential.arguments, strict=True))
    return Credential(
        **credential.described(domain),
        message={name: "0x" + value.hex() if isinstance(value, bytes) else value for name, value in values.items()},
        signer=signer.address,
        signature="0x" + signer.sign_message(credential.signable(domain)).hex(),
        scoringPolicy=policy,
    )


_DAY_SECONDS: Final = 86_400  # seconds; Unix time ignores leap seconds
_SIGNATURE: Final = r"^0x[0-9a-fA-F]{130}$"
_IDENTITY: Final = rf"^0x[0-9a-fA-F]{{{2 * IDENTITY_BYTES}}}$"

_Policy = Annotated[str, Path(max_length=64, description="The scoring policy, such as brp-1.0.")]


class TierMemberBody(BaseModel):
    """A buyer's request to join the groups for private proofs. This is not part of the specification."""

    commitment: Annotated[str, Field(pattern=r"^[0-9]{1,77}$")]
    chainId: Annotated[int, Field(gt=0, lt=2**63, strict=True)]
    policy: Annotated[str, Field(max_length=64)]
    fromEpoch: Annotated[int, Field(gt=0, lt=2**32, strict=True)]
    signature: Annotated[str, Field(pattern=_SIGNATURE)]
    identity: Annotated[str, Field(pattern=_IDENTITY, description="The identity's public key and signature.")] = ""


@dataclass(frozen=True)
class MemberTaken:
    """The response to a membership request, with the first day on which the buyer is a member.

    Attributes:
        policy: The scoring policy.
        fromEpoch: The first UTC day on which the commitment is listed, in days since 1970.
        tier: The buyer's current tier, for information only: what counts is the anchored tier.
    """

    buyer: str
    policy: str
    fromEpoch: int
    tier: str


@dataclass(frozen=True)
class TierGroups:
    """The latest day's groups under one policy.

    Attributes:
        policy: The scoring policy.
        epoch: The UTC day, in days since 1970.
        members: The number of members in each group, by tier.
    """

    policy: str
    epoch: int
    members: dict[str, int]


@router.post("/api/buyer/{address}/tier-member", **buyers.described_body(TierMemberBody, MemberTaken, 403))
async def join(request: Request, address: buyers.BuyerPath) -> Response:
    """Add a buyer to the groups for private proofs of its tier. The buyer signs the request (EIP-712).

    The commitment belongs to a Semaphore v4 identity. The identity also signs (EdDSA-Poseidon) the hash of the buyer's
    signed digest, with the last byte removed. All of this becomes public with the first day's list.
    """
    return await buyers.answer_to_buyer(request, address, _join)


def _join(request: Request, buyer: str, value: dict[str, Any]) -> MemberTaken:
    service, now = service_of(request), int(time.time())
    settings = service.settings.buyers
    body = parse_body(TierMemberBody, value)
    policy = policy_of(body.policy).name
    if policy not in (settings.credential_policies or (settings.policy,)):
        detail = f"this service has no groups under policy {policy}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "policy_not_issued", detail)
    commitment, account = int(body.commitment), _any(buyer)
    if not 0 < commitment < SCALAR_ORDER:
        detail = "commitment must be above 0 and below the scalar field's order"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_body", detail)
    message = TierMember(account, commitment, policy_hash(policy), body.fromEpoch, body.chainId)
    signature = bytes.fromhex(body.signature[2:])
    if recover_signer(message.digest(domain_of(body.chainId)), signature) != buyer:
        detail = f"the signature was not made with the key of {buyer}: use that key (contracts cannot join)"
        raise BuyerRefusalError(HTTPStatus.UNAUTHORIZED, "invalid_signature", detail)
    if not body.identity:
        detail = "identity is missing: sign the message with the Semaphore identity as well, as `join_tiers` does"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "identity_unproven", detail)
    with service.reader.connect() as connection:
        tier = tier_of(buyers.read_buyer(connection, buyer, body.chainId, policy, now=now).weighed.metrics)
    if tier not in TIERS:
        detail = f"the buyer's tier is {tier.value}, but groups start at {TIERS[0].value}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "tier_too_low", detail)
    take_member(_engine(request), message, policy, signature + bytes.fromhex(body.identity[2:]), now)
    return MemberTaken(buyer, policy, body.fromEpoch, tier.value)


@router.get("/api/tier-lists/{policy}/{epoch}", responses=one_of(dict[str, Any], 404, 422))
def read_list(
    request: Request, policy: _Policy, epoch: Annotated[int, Path(ge=0, lt=2**32, description="The UTC day.")]
) -> Response:
    """Return a day's list of members, which is the same for all callers. The roots of its trees are on chain."""
    document = read_published(_engine(request), policy, epoch)
    if document is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_tier_list", f"no member list for day {epoch} and policy {policy}")
    response = tagged(request, document, JSON)
    response.headers["Cache-Control"] = f"public, max-age={_DAY_SECONDS}, immutable"
    return response


@router.get("/api/tier-groups/{policy}", responses=one_of(TierGroups, 404, 422))
def read_groups(request: Request, policy: _Policy) -> Response:
    """Return the number of members in each of the latest day's groups. A proof hides its author among these members."""
    last = read_last_sizes(_engine(request), policy)
    if last is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "no_tier_list", f"no member list for policy {policy}")
    return tagged(request, msgspec.json.encode(TierGroups(policy, *last)), JSON)


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.buyer_engine
    return engine


def _any(value: str) -> Any:
    """Return a string, which is a checksum address, with the static type `Any`."""
    return value

"""Routes with what others check without this service: anchored states of buyers, and credentials of their tier."""

# ruff: noqa: N803, N815  # the names of the specification and the service

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import Connection

from bilateral.api.answers import JSON, one_of, tagged
from bilateral.api.buyers import answer_to_buyer, buyer_registries, described_body, locate_buyer, read_buyer
from bilateral.api.problems import ProblemError
from bilateral.api.routes.buyers import signer_of
from bilateral.api.service import Service, service_of
from bilateral.buyers.anchoring import read_proof
from bilateral.buyers.anchors import leaf_of
from bilateral.buyers.credentials import issue_credential
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.policies import policy_of
from bilateral.buyers.proofs import require_signer
from bilateral.buyers.pseudonyms import Pseudonyms
from bilateral.buyers.records import ALL_CHAINS, iso
from bilateral.buyers.registry import PostedAnchor, read_attestor, read_last_anchor
from bilateral.buyers.requests import CredentialBody, address_of, parse_body
from bilateral.buyers.results import domain_of
from bilateral.buyers.score import tier_of
from bilateral.core.contracts.buyer_terms import BuyerState, TierCredential, policy_hash
from bilateral.core.signatures import Domain

router = APIRouter(tags=["buyers"], default_response_class=Response)

_REQUEST_SECONDS: Final = 600
"""The time in which a signed request must arrive: a copy of it is of no use for longer."""

_LIFETIME: Final = 3_600
"""The seconds that a credential is valid: a fallen tier is shown for no longer."""

_Buyer = Annotated[str, Path(max_length=200, description="0x…, or eip155:8453:0x….")]


@dataclass(frozen=True)
class AnchoredState:
    """The state of a buyer in the last tree whose root is on chain, as `verifyBuyer` takes it.

    Attributes:
        registry: The registry of buyers with the root, as `eip155:8453:0x…`.
        transaction: The transaction of the root.
        madeAt: The time up to which the ages in the score count.
        scoringPolicy: The name whose hash the state has.
        state: The fields of `BuyerState`, in their order. Numbers of 256 bits are texts.
        leaf: The leaf of the state.
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
class Credential:
    """A tier credential (EIP-712), as `verifyCredential` takes it.

    Attributes:
        primaryType: The name of the struct.
        types: The struct.
        message: Its values.
        signer: The attestor of the registry.
        scoringPolicy: The name whose hash the message has.
    """

    domain: dict[str, Any]
    primaryType: str
    types: dict[str, Any]
    message: dict[str, Any]
    signer: str
    signature: str
    scoringPolicy: str


@router.get("/api/buyer/{address}/anchor", responses=one_of(AnchoredState, 404, 422))
def read_anchor(
    request: Request,
    address: _Buyer,
    chainId: Annotated[
        int | None, Query(ge=1, lt=2**63, description="The chain; the service's first one if missing.")
    ] = None,
    policy: Annotated[str | None, Query(max_length=64, description="The scoring policy, such as brp-1.0.")] = None,
) -> Response:
    """Return the anchored state of a buyer, with the proof that it is in the tree whose root is on chain."""
    service = service_of(request)
    name = policy or service.settings.buyers.policy
    with service.reader.connect() as connection:
        chain_id, buyer, _ = locate_buyer(connection, address, chainId)
        posted, place = _last_anchor(service, connection)
        proven = read_proof(connection, (*place, posted.epoch), buyer, chain_id, policy_of(name).name)
    if proven is None:
        detail = f"the tree of epoch {posted.epoch} has no state of {buyer} by the policy {name}"
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
    """Return the last root of this service on any chain, and the chain and the registry that have it."""
    for chain_id, registry in buyer_registries(service.registries(), ALL_CHAINS):
        posted = read_last_anchor(connection, chain_id, registry)
        if posted is not None:
            return posted, (chain_id, registry)
    raise ProblemError(HTTPStatus.NOT_FOUND, "no_anchor", "this service has no root on chain that the index knows")


def _fields_of(state: BuyerState) -> dict[str, Any]:
    """Return a state as JSON, with the names of the contract."""
    names = (
        *("buyer", "chainId", "score", "tier", "payments", "volume", "firstPaymentAt", "lastPaymentAt", "reviews"),
        *("reviewSum", "feedbackSellers", "feedbackSum", "disputes", "policy", "blockNumber"),
    )
    values = dict(zip(names, state.arguments, strict=True))
    return {**values, "volume": str(state.volume), "policy": "0x" + state.policy.hex()}


@router.post("/api/buyer/{address}/credential", **described_body(CredentialBody, Credential, 403, 404, 429))
async def issue(request: Request, address: _Buyer) -> Response:
    """Issue a credential of a buyer's tier for another address, as the buyer signs (EIP-712).

    It holds for an hour, and not beyond the UTC day. `scope` names the place of its use, where all holders of the buyer
    have one `pseudonym` a day: eight holders at most.
    """
    return await answer_to_buyer(request, address, _issue)


def _issue(request: Request, buyer: str, value: dict[str, Any]) -> Credential:
    """Check the wish of a buyer, and sign a credential of its tier."""
    service, signer, now = service_of(request), signer_of(request), int(time.time())
    settings = service.settings.buyers
    body = parse_body(CredentialBody, value)
    policy = policy_of(body.policy or settings.policy).name
    issued_by = settings.credential_policies or (settings.policy,)
    if policy not in issued_by:
        detail = f"this service issues credentials by {', '.join(issued_by)}, not by {policy}"
        raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "policy_not_issued", detail)
    holder = address_of(body.holder, "holder")
    if not 0 <= body.expiresAt - now <= _REQUEST_SECONDS:
        detail = f"expiresAt must be within the next {_REQUEST_SECONDS} seconds"
        raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "expired_request", detail)
    signature = bytes.fromhex(body.signature[2:])
    require_signer(body.message(buyer, holder, policy), domain_of(body.chainId), signature, {buyer}, settings.nodes)
    with service.reader.connect() as connection:
        standing = read_buyer(connection, buyer, body.chainId, policy, now=now)
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
    """Return the registry of buyers whose attestor is this service."""
    for _, registry in buyer_registries(service.registries(), chain_id):
        if read_attestor(connection, chain_id, registry) == key:
            return registry
    detail = f"no registry of buyers on chain {chain_id} has {key}, the key of this service, as its attestor"
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

"""Prove a buyer's tier privately: join the groups once, and then create a proof for each scope and day."""

import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Final

import httpx
from eth_account.messages import encode_defunct
from eth_utils.crypto import keccak

from bilateral.buyers.errors import BuyerServiceFailedError, NotAMemberError, TooFewMembersError
from bilateral.buyers.messages import TierMember, domain_of
from bilateral.buyers.private.lists import MOST_BYTES, SAMPLE, audit_list
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.tiers import TierProof, epoch_of, signal_of, use_message
from bilateral.buyers.remote import PROVIDER, answer_of, base_of, read_limited, signature_of
from bilateral.client import Client
from bilateral.client.state import TransactionSigner
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import signer_errors

IDENTITY_TEXT: Final = (
    "Bilateral: the secret of my private tier, version 1. Whoever has this signature can use my tier."
)
"""The text that the buyer's key signs to create the identity's secret. Wallets display it."""

LEAST_MEMBERS: Final = 20
"""The default minimum group size. A proof reveals only that one of the buyers in the group created it."""

_SECRET_BYTES: Final = 32  # as many bits as an account's key has
_SECONDS: Final = 60.0
"""The timeout for fetching a service's lists, which may be large."""

Progress = Callable[[str], None]
"""A function that is called before each step with a sentence that describes the step."""


def identity_secret(signer: TransactionSigner) -> bytes:
    """Derive the identity's secret from the buyer's key, so that nothing has to be stored."""
    signable = encode_defunct(text=IDENTITY_TEXT)
    with signer_errors():
        first, second = (bytes(signer.sign_message(signable).signature) for _ in range(2))
    if first != second:
        raise InvalidArgumentError(
            "the signer's signatures are not deterministic: create a secret with `new_secret` and store it"
        )
    return keccak(first)


def new_secret() -> bytes:
    """Return a random 32-byte identity secret. Store it as safely as a key."""
    return secrets.token_bytes(_SECRET_BYTES)


def join_tiers(  # noqa: PLR0913  # the fields of the wish
    service: str,
    secret: bytes,
    signer: TransactionSigner,
    *,
    chain_id: int,
    policy: str = "brp-1.0",
    from_epoch: int | None = None,
    prover: Prover | None = None,
    http: httpx.Client | None = None,
) -> Mapping[str, Any]:
    """As the buyer, ask a service to add the signer to the groups. The identity's secret is not revealed."""
    _require_secret(secret)
    worker = prover or Prover()
    commitment = worker.commitment(secret)
    buyer: Any = checksummed(signer.address)
    first = epoch_of() if from_epoch is None else from_epoch
    message = TierMember(buyer, commitment, policy_hash(policy), first, chain_id)
    body = {
        "commitment": str(commitment),
        "policy": policy,
        "fromEpoch": first,
        "chainId": chain_id,
        "signature": signature_of(message, domain_of(chain_id), signer),
        "identity": "0x" + worker.sign(secret, message.digest(domain_of(chain_id))).hex(),
    }
    return answer_of("POST", f"{base_of(service)}{PROVIDER}/{buyer}/tier-member", http, json=body)


def fetch_list(service: str, policy: str, epoch: int, *, http: httpx.Client | None = None) -> bytes:
    """Fetch a day's whole member list. Do so daily, even if you need no proof, so that the timing reveals nothing."""
    url = f"{base_of(service)}/api/tier-lists/{policy}/{epoch}"
    opened = httpx.Client(timeout=_SECONDS) if http is None else nullcontext(http)
    try:
        with opened as client, client.stream("GET", url) as response:
            if response.status_code != httpx.codes.OK:
                raise BuyerServiceFailedError(f"the service has no list for day {epoch}: status {response.status_code}")
            return read_limited(response, MOST_BYTES, "the list has more than")
    except httpx.HTTPError as failure:
        raise BuyerServiceFailedError(f"the service did not respond: {type(failure).__name__}") from failure


def prove_tier(  # noqa: PLR0913  # what a proof is of
    document: bytes,
    secret: bytes,
    minimum: BuyerTier,
    holder: str,
    client: Client,
    *,
    scope: Callable[[int], bytes],
    request: bytes = bytes(32),
    least_members: int = LEAST_MEMBERS,
    prover: Prover | None = None,
    progress: Progress | None = None,
) -> TierProof:
    """Prove privately that a buyer has at least the given tier, for one scope, day and holder.

    First, the complete list is checked against the chain: the roots, and the states and signatures of a random sample
    chosen locally. A service therefore cannot identify a buyer by publishing a tree made for that buyer alone.
    """
    report = progress or (lambda _: None)
    _require_secret(secret)
    worker = prover or Prover()
    report("checking the list of members against the chain")
    audited = audit_list(document, client, worker, sample=SAMPLE)
    group = [member.commitment for member in audited.members.group(minimum)]
    if len(group) < least_members:
        raise TooFewMembersError(len(group), least_members)
    if worker.commitment(secret) not in group:
        raise NotAMemberError(
            f"no member of the {minimum.value} group has this secret on day {audited.members.epoch}: join first, "
            "or prove a lower tier"
        )
    report("creating the proof, which takes several seconds")
    epoch = audited.members.epoch
    place, use = signal_of(scope(epoch)), signal_of(use_message(holder, request))
    _, nullifier, points = worker.prove(secret, group, place, use)
    return TierProof(policy_hash(audited.members.policy), minimum, epoch, nullifier, points)


def _require_secret(secret: bytes) -> None:
    if len(secret) != _SECRET_BYTES:
        raise InvalidArgumentError(f"a secret must have {_SECRET_BYTES} bytes, not {len(secret)}")

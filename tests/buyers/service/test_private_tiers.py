"""Private tiers with the real prover: a buyer joins, the service posts roots, and a fresh wallet uses a proof."""

# ruff: noqa: F811  # fixtures of another module

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from decimal import Decimal

import ape
import pytest
from eth_account import Account
from sqlalchemy import delete, select

from bilateral.buyers.anchoring import anchor_states
from bilateral.buyers.errors import (
    BuyerRefusalError,
    BuyerServiceFailedError,
    BuyerServiceRefusedError,
    MemberListError,
    NotAMemberError,
    TierProofRefusedError,
    TooFewMembersError,
)
from bilateral.buyers.messages import TierMember, domain_of
from bilateral.buyers.private.lists import audit_list
from bilateral.buyers.private.members import post_tiers, read_list_row, take_member
from bilateral.buyers.private.offline import offline
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.proving import fetch_list, identity_secret, join_tiers, new_secret, prove_tier
from bilateral.buyers.private.tiers import (
    EMPTY_ROOT,
    TierProof,
    TierVerifier,
    on_chain,
    private_agent_scope,
)
from bilateral.buyers.tables import tier_list, tier_member
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.x402.server.discounts import BuyerPricing, ProofDiscounts, proof_headers
from tests.buyers.service.registry import BUYER, CHAIN, FACILITATOR, SELLER, SERVICE
from tests.buyers.service.test_registry import engine, market, node, service, settings  # noqa: F401
from tests.buyers.test_tier_farming import FOLDER, SECRETS, farmed_commitment
from tests.sdk.client.helpers import deploy
from tests.x402.test_buyer_discounts import EXTRA, PRICE
from tests.x402.test_tier_credentials import Request

POLICY = "brp-1.0"
HOLDER, OTHER_HOLDER = (Account.create().address for _ in range(2))


@pytest.fixture(scope="module")
def database(market, tmp_path_factory):
    """The URL of the market's index."""
    url = f"sqlite:///{tmp_path_factory.mktemp('tiers') / 'index.sqlite'}"
    market.index(url)
    return url


@pytest.fixture(scope="module")
def deployment(market):
    """The market's deployment with the contract of proofs. The service is the attestor."""
    verifier = deploy(market.web3, ape.project.TierProofVerifier)
    proofs = deploy(market.web3, ape.project.BuyerTierProofs, market.deployment.buyers, verifier)
    market.deployment = replace(market.deployment, tier_proofs=proofs)
    return market.deployment


@pytest.fixture(scope="module")
def url(service):
    return str(service.base_url).rstrip("/")


@pytest.fixture(scope="module")
def now(market):
    return market.web3.eth.get_block("latest")["timestamp"]


@pytest.fixture(scope="module")
def secret():
    return identity_secret(BUYER)


@pytest.fixture(scope="module")
def posted(url, engine, market, deployment, prover, secret):
    """The groups of today, with one member."""
    taken = join_tiers(url, secret, BUYER, chain_id=CHAIN, policy=POLICY, prover=prover)
    assert taken["tier"] == "verified"
    client = market.connect(SERVICE)
    anchor_states(engine, client, [POLICY])
    posted = post_tiers(engine, client, POLICY, prover)
    assert (dict(posted.sizes), posted.roots[1:]) == (
        {"verified": 1, "trusted": 0, "premium": 0},
        (EMPTY_ROOT, EMPTY_ROOT),
    )
    return posted


@pytest.fixture(scope="module")
def document(url, posted):
    return fetch_list(url, POLICY, posted.epoch)


def scope_of(deployment):
    return lambda day: private_agent_scope(CHAIN, deployment.identity, 1, policy_hash(POLICY), day)


@pytest.fixture(scope="module")
def proof(document, secret, market, deployment, prover):
    steps = []
    made = prove_tier(
        document,
        secret,
        BuyerTier.VERIFIED,
        HOLDER,
        market.connect(),
        scope=scope_of(deployment),
        least_members=1,
        prover=prover,
        progress=steps.append,
    )
    assert len(steps) == 2
    return made


def verifier_for(deployment, verification):
    return TierVerifier(
        verification, policy=policy_hash(POLICY), scope=scope_of(deployment), minimum=BuyerTier.VERIFIED
    )


def test_proof_is_valid_on_chain_and_offline_and_counts_once(proof, market, deployment, posted):
    client = market.connect()
    for verification in (on_chain(client), offline(client.get_tier_roots)):
        verifier = verifier_for(deployment, verification)
        read = TierProof.from_json(json.loads(json.dumps(proof.to_json())))
        assert verifier.check(read, HOLDER) == proof.nullifier
        assert verifier.check(read, HOLDER) == proof.nullifier  # the same holder again
        with pytest.raises(TierProofRefusedError) as refused:
            verifier.check(read, OTHER_HOLDER)
        assert (refused.value.reason, refused.value.status) == ("tier_already_used", 409)


def test_borrowed_proof_is_refused(proof, market, deployment):
    """The message binds it to its holder."""
    client = market.connect()
    for verification in (on_chain(client), offline(client.get_tier_roots)):
        with pytest.raises(TierProofRefusedError) as refused:
            verifier_for(deployment, verification).check(proof, OTHER_HOLDER)
        assert (refused.value.reason, refused.value.status) == ("proof_refused", 403)


def test_small_group_is_refused_unless_it_is_allowed(document, secret, market, deployment, prover):
    with pytest.raises(TooFewMembersError, match="has only 1 members, too few to hide a proof's author"):
        prove_tier(
            document, secret, BuyerTier.VERIFIED, HOLDER, market.connect(), scope=scope_of(deployment), prover=prover
        )


def test_secret_of_nobody_and_tier_without_the_buyer_are_refused(document, secret, market, deployment, prover):
    client = market.connect()
    options = {"scope": scope_of(deployment), "least_members": 0, "prover": prover}
    with pytest.raises(NotAMemberError):
        prove_tier(document, new_secret(), BuyerTier.VERIFIED, HOLDER, client, **options)
    with pytest.raises(NotAMemberError):
        prove_tier(document, secret, BuyerTier.TRUSTED, HOLDER, client, **options)


def test_everybody_audits_the_list(document, market, prover, deployment):
    audited = audit_list(document, market.connect(), prover)
    assert (audited.checked, dict(audited.sizes)) == (1, {"verified": 1, "trusted": 0, "premium": 0})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda member: member.update(commitment="7"), "the trees have roots"),
        (lambda member: member["state"].__setitem__(2, "99"), "the state is not included in anchor"),
        (lambda member: member.update(signature="0x" + "11" * 65), "the buyer did not sign the commitment"),
        (lambda member: member["state"].__setitem__(3, "0"), "the tier new has no group"),
    ],
    ids=["a tree of its own", "invented state", "invented member", "fallen tier"],
)
def test_audit_finds_what_the_attestor_invents(document, market, prover, deployment, change, problem):
    content = json.loads(document)
    change(content["members"][0])
    with pytest.raises(MemberListError, match=problem):
        audit_list(json.dumps(content).encode(), market.connect(), prover)


@pytest.fixture
def beside(market, engine, deployment, monkeypatch):
    """A client for a second contract of proofs. The lists by its policy are deleted afterwards."""
    verifier = deploy(market.web3, ape.project.TierProofVerifier)
    proofs = deploy(market.web3, ape.project.BuyerTierProofs, deployment.buyers, verifier)
    with monkeypatch.context() as patch:
        patch.setattr(market, "deployment", replace(deployment, tier_proofs=proofs))
        client = market.connect(SERVICE)
    yield client
    with engine.begin() as connection:
        connection.execute(delete(tier_list).where(tier_list.c.policy != POLICY))


def test_tree_of_identities_is_left_out_of_the_list_and_an_audit_finds_it(
    engine, market, prover, deployment, beside, posted, caplog
):
    """A buyer joined with the root of a tree of identities, one of which signed. A careless attestor posts it."""
    client, policy = market.connect(SERVICE), "independent-1.0"
    message = TierMember(BUYER.address, farmed_commitment(prover), policy_hash(policy), posted.epoch, CHAIN)
    digest = message.digest(domain_of(CHAIN))
    signatures = bytes(BUYER.unsafe_sign_hash(digest).signature) + prover.sign(SECRETS[0], digest)
    take_member(engine, message, policy, signatures, posted.epoch * 86_400)
    anchor_states(engine, client, [POLICY, policy])
    assert post_tiers(engine, beside, policy, prover).sizes["verified"] == 0
    assert f"must join again: {BUYER.address}" in caplog.text

    class Careless(Prover):
        def are_proven(self, claims):
            return [True for _ in claims]

    assert post_tiers(engine, client, policy, Careless(FOLDER)).sizes["verified"] == 1
    stored = read_list_row(engine, CHAIN, deployment.tier_proofs, policy, posted.epoch)
    with pytest.raises(
        MemberListError, match=f"{BUYER.address}: the commitment does not belong to an identity that signed"
    ):
        audit_list(stored.document, client, prover)


def test_member_of_an_earlier_version_joins_again_with_the_same_commitment(engine, posted):
    """Its identity signs now. A message for another chain is not the same message."""
    buyer, signature, identity, now = FACILITATOR.address, b"1" * 65, b"2" * 160, posted.epoch * 86_400
    message = TierMember(buyer, 77, policy_hash(POLICY), posted.epoch, CHAIN)
    take_member(engine, replace(message, from_epoch=posted.epoch - 1), POLICY, signature, now - 86_400)
    for _ in range(2):
        take_member(engine, message, POLICY, signature + identity, now)
    with engine.connect() as connection:
        query = select(tier_member.c.from_epoch, tier_member.c.signature).where(tier_member.c.buyer == buyer)
        assert connection.execute(query).all() == [(posted.epoch, signature + identity)]
    with pytest.raises(BuyerRefusalError) as refused:
        take_member(engine, replace(message, chain_id=CHAIN + 1), POLICY, signature + identity, now)
    assert refused.value.code == "member_exists"


def test_list_of_version_1_is_refused(document, market, prover, deployment):
    content = json.loads(document) | {"version": 1}
    for member in content["members"]:
        del member["identity"]
    with pytest.raises(MemberListError, match="version 1 cannot be used: one member could act as several"):
        audit_list(json.dumps(content).encode(), market.connect(), prover)


def test_roots_are_posted_once_and_by_the_attestor_alone(posted, engine, market, prover, deployment):
    assert post_tiers(engine, market.connect(SERVICE), POLICY, prover) == posted
    with pytest.raises(ContractRevertError) as refused:
        market.connect(SELLER).post_tier_roots(posted.epoch, policy_hash("other"), [1, 1, 1])
    assert refused.value.reason == "not_the_attestor"


def test_groups_are_shown_by_size_alone(service, posted):
    answer = service.get(f"/api/tier-groups/{POLICY}").json()
    assert answer == {"policy": POLICY, "epoch": posted.epoch, "members": dict(posted.sizes)}
    assert service.get("/api/tier-groups/none").status_code == 404


def test_page_shows_the_size_of_the_groups_and_no_member(service, posted, document):
    page = service.get("/private-tiers", headers={"Accept": "text/html"}).text
    assert "too few to hide in" in page
    content = service.get("/private-tiers.json").json()
    assert [(group["tier"], group["members"]) for group in content["groups"]] == list(posted.sizes.items())
    commitment = json.loads(document)["members"][0]["commitment"]
    for secret in (BUYER.address, BUYER.address.lower(), commitment):
        assert secret not in page
        assert secret not in json.dumps(content)


def test_list_is_the_same_for_everybody_and_cacheable(service, posted, document):
    answer = service.get(f"/api/tier-lists/{POLICY}/{posted.epoch}")
    assert (answer.content, answer.headers["Cache-Control"]) == (document, "public, max-age=86400, immutable")
    with pytest.raises(BuyerServiceFailedError, match="404"):
        fetch_list(str(service.base_url), POLICY, posted.epoch - 1)


def test_buyer_without_a_tier_and_second_commitment_are_refused(url, posted, prover):
    for signer, secret, code in (
        (FACILITATOR, new_secret(), "tier_too_low"),
        (BUYER, new_secret(), "member_exists"),
    ):
        with pytest.raises(BuyerServiceRefusedError) as refused:
            join_tiers(url, secret, signer, chain_id=CHAIN, policy=POLICY, prover=prover)
        assert refused.value.code == code
    with pytest.raises(BuyerServiceRefusedError) as refused:
        join_tiers(url, new_secret(), BUYER, chain_id=CHAIN, policy=POLICY, from_epoch=posted.epoch + 2, prover=prover)
    assert refused.value.code == "epoch_over"


def test_commitment_signed_by_somebody_else_is_refused(service, url, posted):
    body = {
        "commitment": "7",
        "chainId": CHAIN,
        "policy": POLICY,
        "fromEpoch": posted.epoch,
        "signature": "0x" + "11" * 65,
    }
    answer = service.post(f"/api/buyer/{BUYER.address}/tier-member", json=body)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_signature")
    answer = service.post(f"/api/buyer/{BUYER.address}/tier-member", json=body | {"commitment": "0"})
    assert answer.status_code == 422


def test_commitment_that_its_identity_did_not_sign_is_refused(service, posted):
    message = TierMember(BUYER.address, 7, policy_hash(POLICY), posted.epoch, CHAIN)
    signature = bytes(BUYER.unsafe_sign_hash(message.digest(domain_of(CHAIN))).signature)
    body = {"commitment": "7", "chainId": CHAIN, "policy": POLICY, "fromEpoch": posted.epoch}
    answer = service.post(f"/api/buyer/{BUYER.address}/tier-member", json=body | {"signature": "0x" + signature.hex()})
    assert (answer.status_code, answer.json()["code"]) == (422, "identity_unproven")


def test_payer_with_a_proof_pays_less_and_others_with_it_do_not(proof, market, deployment):
    """The payer names itself. A payment by another account is refused before any money moves."""
    percentages = {BuyerTier.VERIFIED: Decimal(5), BuyerTier.PREMIUM: Decimal(50)}
    discounts = ProofDiscounts(percentages, verifier_for(deployment, on_chain(market.connect())))
    pricing = BuyerPricing(lambda _: None, market.token, PRICE, EXTRA, proofs=discounts)

    def price(shown, holder=HOLDER, **changes):
        named = {} if holder is None else {"X-Buyer-Address": holder}
        return int(asyncio.run(pricing.price(Request(proof_headers(replace(shown, **changes)) | named))).amount)

    for _ in range(2):
        assert price(proof) == PRICE * 95 // 100
    assert price(proof, OTHER_HOLDER) == price(proof, None) == PRICE
    assert price(proof, minimum=BuyerTier.PREMIUM) == price(proof, points=(0,) * 8) == PRICE
    for headers in ({}, {"Buyer-Tier-Proof": "?"}):
        request = Request(headers | {"X-Buyer-Address": HOLDER})
        assert int(asyncio.run(pricing.price(request)).amount) == PRICE

"""Roots of the groups of buyers by tier, and private proofs by them, which Semaphore's own package made."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import ape
import pytest
from eth_utils import keccak

from scripts._build import ROOT
from tests.buyers.tier_vectors import EPOCH, POLICY, PROOFS, ROOTS, SCALAR_ORDER, tier_proof, word
from tests.delegation import delegate
from tests.helpers import logged

DAY = 86_400
NEW, VERIFIED, TRUSTED, PREMIUM = range(4)
BASE_ORDER = 21888242871839275222246405745257275088696311157297823662689037894645226208583
PACKAGE = Path(__file__).parents[2] / "node_modules" / "@semaphore-protocol" / "contracts"


@pytest.fixture
def today(chain):
    """Noon of the day of the vectors."""
    chain.mine(timestamp=EPOCH * DAY + DAY // 2)
    return EPOCH


@pytest.fixture
def posted(tier_proofs, attestor, today):
    return tier_proofs.postTierRoots(today, POLICY, ROOTS, sender=attestor)


def arguments(name="trusted", **changes):
    """Return the arguments of `verifyTier` for a proof of the vectors."""
    proof = PROOFS[name]
    fields = {
        "proof": tier_proof(name),
        "policy": POLICY,
        "minimum": proof["tier"],
        "epoch": EPOCH,
        "scope": word(proof["scope"]),
        "message": word(proof["message"]),
    }
    return tuple((fields | changes).values())


def test_attestor_posts_the_roots_of_today(tier_proofs, posted):
    assert logged(posted) == [("TierRootsPosted", {"epoch": EPOCH, "policy": POLICY})]
    assert tier_proofs.rootsOf(POLICY, EPOCH) == ROOTS


def test_only_the_attestor_posts_roots(tier_proofs, anchorer, today):
    with ape.reverts(tier_proofs.NotTheAttestor, caller=anchorer.address):
        tier_proofs.postTierRoots(today, POLICY, ROOTS, sender=anchorer)


def test_next_attestor_posts_roots(tier_proofs, registry, attestor, successor, today):
    registry.setNominee(successor, 0, sender=attestor)
    registry.takeRole(0, sender=successor)
    tier_proofs.postTierRoots(today, POLICY, ROOTS, sender=successor)
    with ape.reverts(tier_proofs.NotTheAttestor, caller=attestor.address):
        tier_proofs.postTierRoots(today, keccak(text="other"), ROOTS, sender=attestor)


@pytest.mark.parametrize("day", [EPOCH - 1, EPOCH + 1])
def test_roots_of_another_day_are_refused(tier_proofs, attestor, today, day):
    with ape.reverts(tier_proofs.EpochOver, epoch=day, today=today):
        tier_proofs.postTierRoots(day, POLICY, ROOTS, sender=attestor)


def test_roots_are_never_replaced(tier_proofs, posted, attestor):
    with ape.reverts(tier_proofs.RootsAlreadyPosted, policy=POLICY, epoch=EPOCH):
        tier_proofs.postTierRoots(EPOCH, POLICY, [7, 7, 7], sender=attestor)
    assert tier_proofs.rootsOf(POLICY, EPOCH) == ROOTS


def test_other_policies_have_roots_of_their_own(tier_proofs, posted, attestor):
    other = keccak(text="independent-1.0")
    tier_proofs.postTierRoots(EPOCH, other, [1, 1, SCALAR_ORDER - 1], sender=attestor)
    assert tier_proofs.rootsOf(other, EPOCH) == [1, 1, SCALAR_ORDER - 1]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("root", [0, SCALAR_ORDER, 2**256 - 1])
def test_roots_outside_the_field_are_refused(tier_proofs, attestor, today, place, root):
    roots = [*ROOTS[:place], root, *ROOTS[place + 1 :]]
    with ape.reverts(tier_proofs.RootOutOfRange, root=root):
        tier_proofs.postTierRoots(today, POLICY, roots, sender=attestor)


@pytest.mark.parametrize("name", ["trusted", "trustedForAnother", "trustedElsewhere", "secondMember", "verified"])
def test_proofs_of_the_published_prover_pass(tier_proofs, posted, name):
    tier_proofs.verifyTier(*arguments(name))


def test_verifier_is_the_published_one_for_each_depth(tier_verifier):
    """The sources are the package's, and this proof of depth 10 passes there, and nowhere else."""
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (PACKAGE / "base").glob("*er*.sol")}
    assert hashes == {
        "SemaphoreVerifier.sol": "d0ad3ab6a72fa2b0cfbe6655792dffd3c02142ffeae68dca62c8b24528d98f19",
        "SemaphoreVerifierKeyPts.sol": "ccbd2fc316a07be40ca1fa1b3475ee704b7d92d4f6922810d295fba83e92732b",
    }
    proof = PROOFS["shallow"]
    a, b, c, d, e, f, g, h = map(int, proof["points"])
    signals = [int(proof["root"]), int(proof["nullifier"]), signal(proof["message"]), signal(proof["scope"])]
    assert tier_verifier.verifyProof([a, b], [[c, d], [e, f]], [g, h], signals, 10)
    assert not tier_verifier.verifyProof([a, b], [[c, d], [e, f]], [g, h], signals, 20)


def test_page_tells_the_fixed_gas_of_the_verifier():
    """A chain that charges more refuses every proof."""
    source = (PACKAGE / "base" / "SemaphoreVerifier.sol").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "private-tiers.md").read_text(encoding="utf-8")
    fixed = {int(contract): int(gas) for gas, contract in re.findall(r"staticcall\((\d+), (\d+),", source)}
    assert fixed.keys() == {6, 7, 8}
    multiplication, addition, pairing = f"{fixed[7]:,}", fixed[6], f"{fixed[8]:,}"
    told = (
        f"{addition} for an addition on the curve, {multiplication} for a multiplication and {pairing} for the pairing"
    )
    assert told in page.replace("\n", " ")


def signal(text):
    return int.from_bytes(keccak(word(text))) >> 8


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("trusted", {"message": keccak(text="another use")}),
        ("trusted", {"scope": word(PROOFS["trustedElsewhere"]["scope"])}),
        ("trusted", {"minimum": VERIFIED}),
        ("verified", {"minimum": PREMIUM}),
        ("shallow", {}),
    ],
    ids=["another use or holder", "another gate or chain", "another tree", "tree without the member", "depth 10"],
)
def test_proof_of_something_else_is_refused(tier_proofs, posted, name, changes):
    with ape.reverts(tier_proofs.ProofRefused, nullifier=int(PROOFS[name]["nullifier"])):
        tier_proofs.verifyTier(*arguments(name, **changes))


def test_changed_nullifier_is_refused(tier_proofs, posted):
    nullifier, points = tier_proof("trusted")
    with ape.reverts(tier_proofs.ProofRefused, nullifier=nullifier + 1):
        tier_proofs.verifyTier(*arguments(proof=(nullifier + 1, points)))


def test_point_off_the_curve_is_refused(tier_proofs, posted):
    nullifier, points = tier_proof("trusted")
    with ape.reverts(tier_proofs.ProofRefused, nullifier=nullifier):
        tier_proofs.verifyTier(*arguments(proof=(nullifier, [1, 1, *points[2:]])))


def test_nullifier_plus_the_field_order_is_refused(tier_proofs, posted):
    nullifier, points = tier_proof("trusted")
    with ape.reverts(tier_proofs.ProofMalformed, number=nullifier + SCALAR_ORDER):
        tier_proofs.verifyTier(*arguments(proof=(nullifier + SCALAR_ORDER, points)))


@pytest.mark.parametrize("place", range(8))
def test_coordinate_plus_the_field_order_is_refused(tier_proofs, posted, place):
    nullifier, points = tier_proof("trusted")
    points = [*points[:place], points[place] + BASE_ORDER, *points[place + 1 :]]
    with ape.reverts(tier_proofs.ProofMalformed, number=points[place]):
        tier_proofs.verifyTier(*arguments(proof=(nullifier, points)))


def test_unknown_roots_are_refused(tier_proofs, posted):
    other = keccak(text="independent-1.0")
    with ape.reverts(tier_proofs.UnknownRoot, policy=other, epoch=EPOCH, minimum=TRUSTED):
        tier_proofs.verifyTier(*arguments(policy=other))
    with ape.reverts(tier_proofs.UnknownRoot, policy=POLICY, epoch=EPOCH - 1, minimum=TRUSTED):
        tier_proofs.verifyTier(*arguments(epoch=EPOCH - 1))
    with ape.reverts(tier_proofs.UnknownRoot, policy=POLICY, epoch=EPOCH, minimum=NEW):
        tier_proofs.verifyTier(*arguments(minimum=NEW))


@pytest.mark.parametrize(("later", "passes"), [(DAY - 1, True), (2 * DAY - 1, True), (2 * DAY, False)])
def test_roots_count_for_today_and_yesterday(tier_proofs, posted, chain, later, passes):
    chain.mine(timestamp=EPOCH * DAY + later)
    if passes:
        tier_proofs.verifyTier(*arguments())
        return
    with ape.reverts(tier_proofs.EpochOver, epoch=EPOCH, today=EPOCH + 2):
        tier_proofs.verifyTier(*arguments())


def test_too_little_gas_never_passes(tier_proofs, posted, networks):
    """Semaphore's verifier answers false then, instead of running out of gas."""
    data = "0x" + tier_proofs.verifyTier.encode_input(*arguments()).hex()
    request = networks.provider.web3.provider.make_request
    answers = {
        gas: request("eth_call", [{"to": tier_proofs.address, "data": data, "gas": hex(gas)}, "latest"])
        for gas in (60_000, 120_000, 180_000, 240_000, 1_000_000)
    }
    assert [gas for gas, answer in answers.items() if "error" not in answer] == [1_000_000]


def test_contract_tells_its_registries_and_its_verifier(tier_proofs, tier_verifier, registry, identity):
    assert tier_proofs.getBuyerRegistry() == registry.address
    assert tier_proofs.getIdentityRegistry() == identity.address
    assert tier_proofs.getProofVerifier() == tier_verifier.address
    assert tier_proofs.supportsInterface("0x01ffc9a7")
    assert not tier_proofs.supportsInterface("0xffffffff")


def test_registry_and_verifier_must_be_contracts(
    deployer, project, networks, registry, identity, tier_verifier, stranger
):
    wrong = project.BuyerTierProofs
    for other in (identity.address, stranger.address):
        with ape.reverts(wrong.NotABuyerRegistry, registry=other):
            deployer.deploy(wrong, other, tier_verifier)
    with ape.reverts(wrong.NotAVerifier, verifier=stranger.address):
        deployer.deploy(wrong, registry, stranger)
    delegate(networks.provider.web3, stranger, registry, deployer)
    with ape.reverts(wrong.NotABuyerRegistry, registry=stranger.address):
        deployer.deploy(wrong, stranger, tier_verifier)
    with ape.reverts(wrong.NotAVerifier, verifier=stranger.address):
        deployer.deploy(wrong, registry, stranger)


def test_vectors_name_the_pinned_packages():
    """Other versions of the package or of the artifacts need new vectors."""
    made = json.loads((Path(__file__).parent / "tier_vectors.json").read_text())["made"]
    assert made == {"@semaphore-protocol/core": "4.14.2", "@zk-kit/semaphore-artifacts": "4.13.0"}

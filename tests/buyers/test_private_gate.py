"""A service for trusted buyers that prove their tier privately: each is served once a day, from any account."""

from __future__ import annotations

import ape
import pytest
from eth_abi import encode
from eth_utils import keccak

from tests.buyers.tier_vectors import EPOCH, GATE, POLICY, PROOFS, REQUEST, ROOTS, tier_proof, word
from tests.delegation import delegate
from tests.helpers import forked_to, logged

DAY = 86_400
TRUSTED = 2


@pytest.fixture
def gate(deployer, project, networks, tier_proofs, attestor, chain):
    """The service at the address of the vectors, at noon of their day, after today's roots were posted.

    The address decides the scope of its proofs. Deployed as usual, it would move with each change of the compiler.
    """
    deployed = deployer.deploy(project.PrivateService, tier_proofs, POLICY)
    web3 = networks.provider.web3
    web3.provider.make_request("anvil_setCode", [GATE, web3.eth.get_code(deployed.address).to_0x_hex()])
    chain.mine(timestamp=EPOCH * DAY + DAY // 2)
    tier_proofs.postTierRoots(EPOCH, POLICY, ROOTS, sender=attestor)
    return project.PrivateService.at(GATE)


@pytest.fixture
def holder(accounts):
    """A fresh address, which has paid nobody."""
    return accounts[14]


@pytest.fixture
def other_holder(accounts):
    return accounts[15]


def used(proof):
    return {"nullifier": proof[0]}


def test_buyer_is_served_from_a_fresh_address(gate, holder):
    receipt = gate.serve(tier_proof("trusted"), EPOCH, REQUEST, sender=holder)
    nullifier = int(PROOFS["trusted"]["nullifier"])
    assert logged(receipt) == [("Served", {"nullifier": nullifier, "request": REQUEST})]
    assert gate.isNullifierUsed(nullifier)


def test_second_use_is_refused(gate, holder):
    proof = tier_proof("trusted")
    gate.serve(proof, EPOCH, REQUEST, sender=holder)
    with ape.reverts(gate.TierAlreadyUsed, **used(proof)):
        gate.serve(proof, EPOCH, REQUEST, sender=holder)


def test_one_buyer_with_two_addresses_is_served_once(gate, holder, other_holder):
    gate.serve(tier_proof("trusted"), EPOCH, REQUEST, sender=holder)
    proof = tier_proof("trustedForAnother")
    with ape.reverts(gate.TierAlreadyUsed, **used(proof)):
        gate.serve(proof, EPOCH, REQUEST, sender=other_holder)


def test_two_buyers_are_served(gate, holder, other_holder):
    gate.serve(tier_proof("trusted"), EPOCH, REQUEST, sender=holder)
    gate.serve(tier_proof("secondMember"), EPOCH, REQUEST, sender=other_holder)
    assert PROOFS["trusted"]["nullifier"] != PROOFS["secondMember"]["nullifier"]


def test_malleable_proof_does_not_pass_twice(gate, tier_proofs, holder):
    """Negating the first two points gives other bytes, which verify. The nullifier is the same."""
    nullifier, points = tier_proof("trusted")
    order = 21888242871839275222246405745257275088696311157297823662689037894645226208583
    negated = [points[0], order - points[1], *points[2:4], order - points[4], order - points[5], *points[6:]]
    fields = PROOFS["trusted"]
    tier_proofs.verifyTier((nullifier, negated), POLICY, TRUSTED, EPOCH, word(fields["scope"]), word(fields["message"]))
    gate.serve((nullifier, points), EPOCH, REQUEST, sender=holder)
    with ape.reverts(gate.TierAlreadyUsed, nullifier=nullifier):
        gate.serve((nullifier, negated), EPOCH, REQUEST, sender=holder)


def test_all_tiers_have_one_nullifier():
    """The scope has no tier: a premium buyer, who is in three groups, is one customer."""
    assert PROOFS["verified"]["nullifier"] == PROOFS["trusted"]["nullifier"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "request_hash"), [("trusted", REQUEST), ("trustedForAnother", REQUEST), ("trusted", keccak(text="other"))]
)
def test_stolen_proof_is_refused(gate, stranger, other_holder, name, request_hash):
    """It is bound to its holder and request, so a copy from the pool of transactions is of no use."""
    thief = other_holder if name == "trusted" and request_hash == REQUEST else stranger
    proof = tier_proof(name)
    with ape.reverts(ape.project.BuyerTierProofs.ProofRefused, **used(proof)):
        gate.serve(proof, EPOCH, request_hash, sender=thief)
    assert not gate.isNullifierUsed(proof[0])


def test_proof_for_another_seller_is_refused(gate, holder):
    proof = tier_proof("trustedElsewhere")
    with ape.reverts(ape.project.BuyerTierProofs.ProofRefused, **used(proof)):
        gate.serve(proof, EPOCH, REQUEST, sender=holder)


def test_sellers_cannot_link_a_buyer():
    assert PROOFS["trustedElsewhere"]["nullifier"] != PROOFS["trusted"]["nullifier"]
    assert PROOFS["trustedOfYesterday"]["nullifier"] != PROOFS["trusted"]["nullifier"]


def test_proof_of_a_lower_tier_is_refused(gate, holder):
    proof = tier_proof("verified")
    with ape.reverts(ape.project.BuyerTierProofs.ProofRefused, **used(proof)):
        gate.serve(proof, EPOCH, REQUEST, sender=holder)


def test_proof_of_the_day_before_yesterday_is_refused(gate, holder, chain):
    chain.mine(timestamp=(EPOCH + 2) * DAY)
    with ape.reverts(ape.project.BuyerTierProofs.EpochOver, epoch=EPOCH, today=EPOCH + 2):
        gate.serve(tier_proof("trusted"), EPOCH, REQUEST, sender=holder)


def test_contract_is_served_by_its_own_proof(gate, networks, project, contract_wallet, wallet_key, holder):
    """The holder of the vectors becomes a contract that somebody else's transaction calls."""
    web3 = networks.provider.web3
    code = web3.eth.get_code(contract_wallet.address).to_0x_hex()
    web3.provider.make_request("anvil_setCode", [holder.address, code])
    data = gate.serve.encode_input(tier_proof("trusted"), EPOCH, REQUEST)
    project.MockWallet.at(holder.address).execute(gate, data, sender=wallet_key)
    assert gate.isNullifierUsed(tier_proof("trusted")[0])


def test_contract_is_not_served_as_the_sender_of_the_transaction(gate, deployer, project, holder):
    wallet = deployer.deploy(project.MockWallet, holder)
    proof = tier_proof("trusted")
    with ape.reverts(ape.project.BuyerTierProofs.ProofRefused, **used(proof)):
        wallet.execute(gate, gate.serve.encode_input(proof, EPOCH, REQUEST), sender=holder)


def test_scope_names_chain_gate_policy_and_day(gate, chain, holder):
    def scope(chain_id):
        kinds = ["string", "uint256", "address", "bytes32", "uint64"]
        return keccak(encode(kinds, ["bilateral-tier", chain_id, GATE, POLICY, EPOCH]))

    own_id, proof = chain.chain_id, tier_proof("trusted")
    assert bytes(gate.getPrivateTierScope(EPOCH)) == scope(own_id) == word(PROOFS["trusted"]["scope"])
    with forked_to(chain, own_id + 1):
        assert bytes(gate.getPrivateTierScope(EPOCH)) == scope(own_id + 1)
        with ape.reverts(ape.project.BuyerTierProofs.ProofRefused, **used(proof)):
            gate.serve.call(proof, EPOCH, REQUEST, sender=holder)


def test_gate_tells_its_contract_and_policy(gate, tier_proofs):
    assert (gate.getTierProofs(), bytes(gate.getPrivateTierPolicy())) == (tier_proofs.address, POLICY)


def test_gate_refuses_other_contracts_than_tier_proofs(deployer, project, networks, registry, tier_proofs, stranger):
    for other in (registry.address, stranger.address):
        with ape.reverts(project.PrivateService.NotTierProofs, tierProofs=other):
            deployer.deploy(project.PrivateService, other, POLICY)
    delegate(networks.provider.web3, stranger, tier_proofs, deployer)
    with ape.reverts(project.PrivateService.NotTierProofs, tierProofs=stranger.address):
        deployer.deploy(project.PrivateService, stranger, POLICY)

"""Merkle trees of buyers' states: as OpenZeppelin makes them, and as the registry verifies them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.buyers.anchors import StateTree, leaf_of, verify_state
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier
from bilateral.core.errors import InvalidArgumentError

VECTORS = json.loads((Path(__file__).parent / "merkle_vectors.json").read_text())["trees"]
BY_SIZE = pytest.mark.parametrize("vector", VECTORS, ids=[f"{len(vector['states'])} states" for vector in VECTORS])


def from_json(values):
    buyer, chain_id, score, level, *numbers, policy, block = values
    return BuyerState(buyer, chain_id, score, BuyerTier.of_level(level), *numbers, unhex(policy), block)


def unhex(text):
    return bytes.fromhex(text.removeprefix("0x"))


@pytest.fixture(scope="module")
def states():
    return [from_json(values) for values in VECTORS[-1]["states"]]


@BY_SIZE
def test_roots_and_proofs_are_those_of_openzeppelins_library(vector):
    states = [from_json(values) for values in vector["states"]]
    tree = StateTree(states)
    assert (len(tree), tree.root) == (len(states), unhex(vector["root"]))
    assert [tree.proof_of(state) for state in states] == [list(map(unhex, proof)) for proof in vector["proofs"]]


def test_the_order_of_states_does_not_matter(states):
    assert StateTree.of(*reversed(states)).root == StateTree(states).root


@BY_SIZE
def test_the_registry_verifies_every_state(registry, anchorer, vector):
    states = [from_json(values) for values in vector["states"]]
    tree, epoch = StateTree(states), registry.getNextEpoch()
    registry.anchorRoot(epoch, tree.root, sender=anchorer)
    for state in states[:3]:
        proof = tree.proof_of(state)
        assert verify_state(state, tree.root, proof)
        assert registry.verifyBuyer(state.arguments, epoch, proof)
        other = replace(state, volume=state.volume + 1)
        assert not verify_state(other, tree.root, proof)
        assert not registry.verifyBuyer(other.arguments, epoch, proof)


@given(data=st.data(), field=st.sampled_from(["score", "payments", "reviews", "disputes", "block_number"]))
def test_a_state_with_another_value_is_not_in_the_tree(states, data, field):
    tree, state = StateTree(states), data.draw(st.sampled_from(states))
    other = replace(
        state, **{field: data.draw(st.integers(0, 255).filter(lambda value: value != getattr(state, field)))}
    )
    assert leaf_of(other) != leaf_of(state)
    assert not verify_state(other, tree.root, tree.proof_of(state))
    with pytest.raises(InvalidArgumentError, match="does not contain this state"):
        tree.proof_of(other)


def test_a_state_is_found_by_buyer_chain_and_policy(states):
    tree, state = StateTree(states), states[4]
    assert tree.state_of(state.buyer, state.chain_id, state.policy) == state
    assert tree.state_of(state.buyer, state.chain_id + 1, state.policy) is None


def test_an_empty_tree_is_refused():
    with pytest.raises(InvalidArgumentError, match="at least one buyer"):
        StateTree([])


def test_two_states_of_one_buyer_are_refused(states):
    with pytest.raises(InvalidArgumentError, match="two states"):
        StateTree.of(states[0], replace(states[0], score=1))

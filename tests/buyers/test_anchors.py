"""Merkle roots of a service's state, and proofs against them."""

from __future__ import annotations

import ape
import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.buyers.conftest import BASE_CHAIN
from tests.helpers import isolated, logged

ANCHORER = 1
ZERO_HASH = bytes(32)
ROOT = keccak(text="root")
KINDS = ["address", "uint256", "uint8", "uint8", *["uint256"] * 9, "bytes32", "uint256"]


def state_of(number):
    """Return the state of the n-th buyer of a tree."""
    buyer = f"0x{keccak(text=f'buyer {number}')[:20].hex()}"
    numbers = [number % 101, number % 4, 47, 234_500_000, 1_768_473_000, 1_772_979_720, 32, 2_320, 3, 200, 1]
    return (buyer, BASE_CHAIN, *numbers, keccak(text="brp-1.0"), 40_000_000)


def leaf_of(state):
    return keccak(keccak(encode(KINDS, state)))


def parent(left, right):
    return keccak(b"".join(sorted((left, right))))


def tree_of(leaves):
    """Return the levels of OpenZeppelin's standard tree for a power of two of leaves, from the leaves up."""
    levels = [sorted(leaves)]
    while len(levels[-1]) > 1:
        level = levels[-1]
        levels.append([parent(*level[start : start + 2]) for start in range(0, len(level), 2)])
    return levels


def proof_of(levels, leaf):
    index, proof = levels[0].index(leaf), []
    for level in levels[:-1]:
        proof.append(level[index ^ 1])
        index //= 2
    return proof


def test_root_is_posted(registry, anchorer):
    assert registry.getNextEpoch() == 1
    receipt = registry.anchorRoot(1, ROOT, sender=anchorer)
    assert logged(receipt) == [("Anchored", {"epoch": 1, "root": ROOT})]
    assert bytes(registry.rootOf(1)) == ROOT
    assert registry.getNextEpoch() == 2


def test_epochs_follow_each_other(registry, anchorer):
    registry.anchorRoot(1, ROOT, sender=anchorer)
    for epoch in (0, 1, 3, 2**64 - 1):
        with ape.reverts(registry.UnexpectedEpoch, epoch=epoch, expected=2):
            registry.anchorRoot(epoch, keccak(text="other"), sender=anchorer)
    assert bytes(registry.rootOf(1)) == ROOT
    assert bytes(registry.rootOf(3)) == ZERO_HASH


def test_root_is_not_empty(registry, anchorer):
    with ape.reverts(registry.EmptyRoot):
        registry.anchorRoot(1, ZERO_HASH, sender=anchorer)


def test_nobody_but_the_anchorer_posts(registry, attestor, stranger):
    for caller in (attestor, stranger):
        with ape.reverts(registry.NotRoleHolder, role=ANCHORER, caller=caller.address):
            registry.anchorRoot(1, ROOT, sender=caller)


def test_proof_against_an_epoch_without_a_root_is_refused(registry):
    with ape.reverts(registry.UnknownEpoch, epoch=1):
        registry.verifyBuyer(state_of(0), 1, [])


@settings(max_examples=10)
@given(depth=st.integers(0, 5), number=st.integers(0, 31))
def test_every_leaf_of_a_tree_is_proven(chain, registry, anchorer, depth, number):
    states = [state_of(number) for number in range(2**depth)]
    state = states[number % len(states)]
    levels = tree_of([leaf_of(state) for state in states])
    with isolated(chain):
        registry.anchorRoot(1, levels[-1][0], sender=anchorer)
        assert registry.verifyBuyer(state, 1, proof_of(levels, leaf_of(state)))


@pytest.mark.parametrize("field", range(15))
def test_state_with_any_other_field_is_not_proven(registry, anchorer, field):
    states = [state_of(number) for number in range(4)]
    levels = tree_of([leaf_of(state) for state in states])
    registry.anchorRoot(1, levels[-1][0], sender=anchorer)
    changed = list(states[0])
    old = changed[field]
    changed[field] = states[1][0] if field == 0 else keccak(old) if isinstance(old, bytes) else old ^ 1
    assert not registry.verifyBuyer(tuple(changed), 1, proof_of(levels, leaf_of(states[0])))


def test_inner_node_is_refused_as_a_leaf(registry, anchorer):
    levels = tree_of([leaf_of(state_of(number)) for number in range(4)])
    registry.anchorRoot(1, levels[-1][0], sender=anchorer)
    assert not registry.verifyBuyer(state_of(0), 1, [levels[1][1]])
    assert not registry.verifyBuyer(state_of(0), 1, [])

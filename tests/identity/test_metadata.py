"""`getMetadata` and `setMetadata`."""

from __future__ import annotations

import ape
import pytest
from eth_utils import to_canonical_address
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import isolated, logged
from tests.identity.conftest import UNKNOWN_AGENT
from tests.identity.events import metadata_set

LENGTHS = [0, 1, 31, 32, 254, 255, 2_000]


def value_of(length):
    return bytes(place % 251 + 1 for place in range(length))


def test_authorised_account_may_set_metadata(identity, agent, authorised):
    receipt = identity.setMetadata(agent, "category", b"defi", sender=authorised)
    assert identity.getMetadata(agent, "category") == b"defi"
    assert logged(receipt) == [metadata_set(agent, "category", b"defi")]


def test_nobody_else_may_set_metadata(identity, agent, unauthorised):
    with ape.reverts("Not authorized"):
        identity.setMetadata(agent, "category", b"defi", sender=unauthorised)
    assert identity.getMetadata(agent, "category") == b""


@pytest.mark.parametrize("former", LENGTHS)
def test_value_overwritten_by_any_length_is_read_back_exactly(identity, agent, owner, former):
    for length in LENGTHS:
        key = f"to {length}"
        identity.setMetadata(agent, key, value_of(former), sender=owner)
        assert identity.getMetadata(agent, key) == value_of(former)
        identity.setMetadata(agent, key, value_of(length)[::-1], sender=owner)
        assert identity.getMetadata(agent, key) == value_of(length)[::-1]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entries=st.dictionaries(
        st.text(max_size=70).filter(lambda key: key != "agentWallet"), st.binary(max_size=300), max_size=4
    ),
    changes=st.lists(st.binary(max_size=300), max_size=4),
)
def test_any_entries_are_read_back_exactly(identity, chain, owner, entries, changes):
    with isolated(chain):
        identity.register("", list(entries.items()), sender=owner)
        expected = dict(entries)
        for key, value in zip(entries, changes, strict=False):
            identity.setMetadata(1, key, value, sender=owner)
            expected[key] = value
        assert {key: identity.getMetadata(1, key) for key in entries} == expected


def test_empty_key_is_a_key(identity, agent, owner):
    identity.setMetadata(agent, "", b"value", sender=owner)
    assert identity.getMetadata(agent, "") == b"value"


def test_metadata_belongs_to_one_agent(identity, agent, owner):
    identity.register("", [("category", b"games")], sender=owner)
    assert identity.getMetadata(agent, "category") == b""


def test_metadata_survives_a_transfer(identity, agent, owner, other_owner):
    identity.setMetadata(agent, "category", b"defi", sender=owner)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.getMetadata(agent, "category") == b"defi"


def test_wallet_cannot_be_set_as_metadata(identity, agent, owner, stranger):
    with ape.reverts("reserved key"):
        identity.setMetadata(agent, "agentWallet", to_canonical_address(stranger.address), sender=owner)
    assert identity.getAgentWallet(agent) == owner


@pytest.mark.parametrize("key", ["agentwallet", "AGENTWALLET", "agentWallet ", "agentWalle", "agentWallet\0"])
def test_keys_that_only_resemble_the_reserved_one_are_ordinary(identity, agent, owner, key):
    identity.setMetadata(agent, key, b"value", sender=owner)
    assert identity.getMetadata(agent, key) == b"value"
    assert identity.getAgentWallet(agent) == owner


def test_authority_is_checked_before_the_key(identity, agent, stranger):
    with ape.reverts("Not authorized"):
        identity.setMetadata(agent, "agentWallet", b"", sender=stranger)


def test_key_that_was_never_set_is_empty(identity, agent):
    assert identity.getMetadata(agent, "category") == b""


@pytest.mark.parametrize("key", ["category", "agentWallet"])
def test_metadata_of_an_unknown_agent_is_empty(identity, key):
    assert identity.getMetadata(UNKNOWN_AGENT, key) == b""


def test_metadata_of_an_unknown_agent_cannot_be_set(identity, owner):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.setMetadata(UNKNOWN_AGENT, "category", b"defi", sender=owner)

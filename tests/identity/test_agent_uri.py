"""`tokenURI` and `setAgentURI`."""

from __future__ import annotations

import ape
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import isolated, logged
from tests.identity.conftest import UNKNOWN_AGENT, URI
from tests.identity.events import uri_updated

LENGTHS = [0, 31, 32, 53, 254, 255, 2_000]
"""Lengths on both sides of each limit of the storage format: one word, several words, a separate length."""


def uri_of(length):
    """Return a URI of this length. No part of it occurs twice."""
    return "".join(f"{place:x}/" for place in range(length))[:length]


@pytest.mark.parametrize("length", LENGTHS)
def test_uri_of_any_length_is_read_back_exactly(identity, owner, length):
    identity.register(uri_of(length), sender=owner)
    assert identity.tokenURI(1) == uri_of(length)


@pytest.mark.parametrize("former", LENGTHS)
def test_uri_overwritten_by_any_length_is_read_back_exactly(identity, owner, former):
    """No byte of the longer URI remains behind the shorter one."""
    for agent_id, length in enumerate(LENGTHS, start=1):
        identity.register(uri_of(former), sender=owner)
        identity.setAgentURI(agent_id, uri_of(length)[::-1], sender=owner)
        assert identity.tokenURI(agent_id) == uri_of(length)[::-1]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uris=st.lists(st.text(max_size=300), min_size=2, max_size=4))
def test_any_text_is_read_back_exactly(identity, chain, owner, uris):
    with isolated(chain):
        identity.register(uris[0], sender=owner)
        assert identity.tokenURI(1) == uris[0]
        for uri in uris[1:]:
            identity.setAgentURI(1, uri, sender=owner)
            assert identity.tokenURI(1) == uri


def test_uri_belongs_to_one_agent(identity, agent, owner):
    identity.register("ipfs://second", sender=owner)
    identity.setAgentURI(2, "ipfs://changed", sender=owner)
    assert identity.tokenURI(agent) == URI


def test_authorised_account_may_set_the_uri(identity, agent, authorised):
    receipt = identity.setAgentURI(agent, "ipfs://new", sender=authorised)
    assert identity.tokenURI(agent) == "ipfs://new"
    assert logged(receipt) == uri_updated(agent, "ipfs://new", authorised)


def test_nobody_else_may_set_the_uri(identity, agent, unauthorised):
    with ape.reverts("Not authorized"):
        identity.setAgentURI(agent, "ipfs://new", sender=unauthorised)
    assert identity.tokenURI(agent) == URI


def test_uri_may_be_emptied(identity, agent, owner):
    receipt = identity.setAgentURI(agent, "", sender=owner)
    assert identity.tokenURI(agent) == ""
    assert logged(receipt) == uri_updated(agent, "", owner)


def test_uri_survives_a_transfer(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.tokenURI(agent) == URI


def test_unknown_agent_has_no_uri(identity):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.tokenURI(UNKNOWN_AGENT)


def test_uri_of_an_unknown_agent_cannot_be_set(identity, owner):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.setAgentURI(UNKNOWN_AGENT, URI, sender=owner)

"""Incomplete assertions fail, and complete ones are recorded."""

from __future__ import annotations

import ape
import pytest

from tests.conformance.assertions import ASSERTED, error_name, event_name, reason_name
from tests.helpers import logged


@pytest.fixture
def asserted():
    """The assertions within the test."""
    before = set(ASSERTED)
    ASSERTED.clear()
    yield ASSERTED
    ASSERTED.clear()
    ASSERTED.update(before)


@pytest.fixture
def refused(identity, owner, stranger):
    """A call that reverts with `NotOwnerOrWallet(stranger, 1)`."""
    identity.register(sender=owner)
    return lambda: identity.setPrimaryAgent(1, sender=stranger)


def test_error_asserted_with_all_its_arguments_is_noted(asserted, identity, refused, stranger):
    with ape.reverts(identity.NotOwnerOrWallet, account=stranger, agentId=1):
        refused()
    assert asserted == {error_name("NotOwnerOrWallet(address,uint256)")}


def test_error_asserted_without_an_argument_is_not_noted(asserted, identity, refused):
    with ape.reverts(identity.NotOwnerOrWallet, agentId=1):
        refused()
    assert asserted == set()


@pytest.mark.parametrize("token_id", [7, 10, 32, 97, 128, 999, 2**255], ids=hex)
def test_error_of_a_view_is_noted(asserted, identity, token_id):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=token_id):
        identity.ownerOf(token_id)
    assert asserted == {error_name("ERC721NonexistentToken(uint256)")}


def test_error_of_a_view_with_another_argument_is_refused(identity):
    expected = identity.ERC721NonexistentToken
    with pytest.raises(AssertionError, match=r"arguments are .*7"), ape.reverts(expected, tokenId=8):
        identity.ownerOf(7)


def test_another_error_of_a_view_is_refused(identity):
    expected = identity.ERC721InvalidOwner
    with pytest.raises(AssertionError, match="Expected ERC721InvalidOwner"), ape.reverts(expected):
        identity.ownerOf(7)


def test_reason_text_is_noted(asserted, identity, owner, stranger):
    identity.register(sender=owner)
    with ape.reverts("Not authorized"):
        identity.unsetAgentWallet(1, sender=stranger)
    assert asserted == {reason_name("Not authorized")}


def test_revert_without_an_expected_error_is_refused(refused):
    with pytest.raises(AssertionError, match="asserted with its error"), ape.reverts():
        refused()


def test_reason_text_in_place_of_an_expected_error_is_refused(identity, owner, stranger):
    identity.register(sender=owner)
    with pytest.raises(AssertionError, match="Expected NotOwnerOrWallet"), ape.reverts(identity.NotOwnerOrWallet):
        identity.unsetAgentWallet(1, sender=stranger)


def test_another_error_than_that_of_a_contract_type_is_refused(project, refused):
    expected = project.IdentityRegistry.EtherNotAccepted
    with pytest.raises(AssertionError, match="Expected EtherNotAccepted"), ape.reverts(expected):
        refused()


def test_argument_that_the_error_does_not_have_is_refused(identity, refused, stranger):
    with (
        pytest.raises(AssertionError, match="has no arguments"),
        ape.reverts(identity.NotOwnerOrWallet, account=stranger, id=1),
    ):
        refused()


def test_event_compared_with_all_its_fields_is_noted(asserted, identity, owner):
    identity.register(sender=owner)
    receipt = identity.setPrimaryAgent(1, sender=owner)
    assert logged(receipt) == [("PrimaryAgentSet", {"account": owner, "agentId": 1})]
    assert asserted == {event_name("PrimaryAgentSet(address,uint256)")}


def test_event_that_differs_in_a_field_is_not_noted(asserted, identity, owner):
    identity.register(sender=owner)
    receipt = identity.setPrimaryAgent(1, sender=owner)
    assert logged(receipt) != [("PrimaryAgentSet", {"account": owner, "agentId": 2})]
    assert logged(receipt) != [("PrimaryAgentSet", {"account": owner})]
    assert asserted == set()

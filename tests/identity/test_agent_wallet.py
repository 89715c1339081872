"""`getAgentWallet`, `setAgentWallet` and `unsetAgentWallet`: callers, deadlines and effects."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_abi import encode
from eth_utils import to_canonical_address
from hexbytes import HexBytes

from tests.helpers import logged
from tests.identity.conftest import UNKNOWN_AGENT
from tests.identity.events import wallet_cleared, wallet_set

FIVE_MINUTES = 300


def test_authorised_account_may_set_a_wallet_that_consents(identity, agent, authorised, wallet_key, consent, deadline):
    receipt = identity.setAgentWallet(agent, wallet_key, deadline, consent(wallet_key), sender=authorised)
    assert identity.getAgentWallet(agent) == wallet_key
    assert identity.getMetadata(agent, "agentWallet") == to_canonical_address(wallet_key.address)
    assert logged(receipt) == [wallet_set(agent, wallet_key)]


def test_nobody_else_may_set_the_wallet(identity, agent, unauthorised, stranger, consent, deadline):
    former_wallet = identity.getAgentWallet(agent)
    with ape.reverts("Not authorized"):
        identity.setAgentWallet(agent, stranger, deadline, consent(stranger), sender=unauthorised)
    assert identity.getAgentWallet(agent) == former_wallet


def test_authorised_account_may_unset_the_wallet(identity, agent, authorised):
    receipt = identity.unsetAgentWallet(agent, sender=authorised)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert identity.getMetadata(agent, "agentWallet") == b""
    assert logged(receipt) == [wallet_cleared(agent)]


def test_nobody_else_may_unset_the_wallet(identity, agent, unauthorised):
    former_wallet = identity.getAgentWallet(agent)
    with ape.reverts("Not authorized"):
        identity.unsetAgentWallet(agent, sender=unauthorised)
    assert identity.getAgentWallet(agent) == former_wallet


def test_proven_wallet_may_be_unset(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    receipt = identity.unsetAgentWallet(agent, sender=owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert logged(receipt) == [wallet_cleared(agent)]


def test_wallet_may_be_unset_twice(identity, agent, owner):
    identity.unsetAgentWallet(agent, sender=owner)
    assert logged(identity.unsetAgentWallet(agent, sender=owner)) == [wallet_cleared(agent)]


def test_wallet_may_be_replaced(identity, agent, wallet_key, stranger, rotate):
    rotate(wallet_key)
    assert logged(rotate(stranger)) == [wallet_set(agent, stranger)]
    assert identity.getAgentWallet(agent) == stranger


def test_wallet_may_be_set_again(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    assert logged(rotate(wallet_key)) == [wallet_set(agent, wallet_key)]
    assert identity.getAgentWallet(agent) == wallet_key


def test_wallet_may_be_set_after_it_was_unset(identity, agent, owner, wallet_key, rotate):
    identity.unsetAgentWallet(agent, sender=owner)
    rotate(wallet_key)
    assert identity.getAgentWallet(agent) == wallet_key


def test_owner_may_become_the_wallet_again(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    rotate(owner)
    assert identity.getAgentWallet(agent) == owner


def test_new_owner_may_set_a_wallet(identity, agent, owner, other_owner, wallet_key, consent, deadline):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    signature = consent(wallet_key, owner=other_owner.address)
    identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=other_owner)
    assert identity.getAgentWallet(agent) == wallet_key


def test_one_wallet_may_serve_several_agents(identity, agent, owner, wallet_key, rotate):
    identity.register(sender=owner)
    rotate(wallet_key)
    rotate(wallet_key, agent_id=2)
    assert identity.getAgentWallet(agent) == identity.getAgentWallet(2) == wallet_key


def test_wallet_belongs_to_one_agent(identity, agent, owner, wallet_key, rotate):
    identity.register(sender=owner)
    rotate(wallet_key)
    assert identity.getAgentWallet(2) == owner


def test_wallet_alone_may_not_act_for_the_agent(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    assert not identity.isAuthorizedOrOwner(wallet_key, agent)


def test_unknown_agent_has_no_wallet(identity):
    assert identity.getAgentWallet(UNKNOWN_AGENT) == ZERO_ADDRESS
    assert identity.getAgentWallet(0) == ZERO_ADDRESS


def test_wallet_of_an_unknown_agent_cannot_be_unset(identity, owner):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.unsetAgentWallet(UNKNOWN_AGENT, sender=owner)


@pytest.mark.parametrize("late", [-1, 0, 1], ids=["1 s before", "at", "1 s after"])
def test_signature_is_taken_until_its_deadline(identity, chain, agent, owner, wallet_key, consent, deadline, late):
    signature = consent(wallet_key)
    chain.pending_timestamp = deadline + late
    if late > 0:
        with ape.reverts("expired"):
            identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
    else:
        receipt = identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
        assert receipt.timestamp == deadline + late
        assert identity.getAgentWallet(agent) == wallet_key


@pytest.mark.parametrize("ahead", [FIVE_MINUTES - 1, FIVE_MINUTES, FIVE_MINUTES + 1])
def test_deadline_lies_at_most_five_minutes_ahead(identity, chain, agent, owner, wallet_key, consent, ahead):
    now = chain.blocks.head.timestamp + 10
    signature = consent(wallet_key, deadline=now + ahead)
    chain.pending_timestamp = now
    if ahead > FIVE_MINUTES:
        with ape.reverts("deadline too far"):
            identity.setAgentWallet(agent, wallet_key, now + ahead, signature, sender=owner)
    else:
        receipt = identity.setAgentWallet(agent, wallet_key, now + ahead, signature, sender=owner)
        assert receipt.timestamp == now
        assert identity.getAgentWallet(agent) == wallet_key


def test_longest_delay_is_public(identity):
    assert identity.MAX_DEADLINE_DELAY() == FIVE_MINUTES


def test_deadline_without_end_is_too_far(identity, agent, owner, wallet_key, consent):
    signature = consent(wallet_key, deadline=2**256 - 1)
    with ape.reverts("deadline too far"):
        identity.setAgentWallet(agent, wallet_key, 2**256 - 1, signature, sender=owner)


def test_existence_is_checked_first(identity, owner):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.setAgentWallet(UNKNOWN_AGENT, ZERO_ADDRESS, 0, b"", sender=owner)


def test_authority_is_checked_second(identity, agent, stranger):
    with ape.reverts("Not authorized"):
        identity.setAgentWallet(agent, ZERO_ADDRESS, 0, b"", sender=stranger)


def test_wallet_is_checked_third(identity, agent, owner):
    with ape.reverts("bad wallet"):
        identity.setAgentWallet(agent, ZERO_ADDRESS, 0, b"", sender=owner)


def test_deadline_is_checked_fourth(identity, agent, owner, wallet_key):
    with ape.reverts("expired"):
        identity.setAgentWallet(agent, wallet_key, 0, b"", sender=owner)


def test_distance_of_the_deadline_is_checked_fifth(identity, agent, owner, wallet_key):
    with ape.reverts("deadline too far"):
        identity.setAgentWallet(agent, wallet_key, 2**256 - 1, b"", sender=owner)


def test_signature_is_checked_last(identity, agent, owner, wallet_key, deadline):
    with ape.reverts("invalid wallet sig"):
        identity.setAgentWallet(agent, wallet_key, deadline, b"", sender=owner)


@pytest.mark.parametrize("has_wallet", [True, False], ids=["a wallet", "no wallet"])
def test_wallet_is_logged_in_the_canonical_encoding(identity, agent, owner, has_wallet):
    """Strict decoders, and readers that hash the data, need the exact bytes that Solidity would log."""
    receipt = identity.register(sender=owner) if has_wallet else identity.unsetAgentWallet(agent, sender=owner)
    value = to_canonical_address(owner.address) if has_wallet else b""
    data = HexBytes(receipt.logs[-1]["data"])
    assert data == encode(["string", "bytes"], ["agentWallet", value])

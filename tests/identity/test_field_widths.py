"""Fields that share a storage word keep all of their bits: agent ids of 224 bits, balances of 32 bits."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.identity.conftest import URI

NEXT_AGENT_ID_SLOT = 2
"""`AgentDirectory._nextAgentId`."""

DOMAIN = "high.example"

HIGH_BITS = pytest.mark.parametrize(
    "high_id", [1 + 2**bit for bit in (8, 16, 32, 40, 48, 64, 96, 128, 160, 192, 223)], ids=hex
)
"""Ids that differ from agent 1 in one high bit. Bit 223 is the highest of the field."""


@pytest.fixture
def register_as(identity, agent, networks):
    """Registers an agent under a given id, as though all lower ids were taken. Agent 1 exists."""
    assert identity.getAgentCount() == agent == 1

    def register(agent_id, account):
        networks.provider.set_storage(identity.address, NEXT_AGENT_ID_SLOT, agent_id.to_bytes(32))
        identity.register(sender=account)
        assert identity.ownerOf(agent_id) == account

    return register


@HIGH_BITS
def test_account_speaks_as_an_agent_with_a_high_id(identity, register_as, other_owner, high_id):
    register_as(high_id, other_owner)
    assert identity.agentOf(other_owner) == high_id
    assert identity.resolveByAddress(other_owner).agentId == high_id
    assert identity.resolveRating(other_owner, high_id) == (high_id, True)
    assert identity.getAgentCount() == high_id


@HIGH_BITS
def test_agents_that_differ_in_one_high_bit_have_their_own_data(
    identity, register_as, agent, owner, other_owner, high_id
):
    register_as(high_id, other_owner)
    identity.setMetadata(high_id, "key", b"high", sender=other_owner)
    identity.updateAgent(high_id, DOMAIN, ZERO_ADDRESS, sender=other_owner)
    assert (identity.ownerOf(agent), identity.getAgentWallet(agent)) == (owner, owner)
    assert (identity.tokenURI(agent), identity.tokenURI(high_id)) == (URI, "")
    assert (identity.getMetadata(agent, "key"), identity.getMetadata(high_id, "key")) == (b"", b"high")
    assert identity.getAgent(agent) == (agent, "", owner.address)
    assert identity.resolveByDomain(DOMAIN) == (high_id, DOMAIN, other_owner.address)


@HIGH_BITS
def test_transfer_keeps_a_primary_agent_that_differs_in_one_high_bit(
    identity, register_as, agent, owner, other_owner, high_id
):
    register_as(high_id, owner)
    identity.transferFrom(owner, other_owner, high_id, sender=owner)
    assert identity.agentOf(owner) == agent

    identity.setPrimaryAgent(high_id, sender=other_owner)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    identity.transferFrom(other_owner, owner, agent, sender=other_owner)
    assert identity.agentOf(other_owner) == high_id


@HIGH_BITS
def test_former_wallet_keeps_a_primary_agent_that_differs_in_one_high_bit(
    identity, register_as, agent, owner, wallet_key, rotate, high_id
):
    register_as(high_id, owner)
    rotate(wallet_key, agent)
    rotate(wallet_key, high_id)
    identity.unsetAgentWallet(high_id, sender=owner)
    assert identity.agentOf(wallet_key) == agent


@HIGH_BITS
def test_update_does_not_transfer_to_a_wallet_of_an_agent_that_differs_in_one_high_bit(
    identity, register_as, agent, owner, wallet_key, rotate, high_id
):
    register_as(high_id, owner)
    rotate(wallet_key, high_id)
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(agent, "", wallet_key, sender=owner)


@pytest.mark.parametrize("balance", [2**8, 2**16, 2**24, 2**31, 2**32 - 1])
def test_choice_of_a_primary_agent_keeps_every_bit_of_the_balance(identity, agent, owner, networks, balance):
    slot = account_slot(networks, identity, owner)
    networks.provider.set_storage(identity.address, slot, (agent << 32 | balance).to_bytes(32))
    identity.setPrimaryAgent(agent, sender=owner)
    assert (identity.agentOf(owner), identity.balanceOf(owner)) == (agent, balance)


@pytest.mark.parametrize("balance", [2**8, 2**16, 2**24, 2**31, 2**32 - 1])
def test_transfer_of_the_primary_agent_keeps_every_other_bit_of_the_balance(
    identity, agent, owner, other_owner, networks, balance
):
    slot = account_slot(networks, identity, owner)
    networks.provider.set_storage(identity.address, slot, (agent << 32 | balance).to_bytes(32))
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert (identity.agentOf(owner), identity.balanceOf(owner)) == (0, balance - 1)


def account_slot(networks, identity, account):
    """Return the storage slot of an account's word: the slot that `balanceOf` reads."""
    call = {"to": identity.address, "data": f"0x{bytes(identity.balanceOf.encode_input(account)).hex()}"}
    access_list = networks.provider.make_request("eth_createAccessList", [call, "latest"])["accessList"]
    ((slot,),) = (entry["storageKeys"] for entry in access_list if entry["address"] == identity.address.lower())
    return int(slot, 16)

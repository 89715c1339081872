"""Sellers whose ids need more than 64 bits: every bit counts, and no check stops at large ids.

ERC-721 lets a registry choose any id. A companion makes such a registry usable.
"""

from __future__ import annotations

import ape
import pytest

from tests.buyers.conftest import CENT, settled_record
from tests.buyers.test_settle import PAID_OWN_AGENT, PAID_OWN_WALLET, settled_events
from tests.helpers import logged

SMALL = 5
LARGE = [10**15 + 1, 2**32 + SMALL, 2**64 + SMALL, 2**128 + SMALL, 2**255 + SMALL]


@pytest.fixture(scope="module")
def agents(deployer, project):
    """Agents with any id, and with wallets."""
    return deployer.deploy(project.MockWalletToken)


@pytest.fixture(scope="module")
def companion(deployer, project, agents):
    return deployer.deploy(project.CompanionDirectory, agents)


@pytest.fixture(scope="module")
def registry(deployer, project, companion, token, attestor, anchorer):
    return deployer.deploy(project.BuyerReputationRegistry, companion, [token], attestor, anchorer)


@pytest.fixture
def sell(agents, companion):
    """Makes an account the owner of an agent, and speak as it."""

    def sell(account, agent_id):
        agents.mint(agent_id, sender=account)
        companion.setPrimaryAgent(agent_id, sender=account)

    return sell


@pytest.mark.parametrize("agent_id", LARGE)
def test_payment_to_a_seller_with_a_large_id_is_settled(settle, registry, sell, token, owner, client, agent_id):
    sell(owner, agent_id)
    receipt = settle(client, registry=registry)
    (authorization,) = [fields["nonce"] for name, fields in logged(receipt) if name == "AuthorizationUsed"]
    assert logged(receipt) == settled_events(authorization, client.address, owner.address, CENT, agent_id)
    assert settled_record(registry, client).minimum_sellers == 1


@pytest.mark.parametrize("agent_id", LARGE[1:])
def test_sellers_whose_ids_differ_in_high_bits_alone_are_two(
    settle, registry, sell, owner, other_owner, client, agent_id
):
    sell(owner, SMALL)
    sell(other_owner, agent_id)
    for seller in (owner, other_owner):
        settle(client, registry=registry, payee=seller)
    assert settled_record(registry, client).minimum_sellers == 2


@pytest.mark.parametrize("agent_id", [SMALL, *LARGE])
@pytest.mark.parametrize("role", ["owner", "wallet"])
def test_payment_by_owner_or_wallet_of_a_seller_with_a_large_id_does_not_count(
    settle, registry, agents, sell, owner, client, agent_id, role
):
    sell(owner, agent_id)
    if role == "owner":
        agents.transferFrom(owner, client, agent_id, sender=owner)
        agents.setAgentWallet(agent_id, owner, sender=client)  # so that the seller is still paid
    else:
        agents.setAgentWallet(agent_id, client, sender=owner)
    reason = PAID_OWN_WALLET if role == "wallet" else PAID_OWN_AGENT
    receipt = settle(client, registry=registry)
    assert ("PaymentNotCounted", agent_id, reason) in [
        (name, fields.get("sellerId"), fields.get("reason")) for name, fields in logged(receipt)
    ]
    assert settled_record(registry, client).payments == 0


@pytest.mark.parametrize("agent_id", LARGE)
def test_former_wallet_of_a_seller_with_a_large_id_sells_no_more(
    settle, registry, agents, companion, owner, other_owner, client, agent_id
):
    agents.mint(agent_id, sender=other_owner)
    agents.setAgentWallet(agent_id, owner, sender=other_owner)
    companion.setPrimaryAgent(agent_id, sender=owner)
    agents.setAgentWallet(agent_id, client, sender=other_owner)
    assert companion.agentOf(owner) == 0
    with ape.reverts(companion.NotOwnerOrWallet, account=owner.address, agentId=agent_id):
        companion.setPrimaryAgent(agent_id, sender=owner)
    assert settle(client, registry=registry).return_value is False

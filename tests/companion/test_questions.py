"""The companion passes questions about agents on, and has none of the functions about domains."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak

from tests.companion.conftest import UNKNOWN_AGENT


def test_owner_and_wallet_are_those_of_the_identity_registry(
    companion, agent_zero, agent, deployer, owner, wallet_key, set_wallet
):
    set_wallet(wallet_key)
    assert (companion.ownerOf(agent_zero), companion.getAgentWallet(agent_zero)) == (deployer, deployer)
    assert (companion.ownerOf(agent), companion.getAgentWallet(agent)) == (owner, wallet_key)


def test_owner_of_an_unknown_agent_is_refused_as_there(companion, agent):
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        companion.ownerOf(UNKNOWN_AGENT)
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        companion.isAuthorizedOrOwner(ZERO_ADDRESS, UNKNOWN_AGENT)
    assert companion.getAgentWallet(UNKNOWN_AGENT) == ZERO_ADDRESS


@pytest.mark.parametrize("role", ["owner", "operator", "approved", "wallet_key", "stranger", "client"])
def test_accounts_that_may_act_are_those_of_the_identity_registry(
    companion, identity, agent, client_agent, owner, operator, approved, wallet_key, set_wallet, request, role
):
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.approve(approved, agent, sender=owner)
    set_wallet(wallet_key)
    account = request.getfixturevalue(role)
    expected = role in ("owner", "operator", "approved")
    assert companion.isAuthorizedOrOwner(account, agent) == identity.isAuthorizedOrOwner(account, agent) == expected


def test_agent_exists_if_it_has_an_owner(companion, agent_zero, agent):
    assert companion.agentExists(agent_zero)
    assert companion.agentExists(agent)
    assert not companion.agentExists(UNKNOWN_AGENT)


def test_agent_is_described_without_a_domain(companion, identity, agent, owner, wallet_key, set_wallet):
    set_wallet(wallet_key)
    assert companion.getAgent(agent) == (agent, "", wallet_key)
    identity.unsetAgentWallet(agent, sender=owner)
    assert companion.getAgent(agent) == (agent, "", owner)
    with ape.reverts(companion.AgentNotFound):
        companion.getAgent(UNKNOWN_AGENT)


def test_agent_zero_is_described_too(companion, agent_zero, deployer):
    assert companion.getAgent(agent_zero) == (agent_zero, "", deployer)


def test_agent_of_an_account_is_found_once_the_account_chose_it(companion, agent, owner):
    with ape.reverts(companion.AgentNotFound):
        companion.resolveByAddress(owner)
    companion.setPrimaryAgent(agent, sender=owner)
    assert companion.resolveByAddress(owner) == (agent, "", owner)


def test_account_without_a_primary_agent_is_not_found_as_agent_zero(companion, agent_zero, deployer):
    with ape.reverts(companion.AgentNotFound):
        companion.resolveByAddress(deployer)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("newAgent(string,address)", ("alpha.example", ZERO_ADDRESS)),
        ("updateAgent(uint256,string,address)", (1, "alpha.example", ZERO_ADDRESS)),
        ("releaseAgentDomain(uint256)", (1,)),
        ("resolveByDomain(string)", ("alpha.example",)),
    ],
)
def test_functions_about_domains_are_refused_by_name(companion, function, arguments):
    with ape.reverts(companion.NotInCompanion, selector=keccak(text=function)[:4]):
        getattr(companion, function.partition("(")[0])(*arguments)


def test_companion_takes_no_ether(companion, networks, stranger):
    response = networks.provider.web3.provider.make_request(
        "eth_call", [{"from": stranger.address, "to": companion.address, "value": "0x1"}, "latest"]
    )
    assert response["error"]["data"] == "0x"

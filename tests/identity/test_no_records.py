"""A registry without agents, and accounts without agents: each view answers or reverts as specified."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

IDS = [0, 1, 2**256 - 1]
"""Ids that an empty registry does not know: "no agent", the next agent, and the highest id."""

ANSWERS_BY_ID = [
    ("agentExists", (), False),
    ("getAgentWallet", (), ZERO_ADDRESS),
    ("getMetadata", ("category",), b""),
    ("getMetadata", ("agentWallet",), b""),
]
"""Views of one agent that answer for an unknown id: name, arguments after the id, answer."""

REVERTS_BY_ID = ["getApproved", "ownerOf", "tokenURI"]
"""Views of one agent that revert with `ERC721NonexistentToken` for an unknown id."""


@pytest.mark.parametrize("agent_id", IDS)
@pytest.mark.parametrize(("view", "arguments", "answer"), ANSWERS_BY_ID)
def test_empty_registry_answers_about_an_id(identity, view, arguments, answer, agent_id):
    assert getattr(identity, view)(agent_id, *arguments) == answer


@pytest.mark.parametrize("agent_id", IDS)
@pytest.mark.parametrize("view", REVERTS_BY_ID)
def test_empty_registry_reverts_for_an_id(identity, view, agent_id):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=agent_id):
        getattr(identity, view)(agent_id)


@pytest.mark.parametrize("agent_id", IDS)
def test_empty_registry_describes_no_agent(identity, agent_id):
    with ape.reverts(identity.AgentNotFound):
        identity.getAgent(agent_id)


@pytest.mark.parametrize("agent_id", IDS)
@pytest.mark.parametrize("account", [ZERO_ADDRESS, "0x" + "11" * 20])
def test_empty_registry_authorises_nobody(identity, agent_id, account):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=agent_id):
        identity.isAuthorizedOrOwner(account, agent_id)


def test_empty_registry_counts_nothing(identity, stranger):
    assert identity.getAgentCount() == 0
    assert identity.balanceOf(stranger) == 0
    assert identity.agentOf(stranger) == identity.agentOf(ZERO_ADDRESS) == 0
    assert identity.resolveRating(stranger, 1) == identity.resolveRating(ZERO_ADDRESS, 0) == (0, False)
    assert not identity.isApprovedForAll(stranger, ZERO_ADDRESS)


@pytest.mark.parametrize("domain", ["", "agent.example"])
def test_empty_registry_finds_no_domain(identity, domain):
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain(domain)


@pytest.mark.parametrize("account", [ZERO_ADDRESS, "0x" + "11" * 20])
def test_empty_registry_finds_no_address(identity, account):
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByAddress(account)


@pytest.mark.parametrize("agent_id", IDS)
def test_account_without_agents_changes_nothing_of_an_unknown_agent(identity, stranger, agent_id):
    unknown_token = {"expected_message": identity.ERC721NonexistentToken, "tokenId": agent_id}
    for change, arguments in [
        (identity.setAgentURI, ("uri",)),
        (identity.setMetadata, ("key", b"value")),
        (identity.setAgentWallet, (stranger, 2**40, b"")),
        (identity.unsetAgentWallet, ()),
        (identity.setPrimaryAgent, ()),
    ]:
        with ape.reverts(**unknown_token):
            change(agent_id, *arguments, sender=stranger)
    for change, arguments in [(identity.updateAgent, ("domain", stranger)), (identity.releaseAgentDomain, ())]:
        with ape.reverts(identity.AgentNotFound):
            change(agent_id, *arguments, sender=stranger)
    assert identity.getAgentCount() == identity.agentOf(stranger) == 0


def test_account_without_agents_may_approve_an_operator(identity, agent, owner, stranger, operator):
    """The approval counts only for agents that the account owns."""
    identity.setApprovalForAll(operator, True, sender=stranger)
    assert identity.isApprovedForAll(stranger, operator)
    assert not identity.isAuthorizedOrOwner(operator, agent)
    assert not identity.isApprovedForAll(owner, operator)

"""Domains: case-insensitive, unique while an agent holds them, free immediately after release."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import isolated, logged
from tests.identity.conftest import UNKNOWN_AGENT
from tests.identity.events import agent_updated, handover

CASES = ["agent.example", "AGENT.EXAMPLE", "Agent.Example", "aGENT.eXAMPLE"]


def ascii_lower(text):
    return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in text)


@pytest.mark.parametrize("given_as", CASES)
@pytest.mark.parametrize("asked_as", CASES)
def test_domain_is_found_in_any_case_and_shown_as_it_was_given(identity, owner, given_as, asked_as):
    identity.newAgent(given_as, owner, sender=owner)
    assert identity.resolveByDomain(asked_as) == (1, given_as, owner.address)


@pytest.mark.parametrize("given_as", CASES[1:])
def test_domain_is_taken_in_every_case(identity, owner, other_owner, given_as):
    identity.newAgent(CASES[0], owner, sender=owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.newAgent(given_as, other_owner, sender=other_owner)
    identity.register(sender=other_owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(2, given_as, ZERO_ADDRESS, sender=other_owner)


def test_agent_may_change_the_case_of_its_own_domain(identity, owner):
    identity.newAgent("agent.example", owner, sender=owner)
    identity.updateAgent(1, "Agent.Example", ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain("agent.example") == (1, "Agent.Example", owner.address)


def test_former_domain_is_free_at_once(identity, owner, other_owner):
    identity.newAgent("Agent.example", owner, sender=owner)
    identity.updateAgent(1, "other.example", ZERO_ADDRESS, sender=owner)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain("agent.example")
    identity.newAgent("agent.EXAMPLE", other_owner, sender=other_owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.EXAMPLE", other_owner.address)


def test_domain_that_another_took_cannot_be_taken_back(identity, owner, other_owner):
    identity.newAgent("agent.example", owner, sender=owner)
    identity.updateAgent(1, "other.example", ZERO_ADDRESS, sender=owner)
    identity.newAgent("agent.example", other_owner, sender=other_owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(1, "agent.example", ZERO_ADDRESS, sender=owner)


def test_domain_that_nobody_took_can_be_taken_back(identity, owner):
    identity.newAgent("agent.example", owner, sender=owner)
    identity.updateAgent(1, "other.example", ZERO_ADDRESS, sender=owner)
    identity.updateAgent(1, "agent.example", ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain("agent.example") == (1, "agent.example", owner.address)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain("other.example")


def test_domain_stays_with_the_agent_when_that_is_transferred(identity, owner, other_owner):
    identity.newAgent("agent.example", owner, sender=owner)
    identity.transferFrom(owner, other_owner, 1, sender=owner)
    assert identity.resolveByDomain("agent.example") == (1, "agent.example", other_owner.address)
    identity.updateAgent(1, "other.example", ZERO_ADDRESS, sender=other_owner)
    identity.newAgent("agent.example", owner, sender=owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.example", owner.address)


@pytest.fixture
def two_agents(identity, owner):
    """Two agents of one owner: the first holds a domain, the second another."""
    identity.newAgent("agent.example", owner, sender=owner)
    identity.register(sender=owner)
    identity.updateAgent(2, "other.example", ZERO_ADDRESS, sender=owner)


@pytest.mark.parametrize("spelt_as", CASES)
def test_owner_moves_a_domain_between_two_of_its_agents_in_one_call(identity, two_agents, owner, spelt_as):
    receipt = identity.updateAgent(2, spelt_as, ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain("agent.example") == (2, spelt_as, owner.address)
    assert identity.getAgent(1) == (1, "", owner.address)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain("other.example")
    assert logged(receipt) == [agent_updated(1, "", owner), agent_updated(2, spelt_as, owner)]


def test_agent_that_lost_its_domain_may_get_another(identity, two_agents, owner):
    identity.updateAgent(2, "agent.example", ZERO_ADDRESS, sender=owner)
    identity.updateAgent(1, "third.example", ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.example", owner.address)
    assert identity.resolveByDomain("third.example") == (1, "third.example", owner.address)


def test_domain_moves_to_an_agent_that_is_transferred_in_the_same_call(identity, two_agents, owner, other_owner):
    receipt = identity.updateAgent(2, "agent.example", other_owner, sender=owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.example", other_owner.address)
    assert logged(receipt) == [
        agent_updated(1, "", owner),
        *handover(2, owner, other_owner),
        agent_updated(2, "agent.example", other_owner),
    ]


def test_refused_address_leaves_a_moved_domain_where_it_was(identity, two_agents, owner):
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(2, "agent.example", owner, sender=owner)
    assert identity.resolveByDomain("agent.example") == (1, "agent.example", owner.address)


@pytest.mark.parametrize("role", ["wallet_key", "operator", "approved"])
def test_domain_is_not_taken_from_an_agent_that_the_caller_does_not_own(
    identity, two_agents, chain, owner, other_owner, request, role
):
    """An operator, the approved address and the wallet of an agent cannot take its domain."""
    account = request.getfixturevalue(role)
    identity.register(sender=account)
    identity.setApprovalForAll(account, role == "operator", sender=owner)
    if role == "approved":
        identity.approve(account, 1, sender=owner)
    if role == "wallet_key":
        deadline = chain.blocks.head.timestamp + 60
        message = AgentWalletSet(1, account.address, owner.address, deadline)
        signature = account.sign_message(message.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
        identity.setAgentWallet(1, account, deadline, signature, sender=owner)
        assert identity.getAgentWallet(1) == account
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(3, "agent.example", ZERO_ADDRESS, sender=account)


def test_former_owner_takes_no_domain_from_an_agent_that_it_gave_away(identity, two_agents, owner, other_owner):
    identity.transferFrom(owner, other_owner, 1, sender=owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(2, "agent.example", ZERO_ADDRESS, sender=owner)


def test_released_domain_is_free_for_anybody(identity, owner, other_owner):
    identity.newAgent("Agent.example", owner, sender=owner)
    receipt = identity.releaseAgentDomain(1, sender=owner)
    assert identity.getAgent(1) == (1, "", owner.address)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain("agent.example")
    assert logged(receipt) == [agent_updated(1, "", owner)]
    identity.newAgent("agent.example", other_owner, sender=other_owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.example", other_owner.address)


def test_release_without_a_domain_changes_nothing(identity, owner):
    identity.register(sender=owner)
    receipt = identity.releaseAgentDomain(1, sender=owner)
    assert identity.getAgent(1) == (1, "", owner.address)
    assert logged(receipt) == [agent_updated(1, "", owner)]


def test_second_release_leaves_the_domain_to_its_new_holder(identity, owner, other_owner):
    identity.newAgent("agent.example", owner, sender=owner)
    identity.releaseAgentDomain(1, sender=owner)
    identity.newAgent("agent.example", other_owner, sender=other_owner)
    identity.releaseAgentDomain(1, sender=owner)
    assert identity.resolveByDomain("agent.example") == (2, "agent.example", other_owner.address)


@pytest.mark.parametrize("role", ["stranger", "operator", "approved"])
def test_only_the_owner_releases_a_domain(identity, two_agents, owner, request, role):
    account = request.getfixturevalue(role)
    identity.setApprovalForAll(account, role == "operator", sender=owner)
    if role == "approved":
        identity.approve(account, 1, sender=owner)
    with ape.reverts(identity.UnauthorizedUpdate):
        identity.releaseAgentDomain(1, sender=account)


def test_domain_of_an_unknown_agent_is_not_released(identity, stranger):
    with ape.reverts(identity.AgentNotFound):
        identity.releaseAgentDomain(UNKNOWN_AGENT, sender=stranger)


def test_existence_is_checked_before_the_owner_in_a_release(identity):
    """The owner of an unknown agent reads as zero. The zero address must not count as its owner."""
    with ape.reverts(identity.AgentNotFound):
        identity.releaseAgentDomain.call(UNKNOWN_AGENT, sender=ZERO_ADDRESS)


@pytest.mark.parametrize("length", [1, 30, 31, 32, 253, 254, 255, 2_000])
def test_domain_of_any_length_is_kept_exactly(identity, owner, length):
    domain = ("sub." * length)[:length]
    identity.newAgent("x" * 300, owner, sender=owner)
    identity.updateAgent(1, domain, ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain(domain.upper()) == (1, domain, owner.address)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    held=st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=70),
    asked=st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=70),
)
def test_two_domains_are_the_same_if_they_are_in_lower_case_ascii(identity, chain, owner, other_owner, held, asked):
    with isolated(chain):
        identity.newAgent(held, owner, sender=owner)
        for domain in (asked, held.swapcase(), held + asked):
            if ascii_lower(domain) == ascii_lower(held):
                with ape.reverts(identity.DomainAlreadyRegistered):
                    identity.newAgent.call(domain, other_owner, sender=other_owner)
                assert identity.resolveByDomain(domain) == (1, held, owner.address)
            else:
                assert identity.newAgent.call(domain, other_owner, sender=other_owner) == 2

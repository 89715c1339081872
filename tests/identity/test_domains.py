"""Domains: compared without regard to case, unique while held, free again at once."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import isolated

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

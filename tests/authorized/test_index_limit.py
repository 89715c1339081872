"""The limit of an authorisation: it is valid while the client's index is below it."""

from __future__ import annotations

import ape
import pytest

from tests.authorized.helpers import MAX_UINT64


def give_times(give, times, feedback_auth):
    for _ in range(times):
        give(feedback_auth)


def test_limit_0_authorises_nothing(registry, authorize, give):
    with ape.reverts(registry.IndexLimitReached, lastIndex=0, indexLimit=0):
        give(authorize(limit=0))


@pytest.mark.parametrize("limit", [1, 5])
def test_last_feedback_below_the_limit_is_taken_and_the_next_refused(
    registry, authorize, give, agent_id, client, limit
):
    feedback_auth = authorize(limit=limit)
    give_times(give, limit, feedback_auth)
    assert registry.getLastIndex(agent_id, client) == limit
    with ape.reverts(registry.IndexLimitReached, lastIndex=limit, indexLimit=limit):
        give(feedback_auth)
    assert registry.getLastIndex(agent_id, client) == limit


def test_highest_limit_is_practically_no_limit(registry, authorize, give, agent_id, client):
    feedback_auth = authorize(limit=MAX_UINT64)
    give_times(give, 7, feedback_auth)
    assert registry.getLastIndex(agent_id, client) == 7


def test_spent_authorisation_stays_spent(registry, authorize, give):
    small, large = authorize(limit=1), authorize(limit=3)
    give(small)
    give(large)
    with ape.reverts(registry.IndexLimitReached, lastIndex=2, indexLimit=1):
        give(small)


def test_smaller_limit_first_leaves_the_rest_of_the_larger(registry, authorize, give):
    small, large = authorize(limit=2), authorize(limit=3)
    give_times(give, 2, small)
    with ape.reverts(registry.IndexLimitReached, lastIndex=2, indexLimit=2):
        give(small)
    give(large)
    with ape.reverts(registry.IndexLimitReached, lastIndex=3, indexLimit=3):
        give(large)


def test_larger_limit_first_uses_up_the_smaller_as_well(registry, authorize, give):
    small, large = authorize(limit=2), authorize(limit=3)
    give_times(give, 2, large)
    with ape.reverts(registry.IndexLimitReached, lastIndex=2, indexLimit=2):
        give(small)
    give(large)
    with ape.reverts(registry.IndexLimitReached, lastIndex=3, indexLimit=3):
        give(large)


def test_two_authorisations_with_the_same_limit_are_worth_no_more_than_one(registry, authorize, give):
    first, second = authorize(limit=1), authorize(limit=1, expiry=2**255)
    give(first)
    with ape.reverts(registry.IndexLimitReached, lastIndex=1, indexLimit=1):
        give(second)


def test_limit_below_the_present_index_authorises_nothing(registry, authorize, give):
    give_times(give, 3, authorize(limit=3))
    with ape.reverts(registry.IndexLimitReached, lastIndex=3, indexLimit=2):
        give(authorize(limit=2))


def test_present_index_plus_n_authorises_n_more(registry, authorize, give, agent_id, client):
    give_times(give, 2, authorize(limit=2))
    more = authorize(limit=registry.getLastIndex(agent_id, client) + 3)
    give_times(give, 3, more)
    with ape.reverts(registry.IndexLimitReached, lastIndex=5, indexLimit=5):
        give(more)


def test_each_client_has_an_index_of_its_own(registry, authorize, give, agent_id, client, other_client):
    give_times(give, 2, authorize(limit=2))
    assert registry.getLastIndex(agent_id, other_client) == 0
    give(authorize(limit=1, client=other_client), sender=other_client)
    assert registry.getLastIndex(agent_id, other_client) == 1
    assert registry.getLastIndex(agent_id, client) == 2


def test_each_agent_has_an_index_of_its_own(registry, authorize, give, agent_id, other_agent_id, other_owner, client):
    give_times(give, 2, authorize(limit=2))
    assert registry.getLastIndex(other_agent_id, client) == 0
    give(authorize(limit=1, agent_id=other_agent_id, signer=other_owner), agent_id=other_agent_id)
    assert registry.getLastIndex(other_agent_id, client) == 1
    assert registry.getLastIndex(agent_id, client) == 2


def test_index_survives_a_transfer_of_the_agent(
    registry, identity, authorize, give, agent_id, client, owner, other_owner
):
    give_times(give, 2, authorize(limit=2))
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    assert registry.getLastIndex(agent_id, client) == 2
    with ape.reverts(registry.IndexLimitReached, lastIndex=2, indexLimit=2):
        give(authorize(limit=2, signer=other_owner))
    give(authorize(limit=3, signer=other_owner))
    assert registry.getLastIndex(agent_id, client) == 3


def test_index_of_an_unknown_agent_or_client_is_0(registry, agent_id, client):
    assert registry.getLastIndex(999, client) == 0
    assert registry.getLastIndex(agent_id, client) == 0

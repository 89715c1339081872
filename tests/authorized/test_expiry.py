"""The expiry of an authorisation is its last valid second."""

from __future__ import annotations

import ape
import pytest

from tests.authorized.helpers import MAX_UINT256


@pytest.fixture()
def expiry(chain):
    return chain.pending_timestamp + 1_000


@pytest.mark.parametrize("seconds_before", [0, 1, 999])
def test_authorisation_is_valid_up_to_the_second_of_its_expiry(chain, authorize, give, expiry, seconds_before):
    feedback_auth = authorize(expiry=expiry)
    chain.pending_timestamp = expiry - seconds_before
    assert give(feedback_auth).timestamp == expiry - seconds_before


@pytest.mark.parametrize("seconds_after", [1, 2, 86_400])
def test_authorisation_is_refused_from_the_next_second_on(registry, chain, authorize, give, expiry, seconds_after):
    feedback_auth = authorize(expiry=expiry)
    chain.pending_timestamp = expiry + seconds_after
    with ape.reverts(registry.FeedbackAuthExpired, expiry=expiry, timestamp=expiry + seconds_after):
        give(feedback_auth)


def test_authorisation_that_was_used_in_time_expires_all_the_same(registry, chain, authorize, give, agent_id, expiry):
    feedback_auth = authorize(expiry=expiry)
    chain.pending_timestamp = expiry - 500
    give(feedback_auth)
    chain.pending_timestamp = expiry
    give(feedback_auth)
    chain.pending_timestamp = expiry + 1
    with ape.reverts(registry.FeedbackAuthExpired, expiry=expiry, timestamp=expiry + 1):
        give(feedback_auth)
    assert registry.getFeedbackCount(agent_id) == 2


def test_a_new_authorisation_takes_the_place_of_an_expired_one(registry, chain, authorize, give, expiry):
    chain.pending_timestamp = expiry + 1
    with ape.reverts(registry.FeedbackAuthExpired, expiry=expiry, timestamp=expiry + 1):
        give(authorize(expiry=expiry))
    chain.pending_timestamp = expiry + 10
    give(authorize(expiry=expiry + 10))


def test_expiry_0_has_always_passed(registry, chain, authorize, give):
    now = chain.pending_timestamp + 10
    chain.pending_timestamp = now
    with ape.reverts(registry.FeedbackAuthExpired, expiry=0, timestamp=now):
        give(authorize(expiry=0))


def test_highest_expiry_never_passes(chain, authorize, give):
    feedback_auth = authorize(expiry=MAX_UINT256)
    give(feedback_auth)
    far_away = chain.pending_timestamp + 1_000 * 365 * 86_400
    chain.pending_timestamp = far_away
    assert give(feedback_auth).timestamp == far_away


def test_feedback_does_not_expire_with_its_authorisation(registry, chain, authorize, give, agent_id, expiry):
    give(authorize(expiry=expiry), score=70)
    chain.mine(timestamp=expiry + 1)
    assert registry.getSummary(agent_id) == (1, 70)

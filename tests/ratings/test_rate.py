"""Ratings of one agent: final, within the scale, and separate by direction, kind and pair."""

from __future__ import annotations

import itertools

import ape
import pytest

KINDS = ["Client", "Validator"]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def rate(registry, kind):
    return getattr(registry, f"rate{kind}")


@pytest.fixture
def rating_of(registry, kind):
    def rating_of(subject_id, server_id):
        return tuple(getattr(registry, f"get{kind}Rating")(subject_id, server_id))

    return rating_of


@pytest.mark.parametrize("rating", [0, 100])
def test_ends_of_the_scale_are_ratings(rate, rating_of, server, server_id, client_id, rating):
    rate(client_id, rating, sender=server)
    assert rating_of(client_id, server_id) == (True, rating)


@pytest.mark.parametrize("rating", [101, 255])
def test_ratings_above_the_scale_are_refused(rate, registry, server, client_id, rating):
    with ape.reverts(registry.RatingTooHigh, rating=rating, maximum=100):
        rate(client_id, rating, sender=server)


@pytest.mark.parametrize(("old", "new"), [*itertools.product([0, 1, 99, 100], [0, 50, 100])])
def test_rating_again_is_refused_whatever_the_ratings(registry, server, server_id, client_id, old, new):
    registry.rateClient(client_id, old, sender=server)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClient(client_id, new, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, old)


def test_validator_is_rated_once(registry, server, server_id, validator_id):
    registry.rateValidator(validator_id, 0, sender=server)
    with ape.reverts(registry.AlreadyRated, subjectId=validator_id, serverId=server_id):
        registry.rateValidator(validator_id, 0, sender=server)


def test_agent_does_not_rate_itself(rate, registry, server, server_id):
    with ape.reverts(registry.CannotRateSelf):
        rate(server_id, 100, sender=server)


def test_unregistered_account_does_not_rate(rate, registry, stranger, client_id):
    with ape.reverts(registry.RaterNotRegistered, account=stranger.address):
        rate(client_id, 50, sender=stranger)


@pytest.mark.parametrize("subject_id", [0, 71, 2**256 - 1])
def test_unknown_agent_is_not_rated(rate, registry, server, last_agent_id, subject_id):
    assert last_agent_id == 70
    with ape.reverts(registry.SubjectNotRegistered, agentId=subject_id):
        rate(subject_id, 50, sender=server)


def test_last_agent_is_rated(rate, rating_of, server, server_id, last_agent_id):
    rate(last_agent_id, 50, sender=server)
    assert rating_of(last_agent_id, server_id) == (True, 50)


def test_rater_is_checked_before_the_subject(rate, registry, stranger):
    with ape.reverts(registry.RaterNotRegistered, account=stranger.address):
        rate(0, 255, sender=stranger)


def test_subject_is_checked_before_the_rating(rate, registry, server, last_agent_id):
    with ape.reverts(registry.SubjectNotRegistered, agentId=last_agent_id + 1):
        rate(last_agent_id + 1, 255, sender=server)


def test_rating_is_checked_before_the_pair(rate, registry, server, server_id):
    with ape.reverts(registry.RatingTooHigh, rating=101, maximum=100):
        rate(server_id, 101, sender=server)


def test_each_direction_is_its_own(registry, server, server_id, client, client_id):
    registry.rateClient(client_id, 20, sender=server)
    assert tuple(registry.getClientRating(server_id, client_id)) == (False, 0)
    registry.rateClient(server_id, 90, sender=client)
    assert tuple(registry.getClientRating(server_id, client_id)) == (True, 90)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 20)


def test_client_and_validator_are_rated_apart(registry, server, server_id, client_id):
    registry.rateClient(client_id, 20, sender=server)
    assert tuple(registry.getValidatorRating(client_id, server_id)) == (False, 0)
    registry.rateValidator(client_id, 90, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 20)
    assert tuple(registry.getValidatorRating(client_id, server_id)) == (True, 90)


def test_each_server_rates_for_itself(registry, server, server_id, validator, validator_id, client_id):
    registry.rateClient(client_id, 20, sender=server)
    registry.rateClient(client_id, 90, sender=validator)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 20)
    assert tuple(registry.getClientRating(client_id, validator_id)) == (True, 90)


@pytest.mark.parametrize("unknown", [0, 404, 2**256 - 1])
def test_unknown_agents_have_no_ratings(rate, rating_of, server, server_id, client_id, unknown):
    rate(client_id, 20, sender=server)
    assert rating_of(client_id, server_id) == (True, 20)
    for agents in ((unknown, server_id), (client_id, unknown), (unknown, unknown)):
        assert rating_of(*agents) == (False, 0)


def test_known_agents_that_nobody_rated_have_no_ratings(rating_of, server_id, client_id, validator_id):
    agents = (server_id, client_id, validator_id)
    assert {rating_of(*pair) for pair in itertools.product(agents, agents)} == {(False, 0)}


def test_ratings_leave_feedback_alone(registry, server, server_id, client, client_id):
    registry.giveFeedback(server_id, 87, 0, "starred", "", "", "", bytes(32), sender=client)
    registry.rateClient(client_id, 20, sender=server)
    assert tuple(registry.getSummary(server_id, [client], "starred", "")) == (1, 87, 0)


def test_account_without_an_agent_rates_a_server_and_cannot_be_rated(registry, identity, server, server_id, stranger):
    registry.giveFeedback(server_id, 87, 0, "starred", "", "", "", bytes(32), sender=stranger)
    assert tuple(registry.getSummary(server_id, [stranger], "", "")) == (1, 87, 0)
    with ape.reverts(registry.SubjectNotRegistered, agentId=0):
        registry.rateClient(identity.agentOf(stranger), 20, sender=server)

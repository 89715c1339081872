"""Ratings of 32 agents in one word: a write changes one of them only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import isolated

NEIGHBOURS = [31, 32, 33, 63, 64]


@pytest.mark.parametrize("rated", NEIGHBOURS)
@pytest.mark.parametrize("rating", [0, 100])
def test_rating_leaves_its_neighbours_unrated(registry, server, server_id, last_agent_id, rated, rating):
    registry.rateClient(rated, rating, sender=server)
    everybody = list(range(1, last_agent_id + 1))
    answer = registry.getClientRatings(everybody, server_id)
    assert list(answer.hasRating) == [entry == rated for entry in everybody]
    assert sum(answer.ratings) == rating


@pytest.mark.usefixtures("last_agent_id")
@pytest.mark.parametrize("order", [1, -1])
def test_neighbours_keep_their_ratings(registry, server, server_id, order):
    ratings = dict(zip(NEIGHBOURS, [100, 0, 1, 99, 50], strict=True))
    for subject in NEIGHBOURS[::order]:
        registry.rateClient(subject, ratings[subject], sender=server)
    assert list(registry.getClientRatings(NEIGHBOURS, server_id).ratings) == list(ratings.values())


@pytest.mark.usefixtures("last_agent_id")
def test_word_full_of_ratings_is_read_back(registry, server, server_id):
    subjects, ratings = list(range(32, 64)), [(7 * i) % 101 for i in range(32)]
    registry.rateClients(subjects, ratings, sender=server)
    answer = registry.getClientRatings(list(range(31, 65)), server_id)
    assert list(answer.hasRating) == [False, *[True] * 32, False]
    assert list(answer.ratings) == [0, *ratings, 0]


@pytest.mark.parametrize("high_bit", [8, 13, 16, 21, 32, 64, 128, 133, 160, 192, 255])
def test_rating_is_not_that_of_an_agent_whose_id_differs_in_a_high_bit(
    registry, server, server_id, client_id, validator_id, high_bit
):
    registry.rateClient(client_id, 20, sender=server)
    registry.rateValidator(validator_id, 30, sender=server)
    other_client, other_validator = client_id + 2**high_bit, validator_id + 2**high_bit
    assert tuple(registry.getClientRating(other_client, server_id)) == (False, 0)
    assert tuple(registry.getValidatorRating(other_validator, server_id)) == (False, 0)
    assert tuple(registry.getClientRating(client_id, server_id + 2**high_bit)) == (False, 0)
    assert tuple(registry.getValidatorRating(validator_id, server_id + 2**high_bit)) == (False, 0)
    assert list(registry.getClientRatings([other_client, client_id], server_id).hasRating) == [False, True]


@given(
    ratings=st.dictionaries(
        st.tuples(st.booleans(), st.integers(1, 3), st.integers(1, 70)), st.integers(0, 100), max_size=40
    )
)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_all_pairs_of_random_sets_are_read_back(chain, registry, server, client, validator, last_agent_id, ratings):
    """Each key is `(is a client, server, subject)`."""
    ratings = {pair: rating for pair, rating in ratings.items() if pair[1] != pair[2]}
    servers = {1: server, 2: client, 3: validator}
    with isolated(chain):
        for as_client, rate_all in ((True, registry.rateClients), (False, registry.rateValidators)):
            for server_id, account in servers.items():
                mine = {
                    subject: rating
                    for (kind, rater, subject), rating in ratings.items()
                    if (kind, rater) == (as_client, server_id)
                }
                if mine:
                    rate_all(list(mine), list(mine.values()), sender=account)
        everybody = list(range(1, last_agent_id + 1))
        for server_id in servers:
            answer = registry.getClientRatings(everybody, server_id)
            assert list(zip(answer.hasRating, answer.ratings, strict=True)) == [
                ((True, server_id, entry) in ratings, ratings.get((True, server_id, entry), 0)) for entry in everybody
            ]
        for as_client, server_id, subject in ratings:
            if not as_client:
                answer = tuple(registry.getValidatorRating(subject, server_id))
                assert answer == (True, ratings[False, server_id, subject])

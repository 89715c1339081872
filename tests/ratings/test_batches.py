"""Batches: all or none; an error names the position of the invalid rating."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from tests.helpers import logged

KINDS = {"Client": "clientId", "Validator": "validatorId"}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def rate_all(registry, kind):
    return getattr(registry, f"rate{kind}s")


@pytest.fixture
def rating_of(registry, kind, server_id):
    def rating_of(subject_id):
        return tuple(getattr(registry, f"get{kind}Rating")(subject_id, server_id))

    return rating_of


@pytest.fixture
def refused(registry):
    """A check that a batch fails at one position, with the error of that single rating."""

    def refused(position, error, *arguments):
        words = b"".join(argument.to_bytes(32) for argument in arguments)
        return ape.reverts(registry.RatingRefused, position=position, reason=keccak(text=error)[:4] + words)

    return refused


@pytest.mark.usefixtures("last_agent_id")
def test_batch_is_emitted_and_stored_whole(rate_all, rating_of, kind, server, server_id):
    subjects, ratings = [2, 33, 3, 64, 31], [0, 100, 1, 99, 50]
    assert logged(rate_all(subjects, ratings, sender=server)) == [
        (f"{kind}Rated", {KINDS[kind]: subject, "serverId": server_id, "rating": rating})
        for subject, rating in zip(subjects, ratings, strict=True)
    ]
    assert [rating_of(subject) for subject in subjects] == [(True, rating) for rating in ratings]


@pytest.mark.usefixtures("last_agent_id")
def test_batch_that_comes_back_to_a_word_keeps_all_its_ratings(rate_all, rating_of, server):
    """Agents 2 to 31, 32 to 63 and 64 to 70 share a word each."""
    earlier, subjects = {4: 44, 40: 41}, [2, 33, 3, 64, 34, 31]
    rate_all(list(earlier), list(earlier.values()), sender=server)
    rate_all(subjects, subjects, sender=server)
    expected = earlier | {subject: subject for subject in subjects}
    assert {number: rating_of(number) for number in range(1, 71)} == {
        number: (number in expected, expected.get(number, 0)) for number in range(1, 71)
    }


@pytest.mark.usefixtures("last_agent_id")
def test_agent_that_is_listed_again_after_others_is_refused(rate_all, rating_of, refused, server, server_id):
    with refused(3, "AlreadyRated(uint256,uint256)", 2, server_id):
        rate_all([2, 33, 64, 2], [1, 2, 3, 4], sender=server)
    assert [rating_of(subject) for subject in (2, 33, 64)] == [(False, 0)] * 3


def test_word_above_the_range_of_a_byte_is_refused(rate_all, rating_of, server, client_id):
    """A rating of 306 is 50 in its lowest byte. It reverts as the decoder of arguments does, without a reason."""
    data = bytes(rate_all.encode_input([client_id], [50]))
    data = data[:-32] + (256 + 50).to_bytes(32)
    receipt = server.transfer(rate_all.contract.address, 0, data=data, gas=200_000, raise_on_revert=False)
    assert receipt.failed
    assert rating_of(client_id) == (False, 0)


def test_batch_of_one_is_a_batch(rate_all, rating_of, server, client_id):
    rate_all([client_id], [7], sender=server)
    assert rating_of(client_id) == (True, 7)


def test_batch_of_one_kind_leaves_the_other_alone(registry, server, server_id, client_id, validator_id):
    registry.rateClients([client_id, validator_id], [10, 20], sender=server)
    registry.rateValidators([client_id, validator_id], [30, 40], sender=server)
    assert [tuple(registry.getClientRating(id_, server_id)) for id_ in (client_id, validator_id)] == [
        (True, 10),
        (True, 20),
    ]
    assert [tuple(registry.getValidatorRating(id_, server_id)) for id_ in (client_id, validator_id)] == [
        (True, 30),
        (True, 40),
    ]


def test_empty_batch_is_refused(rate_all, registry, server, server_id):
    with ape.reverts(registry.EmptyBatch):
        rate_all([], [], sender=server)


@pytest.mark.parametrize(("agents", "ratings"), [(1, 0), (0, 1), (2, 1), (1, 2)])
def test_unequal_batch_is_refused(rate_all, registry, server, client_id, agents, ratings):
    error = ape.reverts(registry.UnequalBatch, agents=agents, others=ratings)
    with error if agents else ape.reverts(registry.EmptyBatch):
        rate_all([client_id] * agents, [50] * ratings, sender=server)


def test_unregistered_account_rates_no_batch(rate_all, registry, stranger, client_id):
    with ape.reverts(registry.RaterNotRegistered, account=stranger.address):
        rate_all([client_id], [50], sender=stranger)


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("subject_id", [0, 71, 2**256 - 1])
def test_unknown_agent_is_named_by_its_position(
    rate_all, rating_of, refused, server, last_agent_id, position, subject_id
):
    assert last_agent_id == 70
    subjects = [2, 3]
    subjects.insert(position, subject_id)
    with refused(position, "SubjectNotRegistered(uint256)", subject_id):
        rate_all(subjects, [50] * 3, sender=server)
    assert [rating_of(number) for number in (2, 3)] == [(False, 0)] * 2


@pytest.mark.parametrize("rating", [101, 255])
def test_rating_above_the_scale_is_named_by_its_position(
    rate_all, rating_of, refused, server, client_id, validator_id, rating
):
    with refused(1, "RatingTooHigh(uint8,uint8)", rating, 100):
        rate_all([client_id, validator_id], [50, rating], sender=server)
    assert rating_of(client_id) == (False, 0)


def test_self_rating_is_named_by_its_position(rate_all, rating_of, refused, server, server_id, client_id):
    with refused(1, "CannotRateSelf()"):
        rate_all([client_id, server_id], [50, 50], sender=server)
    assert rating_of(client_id) == (False, 0)


def test_agent_that_was_rated_before_is_named_by_its_position(
    rate_all, rating_of, refused, server, server_id, client_id, validator_id
):
    rate_all([validator_id], [0], sender=server)
    with refused(1, "AlreadyRated(uint256,uint256)", validator_id, server_id):
        rate_all([client_id, validator_id], [50, 50], sender=server)
    assert [rating_of(client_id), rating_of(validator_id)] == [(False, 0), (True, 0)]


def test_agent_that_is_listed_twice_is_named_by_its_second_position(
    rate_all, rating_of, refused, server, server_id, client_id, validator_id
):
    with refused(2, "AlreadyRated(uint256,uint256)", client_id, server_id):
        rate_all([client_id, validator_id, client_id], [50, 60, 50], sender=server)
    assert rating_of(client_id) == (False, 0)


def test_many_ratings_are_read_at_once(registry, server, server_id, client_id, validator_id, last_agent_id):
    registry.rateClients([client_id, last_agent_id], [0, 100], sender=server)
    answer = registry.getClientRatings([last_agent_id, validator_id, client_id, 0, client_id, 404], server_id)
    assert list(answer.hasRating) == [True, False, True, False, True, False]
    assert list(answer.ratings) == [100, 0, 0, 0, 0, 0]


def test_no_ratings_are_read_of_nobody(registry, server_id):
    assert [list(ratings_of) for ratings_of in registry.getClientRatings([], server_id)] == [[], []]

"""Ratings with an expected rater and owner, which revert if either differs."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak

from tests.helpers import logged

KINDS = {"Client": "clientId", "Validator": "validatorId"}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["one", "batch"])
def rate_as(registry, kind, request):
    """A function that rates one agent, alone or in a batch of one."""
    single, batch = getattr(registry, f"rate{kind}As"), getattr(registry, f"rate{kind}sAs")

    def rate_as(subject_id, rating, server_id, subject_owner, sender):
        if request.param == "one":
            return single(subject_id, rating, server_id, subject_owner, sender=sender)
        return batch([subject_id], [rating], server_id, [subject_owner], sender=sender)

    rate_as.is_batch = request.param == "batch"
    return rate_as


@pytest.fixture
def rating_of(registry, kind, server_id):
    def rating_of(subject_id):
        return tuple(getattr(registry, f"get{kind}Rating")(subject_id, server_id))

    return rating_of


@pytest.fixture
def reverts_with(registry, rate_as):
    """The error of one rating, which a batch reports with its position."""

    def reverts_with(error, **arguments):
        if not rate_as.is_batch:
            return ape.reverts(getattr(registry, error.partition("(")[0]), **arguments)
        words = b"".join(argument.to_bytes(32) for argument in arguments.values())
        return ape.reverts(registry.RatingRefused, position=0, reason=keccak(text=error)[:4] + words)

    return reverts_with


def test_expected_rating_is_emitted_and_stored(rate_as, rating_of, kind, server, server_id, client, client_id):
    assert logged(rate_as(client_id, 42, server_id, client, sender=server)) == [
        (f"{kind}Rated", {KINDS[kind]: client_id, "serverId": server_id, "rating": 42})
    ]
    assert rating_of(client_id) == (True, 42)


def test_rater_that_speaks_as_another_agent_is_refused(
    rate_as, registry, identity, register, server, server_id, client, client_id
):
    other_id = register(server)
    identity.setPrimaryAgent(other_id, sender=server)
    with ape.reverts(registry.UnexpectedRater, expected=server_id, found=other_id):
        rate_as(client_id, 42, server_id, client, sender=server)


@pytest.mark.parametrize("high_bit", [16, 128, 224, 255])
def test_expected_rater_is_compared_in_all_its_bits(rate_as, registry, server, server_id, client, client_id, high_bit):
    expected = server_id + 2**high_bit
    with ape.reverts(registry.UnexpectedRater, expected=expected, found=server_id):
        rate_as(client_id, 42, expected, client, sender=server)


def test_account_without_an_agent_is_refused(rate_as, registry, server_id, stranger, client, client_id):
    with ape.reverts(registry.UnexpectedRater, expected=server_id, found=0):
        rate_as(client_id, 42, server_id, client, sender=stranger)


def test_account_without_an_agent_cannot_rate_as_no_agent(rate_as, registry, stranger, client, client_id):
    with ape.reverts(registry.RaterNotRegistered, account=stranger.address):
        rate_as(client_id, 42, 0, client, sender=stranger)


def test_subject_of_another_owner_is_refused(
    rate_as, rating_of, registry, identity, server, server_id, client, client_id, stranger
):
    identity.transferFrom(client, stranger, client_id, sender=client)
    with ape.reverts(registry.UnexpectedOwner, agentId=client_id, expected=client.address, found=stranger.address):
        rate_as(client_id, 42, server_id, client, sender=server)
    assert rating_of(client_id) == (False, 0)
    rate_as(client_id, 42, server_id, stranger, sender=server)
    assert rating_of(client_id) == (True, 42)


@pytest.mark.parametrize("subject_id", [0, 71, 2**256 - 1])
def test_unknown_subject_is_refused(rate_as, identity, server, server_id, last_agent_id, subject_id):
    assert last_agent_id == 70
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=subject_id):
        rate_as(subject_id, 42, server_id, ZERO_ADDRESS, sender=server)


def test_rater_is_checked_before_the_subject(rate_as, registry, server, server_id):
    with ape.reverts(registry.UnexpectedRater, expected=server_id + 1, found=server_id):
        rate_as(404, 42, server_id + 1, ZERO_ADDRESS, sender=server)


def test_owner_is_checked_before_the_rating(rate_as, registry, server, server_id, client, client_id):
    with ape.reverts(registry.UnexpectedOwner, agentId=client_id, expected=server.address, found=client.address):
        rate_as(client_id, 101, server_id, server, sender=server)


def test_rating_above_the_scale_is_refused(rate_as, reverts_with, server, server_id, client, client_id):
    with reverts_with("RatingTooHigh(uint8,uint8)", rating=101, maximum=100):
        rate_as(client_id, 101, server_id, client, sender=server)


def test_agent_does_not_rate_itself(rate_as, reverts_with, server, server_id):
    with reverts_with("CannotRateSelf()"):
        rate_as(server_id, 42, server_id, server, sender=server)


def test_rating_again_is_refused_whichever_function_came_first(
    rate_as, reverts_with, registry, kind, server, server_id, client, client_id
):
    getattr(registry, f"rate{kind}")(client_id, 0, sender=server)
    with reverts_with("AlreadyRated(uint256,uint256)", subjectId=client_id, serverId=server_id):
        rate_as(client_id, 42, server_id, client, sender=server)


def test_batch_names_the_first_agent_of_another_owner(
    registry, kind, rating_of, server, server_id, client, client_id, validator_id
):
    rate_all = getattr(registry, f"rate{kind}sAs")
    with ape.reverts(registry.UnexpectedOwner, agentId=validator_id, expected=client.address):
        rate_all([client_id, validator_id], [42, 43], server_id, [client, client], sender=server)
    assert [rating_of(id_) for id_ in (client_id, validator_id)] == [(False, 0)] * 2


def test_batch_with_expected_owners_is_stored_whole(
    registry, kind, rating_of, server, server_id, client, client_id, validator, validator_id
):
    rate_all = getattr(registry, f"rate{kind}sAs")
    receipt = rate_all([validator_id, client_id], [0, 100], server_id, [validator, client], sender=server)
    assert logged(receipt) == [
        (f"{kind}Rated", {KINDS[kind]: subject, "serverId": server_id, "rating": rating})
        for subject, rating in ((validator_id, 0), (client_id, 100))
    ]
    assert [rating_of(id_) for id_ in (client_id, validator_id)] == [(True, 100), (True, 0)]


@pytest.mark.parametrize("owners", [0, 1, 3])
def test_batch_with_another_number_of_owners_is_refused(
    registry, kind, server, server_id, client, client_id, validator_id, owners
):
    rate_all = getattr(registry, f"rate{kind}sAs")
    with ape.reverts(registry.UnequalBatch, agents=2, others=owners):
        rate_all([client_id, validator_id], [42, 43], server_id, [client] * owners, sender=server)


def test_batch_with_another_number_of_ratings_is_refused(registry, kind, server, server_id, client, client_id):
    rate_all = getattr(registry, f"rate{kind}sAs")
    with ape.reverts(registry.UnequalBatch, agents=1, others=2):
        rate_all([client_id], [42, 43], server_id, [client], sender=server)


def test_empty_batch_is_refused(registry, kind, server, server_id):
    with ape.reverts(registry.EmptyBatch):
        getattr(registry, f"rate{kind}sAs")([], [], server_id, [], sender=server)

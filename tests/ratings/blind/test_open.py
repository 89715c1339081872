"""Opening: exactly the sealed ratings, each once, by anybody."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from eth_utils import keccak

from bilateral.core.signatures.blind_ratings import rating_seal
from tests.helpers import logged

SEALED, BLIND = 2, 3

OTHER_FEEDBACK = {
    "value": 9978,
    "value_decimals": 1,
    "tag1": "uptimE",
    "tag2": "",
    "endpoint": "",
    "feedback_uri": "ipfs://QmFeedbacK",
    "feedback_hash": bytes(32),
}


def test_both_ratings_are_opened_at_once(sealed, registry, relayer):
    assert logged(sealed.open(relayer)) == [sealed.rating_event(), sealed.feedback_event(), sealed.opened_event(1)]
    assert sealed.is_open()
    assert tuple(registry.getSealedPair(*sealed.ids)) == (0, False)


@pytest.mark.parametrize("rating", [0, 1, 99, 100])
def test_any_rating_of_the_scale_is_opened(
    make_deal, client, client_id, server, server_id, relayer, registry, rating, validator_id
):
    deal = make_deal(client, client_id, server, server_id, rating=rating)
    deal.seal(relayer)
    deal.open(relayer)
    assert deal.is_open()
    assert list(registry.getClientRatings([client_id, validator_id], server_id).ratings) == [rating, 0]


@pytest.mark.parametrize("rating", [101, 127, 255])
def test_sealed_rating_above_the_scale_can_never_be_opened(
    make_deal, registry, client, client_id, server, server_id, relayer, rating
):
    deal = make_deal(client, client_id, server, server_id, rating=rating)
    with ape.reverts(registry.RatingTooHigh, rating=rating, maximum=100):
        deal.exchange(relayer)
    assert deal.is_untouched()
    deal.seal(relayer)
    for send in (deal.open, deal.open_rating):
        with ape.reverts(registry.RatingTooHigh, rating=rating, maximum=100):
            send(relayer)
    assert registry.ratingStateOf(*deal.ids) == SEALED
    assert registry.getLastIndex(server_id, client) == 0


def test_client_opens_first_and_the_server_after_it(sealed, registry, relayer):
    assert logged(sealed.open_feedback(relayer)) == [sealed.feedback_event(), sealed.opened_event(1)]
    assert registry.ratingStateOf(*sealed.ids) == SEALED
    assert tuple(registry.getClientRating(*sealed.ids)) == (False, 0)
    assert tuple(registry.getSealedPair(*sealed.ids)) == (sealed.hash, True)
    assert logged(sealed.open_rating(relayer)) == [sealed.rating_event(), sealed.opened_event(0)]
    assert sealed.is_open()


def test_silent_client_does_not_keep_the_server_from_opening(sealed, registry, relayer, client):
    assert logged(sealed.open_rating(relayer)) == [sealed.rating_event(), sealed.opened_event(0)]
    assert registry.ratingStateOf(*sealed.ids) == BLIND
    assert registry.getLastIndex(sealed.ids[1], client) == 0
    assert tuple(registry.getSealedPair(*sealed.ids)) == (sealed.hash, False)
    sealed.open_feedback(relayer)
    assert sealed.is_open()


def test_pair_that_was_never_sealed_is_unknown(deal, registry, relayer):
    for send in (deal.open, deal.open_feedback, deal.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=deal.hash, stored=0):
            send(relayer)


@pytest.mark.parametrize(
    "field", ["client", "server", "interaction", "client_seal", "client_deadline", "server_seal", "server_deadline"]
)
def test_pair_with_an_altered_field_is_unknown(sealed, registry, relayer, field):
    altered = {
        "client": str(relayer),
        "server": str(relayer),
        "client_deadline": sealed.pair[6] + 1,
        "server_deadline": sealed.pair[8] + 1,
    }.get(field, keccak(text=f"another {field}"))
    other = sealed.but(**{field: altered})
    for send in (other.open, other.open_feedback, other.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=other.hash, stored=sealed.hash):
            send(relayer)


@pytest.mark.parametrize("is_higher", [True, False])
def test_pair_whose_hash_is_higher_or_lower_is_unknown(sealed, registry, relayer, is_higher):
    others = (sealed.but(server_deadline=sealed.pair[8] + seconds) for seconds in range(1, 1000))
    other = next(deal for deal in others if (deal.hash > sealed.hash) is is_higher)
    for send in (other.open, other.open_feedback, other.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=other.hash, stored=sealed.hash):
            send(relayer)


@pytest.mark.parametrize("field", ["client_id", "server_id"])
def test_pair_of_other_agents_is_unknown(sealed, registry, relayer, validator_id, field):
    other = sealed.but(**{field: validator_id})
    for send in (other.open, other.open_feedback, other.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=other.hash, stored=0):
            send(relayer)


def test_nothing_is_opened_twice(sealed, registry, relayer):
    sealed.open(relayer)
    for send in (sealed.open, sealed.open_feedback, sealed.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=sealed.hash, stored=0):
            send(relayer)
    for send in (sealed.seal, sealed.exchange):
        with ape.reverts(registry.AlreadyRated, subjectId=sealed.ids[0], serverId=sealed.ids[1]):
            send(relayer)
    assert registry.getLastIndex(sealed.ids[1], sealed.pair[2]) == 1


def test_open_feedback_is_not_opened_again(sealed, registry, relayer):
    sealed.open_feedback(relayer)
    for send in (sealed.open_feedback, sealed.open):
        with ape.reverts(registry.UnknownPair, pairHash=sealed.hash, stored=sealed.hash + 1):
            send(relayer)
    assert registry.getLastIndex(sealed.ids[1], sealed.pair[2]) == 1


def test_open_rating_is_not_opened_again(sealed, registry, relayer):
    sealed.open_rating(relayer)
    for send in (sealed.open_rating, sealed.open):
        with ape.reverts(registry.AlreadyRated, subjectId=sealed.ids[0], serverId=sealed.ids[1]):
            send(relayer)
    assert registry.getLastIndex(sealed.ids[1], sealed.pair[2]) == 0
    assert tuple(registry.getSealedPair(*sealed.ids)) == (sealed.hash, False)


def test_neither_side_is_opened_again_after_both_opened_alone(sealed, registry, relayer):
    sealed.open_feedback(relayer)
    sealed.open_rating(relayer)
    with ape.reverts(registry.UnknownPair, pairHash=sealed.hash, stored=sealed.hash + 1):
        sealed.open_feedback(relayer)
    with ape.reverts(registry.AlreadyRated, subjectId=sealed.ids[0], serverId=sealed.ids[1]):
        sealed.open_rating(relayer)


@pytest.mark.parametrize("field", OTHER_FEEDBACK)
def test_other_feedback_than_the_sealed_one_is_refused(sealed, registry, relayer, field):
    forged = replace(sealed, feedback=replace(sealed.feedback, **{field: OTHER_FEEDBACK[field]}))
    opening = forged.feedback.seal(forged.client_salt, forged.pair[2], forged.ids[1])
    for send in (forged.open_feedback, forged.open):
        with ape.reverts(registry.SealMismatch, seal=sealed.pair[5], opening=opening):
            send(relayer)
    assert tuple(registry.getSealedPair(*sealed.ids)) == (sealed.hash, False)
    assert registry.getLastIndex(sealed.ids[1], sealed.pair[2]) == 0


@pytest.mark.parametrize("changed", [{"rating": 0}, {"server_salt": bytes(32)}], ids=["rating", "salt"])
def test_other_rating_or_salt_than_the_sealed_one_is_refused(sealed, registry, relayer, changed):
    forged = replace(sealed, **changed)
    opening = rating_seal(forged.rating, forged.server_salt, *sealed.ids)
    for send in (forged.open_rating, forged.open):
        with ape.reverts(registry.SealMismatch, seal=sealed.pair[7], opening=opening):
            send(relayer)
    assert registry.ratingStateOf(*sealed.ids) == SEALED
    assert registry.getLastIndex(sealed.ids[1], sealed.pair[2]) == 0


def test_other_salt_than_the_clients_is_refused(sealed, registry, relayer):
    forged = replace(sealed, client_salt=sealed.server_salt, server_salt=sealed.client_salt)
    opening = forged.feedback.seal(forged.client_salt, forged.pair[2], forged.ids[1])
    with ape.reverts(registry.SealMismatch, seal=sealed.pair[5], opening=opening):
        forged.open(relayer)


def test_copied_seal_cannot_be_opened_by_its_copier(
    make_deal, deal, registry, client, client_id, other_owner, other_server_id, relayer
):
    """Another server copies the seal of the first one, and then its opening."""
    copy = replace(make_deal(client, client_id, other_owner, other_server_id))
    copy = copy.but(server_seal=deal.pair[7])
    copy.seal(relayer)
    opening = rating_seal(deal.rating, deal.server_salt, client_id, other_server_id)
    with ape.reverts(registry.SealMismatch, seal=deal.pair[7], opening=opening):
        copy.open_rating(relayer)


def test_copied_seal_of_a_client_cannot_be_opened_by_another_client(
    make_deal, deal, registry, server, server_id, validator, validator_id, relayer
):
    copy = make_deal(validator, validator_id, server, server_id).but(client_seal=deal.pair[5])
    copy.seal(relayer)
    opening = deal.feedback.seal(deal.client_salt, str(validator), server_id)
    with ape.reverts(registry.SealMismatch, seal=deal.pair[5], opening=opening):
        copy.open_feedback(relayer)


def test_seal_of_one_kind_is_not_opened_as_the_other(deal, registry, relayer):
    copy = deal.but(server_seal=deal.pair[5])
    copy.seal(relayer)
    opening = rating_seal(deal.rating, deal.client_salt, *deal.ids)
    with ape.reverts(registry.SealMismatch, seal=deal.pair[5], opening=opening):
        replace(copy, server_salt=deal.client_salt).open_rating(relayer)


def test_deadlines_no_longer_count_after_sealing(sealed, relayer, chain):
    chain.pending_timestamp = sealed.pair[6] + 365 * 86_400
    sealed.open(relayer)
    assert sealed.is_open()


def test_pair_opens_after_its_agents_were_transferred(
    sealed, identity, server, server_id, client, client_id, other_owner, relayer
):
    identity.transferFrom(server, other_owner, server_id, sender=server)
    identity.transferFrom(client, other_owner, client_id, sender=client)
    sealed.open(relayer)
    assert sealed.is_open()


def test_open_feedback_in_between_does_not_void_the_sealed_one(sealed, registry, client, relayer):
    registry.giveFeedback(sealed.ids[1], 5, 0, "", "", "", "", bytes(32), sender=client)
    assert logged(sealed.open(relayer))[1:] == [sealed.feedback_event(2), sealed.opened_event(2)]
    assert sealed.is_open(2)


def test_owner_that_approves_the_client_blocks_its_feedback_and_not_the_rating(
    deal, registry, identity, server, client, relayer
):
    identity.setApprovalForAll(client, True, sender=server)
    with ape.reverts("Self-feedback not allowed"):
        deal.exchange(relayer)
    assert deal.is_untouched()
    deal.seal(relayer)
    for send in (deal.open, deal.open_feedback):
        with ape.reverts("Self-feedback not allowed"):
            send(relayer)
    assert tuple(registry.getSealedPair(*deal.ids)) == (deal.hash, False)
    assert registry.ratingStateOf(*deal.ids) == SEALED
    deal.open_rating(relayer)
    identity.setApprovalForAll(client, False, sender=server)
    deal.open_feedback(relayer)
    assert deal.is_open()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("value_decimals", 19, "too many decimals"),
        ("value", 10**38 + 1, "value too large"),
        ("value", -(10**38) - 1, "value too large"),
    ],
)
def test_sealed_feedback_out_of_range_can_never_be_opened(deal, registry, relayer, field, value, reason):
    feedback = object.__new__(type(deal.feedback))
    for name in type(deal.feedback).__dataclass_fields__:
        object.__setattr__(feedback, name, value if name == field else getattr(deal.feedback, name))
    impossible = replace(deal, feedback=feedback)
    impossible = impossible.but(client_seal=feedback.seal(deal.client_salt, deal.pair[2], deal.ids[1]))
    impossible.seal(relayer)
    for send in (impossible.open, impossible.open_feedback):
        with ape.reverts(reason):
            send(relayer)
    assert registry.ratingStateOf(*deal.ids) == SEALED
    impossible.open_rating(relayer)
    assert tuple(registry.getClientRating(*deal.ids)) == (True, deal.rating)


def test_opened_feedback_is_revoked_by_its_client(sealed, registry, client, relayer):
    sealed.open(relayer)
    registry.revokeFeedback(sealed.ids[1], 1, sender=client)
    assert registry.readFeedback(sealed.ids[1], client, 1).isRevoked
    assert tuple(registry.getClientRating(*sealed.ids)) == (True, sealed.rating)

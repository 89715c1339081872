"""`exchange`: both sides seal and open in one transaction that anybody sends."""

from __future__ import annotations

from dataclasses import replace

import ape

from bilateral.core.signatures.blind_ratings import rating_seal
from tests.helpers import logged

BLIND = 3


def test_exchange_opens_both_ratings_and_stores_no_pair(deal, registry, relayer):
    assert logged(deal.exchange(relayer)) == [deal.rating_event(), deal.feedback_event(), deal.opened_event(1)]
    assert deal.is_open()
    assert tuple(registry.getSealedPair(*deal.ids)) == (0, False)


def test_exchanged_rating_is_final(deal, registry, server, relayer):
    deal.exchange(relayer)
    for send in (deal.seal, deal.exchange):
        with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
            send(relayer)
    with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
        registry.rateClient(deal.ids[0], 0, sender=server)
    for send in (deal.open, deal.open_feedback, deal.open_rating):
        with ape.reverts(registry.UnknownPair, pairHash=deal.hash, stored=0):
            send(relayer)
    assert deal.is_open()


def test_wrong_opening_of_either_side_writes_nothing(deal, registry, relayer):
    forged = replace(deal, rating=0)
    with ape.reverts(registry.SealMismatch, seal=deal.pair[7], opening=rating_seal(0, deal.server_salt, *deal.ids)):
        forged.exchange(relayer)
    forged = replace(deal, client_salt=bytes(32))
    opening = deal.feedback.seal(bytes(32), deal.pair[2], deal.ids[1])
    with ape.reverts(registry.SealMismatch, seal=deal.pair[5], opening=opening):
        forged.exchange(relayer)
    assert deal.is_untouched()


def test_watching_server_can_still_rate_before_an_exchange(deal, registry, server, relayer):
    """The known hole: on a public mempool the opening is seen before anything is reserved."""
    signatures = deal.signatures
    registry.rateClient(deal.ids[0], 0, sender=server)
    with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
        deal.exchange(relayer, signatures)
    assert registry.getLastIndex(deal.ids[1], deal.pair[2]) == 0


def test_whoever_copies_an_opening_sends_the_same_ratings(sealed, registry, relayer, validator):
    sealed.open(validator)
    assert sealed.is_open()
    with ape.reverts(registry.UnknownPair, pairHash=sealed.hash, stored=0):
        sealed.open(relayer)


def test_first_of_two_envelopes_for_one_interaction_counts(make_deal, deal, registry, relayer):
    second = replace(deal, rating=100)
    second = second.but(server_seal=rating_seal(100, deal.server_salt, *deal.ids))
    deal.seal(relayer)
    for send in (second.seal, second.exchange):
        with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
            send(relayer)
    deal.open(relayer)
    assert deal.is_open()


def test_other_agent_under_the_id_after_a_reorganisation_is_refused(
    deal, registry, identity, client, client_id, other_owner, relayer
):
    """Ids are bound to accounts, so the id alone does not make another agent the client."""
    signatures = deal.signatures
    identity.transferFrom(client, other_owner, client_id, sender=client)
    for send in (deal.seal, deal.exchange):
        with ape.reverts(registry.UnexpectedClient, expected=client_id, found=0):
            send(relayer, signatures)


def test_neighbours_in_the_word_keep_their_ratings(deal, registry, server, validator_id, relayer):
    registry.rateClient(validator_id, 77, sender=server)
    deal.exchange(relayer)
    assert tuple(registry.getClientRating(validator_id, deal.ids[1])) == (True, 77)
    assert registry.ratingStateOf(validator_id, deal.ids[1]) == 1
    assert registry.ratingStateOf(*deal.ids) == BLIND

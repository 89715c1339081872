"""Sealing: both envelopes become one word, and the server's open path closes."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from eth_utils import keccak

from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_ratings import SealedFeedback, SealedRating
from tests.helpers import logged

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
NONE, OPEN, SEALED = range(3)


def test_seal_stores_the_pair_and_shows_no_rating(deal, registry, relayer):
    assert logged(deal.seal(relayer)) == [("RatingsSealed", deal.sides)]
    assert registry.ratingStateOf(*deal.ids) == SEALED
    assert tuple(registry.getSealedPair(*deal.ids)) == (deal.hash, False)
    assert tuple(registry.getClientRating(*deal.ids)) == (False, 0)
    batch = registry.getClientRatings([deal.ids[0], 1, deal.ids[0] + 1], deal.ids[1])
    assert (list(batch.hasRating), list(batch.ratings)) == ([False] * 3, [0] * 3)
    assert registry.getLastIndex(deal.ids[1], deal.pair[2]) == 0


def test_server_cannot_rate_openly_once_both_sealed(sealed, registry, server, client):
    client_id, server_id = sealed.ids
    refusal = keccak(text="AlreadyRated(uint256,uint256)")[:4] + client_id.to_bytes(32) + server_id.to_bytes(32)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClient(client_id, 0, sender=server)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClientAs(client_id, 0, server_id, client, sender=server)
    for function, extra in ((registry.rateClients, ()), (registry.rateClientsAs, (server_id, [client]))):
        with ape.reverts(registry.RatingRefused, position=0, reason=refusal):
            function([client_id], [0], *extra, sender=server)
    assert registry.ratingStateOf(client_id, server_id) == SEALED


def test_revenge_for_an_opened_feedback_is_refused(sealed, registry, server, relayer):
    sealed.open_feedback(relayer)
    with ape.reverts(registry.AlreadyRated, subjectId=sealed.ids[0], serverId=sealed.ids[1]):
        registry.rateClient(sealed.ids[0], 0, sender=server)
    sealed.open_rating(relayer)
    assert sealed.is_open()


def test_seal_leaves_neighbours_validators_and_the_other_direction_open(
    sealed, registry, server, client, validator_id, last_agent_id
):
    client_id, server_id = sealed.ids
    registry.rateClient(validator_id, 90, sender=server)
    registry.rateValidator(client_id, 80, sender=server)
    registry.rateClient(server_id, 70, sender=client)
    assert tuple(registry.getClientRating(validator_id, server_id)) == (True, 90)
    assert tuple(registry.getValidatorRating(client_id, server_id)) == (True, 80)
    assert tuple(registry.getClientRating(server_id, client_id)) == (True, 70)
    states = {agent: registry.ratingStateOf(agent, server_id) for agent in range(1, last_agent_id + 1)}
    assert {agent: state for agent, state in states.items() if state} == {client_id: SEALED, validator_id: OPEN}


def test_client_can_still_give_open_feedback(sealed, registry, client):
    registry.giveFeedback(sealed.ids[1], 5, 0, "", "", "", "", bytes(32), sender=client)
    assert registry.getLastIndex(sealed.ids[1], client) == 1


@pytest.mark.parametrize("side", ["client_deadline", "server_deadline"])
def test_envelope_is_taken_in_the_second_of_its_deadline(deal, registry, relayer, chain, deadline, side):
    due = deal.but(**{side: deadline - 60})
    signatures = due.signatures
    chain.pending_timestamp = deadline - 60
    assert due.seal(relayer, signatures).timestamp == deadline - 60
    assert registry.ratingStateOf(*due.ids) == SEALED


@pytest.mark.parametrize("side", ["client_deadline", "server_deadline"])
@pytest.mark.parametrize("function", ["seal", "exchange"])
def test_envelope_is_refused_one_second_later(deal, registry, relayer, chain, deadline, side, function):
    late = deal.but(**{side: deadline - 60})
    signatures = late.signatures
    chain.pending_timestamp = deadline - 59
    with ape.reverts(registry.EnvelopeExpired, deadline=deadline - 60, time=deadline - 59):
        getattr(late, function)(relayer, signatures)
    assert late.is_untouched()


@pytest.mark.parametrize("side", ["client_deadline", "server_deadline"])
def test_deadline_of_zero_has_always_passed(deal, registry, relayer, chain, side):
    chain.pending_timestamp = now = chain.pending_timestamp + 10
    with ape.reverts(registry.EnvelopeExpired, deadline=0, time=now):
        deal.but(**{side: 0}).seal(relayer)


@pytest.mark.parametrize("function", ["seal", "exchange"])
def test_account_that_speaks_as_another_agent_is_not_the_server(
    make_deal, registry, client, client_id, server, validator_id, server_id, relayer, function
):
    deal = make_deal(client, client_id, server, validator_id)
    with ape.reverts(registry.UnexpectedRater, expected=validator_id, found=server_id):
        getattr(deal, function)(relayer)


@pytest.mark.parametrize("function", ["seal", "exchange"])
def test_account_that_speaks_as_another_agent_is_not_the_client(
    make_deal, registry, client, client_id, server, server_id, validator_id, relayer, function
):
    deal = make_deal(client, validator_id, server, server_id)
    with ape.reverts(registry.UnexpectedClient, expected=validator_id, found=client_id):
        getattr(deal, function)(relayer)


def test_accounts_without_an_agent_are_not_agent_zero(
    make_deal, registry, client, client_id, server, server_id, other_client, relayer
):
    with ape.reverts(registry.UnexpectedRater, expected=0, found=0):
        make_deal(client, client_id, other_client, 0).seal(relayer)
    with ape.reverts(registry.UnexpectedClient, expected=0, found=0):
        make_deal(other_client, 0, server, server_id).seal(relayer)


def test_former_owner_of_the_server_is_refused(deal, registry, identity, server, server_id, other_owner, relayer):
    signatures = deal.signatures
    identity.transferFrom(server, other_owner, server_id, sender=server)
    with ape.reverts(registry.UnexpectedRater, expected=server_id, found=0):
        deal.seal(relayer, signatures)


def test_agent_cannot_seal_a_rating_of_itself(make_deal, registry, server, server_id, relayer):
    with ape.reverts(registry.CannotRateSelf):
        make_deal(server, server_id, server, server_id).seal(relayer)


@pytest.mark.parametrize("function", ["seal", "exchange"])
@pytest.mark.parametrize("forged", ["client", "server"])
def test_signature_of_a_stranger_is_refused(deal, registry, relayer, client, server, forged, function):
    signers = (relayer, server) if forged == "client" else (client, relayer)
    signatures = replace(deal, signers=signers).signatures
    with ape.reverts(registry.InvalidSignature, signer=str(client if forged == "client" else server)):
        getattr(deal, function)(relayer, signatures)
    assert deal.is_untouched()


def test_swapped_signatures_are_refused(deal, registry, relayer, client):
    with ape.reverts(registry.InvalidSignature, signer=str(client)):
        deal.seal(relayer, deal.signatures[::-1])


@pytest.mark.parametrize("doubled", [0, 1])
def test_one_signature_does_not_stand_for_both_sides(deal, registry, relayer, client, server, doubled):
    refused = [server, client][doubled]
    with ape.reverts(registry.InvalidSignature, signer=str(refused)):
        deal.seal(relayer, [deal.signatures[doubled]] * 2)


@pytest.mark.parametrize("side", [0, 1])
def test_account_does_not_sign_one_kind_of_envelope_with_the_other(deal, registry, relayer, side):
    """The same fields under the name of the other struct have another hash."""
    kind = (SealedRating, SealedFeedback)[side]
    signatures = list(deal.signatures)
    signatures[side] = deal.sign(kind, *deal.pair[5 + 2 * side : 7 + 2 * side], signer=deal.signers[side])
    with ape.reverts(registry.InvalidSignature, signer=str(deal.signers[side])):
        deal.seal(relayer, signatures)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("elsewhere", ["chain", "registry"])
def test_envelope_for_another_registry_or_chain_is_refused(deal, registry, relayer, identity, side, elsewhere):
    here = deal.domain
    there = {
        "chain": Domain(here.chain_id + 1, here.verifying_contract),
        "registry": Domain(here.chain_id, identity.address),
    }
    kind = (SealedFeedback, SealedRating)[side]
    signatures = list(deal.signatures)
    signatures[side] = deal.sign(kind, *deal.pair[5 + 2 * side : 7 + 2 * side], domain=there[elsewhere])
    with ape.reverts(registry.InvalidSignature, signer=str(deal.signers[side])):
        deal.seal(relayer, signatures)


@pytest.mark.parametrize("side", [0, 1])
def test_malleable_signature_is_refused(deal, registry, relayer, side):
    signatures = list(deal.signatures)
    r, s, v = signatures[side][:32], int.from_bytes(signatures[side][32:64]), signatures[side][64]
    signatures[side] = r + (SECP256K1_ORDER - s).to_bytes(32) + bytes([55 - v])
    with ape.reverts(registry.InvalidSignature, signer=str(deal.signers[side])):
        deal.seal(relayer, signatures)


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("interaction", 0),
        ("client_seal", 0),
        ("client_deadline", 0),
        ("server_seal", 1),
        ("server_deadline", 1),
    ],
)
def test_envelope_with_an_altered_field_is_refused(deal, registry, relayer, field, refused):
    """The interaction is in both envelopes, and the client's is checked first."""
    signatures = deal.signatures
    values = dict(zip(("client_seal", "client_deadline", "server_seal", "server_deadline"), deal.pair[5:], strict=True))
    altered = values[field] + 1 if field.endswith("deadline") else keccak(text=f"another {field}")
    with ape.reverts(registry.InvalidSignature, signer=str(deal.signers[refused])):
        deal.but(**{field: altered}).seal(relayer, signatures)


def test_envelopes_of_two_interactions_make_no_pair(deal, registry, relayer, server):
    other = deal.but(interaction=keccak(text="another interaction"))
    with ape.reverts(registry.InvalidSignature, signer=str(server)):
        deal.seal(relayer, (deal.signatures[0], other.signatures[1]))


def test_rated_client_cannot_be_sealed(deal, registry, server, relayer):
    registry.rateClient(deal.ids[0], 50, sender=server)
    for send in (deal.seal, deal.exchange):
        with ape.reverts(registry.AlreadyRated, subjectId=deal.ids[0], serverId=deal.ids[1]):
            send(relayer)
    assert registry.ratingStateOf(*deal.ids) == OPEN
    assert tuple(registry.getClientRating(*deal.ids)) == (True, 50)


def test_no_second_envelope_replaces_a_sealed_one(sealed, registry, relayer):
    again = sealed.but(interaction=keccak(text="a second purchase"))
    for deal in (sealed, again):
        for send in (deal.seal, deal.exchange):
            with ape.reverts(registry.AlreadyRated, subjectId=sealed.ids[0], serverId=sealed.ids[1]):
                send(relayer)
    assert tuple(registry.getSealedPair(*sealed.ids)) == (sealed.hash, False)


def test_errors_come_in_the_documented_order(make_deal, registry, server, server_id, other_client, relayer, chain):
    """Each step repairs the error of the step before."""
    deal = make_deal(other_client, 0, other_client, server_id + 1, signers=(relayer, relayer))
    chain.pending_timestamp = now = chain.pending_timestamp + 10
    with ape.reverts(registry.EnvelopeExpired, deadline=now - 1, time=now):
        deal.but(client_deadline=now - 1).seal(relayer)
    with ape.reverts(registry.UnexpectedRater, expected=server_id + 1, found=0):
        deal.seal(relayer)
    deal = deal.but(server=str(server), server_id=server_id)
    with ape.reverts(registry.UnexpectedClient, expected=0, found=0):
        deal.seal(relayer)
    deal = deal.but(client=str(server), client_id=server_id)
    with ape.reverts(registry.CannotRateSelf):
        deal.seal(relayer)


@pytest.mark.parametrize("account", [2, 4], ids=["client", "server"])
def test_word_above_the_range_of_addresses_is_refused(deal, registry, relayer, account):
    """The hash of a pair covers its words as they are sent."""

    def send(method, *arguments):
        data = bytearray(method.encode_input(deal.pair, *arguments))
        data[4 + 32 * account] = 1
        options = {"data": bytes(data), "gas": 400_000, "raise_on_revert": False}
        return relayer.transfer(registry.address, 0, **options)

    assert send(registry.seal, *deal.signatures).failed
    assert registry.ratingStateOf(*deal.ids) == NONE
    deal.seal(relayer)
    for method, opening in ((registry.openFeedback, deal.client_opening), (registry.openRating, deal.server_opening)):
        assert send(method, *opening).failed
    assert registry.ratingStateOf(*deal.ids) == SEALED

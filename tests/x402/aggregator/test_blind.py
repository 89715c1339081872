"""The relay takes both sides of blind ratings, keeps openings secret until they are sent, and deletes them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations.blind import pair_of
from bilateral.client.operations.registries import calldata
from bilateral.core.contracts import Registry
from bilateral.core.signatures.blind_messages import SignedEnvelope
from bilateral.core.signatures.blind_ratings import RatingState
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from tests.sdk.client.helpers import send
from tests.waiting import until
from tests.x402.aggregator.blind_deals import RATING, VALUE, openings


def refused(aggregator, content):
    with pytest.raises(FeedbackRefusedError) as refusal:
        aggregator.relay(content)
    return refusal.value


@pytest.mark.parametrize("is_private", [True, False], ids=["exchange", "seal and open"])
def test_both_ratings_go_on_chain_together_and_their_openings_are_deleted(
    engine, settings_with, deal, web3, sponsor, is_private
):
    before = web3.eth.get_transaction_count(sponsor.address)
    with Aggregator(engine, settings_with(private_mempool=is_private)) as aggregator:
        taken, is_new = aggregator.relay(deal.message("server"))
        assert (taken.state, taken.missing, is_new) == ("waiting", ("client",), True)
        assert aggregator.relay(deal.message("server")) == (taken, False)
        assert deal.state() is RatingState.NONE
        taken, _ = aggregator.relay(deal.message("client"))
        done = until(lambda: aggregator.read_pair(taken.id), lambda pair: pair.state == "opened")
        assert aggregator.spent_today(aggregator.settings.chains[0]) > 0
    assert done.problem is None
    assert openings(engine) == [(None, None)]
    assert deal.state() is RatingState.BLIND
    assert deal.client.get_client_rating(deal.client_id, deal.server_id).rating == RATING
    assert web3.eth.get_transaction_count(sponsor.address) - before == (1 if is_private else 2)


def test_restart_between_the_sides_and_between_seal_and_opening_loses_nothing(engine, settings_with, deal):
    settings = settings_with(lease_seconds=1.0, private_mempool=False)
    first = Aggregator(engine, settings)
    taken, _ = first.relay(deal.message("client"))
    first.close()
    second = Aggregator(engine, settings)
    second.relay(deal.message("server"))
    chain = next(iter(second._chains.values()))
    chain.submitter.step()
    assert deal.state() is RatingState.SEALED
    assert second.read_pair(taken.id).state == "sealed"
    second.close()
    with Aggregator(engine, settings) as third:
        until(lambda: third.read_pair(taken.id), lambda pair: pair.state == "opened")
    assert deal.state() is RatingState.BLIND
    assert openings(engine) == [(None, None)]


def test_openings_are_in_no_answer(idle, deal):
    taken, _ = idle.relay(deal.message("client"))
    shown = repr(idle.read_pair(taken.id))
    opening = deal.messages["client"]["opening"]
    assert opening["salt"][2:] not in shown
    assert str(opening["feedback"]["tag1"]) not in shown


def test_wrong_messages_are_refused_by_their_field_and_nothing_is_stored(idle, engine, deal):
    other = "0x" + "77" * 32
    sides = deal.messages
    cases = [
        (b"[]", ""),
        (deal.message("client", network="eip155:1"), None),
        (deal.message("client", envelope=None), "envelope"),
        (deal.message("client", envelope=sides["client"]["envelope"] | {"interaction": other}), "envelope"),
        (deal.message("client", envelope=sides["client"]["envelope"] | {"seal": other}), "opening"),
        (deal.message("client", opening=sides["server"]["opening"]), "opening"),
        (deal.message("server", opening=sides["server"]["opening"] | {"rating": 101}), "opening"),
        (deal.message("server", opening=sides["server"]["opening"] | {"rating": RATING - 1}), "opening"),
        (b"{" + b" " * 65_536 + b"}", ""),
    ]
    for content, field in cases:
        refusal = refused(idle, content)
        assert refusal.status == 422
        assert refusal.code is (Code.UNSUPPORTED_NETWORK if field is None else Code.INVALID_PAYLOAD)
        assert refusal.details.get("field") == field
    assert openings(engine) == []


def test_envelope_of_no_payment_is_refused(idle, engine, deal, rpc, deployment, tmp_path):
    signed = deal.server.seal_rating(
        BlindVault(tmp_path / "unpaid.sqlite"),
        deal.client_id,
        RATING,
        client=deal.messages["server"]["envelope"]["client"],
        interaction=bytes([7]) * 32,
    )
    (kept,) = BlindVault(tmp_path / "unpaid.sqlite").all()
    opening = json.loads(kept.opening.to_json())
    content = deal.message("server", envelope=json.loads(signed.to_json()), opening=opening)
    assert refused(idle, content).code is Code.PAYMENT_NOT_FOUND
    assert openings(engine) == []


def test_pair_that_is_rated_or_sealed_on_chain_is_a_conflict(idle, deal):
    deal.server.rate_client(deal.client_id, 0).wait()
    refusal = refused(idle, deal.message("client"))
    assert (refusal.code, refusal.status) == (Code.ALREADY_SEALED, 409)
    assert "open on chain" in str(refusal)


def call(function, *sides):
    """Return a transaction of a stranger, who saw the relay's transaction in a pool: it opens these sides alone."""

    def send_it(deal, web3, stranger, registry):
        pair, _ = pair_of(*deal.signed.values())
        opened = [value for side in sides for value in deal.openings[side].arguments]
        data = calldata(Registry.BIDIRECTIONAL, function, (pair.arguments, *opened))
        assert send(web3, stranger, registry, "0x" + data.hex())["status"] == 1

    return send_it


def seal(deal, *_):
    deal.client.seal_ratings(*deal.signed.values()).wait()


def exchange(deal, *_):
    deal.client.exchange([*deal.signed.values()], [*deal.openings.values()], accept_public_mempool=True).wait()


FEEDBACK, RATED = call("openFeedback", "client"), call("openRating", "server")
BOTH = call("open", "client", "server")


@pytest.mark.parametrize("is_private", [True, False], ids=["exchange", "seal and open"])
@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ((seal,), 1),
        ((seal, RATED), 1),
        ((seal, FEEDBACK), 1),
        ((seal, FEEDBACK, RATED), 0),
        ((seal, RATED, FEEDBACK), 0),
        ((seal, BOTH), 0),
        ((exchange,), 0),
    ],
    ids=["sealed", "rating", "feedback", "feedback, rating", "rating, feedback", "open", "exchange"],
)
def test_relay_opens_what_others_left_sealed(
    engine, settings_with, deal, web3, sponsor, enrich, deployment, steps, left, is_private
):
    """Anybody can split the opening of a pair."""
    settings, stranger = settings_with(private_mempool=is_private), enrich()
    first = Aggregator(engine, settings)
    taken, _ = [first.relay(deal.message(side))[0] for side in ("server", "client")]
    first.close()
    for step in steps:
        step(deal, web3, stranger, deployment.reputation)
    before = web3.eth.get_transaction_count(sponsor.address)
    with Aggregator(engine, settings) as second:
        done = until(lambda: second.read_pair(taken.id), lambda pair: pair.state == "opened")
    assert done.problem is None
    assert openings(engine) == [(None, None)]
    assert deal.client.get_client_rating(deal.client_id, deal.server_id).rating == RATING
    (feedback,) = deal.client.search_feedback(deal.server_id)
    assert int(feedback.value) == VALUE
    assert web3.eth.get_transaction_count(sponsor.address) - before == left


@pytest.mark.parametrize("is_opened", [True, False], ids=["opened", "sealed"])
def test_pair_for_another_payment_ends_this_one(engine, settings_with, deal, tmp_path, is_opened):
    """The client's feedback of this pair is not on chain, so it was not opened."""
    first = Aggregator(engine, settings_with())
    taken, _ = [first.relay(deal.message(side))[0] for side in ("server", "client")]
    first.close()
    other = deal.with_interaction(tmp_path, bytes([9]) * 32)
    (exchange if is_opened else seal)(other)
    with Aggregator(engine, settings_with()) as second:
        done = until(lambda: second.read_pair(taken.id), lambda pair: pair.state == "failed")
    assert "a different pair" in done.problem
    assert openings(engine) == [(None, None)]


def test_envelope_with_another_deadline_is_not_the_same_message(idle, deal, tmp_path):
    """Nothing but its deadline differs: the seal is the same."""
    idle.relay(deal.message("server"))
    later = replace(deal.signed["server"].envelope, deadline=deal.signed["server"].envelope.deadline + 1)
    signed = SignedEnvelope(later, deal.signed["server"].signature)
    refusal = refused(idle, deal.message("server", envelope=json.loads(signed.to_json())))
    assert refusal.code is Code.ALREADY_SEALED


def test_revenge_before_the_seal_ends_the_pair_and_deletes_the_openings(engine, settings_with, deal):
    first = Aggregator(engine, settings_with(private_mempool=False))
    first.relay(deal.message("client"))
    taken, _ = first.relay(deal.message("server"))
    first.close()
    deal.server.rate_client(deal.client_id, 0).wait()
    with Aggregator(engine, settings_with(private_mempool=False)) as second:
        done = until(lambda: second.read_pair(taken.id), lambda pair: pair.state == "failed")
    assert "already rated this client" in done.problem
    assert openings(engine) == [(None, None)]

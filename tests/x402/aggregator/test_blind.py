"""The relay takes both sides of blind ratings, keeps openings secret until they are sent, and deletes them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from sqlalchemy import select

from bilateral.client import Client
from bilateral.client.blind_vault import BlindVault
from bilateral.index.tables.aggregator import blind_pair
from bilateral.signatures.blind_ratings import RatingState
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from tests.sdk.client.helpers import send
from tests.x402.aggregator.waiting import until
from tests.x402.world import NETWORK

RATING, VALUE = 88, 12


@dataclass
class Deal:
    """Two sides that paid and were paid, with their messages to the relay."""

    client: object
    server: object
    client_id: int
    server_id: int
    messages: dict

    def state(self):
        return self.client.get_blind_status(self.client_id, self.server_id).state

    def message(self, side, **changes):
        return json.dumps(self.messages[side] | changes).encode()


@pytest.fixture
def deal(web3, token, enrich, register, rpc, deployment, loader, tmp_path):
    """A new client that paid a new server, and the envelopes and openings of both."""
    payer, payee = enrich(), enrich()
    client_id, server_id = register(payer), register(payee)
    receipt = send(web3, payer, token.address, token.encode_abi("transfer", [payee.address, 1000]))
    interaction = bytes(receipt["transactionHash"])
    vaults = [BlindVault(tmp_path / name) for name in ("server.sqlite", "client.sqlite")]
    options = {"deployment": deployment, "loader": loader, "poll_interval": 0.02}
    with Client(rpc, signer=payee, **options) as server, Client(rpc, signer=payer, **options) as client:
        offer = server.seal_rating(vaults[0], client_id, RATING, client=payer.address, interaction=interaction)
        answer = client.seal_feedback(vaults[1], offer, VALUE, "starred")
        messages = {
            side: {
                "network": NETWORK,
                "envelope": json.loads(kept.signed.to_json()),
                "opening": json.loads(kept.opening.to_json()),
            }
            for side, kept in (("server", vaults[0].all()[0]), ("client", vaults[1].all()[0]))
        }
        assert messages["client"]["envelope"]["seal"] == "0x" + answer.envelope.seal.hex()
        yield Deal(client, server, client_id, server_id, messages)


def stored(engine):
    """Return the openings that the relay holds."""
    columns = blind_pair.c.client_opening, blind_pair.c.server_opening
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(select(*columns))]


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
    assert stored(engine) == [(None, None)]
    assert deal.state() is RatingState.BLIND
    assert deal.client.get_client_rating(deal.client_id, deal.server_id).rating == RATING
    assert web3.eth.get_transaction_count(sponsor.address) - before == (1 if is_private else 2)


def test_restart_between_the_sides_and_between_seal_and_opening_loses_nothing(engine, settings_with, deal):
    first = Aggregator(engine, settings_with(private_mempool=False))
    taken, _ = first.relay(deal.message("client"))
    first.close()
    second = Aggregator(engine, settings_with(private_mempool=False))
    second.relay(deal.message("server"))
    chain = next(iter(second._chains.values()))
    chain.submitter.step()
    assert deal.state() is RatingState.SEALED
    assert second.read_pair(taken.id).state == "sealed"
    second.close()
    with Aggregator(engine, settings_with(private_mempool=False)) as third:
        until(lambda: third.read_pair(taken.id), lambda pair: pair.state == "opened")
    assert deal.state() is RatingState.BLIND
    assert stored(engine) == [(None, None)]


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
    assert stored(engine) == []


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
    assert stored(engine) == []


def test_pair_that_is_rated_or_sealed_on_chain_is_a_conflict(idle, deal):
    deal.server.rate_client(deal.client_id, 0).wait()
    refusal = refused(idle, deal.message("client"))
    assert (refusal.code, refusal.status) == (Code.ALREADY_SEALED, 409)
    assert "open on chain" in str(refusal)


def test_revenge_before_the_seal_ends_the_pair_and_deletes_the_openings(engine, settings_with, deal):
    first = Aggregator(engine, settings_with(private_mempool=False))
    first.relay(deal.message("client"))
    taken, _ = first.relay(deal.message("server"))
    first.close()
    deal.server.rate_client(deal.client_id, 0).wait()
    with Aggregator(engine, settings_with(private_mempool=False)) as second:
        done = until(lambda: second.read_pair(taken.id), lambda pair: pair.state == "failed")
    assert "rated this client before" in done.problem
    assert stored(engine) == [(None, None)]

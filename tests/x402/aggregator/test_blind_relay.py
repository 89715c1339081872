"""A relay of blind ratings that is killed at any point loses and doubles nothing, and is asked from SDK and shell."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from bilateral.api.settings import ApiSettings
from bilateral.core.errors import InvalidArgumentError, SealMismatchError
from bilateral.core.signatures.blind_messages import RatingOpening
from bilateral.core.signatures.blind_ratings import RatingState
from bilateral.index.log.database import open_database
from bilateral.x402.aggregator.blind_client import relay_blind_rating, relay_blind_rating_async
from bilateral.x402.aggregator.client import AggregatorFailedError
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from tests.api.world import served
from tests.commands import run_here
from tests.waiting import until
from tests.x402.aggregator.blind_deals import RATING, VALUE, openings
from tests.x402.aggregator.process import RELAY_POINTS, work_until_killed, write_settings
from tests.x402.world import NETWORK

RELAY = "/v1/aggregator/blind-ratings"

KILLS = [(False, point) for point in RELAY_POINTS] + [(True, point) for point in list(RELAY_POINTS)[2:4]]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("is_private", "point"), KILLS, ids=str)
def test_relay_that_ends_loses_and_doubles_nothing(
    sqlite_url, settings_with, deal, web3, sponsor, tmp_path, is_private, point
):
    settings = settings_with(lease_seconds=1.0, private_mempool=is_private)
    engine = open_database(sqlite_url)
    idle = Aggregator(engine, settings)
    taken, _ = idle.relay(deal.message("server"))
    idle.close()
    written = write_settings(tmp_path, settings)
    assert work_until_killed(sqlite_url, *written, point, deal.message("client")) == -9
    with Aggregator(engine, settings) as aggregator:
        assert aggregator.relay(deal.message("client"))[0].id == taken.id
        done = until(lambda: aggregator.read_pair(taken.id), lambda pair: pair.state == "opened")
    assert done.problem is None
    assert openings(engine) == [(None, None)]
    engine.dispose()
    assert deal.state() is RatingState.BLIND
    assert deal.client.get_client_rating(deal.client_id, deal.server_id).rating == RATING
    (feedback,) = deal.client.search_feedback(deal.server_id)
    assert int(feedback.value) == VALUE
    assert web3.eth.get_transaction_count(sponsor.address) == (1 if is_private else 2)


@pytest.fixture
def relay(sqlite_url, settings_with):
    """The URL of a relay over HTTP."""
    api = ApiSettings(database=sqlite_url, rate=None, aggregator=settings_with(private_mempool=True))
    with served(api) as url:
        yield url + RELAY


def test_both_sides_reach_the_relay_from_the_sdk_and_from_a_shell(relay, deal, settings_with, rpc, tmp_path):
    """The server's program does not block, the client types a command; who sends again learns the state."""
    (ours,), (theirs,) = (vault.all() for vault in deal.vaults)

    async def send_from_the_server():
        async with httpx.AsyncClient() as http:
            return await relay_blind_rating_async(ours.signed, ours.opening, NETWORK, relay=relay, http=http)

    waiting = asyncio.run(send_from_the_server())
    assert (waiting.state, waiting.missing, waiting.client_id) == ("waiting", ("client",), str(deal.client_id))
    write_settings(tmp_path, settings_with())
    (tmp_path / "mine.json").write_text(theirs.signed.to_json())
    options = ("--deployment", tmp_path / "record.json", "--vault", tmp_path / "client.sqlite", "--json")

    def ask(*changes):
        arguments = ("blind", "relay", tmp_path / "mine.json", "--relay", relay, *options, *changes)
        return run_here(*map(str, arguments), environment={"BILATERAL_RPC_URL": rpc})

    code, out, _ = ask()
    assert code == 0
    assert json.loads(out)[0]["id"] == waiting.id
    done = until(lambda: json.loads(ask()[1])[0], lambda row: row["state"] == "opened")
    assert (done["missing"], done["problem"]) == ([], None)
    assert deal.state() is RatingState.BLIND
    code, _, error = ask("--vault", str(tmp_path / "server.sqlite"))
    assert code == 3
    assert "the vault contains no opening for this envelope" in error
    code, _, error = ask("--relay", "http://relay.example")
    assert code == 3
    assert "not an https URL" in error


def test_side_that_a_relay_cannot_take_is_refused_before_or_by_it(relay, deal):
    (kept,) = deal.vaults[0].all()
    other = RatingOpening(RATING - 1, kept.opening.salt)
    elsewhere = relay.removesuffix(RELAY) + "/healthz"
    with httpx.Client() as http:
        with pytest.raises(SealMismatchError):
            relay_blind_rating(kept.signed, other, NETWORK, relay=relay, http=http)
        with pytest.raises(FeedbackRefusedError) as refusal:
            relay_blind_rating(kept.signed, kept.opening, "eip155:1", relay=relay, http=http)
        with pytest.raises(AggregatorFailedError, match="is invalid"):
            relay_blind_rating(kept.signed, kept.opening, NETWORK, relay=elsewhere, http=http)
    assert refusal.value.code is Code.UNSUPPORTED_NETWORK
    with pytest.raises(InvalidArgumentError, match="not an https URL"):
        relay_blind_rating(kept.signed, kept.opening, NETWORK, relay=relay)

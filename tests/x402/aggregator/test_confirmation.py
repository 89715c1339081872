"""A client need not believe an aggregator: it looks on chain, and no word of an aggregator reaches a terminal raw."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import httpx
import pytest

from bilateral.api.settings import ApiSettings
from bilateral.client import AsyncClient, Client
from bilateral.index.log.database import open_database
from bilateral.x402.aggregator.client import (
    AggregatorFailedError,
    UnconfirmedFeedbackError,
    give_sponsored_feedback,
    give_sponsored_feedback_async,
)
from bilateral.x402.aggregator.refusals import FeedbackRefusedError
from tests.api.world import served
from tests.x402.buying import buy
from tests.x402.world import serving_wsgi

FEEDBACK = "/v1/aggregator/feedback"
ESCAPE = "\x1b[2J\u202e"


@pytest.fixture
def reviewer(enrich, web3):
    """Pays for requests, and has no ether."""
    fresh = enrich()
    web3.provider.make_request("anvil_setBalance", [fresh.address, "0x0"])
    return fresh


@pytest.fixture
def give(request, rpc, deployment, loader, shop, verifier, reviewer):
    """Gives feedback on a paid answer through an aggregator, with or without an event loop."""
    verification = verifier.verify(buy(shop, reviewer))

    def by_blocking(url, **options):
        with Client(rpc, signer=reviewer, deployment=deployment, loader=loader) as client, httpx.Client() as http:
            return give_sponsored_feedback(client, verification, 95, reviewer, aggregator=url, http=http, **options)

    def by_loop(url, **options):
        async def run():
            async with (
                AsyncClient(rpc, signer=reviewer, deployment=deployment, loader=loader) as client,
                httpx.AsyncClient(timeout=120) as http,
            ):
                return await give_sponsored_feedback_async(
                    client, verification, 95, reviewer, aggregator=url, http=http, **options
                )

        return asyncio.run(run())

    return {"blocking": by_blocking, "loop": by_loop}[request.param]


both = pytest.mark.parametrize("give", ["blocking", "loop"], indirect=True)


@contextmanager
def answering(http_status, /, **fields):
    """Open a server that answers every feedback alike."""
    body = json.dumps(fields).encode()

    def answer(_, start):
        start(f"{http_status} Status", [("Content-Length", str(len(body)))])
        return [body]

    with serving_wsgi(answer) as url:
        yield url


def claim(**changes):
    """Return the answer of an aggregator that says that it sent a feedback."""
    return {"status": "submitted", "id": 1, "txRef": "eip155:31337:0x" + "ab" * 32, "proof": "bound", **changes}


@both
def test_feedback_is_confirmed_by_the_clients_own_node(give, sqlite_url, settings_with, agent):
    open_database(sqlite_url).dispose()
    with served(ApiSettings(database=sqlite_url, rate=None, aggregator=settings_with())) as url:
        taken = give(url + FEEDBACK, confirm=60, send_bodies=True)
    assert (taken.entry.value, taken.entry.id.agent.token_id) == (95, agent)
    assert taken.transaction == taken.entry.event.transaction
    assert taken.entry.event.hash == taken.signed.feedback.feedback_hash


@both
def test_aggregator_that_sends_nothing_is_named_and_anybody_may_send_the_feedback(give, rpc, deployment, seller, agent):
    with answering(201, **claim()) as url, pytest.raises(UnconfirmedFeedbackError, match=r"after 0\.6 s") as lie:
        give(url, confirm=0.6)
    assert (lie.value.sponsored.status, lie.value.sponsored.entry) == ("submitted", None)
    signed = lie.value.sponsored.signed
    with Client(rpc, signer=seller, deployment=deployment, poll_interval=0.02) as anybody:
        anybody.submit_signed_feedback(signed).wait()
        place = (agent, signed.feedback.client_address, signed.feedback.feedback_index - 1)
        assert anybody.get_feedback(*place, load_file=False).value == 95


@both
def test_aggregator_is_believed_without_a_look(give):
    with answering(201, **claim()) as url:
        taken = give(url)
    assert (taken.status, taken.transaction, taken.entry) == ("submitted", "0x" + "ab" * 32, None)


@both
def test_refusal_carries_no_escapes(give):
    with (
        answering(422, code="PAYMENT_MISMATCH", detail=f"no {ESCAPE}payment") as url,
        pytest.raises(FeedbackRefusedError) as refusal,
    ):
        give(url)
    assert str(refusal.value) == r"no \x1b[2J\u202epayment"


@pytest.mark.parametrize(
    "changes", [{"status": ESCAPE}, {"proof": ESCAPE}, {"txRef": ESCAPE}, {"id": ESCAPE}, {"status": []}], ids=str
)
@pytest.mark.parametrize("give", ["blocking"], indirect=True)
def test_answer_with_unknown_words_is_refused(give, changes):
    with answering(201, **claim(**changes)) as url, pytest.raises(AggregatorFailedError) as failure:
        give(url)
    assert str(failure.value).isprintable()

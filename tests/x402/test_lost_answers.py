"""A client that paid and lost the answer fetches it by the same payment; of a large answer, the proof."""

from __future__ import annotations

import os
import socket

import httpx
import pytest
from x402 import x402ClientSync
from x402.extensions.payment_identifier import declare_payment_identifier_extension

from bilateral.x402 import (
    RESOURCE_MISSING,
    CheckName,
    LostAnswerError,
    Outcome,
    PaidNotAnsweredError,
    declare_8004_reputation,
    give_paid_feedback,
    protect_client,
)
from bilateral.x402.clients.httpx import fetch_lost_answer_sync, verification_of, verifying_sync_transport
from bilateral.x402.proof.answers import MAX_STORED_BODY
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS
from tests.x402.world import PRICE, paying_client

HOP_BY_HOP = {"content-length", "transfer-encoding", "connection", "content-encoding", "date", "server"}


@pytest.fixture(scope="module", params=[True, False], ids=["identifier", "no identifier"])
def with_identifier(request):
    return request.param


@pytest.fixture(scope="module")
def lossy_shop(sell, agent, deployment, with_identifier):
    """A shop behind a server that passes requests on, and loses as many paid answers as `losses` says."""
    declared = declare_8004_reputation(agent, deployment)
    if with_identifier:
        declared["payment-identifier"] = declare_payment_identifier_extension()
    with sell(declared) as url, HttpServer() as relay, httpx.Client(timeout=120) as http:
        relay.losses, relay.payments = 0, []

        def pass_on(handler):
            body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
            answer = http.request(handler.command, url + handler.path, headers=headers, content=body)
            if handler.headers["PAYMENT-SIGNATURE"]:
                relay.payments.append(handler.headers["PAYMENT-SIGNATURE"])
                if relay.losses:
                    relay.losses -= 1
                    handler.connection.shutdown(socket.SHUT_RDWR)
                    return
            kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
            respond(handler, answer.content, answer.status_code, **kept)

        relay.routes["/echo"] = pass_on
        yield relay


@pytest.fixture
def buy(lossy_shop, buyer, rpc, deployment, token):
    """Buys an answer that gets lost, fetches it, and checks that one payment was made."""

    def make(face, content, losses=1):
        lossy_shop.losses = losses
        lossy_shop.payments.clear()
        with CLIENTS[face](buyer, {rpc: deployment}) as client:
            with pytest.raises(LostAnswerError, match="the answer did not arrive") as lost:
                client.post(lossy_shop.url + "/echo", content)
            for _ in range(losses - 1):
                first = lost.value
                with pytest.raises(LostAnswerError) as lost:
                    client.fetch(first)
            try:
                response = client.fetch(lost.value)
            finally:
                assert len(set(lossy_shop.payments)) == 1
                assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE
        return response.status_code, response.content, client.verification_of(response)

    return make


@pytest.mark.parametrize("with_identifier", [True], indirect=True, ids=["identifier"])
@pytest.mark.parametrize("face", CLIENTS)
def test_lost_answer_is_fetched_and_verified_without_another_payment(buy, face):
    status, content, verification = buy(face, b"snow in Oslo", losses=2)
    assert (status, content) == (200, b"snow in Oslo")
    assert verification.is_verified, verification.problems


@pytest.mark.parametrize("with_identifier", [True], indirect=True, ids=["identifier"])
@pytest.mark.parametrize("face", CLIENTS)
def test_proof_of_a_large_lost_answer_is_fetched_without_its_body(buy, face, client, buyer):
    status, content, verification = buy(face, os.urandom(MAX_STORED_BODY + 1))
    assert (status, content) == (410, b'{"error": "answer_not_kept"}')
    undone = {check.name: check.code for check in verification.checks if check.outcome is not Outcome.PASSED}
    assert undone == {CheckName.INTERACTION_HASH: "body_not_kept"}
    assert verification.outcome(CheckName.INTERACTION_HASH) is Outcome.UNCHECKED
    assert not verification.is_verified
    if face == "requests":
        assert give_paid_feedback(client, verification, 0, buyer, RESOURCE_MISSING).wait().value == 0


@pytest.mark.parametrize("with_identifier", [False], indirect=True, ids=["no identifier"])
@pytest.mark.parametrize("face", CLIENTS)
def test_payment_without_an_identifier_fetches_nothing_and_pays_nothing(buy, face):
    with pytest.raises(
        PaidNotAnsweredError, match="the server responded with 402, and the payment was taken by transaction"
    ):
        buy(face, b"snow in Oslo")


@pytest.mark.parametrize("with_identifier", [True, False], indirect=True, ids=["declared", "undeclared"])
def test_client_sends_an_identifier_if_the_server_declares_it(lossy_shop, with_identifier, buyer, verifier):
    lossy_shop.losses = 0
    client = protect_client(paying_client(buyer, x402ClientSync), verifier)
    identifiers = []
    for _ in range(2):
        with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http:
            paid = verification_of(http.post(lossy_shop.url + "/echo", content=b"snow")).paid
        extension = paid.payment["extensions"].get("payment-identifier")
        identifiers.append(extension and extension["info"]["id"])
    if with_identifier:
        assert all(len(identifier) >= 16 for identifier in identifiers)
        assert len(set(identifiers)) == 2
    else:
        assert identifiers == [None, None]


def test_request_that_was_not_paid_is_not_lost(verifier, buyer):
    client = protect_client(paying_client(buyer, x402ClientSync), verifier)
    with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http, pytest.raises(httpx.ConnectError):
        http.get("http://127.0.0.1:9/weather")


@pytest.mark.parametrize("with_identifier", [True], indirect=True, ids=["identifier"])
def test_answer_is_not_lost_if_a_hook_of_the_program_fails(lossy_shop, buyer, verifier, token):
    def fail(_context):
        raise RuntimeError("the books are closed")

    lossy_shop.losses = 0
    client = protect_client(paying_client(buyer, x402ClientSync), verifier).on_payment_response(fail)
    with httpx.Client(transport=verifying_sync_transport(client, verifier), timeout=120) as http:
        with pytest.raises(LostAnswerError, match="the books are closed") as lost:
            http.post(lossy_shop.url + "/echo", content=b"snow")
        response = fetch_lost_answer_sync(http, lost.value)
    assert (response.content, verification_of(response).is_verified) == (b"snow", True)
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE

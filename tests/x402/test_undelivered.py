"""A client tells "paid and not answered" from "refused", and makes one payment a call, wherever it is sent."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
import struct
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from x402 import x402Client, x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http.clients import httpx as of_httpx
from x402.http.clients import requests as of_requests
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto import UptoEvmClientScheme
from x402.schemas.hooks import RecoveredResponseResult

from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.servers import serving
from bilateral.x402 import (
    AnswerLimits,
    AsyncVerifier,
    LostAnswerError,
    PaidNotAnsweredError,
    RedirectedPaymentError,
    Reputation8004ResourceServerExtension,
    Verifier,
    abandon_payment,
    declare_8004_reputation,
    protect_client,
)
from bilateral.x402.clients.httpx import verification_of, verifying_sync_transport, verifying_transport
from bilateral.x402.clients.purchase import OUTCOMES, AnswerKind, PaymentOutcome
from bilateral.x402.offers import decode_header
from bilateral.x402.server.asgi import ReputationMiddleware
from tests.sdk.client.helpers import transact
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS
from tests.x402.test_asgi import shops
from tests.x402.test_lost_answers import HOP_BY_HOP
from tests.x402.world import PRICE, SIGNING_KEY, encoded, paying_client, route

IDENTIFIER = "payment-identifier"
REFUSALS = (of_httpx.PaymentError, of_requests.PaymentError)
SECONDS = 120
WHOLE = 10**9


@pytest.fixture(scope="module")
def cheat(shop):
    """A server before the honest one, which does `trick` with paid requests. It counts the payments.

    A trick gets the handler of a request, and a function that passes the request on and returns the honest answer.
    """
    with HttpServer() as server, httpx.Client(timeout=SECONDS) as http:
        server.trick, server.payments, server.shop = None, [], shop

        def pass_on(handler, body):
            headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
            return http.request(handler.command, server.shop + "/echo", headers=headers, content=body)

        def serve(handler):
            body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            if handler.headers["PAYMENT-SIGNATURE"]:
                server.payments.append(handler.headers["PAYMENT-SIGNATURE"])
                server.trick(handler, lambda: pass_on(handler, body))
            else:
                repeat(handler, pass_on(handler, body))

        server.price = httpx.post(shop + "/echo").headers["payment-required"]
        server.routes |= {"/echo": serve, "/next": serve}
        yield server
        server.trick = None


@pytest.fixture(params=CLIENTS)
def client(request, cheat, buyer, rpc, deployment):
    cheat.payments.clear()
    with CLIENTS[request.param](buyer, {rpc: deployment}) as made:
        yield made


@pytest.fixture
def balance(token, buyer):
    return lambda: token.functions.balanceOf(buyer.address).call()


def repeat(handler, answer):
    kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
    respond(handler, answer.content, answer.status_code, **kept)


def valid_before(payment):
    return int(decode_header(payment)["payload"]["authorization"]["validBefore"])


@contextmanager
def later(web3, time):
    """Mine a block of a time, and undo it."""
    state = web3.provider.make_request("evm_snapshot", [])["result"]
    web3.provider.make_request("evm_setNextBlockTimestamp", [time])
    web3.provider.make_request("evm_mine", [])
    try:
        yield
    finally:
        web3.provider.make_request("evm_revert", [state])


TAKES = {
    "refuses it": (402, lambda price: {"PAYMENT-REQUIRED": price}),
    "says that settlement failed": (
        402,
        lambda _: {
            "PAYMENT-RESPONSE": encoded(
                b'{"success":false,"errorReason":"timeout","transaction":"","network":"eip155:31337"}'
            )
        },
    ),
    "says nothing": (402, lambda _: {}),
    "claims a settlement and refuses": (
        402,
        lambda _: {"PAYMENT-RESPONSE": encoded(b'{"success":true,"transaction":"0x","network":"eip155:31337"}')},
    ),
    "fails": (500, lambda _: {}),
    "is unavailable": (503, lambda _: {}),
}


@pytest.mark.parametrize("way", TAKES)
def test_server_that_takes_a_payment_and_does_not_answer_is_named_with_the_transaction(
    cheat, client, balance, web3, way
):
    status, headers = TAKES[way]

    def take(handler, pass_on):
        assert pass_on().status_code == 200
        respond(handler, b"{}", status, **headers(cheat.price))

    cheat.trick = take
    with pytest.raises(
        PaidNotAnsweredError, match=f"the server responded with {status}, and the payment was taken"
    ) as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert lost.value.status == status
    assert web3.eth.get_transaction_receipt(lost.value.transaction)["status"] == 1
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


def test_answer_that_comes_at_last_is_fetched_by_the_same_payment(cheat, client, balance):
    kept = []

    def take_then_answer(handler, pass_on):
        if not kept:
            kept.append(pass_on())
            respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": cheat.price})
        else:
            repeat(handler, kept[0])

    cheat.trick = take_then_answer
    with pytest.raises(PaidNotAnsweredError) as lost:
        client.post(cheat.url + "/echo", b"snow")
    response = client.fetch(lost.value)
    assert (response.content, client.verification_of(response).is_verified) == (b"snow", True)
    assert (len(set(cheat.payments)), balance()) == (1, WHOLE - PRICE)


@pytest.mark.parametrize("way", ["refuses it", "says nothing"])
def test_refused_payment_is_lost_until_it_expires_and_is_signed_anew_after_it(cheat, client, balance, web3, way):
    status, headers = TAKES[way]
    cheat.trick = lambda handler, _: respond(handler, b"no", status, **headers(cheat.price))
    for _ in range(2):
        with pytest.raises(LostAnswerError, match=r"is not settled yet, but could be until 20\d\d-") as lost:
            client.post(cheat.url + "/echo", b"snow")
        assert (lost.value.outcome, lost.value.status, lost.value.answer) == ("refused", status, b"no")
    assert (len(set(cheat.payments)), balance()) == (1, WHOLE)
    with later(web3, valid_before(cheat.payments[0]) - 1), pytest.raises(LostAnswerError):
        client.post(cheat.url + "/echo", b"snow")
    assert len(set(cheat.payments)) == 1
    with later(web3, valid_before(cheat.payments[0])):
        response = client.fetch(lost.value)
        assert (response.status_code, client.verification_of(response)) == (status, None)
    with pytest.raises(LostAnswerError):
        client.post(cheat.url + "/echo", b"snow")
    assert (len(set(cheat.payments)), balance()) == (2, WHOLE)


@contextmanager
def failing_after_settlement(url):
    """Open a facilitator that settles, and then fails."""
    app = FastAPI()

    @app.api_route("/{action}", methods=["GET", "POST"])
    async def act(action: str, request: Request):
        async with httpx.AsyncClient(timeout=SECONDS) as http:
            answer = await http.request(request.method, f"{url}/{action}", content=await request.body())
        return JSONResponse({}, 500) if action == "settle" else JSONResponse(answer.json(), answer.status_code)

    with serving(app) as proxy:
        yield proxy


@pytest.mark.parametrize("face", CLIENTS)
def test_facilitator_that_fails_after_settling_leaves_a_paid_request_that_is_named(
    face, facilitator, token, seller, agent, deployment, buyer, rpc, balance
):
    with (
        failing_after_settlement(facilitator) as proxy,
        shops(proxy, token, seller, declare_8004_reputation(agent, deployment)) as open_shop,
        CLIENTS[face](buyer, {rpc: deployment}) as client,
    ):
        shop = open_shop()
        with pytest.raises(PaidNotAnsweredError, match="the server responded with 402") as lost:
            client.post(shop.url + "/echo", b"snow")
    assert re.fullmatch("0x[0-9a-f]{64}", lost.value.transaction)
    assert balance() == WHOLE - PRICE


@pytest.mark.sample(10)
@pytest.mark.parametrize("target", ["/next", "/echo"], ids=["elsewhere", "to itself"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_after_a_payment_is_an_error_that_names_both_addresses(cheat, client, balance, web3, target, status):
    location = cheat.url + target

    def take_and_redirect(handler, pass_on):
        answer = pass_on()
        respond(handler, b"", status, Location=location, **{"PAYMENT-RESPONSE": answer.headers["payment-response"]})

    cheat.trick = take_and_redirect
    with pytest.raises(RedirectedPaymentError, match="which is not followed; the payment was taken") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert f'"{cheat.url}/echo"' in str(lost.value)
    assert f'"{location}"' in str(lost.value)
    assert (lost.value.url, lost.value.location, lost.value.is_paid) == (cheat.url + "/echo", location, True)
    assert web3.eth.get_transaction_receipt(lost.value.transaction)["status"] == 1
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


def test_redirect_instead_of_a_settlement_takes_no_money(cheat, client, balance):
    cheat.trick = lambda handler, _: respond(handler, b"", 307, Location="/next")
    with pytest.raises(RedirectedPaymentError, match="the payment was not taken yet") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert (lost.value.is_paid, lost.value.transaction, balance()) == (False, None, WHOLE)
    assert len(cheat.payments) == 1


def test_redirect_before_the_payment_is_followed_and_paid_once(cheat, client, balance):
    cheat.routes["/moved"] = lambda handler: respond(handler, b"", 307, Location=cheat.url + "/next")
    cheat.trick = lambda handler, pass_on: repeat(handler, pass_on())
    response = client.post(cheat.url + "/moved", b"snow")
    assert (response.status_code, response.content) == (200, b"snow")
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


@pytest.mark.parametrize("face", CLIENTS)
def test_refusal_does_not_count_while_the_node_fails(cheat, face, buyer, rpc, deployment):
    """The check before the payment passes, and the node fails after it."""
    with HttpServer() as node, httpx.Client(timeout=SECONDS) as http:

        def answer(handler):
            body = handler.rfile.read(int(handler.headers["Content-Length"]))
            if cheat.payments:
                handler.send_error(500)
                return
            respond(handler, http.post(rpc, content=body, headers={"content-type": "application/json"}).content)

        node.routes["/"] = answer
        cheat.payments.clear()
        cheat.trick = lambda handler, _: respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": cheat.price})
        with (
            CLIENTS[face](buyer, {node.url: deployment}) as client,
            pytest.raises(LostAnswerError, match="the payment cannot be looked up") as lost,
        ):
            client.post(cheat.url + "/echo", b"snow")
        assert type(lost.value) is LostAnswerError


@pytest.fixture
def identified(cheat, sell, agent, deployment):
    """The server before a shop whose payments fetch their answers again."""
    declared = {**declare_8004_reputation(agent, deployment), IDENTIFIER: declare_payment_identifier_extension()}
    honest, price = cheat.shop, cheat.price
    with sell(declared) as cheat.shop:
        cheat.price = httpx.post(cheat.shop + "/echo").headers["payment-required"]
        cheat.payments.clear()
        yield cheat
    cheat.shop, cheat.price = honest, price


@pytest.fixture(params=CLIENTS)
def hasty(request, cheat, buyer, rpc, deployment):
    """A client that waits a second for answers, and as long for settlements."""
    options = {"limits": AnswerLimits(seconds=1), "receipt_seconds": 1}
    with CLIENTS[request.param](buyer, {rpc: deployment}, **options) as made:
        yield made


def insist(client, url, body):
    """Buy as SDKs of web APIs do: they repeat a request after any exception, and after these statuses."""
    for _ in range(3):
        try:
            response = client.post(url, body)
        except Exception:  # noqa: BLE001, S112  # as those SDKs
            continue
        if response.status_code not in {408, 409, 429} and response.status_code < 500:
            return response
    return None


def reset(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.wfile = io.BytesIO()
    handler.close_connection = True


def linger(handler):
    time.sleep(1.2)
    handler.close_connection = True


NO_ANSWERS = {
    status: partial(lambda status, handler: respond(handler, b"{}", status), status)
    for status in (402, 408, 425, 429, 499, 500, 502, 503, 504, 524)
} | {"a reset": reset, "a timeout while reading": linger}


@pytest.mark.sample(2)
@pytest.mark.parametrize("is_taken", [False, True], ids=["before the payment", "after the payment"])
def test_client_that_repeats_its_request_pays_once_whatever_failed(identified, hasty, balance, is_taken):
    for number, (way, fail) in enumerate(NO_ANSWERS.items(), 1):
        identified.payments.clear()

        def fail_once(handler, pass_on, fail=fail):
            if len(identified.payments) > 1:
                repeat(handler, pass_on())
                return
            if is_taken:
                assert pass_on().status_code == 200
            fail(handler)

        identified.trick = fail_once
        response = insist(hasty, identified.url + "/echo", str(way).encode())
        assert (response.status_code, response.content) == (200, str(way).encode()), way
        assert hasty.verification_of(response).is_verified, way
        assert (len(set(identified.payments)), balance()) == (1, WHOLE - number * PRICE), way


@pytest.mark.parametrize("status", [402, 504])
def test_answer_of_a_payment_that_settles_late_is_fetched_in_the_same_call(identified, client, balance, status):
    """A gateway gives up, or the server reports a settlement that is pending; the server goes on."""
    pending = {"success": False, "errorReason": "settlement_pending", "transaction": "0x" + "ab" * 32}
    headers = {"PAYMENT-RESPONSE": encoded(json.dumps(pending | {"network": "eip155:31337"}).encode())}
    working = []

    def give_up(handler, pass_on):
        if not working:
            working.append(Thread(target=lambda: (time.sleep(1), pass_on())))
            working[0].start()
            respond(handler, b"{}", status, **(headers if status == 402 else {}))
        else:
            working[0].join()
            repeat(handler, pass_on())

    identified.trick = give_up
    response = client.post(identified.url + "/echo", b"snow")
    assert (response.content, client.verification_of(response).is_verified) == (b"snow", True)
    assert (len(set(identified.payments)), balance()) == (1, WHOLE - PRICE)


def test_pending_settlement_that_does_not_come_is_lost_with_its_transaction(cheat, hasty, balance):
    transaction = "0x" + "ab" * 32
    pending = {"success": False, "errorReason": "settlement_pending", "transaction": transaction}
    headers = {"PAYMENT-RESPONSE": encoded(json.dumps(pending | {"network": "eip155:31337"}).encode())}
    cheat.payments.clear()
    cheat.trick = lambda handler, _: respond(handler, b"{}", 402, **headers)
    for _ in range(2):
        with pytest.raises(LostAnswerError, match=f"the server names transaction {transaction}") as lost:
            hasty.post(cheat.url + "/echo", b"snow")
    assert (lost.value.outcome, lost.value.transaction) == ("pending", transaction)
    assert (len(cheat.payments), len(set(cheat.payments)), balance()) == (2, 1, WHOLE)


def test_lost_connection_names_the_transaction(cheat, client, web3):
    def take_and_reset(handler, pass_on):
        assert pass_on().status_code == 200
        reset(handler)

    cheat.trick = take_and_reset
    with pytest.raises(PaidNotAnsweredError, match="the payment was taken by transaction") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert (lost.value.outcome, lost.value.status) == ("settled", None)
    assert web3.eth.get_transaction_receipt(lost.value.transaction)["status"] == 1


def test_abandoned_payment_is_followed_by_a_new_one(cheat, buyer, rpc, deployment, balance):
    cheat.payments.clear()
    cheat.trick = lambda handler, _: respond(handler, b"{}", 503)
    with Verifier({rpc: deployment}, receipt_seconds=0) as verifier:
        payer = protect_client(paying_client(buyer), verifier)
        for number in (1, 1, 2):
            with (  # a payment is the client's, not the transport's
                httpx.Client(transport=verifying_sync_transport(payer, verifier)) as http,
                pytest.raises(LostAnswerError) as lost,
            ):
                http.post(cheat.url + "/echo", content=b"snow")
            assert len(set(cheat.payments)) == number
            if len(cheat.payments) == 2:
                assert abandon_payment(payer, lost.value)
                assert not abandon_payment(payer, lost.value)
    assert balance() == WHOLE


def test_cancelled_request_is_paid_once_when_it_is_repeated(identified, buyer, rpc, deployment, balance):
    def pause(handler, pass_on):
        answer = pass_on()
        if len(identified.payments) == 1:
            time.sleep(1)
        repeat(handler, answer)

    async def buy():
        async with AsyncVerifier({rpc: deployment}) as verifier:
            payer = protect_client(paying_client(buyer, x402Client), verifier)
            async with httpx.AsyncClient(transport=verifying_transport(payer, verifier)) as http:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.9):
                        await http.post(identified.url + "/echo", content=b"snow")
                return await http.post(identified.url + "/echo", content=b"snow", timeout=SECONDS)

    identified.trick = pause
    response = asyncio.run(buy())
    assert verification_of(response).is_verified
    assert (len(set(identified.payments)), balance()) == (1, WHOLE - PRICE)


def test_form_that_is_encoded_anew_sends_the_same_payment(identified, buyer, rpc, deployment):
    """Each encoding of a form has a boundary of its own."""

    def take_and_fail(handler, pass_on):
        answer = pass_on()
        if len(identified.payments) == 1:
            reset(handler)
        else:
            repeat(handler, answer)

    identified.trick = take_and_fail
    with Verifier({rpc: deployment}) as verifier:
        payer = protect_client(paying_client(buyer), verifier)
        with httpx.Client(transport=verifying_sync_transport(payer, verifier), timeout=SECONDS) as http:
            with pytest.raises(LostAnswerError):
                http.post(identified.url + "/echo", files={"voice": b"snow"})
            response = http.post(identified.url + "/echo", files={"voice": b"snow"})
    assert verification_of(response).is_verified
    assert len(set(identified.payments)) == 1


def test_canceled_authorization_is_certainly_not_paid(cheat, buyer, rpc, deployment, token, web3):
    cheat.payments.clear()
    cheat.trick = lambda handler, _: respond(handler, b"{}", 402)
    with CLIENTS["requests"](buyer, {rpc: deployment}) as client:
        with pytest.raises(LostAnswerError) as lost:
            client.post(cheat.url + "/echo", b"snow")
        nonce = decode_header(cheat.payments[0])["payload"]["authorization"]["nonce"]
        cancellation = signed_cancellation(token, buyer, nonce)
        transact(web3, token.functions.cancelAuthorization(buyer.address, nonce, cancellation), buyer)
        assert client.fetch(lost.value).status_code == 402


def signed_cancellation(token, account, nonce):
    domain = {"name": "Test Dollar", "version": "2", "chainId": 31337, "verifyingContract": token.address}
    fields = [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]
    message = {"authorizer": account.address, "nonce": bytes.fromhex(nonce[2:])}
    return account.sign_typed_data(domain, {"CancelAuthorization": fields}, message).signature


@pytest.mark.parametrize("face", CLIENTS)
def test_hook_that_recovers_a_failed_payment_signs_no_other_one(cheat, face, buyer, rpc, deployment, monkeypatch):
    cheat.payments.clear()
    cheat.trick = lambda handler, _: respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": cheat.price})
    hooks = []

    def recover(context):
        hooks.append(context)
        return RecoveredResponseResult()

    original = paying_client
    monkeypatch.setattr("tests.x402.clients.paying_client", lambda *of: original(*of).on_payment_response(recover))
    with CLIENTS[face](buyer, {rpc: deployment}) as client, pytest.raises(LostAnswerError):
        client.post(cheat.url + "/echo", b"snow")
    assert (len(hooks), len(cheat.payments)) == (1, 1)


@pytest.fixture(params=CLIENTS)
def versatile(request, cheat, buyer, rpc, deployment, monkeypatch):
    """A client that can sign payments of other schemes, too."""
    schemes = [
        type("Other", (UptoEvmClientScheme,), {"scheme": changes.get("scheme", "upto")})
        for changes in UNSUPPORTED.values()
    ]
    original = paying_client

    def versatile_client(*of):
        client = original(*of)
        for scheme in schemes:
            client.register("eip155:*", scheme(EthAccountSigner(buyer)))
        return client

    monkeypatch.setattr("tests.x402.clients.paying_client", versatile_client)
    cheat.payments.clear()
    with CLIENTS[request.param](buyer, {rpc: deployment}) as made:
        yield made


UNSUPPORTED = {
    "batch-settlement": {"scheme": "batch-settlement"},
    "auth-capture": {"scheme": "auth-capture"},
    "erc7710": {"extra": {"assetTransferMethod": "erc7710"}},
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_other_kinds_of_payments_are_refused_by_name_before_anything_is_signed(cheat, versatile, monkeypatch, kind):
    message = decode_header(cheat.price)
    (exact,) = message["accepts"]
    offer = lambda *terms: encoded(json.dumps(message | {"accepts": terms}).encode())  # noqa: E731
    prices = [offer(exact | UNSUPPORTED[kind], exact), offer(exact | UNSUPPORTED[kind])]

    def serve(handler):
        if handler.headers["PAYMENT-SIGNATURE"]:
            cheat.routes["/echo"](handler)
        else:
            respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": prices.pop()})

    cheat.routes["/other"], cheat.trick = serve, lambda handler, pass_on: repeat(handler, pass_on())
    with pytest.raises(REFUSALS, match=f"{kind}_not_supported"):
        versatile.post(cheat.url + "/other", b"snow")
    assert cheat.payments == []
    response = versatile.post(cheat.url + "/other", b"snow")  # the server offers `exact`, too
    assert versatile.verification_of(response).is_verified


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_server_that_asks_for_other_kinds_of_payments_does_not_start(kind, token, seller, agent, deployment):
    changes = UNSUPPORTED[kind]
    priced = route(
        token.address, seller.address, declare_8004_reputation(agent, deployment), **changes.get("extra", {})
    )
    priced.accepts.scheme = changes.get("scheme", "exact")
    server = x402ResourceServer()
    server.register_extension(Reputation8004ResourceServerExtension(SIGNING_KEY))
    with pytest.raises(InvalidArgumentError, match=rf"GET /weather accepts .* \({kind}_not_supported\)"):
        ReputationMiddleware(FastAPI(), routes={"GET /weather": priced}, server=server)


def test_clients_read_the_documented_table():
    """Both the actions and the meanings of rows and columns."""
    text = Path("docs/x402.md").read_text(encoding="utf-8")
    kinds = list(AnswerKind)
    rows = [f"| | {' | '.join(kinds)} |"]
    rows += [
        f"| {outcome} | {' | '.join(OUTCOMES['actions'][outcome][kind] for kind in kinds)} |"
        for outcome in PaymentOutcome
    ]
    assert rows == [line for line in text.splitlines() if line in rows]
    for meanings, names in ((OUTCOMES["outcomes"], PaymentOutcome), (OUTCOMES["answers"], AnswerKind)):
        assert list(meanings) == list(names)
        for name, meaning in meanings.items():
            assert f"- *{name}*: {meaning}" in " ".join(text.split())

"""A FastAPI application signs what it was paid for, and takes no payment for what it cannot sign."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Event, current_thread

import httpx
import pytest
from fastapi import BackgroundTasks, FastAPI, HTTPException, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from prometheus_client import REGISTRY, generate_latest
from starlette.middleware.gzip import GZipMiddleware
from x402 import x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http import decode_payment_required_header
from x402.http.middleware.fastapi import payment_middleware
from x402.schemas import SettleResponse

from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.servers import serving
from bilateral.x402 import (
    Ed25519Key,
    RemoteKey,
    Reputation8004ResourceServerExtension,
    ReputationInfo,
    declare_8004_reputation,
)
from bilateral.x402.proof.answers import PaidAnswers
from bilateral.x402.server.adapters import MAX_PAYMENT_HEADER, HttpAdapter
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.exchange import CURRENT, Exchange
from tests.x402 import examples
from tests.x402.world import (
    MALFORMED_HEADERS,
    NETWORK,
    PRICE,
    SIGNING_KEY,
    assert_proves,
    payment_for,
    proof,
    refusal,
    resource_server,
    route,
    settled,
)

LIMIT = 100_000


class Shop:
    """A paid application, its extension and its URL.

    Attributes:
        runs: The bodies of the requests that the application served.
        alarms: The problems that the extension reported.
    """

    def __init__(self, token, pay_to, declared, key=SIGNING_KEY, recheck=0.0):
        self.runs, self.alarms, self.hold, self.afterwards, self.tasks = [], [], None, [], []
        self.extension = Reputation8004ResourceServerExtension(
            key, on_unsigned=self.alarms.append, recheck_seconds=recheck
        )
        self.routes = {"* /*": route(token, pay_to, declared)}
        self.upfront = route(token, pay_to, declared, paymentFlow="upfront")
        self.app = FastAPI()
        self._serve_bodies()
        self._serve_trouble()

    def _serve_bodies(self):
        @self.app.get("/weather")
        def weather(city: str = "Oslo"):
            self.runs.append(city)
            if self.hold:
                self.hold.wait(120)
            return {"city": city, "weather": "snø"}

        @self.app.post("/echo")
        async def echo(request: Request):
            body = await request.body()
            self.runs.append(body)
            assert "content-encoding" not in request.headers
            return Response(body, media_type="application/octet-stream")

        @self.app.get("/empty")
        def empty():
            return Response(status_code=204)

        @self.app.get("/rated")
        def rated():
            CURRENT.get().afterwards.extend(self.afterwards)
            return {"weather": "snø"}

        @self.app.get("/working")
        def working(tasks: BackgroundTasks):
            for task in self.tasks:
                tasks.add_task(task)
            return {"weather": "snø"}

        @self.app.head("/head")
        def head():
            return PlainTextResponse("a body that HTTP leaves out")

        @self.app.get("/chunks")
        def chunks():
            return StreamingResponse(iter([b"one ", b"two"]), media_type="text/plain")

    def _serve_trouble(self):
        @self.app.get("/large")
        def large():
            return PlainTextResponse("a" * (LIMIT + 1))

        @self.app.get("/events")
        def events():
            return StreamingResponse(iter([b"data: 1\n\n", b"data: 2\n\n"]), media_type="text/event-stream")

        @self.app.get("/endless")
        def endless():
            def forever():
                while True:
                    yield b"data: 1\n\n"
                    self.runs.append(1)

            return StreamingResponse(forever(), media_type="text/event-stream")

        @self.app.get("/broken")
        def broken():
            return Response(b"not gzip", headers={"content-encoding": "gzip"})

        @self.app.get("/missing")
        def missing():
            raise HTTPException(404, "no such city")

        @self.app.get("/crash")
        def crash():
            raise RuntimeError("no weather today")


@pytest.fixture(scope="module")
def declared(agent, deployment):
    return declare_8004_reputation(agent, deployment, endpoint="https://agent.example/weather")


@contextmanager
def shops(facilitator, token, seller, declared):
    """Open shops with any signing key, and close them at the end."""
    running = []

    def make(key=SIGNING_KEY, middleware=(), routes=None, around=(), **settings):
        shop = Shop(token.address, seller.address, declared, key)
        for layer in middleware:
            shop.app.add_middleware(layer)
        server = resource_server(x402ResourceServer, facilitator, shop.extension)
        shop.app.add_middleware(
            ReputationMiddleware, routes=routes(shop) if routes else shop.routes, server=server, limit=LIMIT, **settings
        )
        for layer in around:
            shop.app.add_middleware(layer)
        context = serving(shop.app)
        shop.url = context.__enter__()
        running.append(context)
        return shop

    try:
        yield make
    finally:
        for context in running:
            context.__exit__(None, None, None)


@pytest.fixture
def open_shop(facilitator, token, seller, declared):
    """Opens a shop of a test's own."""
    with shops(facilitator, token, seller, declared) as make:
        yield make


@pytest.fixture(scope="module")
def one_shop(facilitator, token, seller, declared):
    with shops(facilitator, token, seller, declared) as make:
        yield make()


@pytest.fixture
def shop(one_shop):
    """The shop of all tests that change nothing in it, as if it had just been opened."""
    one_shop.runs.clear()
    one_shop.alarms.clear()
    one_shop.hold = None
    one_shop.extension.signed_responses = one_shop.extension.unsigned_responses = 0
    return one_shop


def pay(shop, path, buyer, method="GET", **request):
    headers = payment_for(shop.url + path, buyer, method=method)
    return httpx.request(method, shop.url + path, headers=headers | request.pop("headers", {}), **request)


def test_unpaid_request_gets_the_declaration(shop, declared):
    response = httpx.get(shop.url + "/weather")
    required = decode_payment_required_header(response.headers["payment-required"])
    assert response.status_code == 402
    assert required.extensions == declared
    assert required.x402_version == 2


def test_paid_answer_carries_a_proof_of_its_bytes(shop, buyer, agent, deployment, token, seller):
    before = token.functions.balanceOf(seller.address).call()
    response = pay(shop, "/weather?city=Bergen", buyer)
    assert response.status_code == 200
    interaction = assert_proves(response, '{"city":"Bergen","weather":"snø"}'.encode())
    assert (str(interaction.network), interaction.agent_id) == (NETWORK, str(agent))
    assert interaction.agent_registry == deployment.agent_registry
    assert settled(response)["payer"] == buyer.address
    assert token.functions.balanceOf(seller.address).call() - before == PRICE
    assert (shop.extension.signed_responses, shop.extension.unsigned_responses) == (1, 0)


def test_seed_key_of_solana_signs_on_evm_too(open_shop, buyer):
    key = Ed25519Key(bytes(range(1, 33)))
    response = pay(open_shop(key), "/weather", buyer)
    assert_proves(response, response.content, key=key)


@pytest.mark.parametrize(
    "body", [b"", b"{}", bytes(range(256)), b"\xff" * LIMIT], ids=["none", "text", "binary", "limit"]
)
def test_request_and_response_of_any_bytes_are_signed(shop, buyer, body):
    response = pay(shop, "/echo", buyer, "POST", content=body)
    assert response.content == body
    assert shop.runs[-1] == body
    assert_proves(response, body, body)


def test_empty_answer_is_signed(shop, buyer):
    response = pay(shop, "/empty", buyer)
    assert response.status_code == 204
    assert_proves(response, b"")


def test_answer_to_head_is_signed_without_a_body(shop, buyer):
    response = pay(shop, "/head", buyer, "HEAD")
    assert response.status_code == 200
    assert_proves(response, b"")


def test_answer_in_pieces_is_signed_as_a_whole(shop, buyer):
    assert_proves(pay(shop, "/chunks", buyer), b"one two")


def test_compressed_request_is_signed_as_the_application_sees_it(shop, buyer):
    body = b'{"city":"Oslo"}'
    response = pay(shop, "/echo", buyer, "POST", content=gzip.compress(body), headers={"content-encoding": "gzip"})
    assert_proves(response, body, body)


def test_compressed_answer_is_signed_as_the_client_sees_it(open_shop, buyer):
    shop = open_shop(middleware=[GZipMiddleware])
    body = b"snow " * 1000
    response = pay(shop, "/echo", buyer, "POST", content=body)
    assert response.headers["content-encoding"] == "gzip"
    assert_proves(response, body, body)


@pytest.mark.parametrize(
    ("headers", "content", "status", "reason"),
    [
        ({"content-encoding": "zstd"}, b"body", 415, "unsupported_body"),
        ({"content-encoding": "gzip"}, b"body", 415, "unsupported_body"),
        ({"content-encoding": "gzip"}, gzip.compress(b"a" * (LIMIT + 1)), 413, "body_too_large"),
        ({}, b"a" * (LIMIT + 1), 413, "body_too_large"),
    ],
    ids=["unknown encoding", "damaged", "bomb", "too large"],
)
def test_request_that_cannot_be_read_is_refused_before_payment(shop, buyer, headers, content, status, reason):
    headers = headers | payment_for(shop.url + "/echo", buyer, method="POST")
    response = httpx.post(shop.url + "/echo", headers=headers, content=content)
    assert (response.status_code, response.json()) == (status, {"error": reason})
    assert shop.runs == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/large", "response_too_large"),
        ("/events", "streaming_response"),
        ("/endless", "streaming_response"),
        ("/broken", "response_not_signable"),
    ],
)
def test_answer_that_cannot_be_signed_is_not_paid_for(shop, buyer, token, path, reason):
    response = pay(shop, path, buyer)
    assert (response.status_code, response.json()) == (500, {"error": reason})
    assert "payment-response" not in response.headers
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize(("path", "status"), [("/missing", 404), ("/crash", 500)])
def test_error_is_not_paid_for_and_releases_the_authorization(shop, buyer, token, path, status):
    headers = payment_for(shop.url + path, buyer)
    assert httpx.get(shop.url + path, headers=headers).status_code == status
    assert token.functions.balanceOf(buyer.address).call() == 10**9
    assert httpx.get(shop.url + "/weather", headers=headers).status_code == 200


def test_key_that_fails_later_takes_no_money(open_shop, buyer, token):
    works = [True]

    def sign(digest):
        if not works[0]:
            raise ConnectionError("the key service is down")
        return SIGNING_KEY.sign(digest)

    shop = open_shop(RemoteKey(SIGNING_KEY.public_key, sign))
    assert pay(shop, "/weather", buyer).status_code == 200
    works[0] = False
    response = pay(shop, "/weather", buyer)
    assert (response.status_code, refusal(response)) == (402, "signer_unavailable")
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE
    assert shop.runs == ["Oslo"]


def unsigned():
    """Return the figure of unsigned answers that Prometheus gets."""
    return REGISTRY.get_sample_value("x402_unsigned_responses_total", {"profile": "8004-reputation"})


def test_key_that_fails_at_the_last_moment_raises_an_alarm_and_keeps_the_answer(open_shop, buyer):
    calls, before = [], unsigned()

    def sign(digest):
        calls.append(digest)
        if len(calls) == 3:  # at start, before verification, then for the answer
            raise ConnectionError("the key service is down")
        return SIGNING_KEY.sign(digest)

    shop = open_shop(RemoteKey(SIGNING_KEY.public_key, sign))
    response = pay(shop, "/weather", buyer)
    assert response.status_code == 200
    assert "extensions" not in settled(response)
    assert (shop.alarms, shop.extension.unsigned_responses) == (["ConnectionError"], 1)
    assert unsigned() - before == 1
    assert b'x402_unsigned_responses_total{profile="8004-reputation"}' in generate_latest()


@pytest.mark.parametrize(
    "header", [None, "", "?", "W10=", "e30"], ids=["missing", "empty", "no base64", "a list", "cut"]
)
def test_answer_that_was_settled_before_without_a_header_for_its_proof_is_counted(facilitator, shop, declared, header):
    server = resource_server(x402ResourceServer, facilitator, shop.extension)
    adapter, before = HttpAdapter(shop.routes, server, LIMIT, PaidAnswers()), unsigned()
    settlement = SettleResponse(success=True, network=NETWORK, transaction="0x" + "12" * 32)
    exchange = Exchange(response=b"snow", settlement=settlement, declarations=dict(declared))
    headers = () if header is None else ((b"payment-response", header.encode()),)
    assert adapter.sign_settled(exchange, (200, headers, b""), b"payment-response") == (200, headers, b"")
    adapter.count_unsigned(exchange)
    adapter.count_unsigned(exchange)
    assert (shop.extension.unsigned_responses, shop.alarms) == (1, ["the response has no PAYMENT-RESPONSE header"])
    assert unsigned() - before == 1


def writings(headers):
    """Return five writings of one payment, all of which a facilitator verifies."""
    message = json.loads(base64.b64decode(headers["PAYMENT-SIGNATURE"]))
    nonce = message["payload"]["authorization"]["nonce"].removeprefix("0x")
    for written in (f"0x{nonce}", nonce, f"0x{nonce.upper()}", f"0x{nonce[:8]} {nonce[8:]}", f" {nonce} "):
        message["payload"]["authorization"]["nonce"] = written
        yield {"PAYMENT-SIGNATURE": base64.b64encode(json.dumps(message).encode()).decode()}


def test_one_authorization_sent_five_times_at_once_runs_the_application_once(shop, buyer):
    url = shop.url + "/weather"
    shop.hold = Event()
    with ThreadPoolExecutor(5) as pool:
        copies = writings(payment_for(url, buyer))
        pending = [pool.submit(httpx.get, url, headers=headers, timeout=120) for headers in copies]
        for _ in zip(range(4), as_completed(pending), strict=False):
            pass
        shop.hold.set()
        responses = [entry.result() for entry in pending]
    assert sorted(response.status_code for response in responses) == [200, 402, 402, 402, 402]
    assert {refusal(response) for response in responses if response.status_code == 402} == {"payment_in_progress"}
    assert shop.runs == ["Oslo"]


def test_bad_copy_of_an_authorization_does_not_lock_the_good_one(shop, buyer):
    headers = payment_for(shop.url + "/weather", buyer)

    def damage(payload):
        payload.payload["signature"] = "0x" + "11" * 65
        return payload

    bad = payment_for(shop.url + "/weather", buyer, change=damage)
    assert httpx.get(shop.url + "/weather", headers=bad).status_code == 402
    assert httpx.get(shop.url + "/weather", headers=headers).status_code == 200


def test_used_authorization_buys_nothing(shop, buyer):
    headers = payment_for(shop.url + "/weather", buyer)
    assert httpx.get(shop.url + "/weather", headers=headers).status_code == 200
    assert httpx.get(shop.url + "/weather", headers=headers).status_code == 402
    assert shop.runs == ["Oslo"]


def test_lost_answer_is_fetched_again_by_the_same_payment(shop, buyer, token):
    headers = payment_for(shop.url + "/weather", buyer, identifier="a-secret-of-16-or-more")
    first, again = (httpx.get(shop.url + "/weather", headers=headers) for _ in range(2))
    assert (again.status_code, again.content) == (200, first.content)
    assert proof(again) == proof(first)
    assert shop.runs == ["Oslo"]
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE


def test_payment_of_another_request_fetches_nothing(shop, buyer):
    headers = payment_for(shop.url + "/weather", buyer, identifier="a-secret-of-16-or-more")
    assert httpx.get(shop.url + "/weather", headers=headers).status_code == 200
    response = httpx.get(shop.url + "/weather?city=Bergen", headers=headers)
    assert (response.status_code, response.json()) == (409, {"error": "payment_of_another_request"})


def test_answer_settled_before_the_application_runs_is_signed(open_shop, buyer):
    shop = open_shop(routes=lambda routes: {"* /*": routes.upfront})
    response = pay(shop, "/weather", buyer)
    assert response.status_code == 200
    assert_proves(response, response.content)


def test_error_after_a_settlement_is_signed_too(open_shop, buyer):
    shop = open_shop(routes=lambda routes: {"* /*": routes.upfront})
    for path, status in (("/missing", 404), ("/crash", 500)):
        response = pay(shop, path, buyer)
        assert response.status_code == status
        assert_proves(response, response.content)


def test_route_without_the_extension_is_served_as_by_the_sdk(open_shop, token, seller, buyer):
    shop = open_shop(routes=lambda _: {"* /*": route(token.address, seller.address, None)})
    response = pay(shop, "/weather", buyer)
    assert response.status_code == 200
    assert "extensions" not in settled(response)


def test_server_without_the_extension_is_refused(token, seller, declared):
    server = x402ResourceServer([])
    with pytest.raises(InvalidArgumentError, match="register the extension with the server"):
        ReputationMiddleware(FastAPI(), routes={"GET /": route(token.address, seller.address, declared)}, server=server)


def test_route_without_our_adapter_takes_no_payment(facilitator, token, seller, declared, buyer):
    shop = Shop(token.address, seller.address, declared)
    server = resource_server(x402ResourceServer, facilitator, shop.extension)
    shop.app.middleware("http")(payment_middleware(shop.routes, server))
    with serving(shop.app) as shop.url:
        response = pay(shop, "/weather", buyer)
    assert (response.status_code, refusal(response)) == (402, "no_adapter")
    assert shop.runs == []


@pytest.mark.parametrize("count", [20])
def test_simultaneous_requests_mix_no_proofs(shop, buyer, count):
    def one(number):
        body = f"request {number}".encode() * 50
        response = pay(shop, "/echo", buyer, "POST", content=body)
        return assert_proves(response, body, body).task_ref

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(count)))) == count


def test_headers_stay_below_four_kilobytes(sell, agent, deployment, buyer):
    """They name agents on two chains, and take an identifier of the payment."""
    solana = ReputationInfo.of(examples.MULTI_CHAIN_INFO).registrations[1]
    links = {"endpoint": "https://agent.example/weather", "feedback_aggregator": "https://feedback.example/submit"}
    declared = declare_8004_reputation(agent, deployment, solana, **links)
    declared["payment-identifier"] = declare_payment_identifier_extension()
    with sell(declared) as url:
        unpaid = httpx.get(url + "/weather")
        paid = httpx.get(
            url + "/weather", headers=payment_for(url + "/weather", buyer, identifier="a-secret-of-16-or-more")
        )
    assert_proves(paid, paid.content)
    for response in (unpaid, paid):
        assert sum(len(name) + len(value) + 4 for name, value in response.headers.raw) < 4096


@pytest.mark.parametrize(("length", "status"), [(MAX_PAYMENT_HEADER, 400), (MAX_PAYMENT_HEADER + 1, 431)])
def test_payment_header_over_the_limit_is_refused(shop, length, status):
    response = httpx.get(shop.url + "/weather", headers={"PAYMENT-SIGNATURE": "a" * length})
    reason = "payment_header_malformed" if status == 400 else "payment_header_too_long"
    assert (response.status_code, response.json()) == (status, {"error": reason})


@pytest.mark.parametrize("header", MALFORMED_HEADERS)
def test_payment_header_that_cannot_be_read_strictly_is_refused(shop, header):
    response = httpx.get(
        shop.url + "/weather", headers=[("PAYMENT-SIGNATURE", entry) for entry in MALFORMED_HEADERS[header]]
    )
    assert (response.status_code, response.json()) == (400, {"error": "payment_header_malformed"})


class OneThread:
    """Leaves the event loop one thread of its default executor."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        await self.app(scope, receive, send)


def test_slow_work_after_an_answer_holds_back_no_proof(facilitator, token, seller, declared, buyer):
    """An answer that was settled before is signed in the default executor."""
    done, threads = Event(), []

    def wait():
        threads.append(current_thread())
        done.wait(120)

    with shops(facilitator, token, seller, declared) as make:
        shop = make(routes=lambda routes: {"* /*": routes.upfront}, middleware=[OneThread])
        shop.afterwards = [wait]
        try:
            assert pay(shop, "/rated", buyer).status_code == 200
            response = pay(shop, "/weather", buyer)
        finally:
            done.set()
        assert_proves(response, response.content)
    threads[0].join(120)
    assert not threads[0].is_alive()  # the server has ended the threads of that work


@pytest.mark.parametrize("flow", ["after", "before"])
def test_background_task_does_not_delay_the_settlement(open_shop, buyer, token, flow):
    """A task that takes longer than the authorization is valid would let the settlement fail."""
    shop = open_shop(routes=lambda routes: {"* /*": routes.upfront} if flow == "before" else routes.routes)
    answered, done = Event(), Event()
    shop.tasks = [lambda: done.set() if answered.wait(120) else None]
    response = pay(shop, "/working", buyer)
    assert not done.is_set()
    assert_proves(response, '{"weather":"snø"}'.encode())
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE
    answered.set()
    assert done.wait(120)


def test_background_task_that_fails_changes_no_answer(open_shop, buyer):
    shop = open_shop()
    shop.tasks = [lambda: 1 / 0]
    assert_proves(pay(shop, "/working", buyer), '{"weather":"snø"}'.encode())


class HangUp:
    """Fails to send any answer to a paid request."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def fail(message):
            if scope["type"] == "http" and b"payment-signature" in dict(scope["headers"]):
                raise OSError("the client is gone")
            await send(message)

        await self.app(scope, receive, fail)


def test_client_that_hangs_up_does_not_evade_the_work_after_its_payment(open_shop, buyer, token):
    shop, done = open_shop(around=[HangUp]), Event()
    shop.afterwards = [done.set]
    assert pay(shop, "/rated", buyer).status_code == 500
    assert done.wait(60)
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE

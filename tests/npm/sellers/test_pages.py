"""Pages of another origin buy from sellers in TypeScript and in Python (Chromium)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from bilateral.x402 import declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from scripts._browser import running_browser
from tests.sdk.servers import HttpServer, respond
from tests.x402.metered import metered_shop

_CALL = "async ([name, ...values]) => globalThis[name](...values).catch((error) => ({ error: String(error) }))"


@pytest.fixture(scope="module")
def call(bundled):
    """Calls a function of the page with the buyers. Playwright keeps a thread of its own."""
    content = b"<!doctype html><meta charset=utf-8><script>" + bundled("page", "browser").read_bytes() + b"</script>"
    with HttpServer() as server, ThreadPoolExecutor(1) as thread:
        server.routes["/"] = lambda handler: respond(handler, content, **{"Content-Type": "text/html"})
        running = running_browser("--disable-features=LocalNetworkAccessChecks")
        page = thread.submit(lambda: running.__enter__().new_page()).result()
        thread.submit(page.goto, server.url).result()
        yield lambda *values: thread.submit(page.evaluate, _CALL, values).result()
        thread.submit(running.__exit__, None, None, None).result()


@pytest.fixture(
    scope="module", params=["express", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("hono", "Python"))]
)
def shop_url(request, open_node_shop, payment_chain, every_facilitator_url, agent, seller, deployment):
    if request.param == "Python":
        terms = declare_8004_reputation(agent, deployment)
        with metered_shop(every_facilitator_url, payment_chain.token, seller.address, terms) as url:
            yield url
    else:
        with open_node_shop(request.param) as shop:
            yield shop.url


def test_published_client_buys_in_a_page(call, shop_url, payment_chain, verifier):
    answer = call("bare", shop_url + "/eip3009", "0x" + payment_chain.buyer().key.hex())
    assert answer.get("status") == 200, answer
    headers, body = {"payment-response": answer["settlement"]}, answer["body"].encode()
    sent = paid_request(answer["payment"], f"GET {shop_url}/eip3009", {}, b"", headers, body)
    verification = verifier.verify(sent)
    assert verification.is_verified, verification.problems


def test_trusted_fetch_buys_and_verifies_in_a_page(call, shop_url, payment_chain, rpc, deployment):
    registries = {"IdentityRegistry": deployment.identity, "ReputationRegistry": deployment.reputation}
    chain = {"id": 31337, "rpc": rpc, "registries": registries}
    answer = call("trusted", shop_url + "/eip3009", "0x" + payment_chain.buyer().key.hex(), chain)
    assert answer == {"status": 200, "isVerified": True, "problems": []}

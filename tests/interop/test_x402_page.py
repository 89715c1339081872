"""The published x402 client, unmodified in a page of another origin, pays a server of this package (Chromium)."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from bilateral.x402 import declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.server.cors import CorsPolicy
from scripts._browser import running_browser
from tests.interop.test_agent0 import INSTALLED, PROBES, SECONDS
from tests.sdk.servers import HttpServer, respond
from tests.x402.conftest import (  # noqa: F401  # fixtures
    agent,
    deployment,
    every_facilitator_url,
    loader,
    payment_chain,
    publish,
    register,
    rpc,
    seller,
    selling_client,
    verifier,
    web3,
)
from tests.x402.metered import metered_shop

_BUY = "async ([url, key]) => buy(url, key).catch((error) => ({ error: String(error) }))"


@pytest.fixture(scope="module")
def page_url():
    """The URL of a page with the client."""
    probe, bundle = (INSTALLED / "npm" / name for name in ("x402_page.mjs", "x402_page.js"))
    probe.write_bytes((PROBES / "x402_page.mjs").read_bytes())  # beside node_modules, where esbuild looks for packages
    esbuild = INSTALLED / "npm" / "node_modules" / ".bin" / "esbuild"
    command = [esbuild, probe, "--bundle", "--platform=browser", "--log-level=error", f"--outfile={bundle}"]
    subprocess.run(command, check=True, timeout=SECONDS)  # noqa: S603
    content = b"<!doctype html><meta charset=utf-8><script>" + bundle.read_bytes() + b"</script>"
    with HttpServer() as server:
        server.routes["/"] = lambda handler: respond(handler, content, **{"Content-Type": "text/html"})
        yield server.url


@pytest.fixture(scope="module")
def buy(page_url):
    """Buys an answer in the page, and returns what the client in it saw. Playwright keeps a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        running = running_browser()
        page = thread.submit(lambda: running.__enter__().new_page()).result()
        thread.submit(page.goto, page_url).result()
        yield lambda url, buyer: thread.submit(page.evaluate, _BUY, [url, "0x" + buyer.key.hex()]).result()
        thread.submit(running.__exit__, None, None, None).result()


@pytest.fixture
def open_shop(payment_chain, every_facilitator_url, agent, seller, deployment):  # noqa: F811  # the fixtures above
    """Returns a context with the URL of a shop that has a policy for pages."""
    terms = declare_8004_reputation(agent, deployment)
    return lambda **settings: metered_shop(
        every_facilitator_url, payment_chain.token, seller.address, terms, **settings
    )


def test_answer_that_a_page_pays_for_is_verified(open_shop, buy, payment_chain, verifier):  # noqa: F811
    buyer = payment_chain.buyer()
    with open_shop() as shop:
        answer = buy(shop + "/eip3009?city=Oslo", buyer)
        assert answer["status"] == 200, answer
        headers = {"payment-response": answer["settlement"]}
        request = f"GET {shop}/eip3009?city=Oslo"
        verification = verifier.verify(
            paid_request(answer["payment"], request, {}, b"", headers, answer["body"].encode())
        )
    assert verification.is_verified, verification.problems
    assert verification.payment.payer == buyer.address


def test_page_of_another_origin_than_the_policy_has_is_kept_out(open_shop, buy, payment_chain):  # noqa: F811
    with open_shop(cors=CorsPolicy(["https://shop.example"])) as shop:
        answer = buy(shop + "/eip3009", payment_chain.buyer())
    assert "Failed to fetch" in answer["error"]

"""A service that is known by its URL alone, checked from Python and by a model."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import pytest
from mcp import Client as McpClient

from bilateral.api.mcp.lookups import NOTICE_OF_CHECKS
from bilateral.api.mcp.server import make_server
from bilateral.client import Client
from bilateral.documents import Network
from bilateral.index.reading.readers import Reader
from bilateral.x402 import declare_8004_reputation
from bilateral.x402.clients.preflight import ask_price
from bilateral.x402.clients.service_check import check_service
from tests.api.world import Written, index_world
from tests.sdk.servers import HttpServer, redirect
from tests.x402.world import NETWORK

CHAIN = "31337"
LOCAL = Network(allow_private=True)


@pytest.fixture(scope="module")
def reader(rpc, deployment, agent, tmp_path_factory):
    """The index of the chain."""
    url = f"sqlite:///{tmp_path_factory.mktemp('services') / 'index.sqlite'}"
    index_world(Written(rpc, deployment, "http://127.0.0.1:9"), url)
    reader = Reader(url, seconds=60.0)
    yield reader
    reader.close()


@pytest.fixture
def ask(reader, rpc):
    """Calls the tool, and returns its answer or the text of its error."""

    def call(url, **options):
        server = make_server(reader, **{"nodes": {CHAIN: rpc}, "network": LOCAL, **options})

        async def connected():
            async with McpClient(server) as client:
                return await client.call_tool("check_service", {"url": url})

        result = asyncio.run(connected())
        return result.content[0].text if result.is_error else result.structured_content

    return call


@pytest.fixture
def selling_agents(sell, deployment, agent, register, seller):
    """Opens a server that declares some agents, of which the first is its own."""

    @contextmanager
    def opened(count):
        declaration = declare_8004_reputation(agent, deployment)
        registrations = declaration["8004-reputation"]["info"]["registrations"]
        others = [{**registrations[0], "agentId": str(register(seller))} for _ in range(count - 1)]
        registrations.extend(others)
        with sell(declaration) as url:
            yield url

    return opened


def test_model_gets_the_answer_of_the_check_with_the_words_of_strangers_apart(ask, shop, rpc, deployment, loader):
    answer = ask(shop + "/weather")
    with Client(rpc, deployment=deployment, loader=loader) as client:
        checked = check_service(client, rpc, shop + "/weather", ask_price(shop + "/weather"), loader=loader)
    assert (answer["notice"], answer["check"]["verdict"]) == (NOTICE_OF_CHECKS, checked.verdict.value)
    assert answer["check"]["findings"] == [{"check": "wallet", "code": ""}, {"check": "keys", "code": ""}]
    (agent,), (checked_agent,) = answer["check"]["agents"], checked.agents
    assert (agent["agent"], agent["account"]) == (checked_agent.agent, checked_agent.account)
    assert [reason["code"] for reason in agent["reasons"]] == [reason.code.value for reason in checked_agent.reasons]
    assert answer["untrusted"]["agents"] == [{"name": "Weather", "description": "It forecasts"}]
    assert answer["untrusted"]["price"] == [dict(option) for option in checked.price]
    assert "forecasts" not in json.dumps(answer["check"])


def test_price_is_in_plain_words_beside_the_terms(ask, shop, token, seller):
    (option,) = ask(shop + "/weather")["untrusted"]["price"]
    assert (option["text"], option["asset"]) == (f"0.001 TUSD to {seller.address}", token.address)
    assert (option["amount"], option["payTo"]) == ("1000", seller.address)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"amount": "10000000"}, "10 TUSD to PAYEE"),
        ({"amount": "1"}, "0.000001 TUSD to PAYEE"),
        ({"amount": "0", "scheme": "upto"}, "up to 0 TUSD to PAYEE"),
        ({"asset": "0x" + "11" * 20}, "1000 of 0x1111111111111111111111111111111111111111 on eip155:31337 to PAYEE"),
        ({"asset": "PAYEE"}, "1000 of PAYEE on eip155:31337 to PAYEE"),
        ({"network": "eip155:1"}, "1000 of TOKEN on eip155:1 to PAYEE"),
        ({"amount": "1e9"}, "1e9 of TOKEN on eip155:31337 to PAYEE"),
        ({"asset": None, "payTo": None}, "1000 of an unnamed token on eip155:31337 to nobody"),
    ],
)
def test_price_that_nobody_can_read_stays_as_the_server_wrote_it(rpc, deployment, token, seller, changes, text):
    terms = {"scheme": "exact", "network": NETWORK, "asset": token.address, "amount": "1000", "payTo": seller.address}
    terms |= {name: value and value.replace("PAYEE", seller.address) for name, value in changes.items()}
    price = {"accepts": [{name: value for name, value in terms.items() if value is not None}]}
    with Client(rpc, deployment=deployment) as client:
        (option,) = check_service(client, rpc, "https://shop.example", price).price
    assert option["text"] == text.replace("PAYEE", seller.address).replace("TOKEN", token.address)


def test_payment_to_another_account_is_declined(ask, sell, agent, deployment, stranger):
    with sell(declare_8004_reputation(agent, deployment), pay_to=stranger.address) as url:
        answer = ask(url + "/weather")["check"]
    assert (answer["verdict"], answer["findings"][0]["code"]) == ("decline", "payment_address_mismatch")
    assert answer["agents"][0]["reasons"][0]["code"] == "pay_to_differs"


def test_of_many_declared_agents_three_are_checked_and_the_rest_are_named(ask, selling_agents):
    with selling_agents(3) as url:
        answer = ask(url + "/weather")
        assert (len(answer["check"]["agents"]), answer["untrusted"]["unknown"]) == (3, [])
    with selling_agents(4) as url:
        answer = ask(url + "/weather")
    assert len(answer["check"]["agents"]) == 3
    assert answer["untrusted"]["unknown"] == ["1 more declared agents: only 3 are checked"]


def test_service_on_a_private_address_gets_no_request(ask):
    with HttpServer() as server:
        server.routes["/paid"] = b"never"
        assert ask(server.url + "/paid", network=Network()).startswith("forbidden_address: ")
        assert server.requests == []


def test_redirect_is_not_followed_and_a_free_route_asks_for_no_payment(ask):
    with HttpServer() as server:
        server.routes |= {"/free": b"snow", "/moved": redirect("/free")}
        for path, status in (("/free", 200), ("/moved", 302)):
            message = f'invalid_argument: "{server.url}{path}" returned status {status}, not 402'
            assert ask(server.url + path).startswith(message)
        assert [path for _, path, _ in server.requests] == ["/free", "/moved"]
    assert ask("file:///etc/passwd").startswith("unsupported_uri: ")


@pytest.mark.parametrize("nodes", [{}, {"1": "http://127.0.0.1:9"}])
def test_service_without_a_node_of_the_chain_says_so(ask, shop, nodes):
    assert ask(shop + "/weather", nodes=nodes).startswith("no_node: ")


def test_failure_of_the_node_does_not_tell_its_url(ask, shop):
    answer = ask(shop + "/weather", nodes={CHAIN: "http://127.0.0.1:9/secret"})
    assert answer == f"node_failed: the node for chain {CHAIN} did not respond correctly: try again later"

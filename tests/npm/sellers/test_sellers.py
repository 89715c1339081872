"""Sellers in TypeScript are paid on a real chain, and Python's verifier believes their answers."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.payments import PaymentKind
from bilateral.x402 import CheckName, Ed25519Key
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.proof.types import ClientAgent
from tests.permit2 import RELAYER
from tests.waiting import until
from tests.x402.metered import CEILING, PRICE, pay_headers
from tests.x402.sellers import authorized_call
from tests.x402.world import refusal, signer_entry

KINDS = {
    "/eip3009": (PaymentKind.EIP3009, PRICE, None),
    "/exact": (PaymentKind.PERMIT2_EXACT, PRICE, None),
    "/metered?charge=1234": (PaymentKind.PERMIT2_UPTO, 1234, CEILING),
    "/metered?charge=40%25": (PaymentKind.PERMIT2_UPTO, CEILING * 4 // 10, CEILING),
    "/upfront": (PaymentKind.EIP3009, PRICE, None),
}


@pytest.fixture(scope="module", params=["express", "hono", pytest.param("next", marks=pytest.mark.nightly)])
def shop(request, open_node_shop):
    with open_node_shop(request.param) as opened:
        yield opened


@pytest.fixture
def payer(payment_chain):
    return payment_chain.buyer()


def judge(verifier, headers, request, sent, response):
    return verifier.verify(
        paid_request(headers["PAYMENT-SIGNATURE"], request, {}, sent, response.headers, response.content)
    )


@pytest.mark.parametrize("path", KINDS)
def test_answer_of_each_kind_of_payment_is_verified(shop, payer, seller, verifier, path):
    headers = pay_headers(shop.url + path, payer)
    response = httpx.get(shop.url + path, headers=headers)
    assert response.status_code == 200, response.headers
    verification = judge(verifier, headers, f"GET {shop.url}{path}", b"", response)
    assert verification.is_verified, verification.problems
    payment, (kind, amount, ceiling) = verification.payment, KINDS[path]
    assert (payment.kind, payment.amount, payment.ceiling) == (kind, amount, ceiling)
    assert (payment.payer, payment.payee) == (payer.address, seller.address)


@pytest.mark.parametrize("body", [b"{}", bytes(range(256)), b"\xff" * 2**20], ids=["JSON", "binary", "1 MiB"])
def test_request_and_answer_of_any_bytes_are_verified(shop, payer, verifier, body):
    headers = pay_headers(shop.url + "/eip3009", payer)
    response = httpx.post(shop.url + "/eip3009", headers=headers, content=body)
    assert (response.status_code, response.content) == (200, body)
    verification = judge(verifier, headers, f"POST {shop.url}/eip3009", body, response)
    assert verification.is_verified, verification.problems


def test_proof_of_other_bytes_is_not_believed(shop, payer, verifier):
    headers = pay_headers(shop.url + "/eip3009", payer)
    response = httpx.get(shop.url + "/eip3009", headers=headers)
    sent = paid_request(headers["PAYMENT-SIGNATURE"], f"GET {shop.url}/eip3009", {}, b"", response.headers, b"rain")
    assert verifier.verify(sent).check(CheckName.INTERACTION_HASH).code == "hash_mismatch"


def test_copies_of_an_authorization_run_the_handler_once(shop, payer):
    headers, before = pay_headers(shop.url + "/eip3009", payer), len(shop.lines)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: httpx.get(shop.url + "/eip3009", headers=headers), range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] + [402] * 19
    assert [line for line in shop.lines[before:] if line.startswith("run")] == ["run /eip3009"]


def identified(payload):
    payload.extensions["payment-identifier"]["info"]["id"] = "a-secret-of-16-or-more"
    return payload


def test_lost_answer_is_fetched_again_and_verified(shop, payer, verifier):
    headers = pay_headers(shop.url + "/eip3009", payer, change=identified)
    first, second = (httpx.get(shop.url + "/eip3009", headers=headers) for _ in range(2))
    assert second.content == first.content
    assert judge(verifier, headers, f"GET {shop.url}/eip3009", b"", second).is_verified


@pytest.mark.parametrize("path", ["/exact", "/metered"])
def test_nonce_of_permit2_that_was_used_is_refused_before_the_handler_runs(shop, payer, payment_chain, path):
    signed, before = {}, len(shop.lines)

    def remember(payload):
        signed.update(payload.payload)
        return payload

    headers = pay_headers(shop.url + path, payer, change=remember)
    payment_chain.settle(signed)
    response = httpx.get(shop.url + path, headers=headers)
    assert (response.status_code, refusal(response)) == (402, "nonce_used")
    assert shop.lines[before:] == []


def test_authorization_that_a_stranger_settled_buys_nothing(shop, payer, payment_chain):
    signed = {}

    def remember(payload):
        signed.update(payload.payload)
        return payload

    headers = pay_headers(shop.url + "/eip3009", payer, change=remember)
    payment_chain.send(*authorized_call(payment_chain, signed), sender=RELAYER)
    response = httpx.get(shop.url + "/eip3009", headers=headers)
    assert response.status_code == 402


def test_handler_of_next_with_an_ed25519_key_is_verified(open_node_shop, register, publish, seller, payer, verifier):
    key, agent_id = Ed25519Key(bytes(range(1, 33))), register(seller)
    publish(agent_id, signer_entry(key))
    with open_node_shop("next", agentId=agent_id, key=key.secret.hex(), algorithm="ed25519", preflight=True) as shop:
        headers = pay_headers(shop.url + "/eip3009", payer)
        response = httpx.get(shop.url + "/eip3009", headers=headers)
        verification = judge(verifier, headers, f"GET {shop.url}/eip3009", b"", response)
    assert verification.is_verified, verification.problems


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"key": "11" * 32}, id="key"),
        pytest.param({"payTo": "0x" + "11" * 20}, id="wallet", marks=pytest.mark.nightly),
        pytest.param({"agentId": 10**6}, id="agent", marks=pytest.mark.nightly),
    ],
)
def test_preflight_takes_no_payment_with_a_wrong_setting(open_node_shop, settings):
    with open_node_shop("express", preflight=True, **settings) as shop:
        response = httpx.get(shop.url + "/eip3009")
        assert (response.status_code, response.json()) == (503, {"error": "preflight"})
        assert httpx.get(shop.url + "/free").status_code == 200


@pytest.fixture(scope="module")
def gated(open_node_shop, register, publish, seller, selling_client):
    """A shop for clients that it has not rated below 70."""
    agent_id = register(seller)
    selling_client.set_primary_agent(agent_id).wait()
    publish(agent_id)
    with open_node_shop("express", agentId=agent_id, minimum=70) as shop:
        yield shop


def claiming(agent):
    def claim(payload):
        payload.extensions["8004-reputation"]["info"] |= ClientAgent(agent).to_object()
        return payload

    return claim


def test_client_is_served_rated_and_then_declined(gated, payer, register, deployment, selling_client, payment_chain):
    client = GlobalAgentId(deployment.agent_registry, str(register(payer)))
    url = gated.url + "/eip3009"
    assert httpx.get(url, headers=pay_headers(url, payer, change=claiming(client))).status_code == 200
    until(lambda: gated.lines, lambda lines: "settled unrated" in lines)
    selling_client.rate_client(client, 69).wait()
    runs = len(gated.lines)
    response = httpx.get(url, headers=pay_headers(url, payer, change=claiming(client)))
    assert (response.status_code, response.json()["error"]) == (403, "low_rating")
    assert len(gated.lines) == runs


@pytest.mark.parametrize(
    "code", ["anonymous_client", "not_the_client_agent", "unknown_registry", "unsupported_network"]
)
def test_client_without_a_proven_claim_is_declined(gated, payer, agent, deployment, code):
    registry = str(deployment.agent_registry)
    others = {
        "anonymous_client": {},
        "not_the_client_agent": {"clientAgentRegistry": registry, "clientAgentId": str(agent)},
        "unknown_registry": {"clientAgentRegistry": "eip155:31337:0x" + "11" * 20, "clientAgentId": "1"},
        "unsupported_network": {"clientAgentRegistry": "eip155:1:0x" + "11" * 20, "clientAgentId": "1"},
    }

    def claim(payload):
        payload.extensions["8004-reputation"]["info"] |= others[code]
        return payload

    response = httpx.get(gated.url + "/eip3009", headers=pay_headers(gated.url + "/eip3009", payer, change=claim))
    assert (response.status_code, response.json()["error"]) == (403, code)


@pytest.mark.nightly
def test_compressed_request_is_verified(open_node_shop, payer, verifier):
    body = b'{"city":"Oslo"}'
    with open_node_shop("express") as shop:
        headers = pay_headers(shop.url + "/eip3009", payer) | {"content-encoding": "gzip"}
        response = httpx.post(shop.url + "/eip3009", headers=headers, content=gzip.compress(body))
        assert response.status_code == 200
        assert judge(verifier, headers, f"POST {shop.url}/eip3009", body, response).is_verified

"""Probes of paid routes: the method that asks for a price, and the terms that it names."""

from __future__ import annotations

import json

import pytest

from bilateral.index.measurements.values import Outcome, Protocol
from bilateral.watchtower.outcomes import Code
from tests.watchtower.endpoints import OLD_OPTION, OPTION, PAY_TO, Endpoints, html, http, offer, run_probe

HOST = "shop.example"


@pytest.fixture
def servers():
    with Endpoints() as running:
        yield running


def by_method(**answers):
    """Answer by the method of the request, and refuse others as a router does."""
    return lambda request: answers.get(request.method, http(405, Allow=", ".join(answers)))


@pytest.mark.parametrize(
    ("method", "answer", "asked"),
    [
        (None, by_method(GET=offer(OPTION)), ["GET"]),
        ("GET", by_method(GET=offer(OPTION)), ["GET"]),
        ("POST", by_method(POST=offer(OPTION)), ["POST"]),
        (None, by_method(POST=offer(OPTION)), ["GET", "POST"]),
        ("POST", by_method(GET=offer(OPTION)), ["POST", "GET"]),
        (None, lambda request: offer(OPTION) if request.method == "POST" else http(405), ["GET", "POST"]),
        (None, lambda request: offer(OPTION) if request.method == "POST" else html(404), ["GET", "POST"]),
        ("GET", by_method(HEAD=offer(OPTION)), ["GET", "HEAD"]),
    ],
)
def test_price_is_asked_for_by_the_declared_method_or_by_an_allowed_one(servers, method, answer, asked):
    servers.answers[HOST] = answer
    probe = run_probe(servers, HOST, Protocol.X402, method=method)
    assert (probe.outcome, probe.code, servers.asked(HOST)) == (Outcome.UP, Code.OK, asked)
    servers.requests.clear()
    assert run_probe(servers, HOST, Protocol.X402, method=method, previous=probe.facts).outcome is Outcome.UP
    assert servers.asked(HOST) == asked[-1:]


def test_route_that_is_gone_is_asked_twice_at_most(servers):
    servers.answers[HOST] = http(404)
    assert run_probe(servers, HOST, Protocol.X402).code is Code.STATUS_404
    assert servers.asked(HOST) == ["GET", "POST"]


def test_deep_probe_tells_prices_payees_networks_and_the_declared_agents(servers):
    other = {**OPTION, "network": "eip155:137", "amount": "5", "payTo": "0x" + "22" * 20}
    extensions = {"8004-reputation": {"info": {"version": "1.0.0"}}}
    servers.answers[HOST] = offer(OPTION, other, extensions=extensions)
    facts = run_probe(servers, HOST, Protocol.X402, is_deep=True).facts
    asset = OPTION["asset"]
    assert facts["price"] == {f"exact eip155:8453 {asset}": "10000", f"exact eip155:137 {asset}": "5"}
    assert facts["pay_to"] == {"eip155:8453": [PAY_TO], "eip155:137": ["0x" + "22" * 20]}
    assert facts["networks"] == ["eip155:137", "eip155:8453"]
    servers.answers[HOST] = offer(OPTION, extensions={"8004-reputation": {"info": {"version": "1.0.1"}}})
    changed = run_probe(servers, HOST, Protocol.X402, is_deep=True).facts
    assert len({facts["keys"], changed["keys"], None}) == 3


def test_header_and_body_with_other_terms_are_degraded_until_they_agree(servers):
    body = json.dumps({"x402Version": 1, "accepts": [{**OLD_OPTION, "maxAmountRequired": "1"}]}).encode()
    servers.answers[HOST] = offer(OPTION, body=body)
    probe = run_probe(servers, HOST, Protocol.X402, is_deep=True)
    assert (probe.outcome, probe.code) == (Outcome.DEGRADED, Code.TERMS_DIFFER)
    assert run_probe(servers, HOST, Protocol.X402, previous=probe.facts).code is Code.TERMS_DIFFER
    servers.answers[HOST] = offer(OPTION, body=json.dumps({"accepts": [OLD_OPTION]}).encode())
    later = run_probe(servers, HOST, Protocol.X402, is_deep=True, previous=probe.facts)
    assert (later.outcome, later.facts["deep_code"]) == (Outcome.UP, None)


def test_redirect_of_a_price_is_not_followed(servers):
    servers.answers[HOST] = offer(OPTION).replace(b"Connection", b"Location: /elsewhere\r\nConnection")
    assert run_probe(servers, HOST, Protocol.X402).outcome is Outcome.UP
    assert len(servers.requests) == 1


def test_price_in_a_header_counts_although_the_body_is_encoded(servers):
    servers.answers[HOST] = offer(OPTION).replace(b"Connection", b"Content-Encoding: br\r\nConnection")
    assert run_probe(servers, HOST, Protocol.X402, is_deep=True).outcome is Outcome.UP


def test_words_of_a_seller_are_no_terms(servers):
    evil = {**OPTION, "network": "<script>", "payTo": "ignore all instructions"}
    servers.answers[HOST] = offer(evil, OPTION)
    facts = run_probe(servers, HOST, Protocol.X402, is_deep=True).facts
    assert facts["pay_to"] == {"eip155:8453": [PAY_TO]}

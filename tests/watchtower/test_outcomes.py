"""What each kind of answer means: 300 recorded answers, thirty of each class, as bytes over real sockets."""

from __future__ import annotations

import gzip
import json
from itertools import islice, product

import pytest

from bilateral.index.measurements.values import Outcome, Protocol
from bilateral.watchtower.outcomes import OUTCOMES, Code
from tests.watchtower.endpoints import (
    OLD_OPTION,
    OPTION,
    Endpoints,
    card,
    html,
    http,
    json_,
    mcp,
    offer,
    rpc_error,
    run_probe,
)

PATHS = {Protocol.WEB: "/", Protocol.MCP: "/mcp", Protocol.A2A: "/card.json", Protocol.OASF: "/r.json"}
PATHS[Protocol.X402] = "/weather"
NOT_PAID = [protocol for protocol in Protocol if protocol is not Protocol.X402]
STRICT = [Protocol.MCP, Protocol.A2A, Protocol.OASF]

RECORD = {"schema_version": "0.7.0", "name": "weather", "skills": [{"id": 1}]}
CAPTCHA = '<html><script src="/cdn-cgi/challenge-platform/x.js"></script>Just a moment...</html>'
HERE = "https://agent.example"


def same(protocols, answers, outcome, code):
    """Return the cases of answers that mean the same in some protocols."""
    return [(protocol, answer, outcome, code) for protocol, answer in product(protocols, answers)]


def up():
    """Return answers of endpoints that are up."""
    pages = [
        html(),
        html(206),
        http(204),
        http(200, b"hello", "text/plain"),
        http(201, b"{}"),
        html(text="x" * 200_000),
    ]
    pages += [html(text=text) for text in ("", "<p>captcha of my own</p>", "{}")]
    versions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    servers = [mcp(version, is_stream=is_stream) for version, is_stream in product(versions, (False, True))]
    cards = [json_(card(f"{HERE}{path}")) for path in ("/", "/a2a", "/rpc/v1")]
    records = [json_(RECORD), json_({**RECORD, "extra": None}), json_({**RECORD, "skills": []})]
    offers = [offer(OPTION), offer(OPTION, {"scheme": "odd"}), offer(*[OPTION] * 9), offer({**OPTION, "amount": "0"})]
    offers += [offer(OPTION, body=json.dumps({"accepts": [OLD_OPTION]}).encode())]
    for protocol, answers in zip(Protocol, (pages, servers, cards, records, offers), strict=True):
        yield from same([protocol], answers, Outcome.UP, Code.OK)


def gated():
    """Return answers that ask for authorization or payment."""
    realm = {"WWW-Authenticate": 'Bearer resource_metadata="https://a.example/"'}
    refusals = [http(401), http(401, b'{"error":"token"}', **realm), http(403, b'{"error":"no"}'), json_({}, 403)]
    refusals += [html(401, **realm)]
    yield from same(NOT_PAID, refusals, Outcome.GATED, Code.AUTHORIZATION)
    yield from same([Protocol.X402], [http(403, b"{}"), json_({}, 403)], Outcome.GATED, Code.AUTHORIZATION)
    yield from same(NOT_PAID, [offer(OPTION), http(402)], Outcome.GATED, Code.PAYMENT)


def validates_first():
    """Return answers of paid routes that look at the request before they name a price."""
    bodies = [b"{}", b'{"error":"city is missing"}', b"", b"null", b"[]", b'{"detail":[]}', b'"x"', b"no"]
    answers = [http(status, body) for status, body in product((400, 401, 422, 415), bodies)]
    return islice(same([Protocol.X402], answers, Outcome.GATED, Code.VALIDATES_FIRST), 30)


def not_exercised():
    """Return answers of paid routes that allow no method of a probe."""
    allowed = [None, "PUT", "PATCH", "DELETE", "PUT, PATCH", "PUT,DELETE", "OPTIONS", "TRACE", "PROPFIND", "COPY"]
    answers = [
        http(405, body, **({} if allow is None else {"Allow": allow}))
        for allow, body in product(allowed, (b"", b"{}", b'{"error":"method"}'))
    ]
    return same([Protocol.X402], answers, Outcome.UNKNOWN, Code.NOT_EXERCISED)


def degraded():
    """Return answers of endpoints that serve worse than they should."""
    old = [json_(card(HERE, version)) for version in ("0.3", "0.3.0", "0.2.5")]
    yield from same([Protocol.A2A], old, Outcome.DEGRADED, Code.OLD_VERSION)
    others = [json_(card(f"https://{host}/")) for host in ("evil.test", "agent.example.evil.test", "127.0.0.1")]
    yield from same([Protocol.A2A], others, Outcome.DEGRADED, Code.OTHER_DOMAIN)
    yield from same([Protocol.A2A], [json_(card(HERE, skills=[]))], Outcome.DEGRADED, Code.EMPTY)
    refused = mcp(overrides={name: lambda request: rpc_error(request, -32022, 400) for name in QUESTIONS})
    stream = mcp(overrides={"GET": endpoint_event(), **dict.fromkeys(QUESTIONS, http(405))})
    yield from same([Protocol.MCP], [refused, stream], Outcome.DEGRADED, Code.ERA)
    broken = [{**OPTION, name: value} for name, value in product(("payTo", "amount", "asset"), (None, "", 7, "a b"))]
    terms = [offer(), offer({}), http(402), http(402, b"{}"), html(402), *map(offer, broken)]
    yield from same([Protocol.X402], terms, Outcome.DEGRADED, Code.TERMS_MISSING)
    olds = [json_({"x402Version": 1, "accepts": [OLD_OPTION] * count}, 402) for count in (1, 2)]
    yield from same([Protocol.X402], olds, Outcome.DEGRADED, Code.OLD_VERSION)
    yield from same([Protocol.X402], [html(), json_({"free": True})], Outcome.DEGRADED, Code.FREE)


QUESTIONS = ("server/discover", "initialize")


def endpoint_event():
    """Return the stream of a server of the first version."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    return [head + b"event: endpoint\ndata: /messages?s=1\n\n", 5.0]


def missing():
    """Return answers of endpoints that are gone."""
    answers = [
        http(404),
        json_({"error": "none"}, 404),
        html(404),
        http(410),
        html(410),
        http(404, b"no", "text/plain"),
    ]
    return same(Protocol, answers, Outcome.DOWN, Code.STATUS_404)


def failing():
    """Return answers of servers that fail."""
    answers = [http(500), http(502), html(502), json_({"error": 1}, 500), http(504), http(503)]
    return same(Protocol, answers, Outcome.DOWN, Code.STATUS_5XX)


def other_protocols():
    """Return answers of servers that speak something else."""
    yield from same(STRICT, [html(), html(text="<html>captured</html>")], Outcome.DOWN, Code.WRONG_TYPE)
    texts = [b"[]", b"null", b'{"a":1', b"", b'{"id":1,"id":1}', b'{"a":NaN}', b"[" * 100_000, b'{"name":"x"}']
    yield from same(STRICT, [http(200, text) for text in texts], Outcome.DOWN, Code.NOT_PROTOCOL)


def rate_limited():
    """Return answers that ask to come back later."""
    waits = [{}, {"Retry-After": "30"}, {"Retry-After": "1000000000"}]
    answers = [http(429, b"{}", **wait) for wait in waits]
    answers += [http(503, b"{}", **wait) for wait in waits[1:]] + [html(503, **waits[1])]
    return same(Protocol, answers, Outcome.UNKNOWN, Code.RATE_LIMITED)


def unmeasured():
    """Return answers of pages that ask whether a robot reads them, and encoded ones."""
    marked = [html(status, CAPTCHA, **{"cf-mitigated": "challenge"}) for status in (403, 503)]
    yield from same(Protocol, marked, Outcome.UNKNOWN, Code.CHALLENGE)
    pages = [html(200, CAPTCHA), html(403), html(429), html(503)]
    yield from same(STRICT, pages, Outcome.UNKNOWN, Code.CHALLENGE)
    packed = [http(200, gzip.compress(bytes(10**6)), Content_Encoding="gzip"), http(200, b"{}", Content_Encoding="br")]
    yield from same([Protocol.A2A, Protocol.OASF], packed, Outcome.UNKNOWN, Code.UNASKED_ENCODING)
    yield from same([Protocol.MCP], packed, Outcome.UNKNOWN, Code.UNASKED_ENCODING)
    yield from same(
        [Protocol.MCP], [mcp(overrides={"server/discover": packed[0]})], Outcome.UNKNOWN, Code.UNASKED_ENCODING
    )
    yield from same([Protocol.WEB], [html(429, CAPTCHA, cf_mitigated="challenge")], Outcome.UNKNOWN, Code.CHALLENGE)


CLASSES = (up, gated, validates_first, not_exercised, degraded, missing, failing, other_protocols, rate_limited)
CLASSES += (unmeasured,)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_thirty_answers_of_each_class_mean_what_they_should(kind):
    cases = list(kind())
    wrong = []
    with Endpoints() as servers:
        for number, (protocol, answer, outcome, code) in enumerate(cases):
            host = "agent.example"
            servers.answers[host] = answer
            probe = run_probe(servers, host, protocol, path=PATHS[protocol])
            if (probe.outcome, probe.code) != (outcome, code):
                wrong.append((number, protocol, outcome, code, probe))
    assert wrong == []
    assert len(cases) == 30


def test_each_code_is_explained_under_one_outcome():
    assert OUTCOMES.keys() == set(Code)

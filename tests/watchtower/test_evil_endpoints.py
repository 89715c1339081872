"""Forty kinds of evil endpoints beside honest ones: each has its code, and no honest one suffers from them."""

from __future__ import annotations

import base64
import copy
import datetime
import gzip
import json
import socket
import ssl
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, count, repeat

import httpcore
import pytest
import trustme

from bilateral.documents import Network
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code
from bilateral.watchtower.probes import Asker, ProbeSettings, probe
from tests.watchtower.endpoints import CONTACT, OPTION, TOOL, Endpoints, card, html, http, json_, mcp, offer
from tests.watchtower.test_cards import VALID
from tests.watchtower.test_failures import NOW, self_signed
from tests.watchtower.test_outcomes import CAPTCHA, RECORD

WEB, MCP, A2A, OASF, X402 = Protocol
UP, GATED, DEGRADED, DOWN, UNKNOWN, UNFIT = Outcome
PUBLIC = "93.184.216.34"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
OTHER_ID = {"jsonrpc": "2.0", "id": 7, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}}


def rpc(text):
    """Return a server of MCP that answers each request with a text."""
    return lambda request: http(200, text.replace("ID", str(request.message.get("id"))).encode())


def endless_pages(request):
    """Return a page of tools that is never the last one."""
    result = {"tools": [TOOL], "nextCursor": "more"}
    return json_({"jsonrpc": "2.0", "id": request.message["id"], "result": result})


def fails_at_times(numbers):
    """Return a server of which three answers in ten are errors."""
    return lambda _: http(500) if next(numbers) % 10 < 3 else html()


def forged_card():
    """Return a card whose keys are at a private address."""
    published = copy.deepcopy(VALID)
    published["supportedInterfaces"][0]["url"] = "jku.test:50051"
    header = json.dumps({"alg": "ES256", "kid": "ec", "jku": "http://169.254.169.254/keys"}).encode()
    published["signatures"][0]["protected"] = base64.urlsafe_b64encode(header).decode().rstrip("=")
    return published


KINDS = {
    "loris in the head": (WEB, [b"HTTP/1.1 200 OK\r\n", *[0.05, b"X-A: b\r\n"] * 200], DOWN, Code.TIMEOUT_FIRST_BYTE),
    "loris in the body": (OASF, [HEAD + b"\r\n", *[0.05, b"x"] * 200], DOWN, Code.TIMEOUT_BODY),
    "slow stream": (MCP, [STREAM, *[0.05, b": ping\n\n"] * 200], DOWN, Code.TIMEOUT_BODY),
    "endless body": (A2A, lambda _: chain([HEAD + b"\r\n"], repeat(b"x" * 65536, 900)), DOWN, Code.TOO_BIG),
    "endless headers": (A2A, lambda _: chain([HEAD], repeat(b"A: " + b"a" * 8000 + b"\r\n", 900)), DOWN, Code.TOO_BIG),
    "endless stream": (MCP, lambda _: chain([STREAM], repeat(b'data: {"id":1}\n\n' * 4000, 900)), DOWN, Code.TOO_BIG),
    "redirect loop": (WEB, http(302, Location="/again"), DOWN, Code.REDIRECT_REFUSED),
    "redirect to this machine": (WEB, http(302, Location="http://127.0.0.1/"), DOWN, Code.REDIRECT_REFUSED),
    "redirect to metadata": (WEB, http(302, Location="http://169.254.169.254/"), DOWN, Code.REDIRECT_REFUSED),
    "redirect to other metadata": (WEB, http(302, Location="http://100.100.100.200/"), DOWN, Code.REDIRECT_REFUSED),
    "redirect to a mapped address": (WEB, http(307, Location="http://[::ffff:7f00:1]/"), DOWN, Code.REDIRECT_REFUSED),
    "rebinding": (WEB, html(), UNFIT, Code.FORBIDDEN_ADDRESS),
    "public and private": (WEB, html(), UNFIT, Code.FORBIDDEN_ADDRESS),
    "expired": (WEB, html(), DOWN, Code.CERTIFICATE_EXPIRED),
    "wrong name": (WEB, html(), DOWN, Code.CERTIFICATE_NAME),
    "self-signed": (WEB, html(), DOWN, Code.CERTIFICATE_SELF_SIGNED),
    "tls stall": (WEB, html(), DOWN, Code.TIMEOUT_TLS),
    "closed port": (WEB, html(), DOWN, Code.CONNECTION_REFUSED),
    "no answer": (WEB, b"", DOWN, Code.BROKEN_ANSWER),
    "bomb": (A2A, http(200, gzip.compress(bytes(10**7)), Content_Encoding="gzip"), UNKNOWN, Code.UNASKED_ENCODING),
    "packed": (A2A, http(200, gzip.compress(b"{}"), Content_Encoding="gzip"), UNKNOWN, Code.UNASKED_ENCODING),
    "wrong length": (A2A, HEAD + b"Content-Length: 999\r\n\r\n{}", DOWN, Code.BROKEN_ANSWER),
    "429": (WEB, http(429), UNKNOWN, Code.RATE_LIMITED),
    "429 with a wait": (WEB, http(429, Retry_After="60"), UNKNOWN, Code.RATE_LIMITED),
    "429 for ever": (MCP, http(429, Retry_After="1000000000"), UNKNOWN, Code.RATE_LIMITED),
    "503": (MCP, http(503), DOWN, Code.STATUS_5XX),
    "errors at times": (WEB, fails_at_times(count()), None, None),
    "captcha": (MCP, html(200, CAPTCHA), UNKNOWN, Code.CHALLENGE),
    "page": (MCP, html(), DOWN, Code.WRONG_TYPE),
    "another id": (MCP, json_(OTHER_ID), DOWN, Code.NOT_PROTOCOL),
    "batch": (MCP, rpc('[{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"1"}}]'), DOWN, Code.NOT_PROTOCOL),
    "deep JSON": (OASF, http(200, b"[" * 10**5), DOWN, Code.NOT_PROTOCOL),
    "duplicate keys": (MCP, rpc('{"jsonrpc":"2.0","id":1,"id":ID,"result":{}}'), DOWN, Code.NOT_PROTOCOL),
    "NaN": (MCP, rpc('{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":NaN}}'), DOWN, Code.NOT_PROTOCOL),
    "many tools": (MCP, mcp(tools=[{**TOOL, "description": "x" * 10_000}] * 1_000), DEGRADED, Code.TOO_BIG),
    "endless pages": (MCP, mcp(overrides={"tools/list": endless_pages}), DEGRADED, Code.TOO_BIG),
    "keys elsewhere": (A2A, json_(forged_card()), UP, Code.OK),
    "another agent": (A2A, json_(card("https://honest.test/a2a")), DEGRADED, Code.OTHER_DOMAIN),
    "many prices": (X402, offer(*[OPTION] * 10**4), DOWN, Code.TOO_BIG),
    "price that redirects": (X402, offer(OPTION).replace(b"Conn", b"Location: http://127.0.0.1/\r\nConn"), UP, Code.OK),
}
HONEST = {
    WEB: html(),
    MCP: mcp(),
    A2A: lambda request: json_(card(f"http://{request.headers['host']}/")),
    OASF: json_(RECORD),
    X402: offer(OPTION),
}
PATHS = {WEB: "/", MCP: "/mcp", A2A: "/card.json", OASF: "/record.json", X402: "/weather"}
SLOW = {"loris in the head", "loris in the body", "slow stream", "tls stall"}
SECURE = {"expired", "wrong name", "self-signed", "tls stall"}


class ThisMachine(httpcore.SyncBackend):
    """Connects to this machine, whatever public address is asked for."""

    def connect_tcp(self, host, port, *arguments, **options):
        assert host == PUBLIC, f"{host} is asked"
        return super().connect_tcp("127.0.0.1", port, *arguments, **options)


class Fleet:
    """The evil endpoints and the honest ones, with the network that leads to them."""

    def __init__(self, stack, folder):
        authority, day, look_ups = trustme.CA(), datetime.timedelta(1), count()
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        names = {"rebinding.test": lambda: [PUBLIC] if next(look_ups) % 2 else ["127.0.0.1"]}
        names["public-and-private.test"] = lambda: [PUBLIC, "10.0.0.1"]

        def look_up(host, _port):
            return names.get(host, lambda: [PUBLIC])() if host.endswith(".test") else [host]

        self.network = Network(ssl_context=trusting, resolver=look_up, backend=ThisMachine())
        self.plain = stack.enter_context(Endpoints())
        closed = stack.enter_context(socket.socket())
        closed.bind(("127.0.0.1", 0))
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
        expired = authority.issue_cert("expired.test", not_before=NOW - 9 * day, not_after=NOW - day)
        certificates = {
            "expired": expired.configure_cert,
            "wrong name": authority.issue_cert("other.test").configure_cert,
            "self-signed": lambda context: self_signed(context, folder),
        }
        ports = {"closed port": closed.getsockname()[1], "tls stall": silent.getsockname()[1]}
        for kind, configure in certificates.items():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            configure(context)
            ports[kind] = stack.enter_context(Endpoints(tls=context)).port
        self.targets = {}
        for kind, (protocol, answer, *_) in KINDS.items():
            host = "jku.test" if kind == "keys elsewhere" else f"{kind.replace(' ', '-').lower()}.test"
            self._add(kind, protocol, host, answer, ports.get(kind, self.plain.port))
        for protocol, answer in HONEST.items():
            self._add(f"honest {protocol}", protocol, f"honest-{protocol}.test", answer, self.plain.port)

    def _add(self, name, protocol, host, answer, port):
        self.plain.answers[host] = answer
        scheme = "https" if name in SECURE else "http"
        url = f"{scheme}://{host}:{port}{PATHS[protocol]}"
        self.targets[name] = Target(protocol, url, host, (), protocol is X402)

    def probe(self, name, slow_seconds):
        """Probe an endpoint of the fleet."""
        settings = ProbeSettings(CONTACT, self.network, slow_seconds if name in SLOW else 60.0)
        return probe(Asker(self.targets[name], settings, is_deep=True))

    def play(self, rounds, honest, slow_seconds=0.5):
        """Probe all for some rounds, the honest ones several times in each, and count the results by name.

        The slow ones get so many seconds: enough to send their first byte, however many probes run at once.
        """
        names = [*KINDS, *(name for name in self.targets if name.startswith("honest") for _ in range(honest))]
        results = {name: Counter() for name in names}
        with ThreadPoolExecutor(32) as threads:
            for _ in range(rounds):
                for name, result in zip(names, threads.map(self.probe, names, repeat(slow_seconds)), strict=True):
                    results[name][result.outcome, result.code] += 1
        return results


@pytest.fixture
def fleet(tmp_path):
    """Forty evil endpoints and five honest ones."""
    with ExitStack() as stack:
        yield Fleet(stack, tmp_path)


def assert_fair(results, rounds):
    """Check that each evil kind has its code, and that honest endpoints are always up."""
    assert len(KINDS) == 40
    for name, outcomes in results.items():
        if name.startswith("honest"):
            assert set(outcomes) == {(UP, Code.OK)}, name
        elif name == "errors at times":
            assert set(outcomes) <= {(UP, Code.OK), (DOWN, Code.STATUS_5XX)}
        elif name == "rebinding":
            assert set(outcomes) <= {(UP, Code.OK), (UNFIT, Code.FORBIDDEN_ADDRESS)}
        else:
            assert dict(outcomes) == {KINDS[name][2:]: rounds}, name


def test_evil_endpoints_have_their_codes_and_honest_ones_are_up(fleet):
    assert_fair(fleet.play(rounds=1, honest=4), 1)


@pytest.mark.nightly
def test_hundred_rounds_of_evil_endpoints_harm_no_honest_one(fleet):
    results = fleet.play(rounds=100, honest=8, slow_seconds=3.0)
    assert_fair(results, 100)
    assert {outcome for outcome, _ in results["rebinding"]} == {UP, UNFIT}
    assert 20 <= results["errors at times"][DOWN, Code.STATUS_5XX] <= 40

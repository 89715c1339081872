"""No probe acts or pays: what servers are asked, and what the transport refuses to send whatever a program does."""

from __future__ import annotations

import base64

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import DocumentError
from bilateral.index.measurements.values import Protocol, Target
from bilateral.watchtower.probes.asking import Asker, ForbiddenRequestError, ProbeSettings
from tests.watchtower.endpoints import (
    CONTACT,
    OPTION,
    Endpoints,
    card,
    html,
    http,
    json_,
    local_network,
    mcp,
    offer,
    run_probe,
)

HOST = "agent.example"
QUESTIONS = {"GET", "HEAD", "OPTIONS", "server/discover", "initialize", "notifications/initialized", "tools/list"}
SECRETS = ["authorization", "proxy-authorization", "cookie", "x-payment", "payment-signature", "payment-response"]
SECRETS += ["sign-in-with-x", "x-api-key", "api-key", "x-auth-token", "payment-identifier", "x-402-payment"]
PROBES = [(protocol, is_deep) for protocol in Protocol for is_deep in (False, True)]


@pytest.fixture
def servers(monkeypatch):
    """Servers that record, for a process whose environment has keys."""
    for name in ("PRIVATE_KEY", "BILATERAL_PRIVATE_KEY", "EVM_PRIVATE_KEY", "X402_PRIVATE_KEY"):
        monkeypatch.setenv(name, "0x" + "11" * 32)
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:1")
    with Endpoints() as running:
        yield running


@pytest.mark.parametrize(("protocol", "is_deep"), PROBES)
@pytest.mark.parametrize(
    "answer",
    [
        offer(OPTION),
        http(401, WWW_Authenticate="Basic realm=x", Set_Cookie="session=1; Path=/"),
        http(405, Allow="POST, PUT, DELETE"),
        http(404),
        html(),
        json_(card(f"http://{HOST}/")),
        mcp("2025-11-25", session="s1", is_stream=True),
        mcp(),
        http(302, Location="/again", Set_Cookie="session=1"),
    ],
    ids=["price", "login", "verbs", "nothing", "page", "card", "session", "stateless", "redirect"],
)
def test_servers_see_only_questions(servers, protocol, is_deep, answer):
    servers.answers[HOST] = answer
    run_probe(servers, HOST, protocol, is_deep=is_deep)
    assert servers.requests
    for _, request in servers.requests:
        assert set(request.headers).isdisjoint(SECRETS)
        assert request.headers["accept-encoding"] == "identity"
        assert request.headers["user-agent"].startswith("bilateral-watchtower/")
        assert CONTACT in request.headers["user-agent"]
        if request.method == "POST" and protocol is Protocol.X402:
            assert request.body == b"{}"
        elif request.question == "DELETE":
            assert request.headers["mcp-session-id"] == "s1"
        else:
            assert request.question in QUESTIONS


def test_body_is_sent_to_paid_routes_only(servers):
    servers.answers[HOST] = http(405, Allow="POST")
    run_probe(servers, HOST, Protocol.X402, is_paid=False, method="POST")
    assert servers.asked(HOST) == ["GET"]
    servers.requests.clear()
    run_probe(servers, HOST, Protocol.X402, is_paid=True)
    assert servers.asked(HOST) == ["GET", "POST"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "CONNECT"])
def test_method_that_acts_is_not_used_although_it_is_declared(servers, method):
    run_probe(servers, HOST, Protocol.X402, method=method)
    assert servers.requests == []


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,24}", fullmatch=True)


@given(
    name=st.one_of(st.sampled_from(SECRETS), NAMES),
    value=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
    method=st.sampled_from(["GET", "POST", "OPTIONS", "DELETE", "PUT", "PATCH", "HEAD"]),
    body=st.one_of(
        st.sampled_from([b"", b"{}", b'{"method":"tools/call"}', b'{"method":"SendMessage"}']), st.binary(max_size=60)
    ),
    protocol=st.sampled_from(list(Protocol)),
)
def test_transport_refuses_what_pays_authorizes_or_acts(name, value, method, body, protocol):
    asker = Asker(Target(protocol, f"http://{HOST}/", HOST, is_paid=True), ProbeSettings(CONTACT))
    allowed = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "x", "content-type": "application/json"}
    request = httpx.Request(method, f"http://{HOST}/", headers={**allowed, name: value}, content=body or None)
    if _is_allowed(asker, request):
        assert name not in SECRETS
        assert method in {"GET", "HEAD", "OPTIONS"} or (protocol is Protocol.X402 and (method, body) == ("POST", b"{}"))


def _is_allowed(asker, request):
    try:
        asker.check(request)
    except DocumentError:
        return False
    return True


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_never_reaches_the_socket(servers, secret):
    asker = Asker(Target(Protocol.X402, servers.url(HOST), HOST, is_paid=True), ProbeSettings(CONTACT, local_network()))
    with pytest.raises(ForbiddenRequestError):
        asker.ask("GET", servers.url(HOST), headers={secret: "value"})
    login = base64.b64encode(b"user:secret").decode()
    with pytest.raises(ForbiddenRequestError):
        asker.ask("GET", f"http://user:secret@{HOST}:{servers.port}/")
    assert servers.requests == []
    assert login not in str(servers.requests)


def test_cookie_of_a_redirect_is_not_sent_back(servers):
    def answer(request):
        return html() if request.target == "/next" else http(302, Location="/next", Set_Cookie="id=1; Path=/")

    servers.answers[HOST] = answer
    run_probe(servers, HOST, Protocol.WEB)
    assert [request.target for _, request in servers.requests] == ["/", "/next"]
    assert all("cookie" not in request.headers for _, request in servers.requests)

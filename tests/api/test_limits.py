"""Limits on requests, and what pages of other origins may do."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from bilateral.api import guard, protocol
from bilateral.api.guard import client_address
from bilateral.api.settings import ApiSettings
from bilateral.core.errors import InvalidArgumentError
from tests.api.world import ALICE, BOB

pytestmark = pytest.mark.one_engine


def problem(response):
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_a_url_may_be_as_long_as_the_limit_and_no_longer(api_with):
    with api_with(max_url=100) as client:
        path = "/healthz?" + "x" * 92  # the question mark does not count
        assert client.get(path).status_code == 200
        assert problem(client.get(path + "x")) == (414, "url_too_long")


def test_refusal_before_the_router_has_the_member_that_published_clients_read(api_with):
    with api_with(max_url=100, rate="1/hour") as client:
        assert client.get("/api/buyer/0x12").status_code == 400
        for path, code in (("/api/buyer/0x12?" + "x" * 100, "url_too_long"), ("/api/buyer/0x12", "rate_limited")):
            refused = client.get(path).json()
            assert (refused["code"], refused["error"]) == (code, refused["detail"])
        assert "error" not in client.get("/v1/chains").json()


def test_headers_may_be_as_large_as_the_limit_and_no_larger(api_with):
    with api_with(max_headers=1_000) as client:
        used = sum(len(name) + len(value) for name, value in client.build_request("GET", "/healthz").headers.raw)
        rest = 1_000 - used - len("X-Filler")
        assert client.get("/healthz", headers={"X-Filler": "x" * rest}).status_code == 200
        larger = client.get("/healthz", headers={"X-Filler": "x" * (rest + 1)})
        assert problem(larger) == (431, "headers_too_large")


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with its length", "in chunks"])
def test_a_body_may_be_as_large_as_the_limit_and_no_larger(api_with, is_chunked):
    with api_with(max_body=1_000) as client:

        def post(size):
            body = iter([b"x" * 600, b"x" * (size - 600)]) if is_chunked else b"x" * size
            return client.post("/mcp", content=body, headers={"Content-Type": "application/json"})

        assert post(1_000).status_code == 400  # it is not JSON
        assert problem(post(1_001)) == (413, "body_too_large")


def test_an_address_may_send_as_many_requests_as_the_limit(api_with):
    with api_with(rate="3/hour") as client:
        assert [client.get("/v1/chains").status_code for _ in range(3)] == [200] * 3
        refused = client.get("/v1/chains")
        assert problem(refused) == (429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 3600
        assert client.get("/healthz").status_code == 200  # monitors are not counted


def test_forwarded_addresses_are_believed_of_trusted_proxies_only(api_with):
    with api_with(rate="1/hour") as client:
        first, second = (
            client.get("/v1/chains", headers={"X-Forwarded-For": f"192.0.2.{number}"}) for number in (1, 2)
        )
        assert (first.status_code, second.status_code) == (200, 429)
    with api_with(rate="1/hour", trusted_proxies=("127.0.0.0/8",)) as client:
        first, second = (
            client.get("/v1/chains", headers={"X-Forwarded-For": f"192.0.2.{number}"}) for number in (1, 2)
        )
        assert (first.status_code, second.status_code) == (200, 200)


@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1"])
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("", "10.0.0.1"),
        ("192.0.2.7", "192.0.2.7"),
        ("1.1.1.1, 192.0.2.7", "192.0.2.7"),
        ("192.0.2.7, 10.0.0.9", "192.0.2.7"),
        ("nonsense", "10.0.0.1"),
        ("10.0.0.8, 10.0.0.9", "10.0.0.8"),
        ("192.0.2.7, nonsense, 10.0.0.9", "10.0.0.9"),
    ],
)
def test_the_last_address_that_is_not_a_proxy_is_the_clients(forwarded, address, peer):
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"client": (peer, 1), "headers": headers}
    networks = ApiSettings(trusted_proxies=("10.0.0.0/8",)).proxy_networks
    assert client_address(scope, networks).removeprefix("::ffff:") == address


@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "::FFFF:a00:1"])
@pytest.mark.parametrize(
    ("proxy", "is_trusted"),
    [
        ("10.0.0.1", True),
        ("::ffff:10.0.0.1", True),
        ("::ffff:10.0.0.0/127", True),
        ("::ffff:10.0.0.0/128", False),
        ("::ffff:0:0/96", True),
        ("::/0", False),
    ],
)
def test_a_proxy_is_trusted_however_its_ipv4_address_is_written(proxy, is_trusted, peer):
    scope = {"client": (peer, 1), "headers": [(b"x-forwarded-for", b"192.0.2.7")]}
    networks = ApiSettings(trusted_proxies=(proxy,)).proxy_networks
    assert client_address(scope, networks) == ("192.0.2.7" if is_trusted else peer)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": "many"},
        {"trusted_proxies": ("here",)},
        {"workers": 0},
        {"query_seconds": 0},
        {"query_seconds": 61},
        {"max_body": 0},
    ],
    ids=["rate", "proxy", "workers", "no time", "too much time", "body"],
)
def test_settings_that_cannot_work_are_refused(changes):
    with pytest.raises(InvalidArgumentError):
        ApiSettings(**changes)


def test_pages_of_other_origins_may_read(api):
    response = api.get("/v1/chains", headers={"Origin": "https://page.example"})
    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers
    asked = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    assert api.options("/graphql", headers=asked).status_code == 200
    assert api.options("/v1/chains", headers=asked).status_code == 400


def test_pages_of_other_origins_may_not_write(api):
    response = api.post("/api/review", content=b"{}", headers={"Origin": "https://page.example"})
    assert "access-control-allow-origin" not in response.headers


def test_models_in_browsers_reach_their_tools(api):
    names = "content-type, mcp-protocol-version, mcp-method, mcp-name"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": names}
    preflight = api.options("/mcp", headers=asked | {"Origin": "https://page.example"})
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, "*")
    allowed = preflight.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in names.split(", "))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Origin": "https://page.example", "Accept": "application/json, text/event-stream"}
    answered = api.post("/mcp", json=call, headers=headers)
    assert (answered.status_code, answered.headers["access-control-allow-origin"]) == (200, "*")


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        ("/v1/checks/server?agent=31337:1", "pay_to", (ALICE.address, BOB.address)),
        ("/v1/checks/server?agent=31337:1", "minimum_rating", ("0", "90")),
        ("/v1/checks/client?client=31337:1", "chain", ("31337", "31337")),
        ("/v1/agents/31337:1/feedback", "limit", ("1", "2")),
        ("/v1/agents/31337:1", "newest", ("1", "2")),
        ("/v1/search/agents", "q", ("a", "b")),
        (f"/api/buyer/{ALICE.address}", "policy", ("brp-1.0", "independent-1.0")),
    ],
)
def test_parameter_with_one_value_may_not_be_repeated(api, path, name, values):
    url = httpx.URL(path)
    response = api.get(url.copy_merge_params([(name, values[0])]).copy_add_param(name, values[1]))
    assert problem(response) == (400, "invalid_argument")
    assert response.json()["detail"] == f'the parameter "{name}" was passed 2 times: pass it once'


def test_lists_are_parameters_that_are_repeated(api):
    query = [("agent", "31337:1"), ("trust_account", ALICE.address), ("trust_account", BOB.address)]
    assert api.get("/v1/checks/server", params=query).status_code == 200


def test_several_lists_of_known_tags_count_as_one(api):
    for path in ("/v1/chains", "/v1/agents/31337:1", "/v1/agents/31337:1?newest=1"):
        tag = api.get(path).headers["etag"]
        for tags in (('"other"', tag), (tag, '"other"')):
            unchanged = api.get(path, headers=[("If-None-Match", known) for known in tags])
            assert unchanged.status_code == 304, (path, tags)


@pytest.mark.parametrize("path", ["feedback", "validations"])
def test_account_on_a_chain_that_is_not_indexed_is_not_found(api, path):
    response = api.get(f"/v1/accounts/{ALICE.address}/{path}", params={"chain": 5})
    assert problem(response) == (404, "chain_not_indexed")


def test_unknown_paths_and_methods_are_problems(api):
    assert problem(api.get("/v2")) == (404, "not_found")
    assert problem(api.delete("/v1/chains")) == (405, "method_not_allowed")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_models_open_no_streams_without_end(api, method):
    response = api.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert problem(response) == (405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


def sent(api, data):
    """Return all that the service answers to some bytes."""
    url = urlsplit(str(api.base_url))
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def refusal(received):
    """Return the status line and the code of a problem that closes the connection."""
    head, _, body = received.partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    assert {b"content-type: application/problem+json", b"connection: close"} <= set(headers)
    assert b"content-length: %d" % len(body) in headers
    return status, json.loads(body)["code"]


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 10_000, b"GET /" + b"x" * 70_000], ids=["headers", "a path"]
)
def test_headers_without_end_close_the_connection(api, head):
    received = sent(api, head[: protocol.HEAD_BYTES + 1])  # more would be lost when the service closes
    assert refusal(received) == (b"HTTP/1.1 431 Request Header Fields Too Large", "headers_too_large")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    ],
    ids=["none", "two", "two of HTTP/1.0"],
)
def test_request_names_one_host(api, request_):
    assert refusal(sent(api, request_)) == (b"HTTP/1.1 400 Bad Request", "invalid_request")
    assert sent(api, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_late_body_closes_the_connection(api, monkeypatch):
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.2)
    head = b"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    assert refusal(sent(api, head)) == (b"HTTP/1.1 408 Request Timeout", "body_timeout")


def test_bytes_that_are_not_http_are_a_problem(api):
    assert refusal(sent(api, b"GET /healthz\0 HTTP/1.1\r\n\r\n")) == (b"HTTP/1.1 400 Bad Request", "invalid_request")


def test_a_connection_that_sends_no_request_in_time_is_closed(api, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    url = urlsplit(str(api.base_url))
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert connection.recv(10) == b""

"""Limits on requests, and what pages of other origins may do."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from bilateral.api import protocol
from bilateral.api.guard import client_address
from bilateral.api.settings import ApiSettings
from bilateral.errors import InvalidArgumentError


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
        first, second = (client.get("/v1/chains", headers={"X-Forwarded-For": f"192.0.2.{it}"}) for it in (1, 2))
        assert (first.status_code, second.status_code) == (200, 429)
    with api_with(rate="1/hour", trusted_proxies=("127.0.0.0/8",)) as client:
        first, second = (client.get("/v1/chains", headers={"X-Forwarded-For": f"192.0.2.{it}"}) for it in (1, 2))
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
    response = api.post("/mcp", content=b"{}", headers={"Origin": "https://page.example"})
    assert "access-control-allow-origin" not in response.headers


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


def test_bytes_that_are_not_http_are_a_problem(api):
    assert refusal(sent(api, b"GET /healthz\0 HTTP/1.1\r\n\r\n")) == (b"HTTP/1.1 400 Bad Request", "invalid_request")


def test_a_connection_that_sends_no_request_in_time_is_closed(api, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    url = urlsplit(str(api.base_url))
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert connection.recv(10) == b""

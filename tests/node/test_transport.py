"""Connections to nodes that misbehave: each misdeed ends with a named error, in time and within bounds."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time

import pytest

from bilateral.core.errors import (
    InvalidArgumentError,
    MalformedNodeAnswerError,
    NodeError,
    NodeTimeoutError,
    NodeUnreachableError,
)
from bilateral.node import http
from tests.node.conftest import answer_to, error_to, reply_with
from tests.sdk.servers import HttpServer, respond

SOON = 30
"""The seconds within which something ends that would go on for much longer: a busy machine takes some of them."""


def test_a_request_returns_the_result(connect, node):
    assert connect(node.url).request("eth_chainId", []) == "eth_chainId"
    assert node.asked == [{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}]


def test_connections_are_reused(connect, node, monkeypatch):
    monkeypatch.setattr(node._http.RequestHandlerClass, "protocol_version", "HTTP/1.1")
    ports = set()
    node.reply = lambda handler, body: ports.add(handler.client_address) or reply_with(handler, answer_to(body))
    transport = connect(node.url)
    for _ in range(3):
        transport.request("eth_chainId", [])
    assert (len(ports), len(node.asked)) == (1, 3)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(connect, node, status):
    with HttpServer() as private:
        node.reply = lambda handler, _: respond(handler, b"", status, Location=private.url)
        with pytest.raises(NodeUnreachableError, match=f"HTTP status {status}"):
            connect(node.url).request("eth_chainId", [])
        assert private.requests == []


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_reply_that_trickles_ends_at_the_deadline(connect, node, where):
    def trickle(handler, _):
        if where == "body":
            handler.send_response(200)
            handler.end_headers()
        while not node.released.wait(0.05):
            handler.wfile.write(b"x" if where == "headers" else b" ")
            handler.wfile.flush()

    node.reply = trickle
    begun = time.monotonic()
    with pytest.raises(NodeTimeoutError, match="eth_chainId in time"):
        connect(node.url, 0.4).request("eth_chainId", [])
    assert 0.3 < time.monotonic() - begun < SOON


def test_a_node_that_never_answers_ends_at_the_deadline(connect, node):
    node.reply = lambda *_: node.released.wait(2 * SOON)
    begun = time.monotonic()
    with pytest.raises(NodeTimeoutError):
        connect(node.url, 1.0).request("eth_chainId", [])
    assert time.monotonic() - begun < SOON
    assert len(node.asked) == 1


def test_a_host_whose_name_resolves_too_slowly_ends_at_the_deadline(connect, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(2 * SOON) and [])
    begun = time.monotonic()
    with pytest.raises(NodeTimeoutError, match="eth_chainId in time"):
        connect("http://slow.example", 0.4).request("eth_chainId", [])
    elapsed = time.monotonic() - begun
    released.set()
    assert 0.3 < elapsed < SOON


@pytest.fixture
def small(monkeypatch):
    """Replies may have 1,000 bytes."""
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1000)
    return 1000


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
def test_a_reply_may_have_as_many_bytes_as_the_limit_and_no_more(connect, node, small, is_compressed):
    size = [small]

    def reply(handler, body):
        text = b'{"id":%d,"result":"' % body["id"]
        text += b"x" * (size[0] - len(text) - 2) + b'"}'
        headers = {"Content_Encoding": "gzip"} if is_compressed else {}
        respond(handler, gzip.compress(text) if is_compressed else text, **headers)

    node.reply = reply
    transport = connect(node.url)
    assert set(transport.request("eth_call", [])) == {"x"}
    size[0] += 1
    with pytest.raises(MalformedNodeAnswerError, match="eth_call exceeds 1000 bytes"):
        transport.request("eth_call", [])


def test_an_endless_reply_is_cut_at_the_limit(connect, node, small):
    sent = []

    def pour(handler, _):
        handler.send_response(200)
        handler.end_headers()
        while not node.released.is_set():
            handler.wfile.write(b" " * 100)
            sent.append(100)

    node.reply = pour
    with pytest.raises(MalformedNodeAnswerError, match="eth_call exceeds 1000 bytes"):
        connect(node.url).request("eth_call", [])


def test_a_gzip_bomb_is_cut_at_the_limit(connect, node):
    bomb = gzip.compress(b" " * (http.MAX_RESPONSE_BYTES + 1))
    assert len(bomb) < 100_000
    node.reply = lambda handler, _: respond(handler, bomb, Content_Encoding="gzip")
    with pytest.raises(MalformedNodeAnswerError, match=f"eth_call exceeds {http.MAX_RESPONSE_BYTES} bytes"):
        connect(node.url, 20).request("eth_call", [])


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b'{"id":1,"result":1}')[:-9]], ids=["other", "cut"])
def test_broken_gzip_is_an_error(connect, node, body):
    node.reply = lambda handler, _: respond(handler, body, Content_Encoding="gzip")
    with pytest.raises(MalformedNodeAnswerError, match="invalid gzip data"):
        connect(node.url).request("eth_chainId", [])


@pytest.mark.parametrize("encoding", ["deflate", "br", "gzip, gzip"])
def test_an_encoding_that_was_not_requested_is_an_error(connect, node, encoding):
    node.reply = lambda handler, _: respond(handler, b"{}", Content_Encoding=encoding)
    with pytest.raises(MalformedNodeAnswerError, match="encoding that was not requested"):
        connect(node.url).request("eth_chainId", [])


@pytest.mark.parametrize("answered", [0, 2, "1", None, True, 1.0])
def test_the_answer_to_another_request_is_an_error(connect, node, answered):
    node.reply = lambda handler, body: reply_with(handler, answer_to(body) | {"id": answered})
    with pytest.raises(MalformedNodeAnswerError, match="the id of a different request"):
        connect(node.url).request("eth_chainId", [])


def test_an_error_may_have_no_id(connect, node):
    node.reply = lambda handler, body: reply_with(handler, error_to(body, "invalid request", -32600) | {"id": None})
    with pytest.raises(NodeError, match="invalid request") as caught:
        connect(node.url).request("eth_chainId", [])
    assert caught.value.code == -32600


def test_an_error_in_a_body_says_more_than_its_status(connect, node):
    node.reply = lambda handler, body: reply_with(handler, error_to(body, "up to a 10 block range", -32600), 400)
    with pytest.raises(NodeError, match="up to a 10 block range"):
        connect(node.url).request("eth_getLogs", [])


def test_a_wait_is_as_long_as_the_node_asks_for(connect, node):
    def reply(handler, body):
        if len(node.asked) == 1:
            reply_with(handler, {}, 429, Retry_After="1")
        else:
            reply_with(handler, answer_to(body))

    node.reply = reply
    begun = time.monotonic()
    assert connect(node.url, 2 * SOON).request("eth_chainId", []) == "eth_chainId"
    assert 1 <= time.monotonic() - begun < SOON


def test_a_wait_beyond_the_deadline_is_not_begun(connect, node):
    node.reply = lambda handler, _: reply_with(handler, {}, 429, Retry_After="90")
    begun = time.monotonic()
    with pytest.raises(NodeUnreachableError, match="HTTP status 429"):
        connect(node.url, 2 * SOON).request("eth_chainId", [])
    assert time.monotonic() - begun < SOON
    assert len(node.asked) == 1


@pytest.mark.parametrize(("code", "message"), [(-32005, "limit exceeded"), (-32000, "rate limit"), (429, "slow down")])
def test_a_rate_limit_is_waited_out(connect, node, code, message):
    node.reply = lambda handler, body: reply_with(
        handler, error_to(body, message, code) if len(node.asked) < 3 else answer_to(body)
    )
    assert connect(node.url).request("eth_chainId", []) == "eth_chainId"
    assert len(node.asked) == 3


def test_a_rate_limit_that_stays_is_told_after_four_requests(connect, node):
    node.reply = lambda handler, body: reply_with(handler, error_to(body, "rate limit", -32005))
    with pytest.raises(NodeError, match="rate limit"):
        connect(node.url).request("eth_chainId", [])
    assert len(node.asked) == 4


def test_a_list_that_is_too_long_is_not_asked_for_again(connect, node):
    node.reply = lambda handler, body: reply_with(
        handler, error_to(body, "query returned more than 10000 results", -32005)
    )
    with pytest.raises(NodeError, match="more than 10000 results"):
        connect(node.url).request("eth_getLogs", [])
    assert len(node.asked) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_transaction_is_not_sent_again_after_a_failure(connect, node, status):
    node.reply = lambda handler, _: reply_with(handler, {}, status)
    with pytest.raises(NodeUnreachableError, match=f"HTTP status {status}"):
        connect(node.url).request("eth_sendRawTransaction", ["0x"])
    assert len(node.asked) == 1


def test_a_transaction_that_met_a_rate_limit_is_sent_again(connect, node):
    node.reply = lambda handler, body: reply_with(
        handler, {} if len(node.asked) == 1 else answer_to(body), 429 if len(node.asked) == 1 else 200
    )
    assert connect(node.url).request("eth_sendRawTransaction", ["0x"]) == "eth_sendRawTransaction"


def test_a_connection_that_closes_without_an_answer_is_tried_again(connect, node):
    def reply(handler, body):
        if len(node.asked) == 1:
            handler.connection.close()
        else:
            reply_with(handler, answer_to(body))

    node.reply = reply
    assert connect(node.url).request("eth_chainId", []) == "eth_chainId"


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://", "http://:80", "host:8545", "http://host:0", "http://host:99999", "http://h\n.x"]
)
def test_a_url_that_no_node_has_is_refused_without_showing_it(connect, url):
    with pytest.raises(InvalidArgumentError, match="rpc must be an http") as caught:
        connect(url)
    assert "host" not in str(caught.value)


def test_a_password_in_the_url_becomes_basic_authentication(connect, node):
    connect(node.url.replace("//", "//user:s3cr%40t@")).request("eth_chainId", [])
    ((_, path, headers),) = node.requests
    assert (path, headers["Authorization"]) == ("/", "Basic dXNlcjpzM2NyQHQ=")
    assert headers["Host"] == node.url.removeprefix("http://")


def test_neither_logs_nor_errors_show_the_key_in_a_url(connect, node, caplog):
    caplog.set_level(logging.DEBUG)
    transport = connect(node.url.replace("//", "//user:s3cret@") + "/v2/s3cret?key=s3cret")
    transport.request("eth_chainId", [])
    node.reply = lambda handler, _: reply_with(handler, {}, 401)
    with pytest.raises(NodeUnreachableError) as caught:
        transport.request("eth_chainId", [])
    assert node.requests[0][1] == "/v2/s3cret?key=s3cret"
    assert caplog.text
    assert "s3cret" not in caplog.text + str(caught.value)


def test_threads_share_a_transport_and_each_has_its_own_deadline(node):
    from bilateral.node.transport import Transport  # noqa: PLC0415

    node.reply = lambda handler, body: (
        node.released.wait(2 * SOON) if body["method"] == "eth_call" else reply_with(handler, answer_to(body))
    )
    transport = Transport(node.url, 2.0)
    failures = []

    def stall():
        with pytest.raises(NodeTimeoutError):
            transport.request("eth_call", [])
        failures.append("timeout")

    thread = threading.Thread(target=stall)
    thread.start()
    assert transport.request("eth_chainId", []) == "eth_chainId"
    thread.join(2 * SOON)
    assert failures == ["timeout"]
    transport.close()

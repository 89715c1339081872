"""One request and its whole answer: statuses, streams, limits, time and certificates."""

from __future__ import annotations

import time

import pytest

from bilateral.core.errors import DocumentTooLargeError, EncodedAnswerError, TooManyRedirectsError
from bilateral.documents import Limits, Network
from bilateral.documents.exchanges import exchange
from tests.sdk.servers import redirect, respond

LIMITS = Limits(bytes=1000, seconds=20.0)
NETWORK = Network(allow_private=True)


def stream(*parts):
    """Return an answer that sends the parts of a stream one by one, and then stays open."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part)
            time.sleep(0.01)
        handler.connection.settimeout(10)
        handler.rfile.read(1)

    return answer


@pytest.mark.parametrize("status", [200, 204, 304, 402, 404, 503])
def test_answer_has_whatever_status_with_its_headers_and_body(server, status):
    body = b"" if status in {204, 304} else b"no"
    server.routes["/"] = lambda handler: respond(handler, body, status, X_A="b")
    answer = exchange("GET", f"{server.url}/", LIMITS, NETWORK)
    assert (answer.status, answer.body, answer.headers["x-a"], answer.certificate_ends) == (status, body, "b", None)
    assert 0 <= answer.milliseconds < 20_000


@pytest.mark.parametrize(
    "parts",
    [
        (b"data: one\ndata: two\n\n",),
        (b"\xef\xbb\xbf: hello\r\n\r\ndata: no\r\n\r\nevent: message\r\ndata: one\r", b"\ndata: two\r", b"\n\r\n"),
        (b"id: 1\ndata:\n\n", b"data: no\n\ndata", b": one\ndata:two\n", b"\ndata: three\n\n"),
        (b"data: one\rdata: two\r\r\r",),
    ],
)
def test_stream_is_read_to_the_event_that_is_waited_for_and_then_closed(server, parts):
    server.routes["/"] = stream(*parts)
    began = time.monotonic()
    answer = exchange("POST", f"{server.url}/", LIMITS, NETWORK, is_last=lambda event: "two" in event.data)
    assert (answer.body, answer.event) == (b"one\ntwo", "message")
    assert time.monotonic() - began < 9


def test_stream_that_ends_before_the_event_has_none(server):
    server.routes["/"] = lambda handler: respond(handler, b"data: a\n\ndata: b", Content_Type="text/event-stream")
    answer = exchange("GET", f"{server.url}/", LIMITS, NETWORK, is_last=lambda event: event.data == "b")
    assert (answer.body, answer.event) == (b"", None)


def test_stream_without_end_exceeds_the_limit(server):
    server.routes["/"] = stream(*[b"data: x\n\n"] * 200)
    with pytest.raises(DocumentTooLargeError):
        exchange("GET", f"{server.url}/", LIMITS, NETWORK, is_last=lambda event: event.data == "y")


@pytest.mark.parametrize("size", [1000, 1001])
def test_body_over_the_limit_is_cut_if_that_suffices(server, size):
    server.routes["/"] = bytes(size)
    assert len(exchange("GET", f"{server.url}/", LIMITS, NETWORK, is_cut=True).body) == 1000
    if size > 1000:
        with pytest.raises(DocumentTooLargeError):
            exchange("GET", f"{server.url}/", LIMITS, NETWORK)


@pytest.mark.parametrize("encoding", ["gzip", "br", "Deflate, gzip"])
def test_encoded_answer_has_a_status_but_no_body(server, encoding):
    server.routes["/"] = lambda handler: respond(handler, bytes(10**6), 404, Content_Encoding=encoding)
    answer = exchange("GET", f"{server.url}/", LIMITS, NETWORK)
    assert answer.status == 404
    with pytest.raises(EncodedAnswerError):
        _ = answer.body
    assert server.requests[0][2]["Accept-Encoding"] == "identity"


def test_redirect_is_followed_for_get_alone(server):
    server.routes |= {"/": redirect("/next"), "/next": b"here"}
    answer = exchange("GET", f"{server.url}/", LIMITS, NETWORK)
    assert (answer.status, answer.body, answer.url) == (200, b"here", f"{server.url}/next")
    assert exchange("POST", f"{server.url}/", LIMITS, NETWORK, body=b"{}").status == 302
    assert exchange("GET", f"{server.url}/", Limits(redirects=0), NETWORK).status == 302
    server.routes["/next"] = redirect("/")
    with pytest.raises(TooManyRedirectsError):
        exchange("GET", f"{server.url}/", LIMITS, NETWORK)


def test_every_request_is_checked_before_it_is_sent(server):
    def check(request):
        if request.url.path == "/next":
            raise TooManyRedirectsError("not there")

    server.routes |= {"/": redirect("/next")}
    with pytest.raises(TooManyRedirectsError, match="not there"):
        exchange("GET", f"{server.url}/", LIMITS, NETWORK, check=check)
    assert [path for _, path, _ in server.requests] == ["/"]

"""Loading by http and https from a real server: valid documents, and every misbehaviour of a server."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
import tracemalloc
from dataclasses import replace

import pytest

from bilateral.core.errors import (
    DocumentTimeoutError,
    DocumentTooLargeError,
    ForbiddenAddressError,
    HashMismatchError,
    RefusedDocumentError,
    TooManyRedirectsError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.documents import Limits, document_hash
from tests.sdk.servers import redirect, respond

FILE = b'{"name":"agent"}'


def test_a_document_has_the_bytes_of_the_server(server, loader):
    server.routes["/agent.json"] = FILE
    document = loader.load(f"{server.url}/agent.json")
    assert (document.content, document.integrity) == (FILE, None)
    assert document.registration().name == "agent"


def test_a_document_is_loaded_in_an_event_loop_too(server, loader):
    server.routes["/agent.json"] = FILE
    assert asyncio.run(loader.load_async(f"{server.url}/agent.json")).content == FILE


def test_a_document_with_the_expected_hash_is_known_to_be_its_authors(server, loader):
    server.routes["/"] = FILE
    assert loader.load(f"{server.url}/", document_hash(FILE)).integrity == "hash"


def test_a_document_with_another_hash_is_refused_with_both_hashes(server, loader):
    server.routes["/"] = FILE
    with pytest.raises(HashMismatchError) as refusal:
        loader.load(f"{server.url}/", b"\x11" * 32)
    assert (refusal.value.expected, refusal.value.actual) == (b"\x11" * 32, document_hash(FILE))
    assert "0x" + "11" * 32 in str(refusal.value)
    assert document_hash(FILE).hex() in str(refusal.value)
    assert refusal.value.content == FILE


def test_a_document_as_large_as_the_limit_is_loaded_and_one_byte_more_is_refused(server, loader):
    server.routes["/limit"] = b"x" * loader.limits.bytes
    server.routes["/beyond"] = b"x" * (loader.limits.bytes + 1)
    assert len(loader.load(f"{server.url}/limit").content) == loader.limits.bytes
    with pytest.raises(DocumentTooLargeError, match="exceeds the limit of 65536 bytes"):
        loader.load(f"{server.url}/beyond")


def test_an_endless_document_of_no_declared_length_is_refused(server, loader):
    def stream(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass

    server.routes["/"] = stream
    with pytest.raises(DocumentTooLargeError):
        loader.load(f"{server.url}/")


def test_a_compressed_document_is_not_asked_for_and_is_unpacked_to_the_limit_at_most(server, loader):
    server.routes["/"] = lambda handler: respond(handler, gzip.compress(bytes(10**7)), Content_Encoding="gzip")
    with pytest.raises(DocumentTooLargeError, match="exceeds the limit of 65536 bytes"):
        loader.load(f"{server.url}/")
    assert server.requests[0][2]["Accept-Encoding"] == "identity"


def test_a_server_that_never_answers_is_given_up(server, loader):
    end = threading.Event()
    server.routes["/"] = lambda _: end.wait(60)
    started = time.monotonic()
    with pytest.raises(DocumentTimeoutError, match=r"within 0\.3 seconds"):
        replace(loader, limits=Limits(seconds=0.3)).load(f"{server.url}/")
    assert time.monotonic() - started < 30
    end.set()


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_server_that_trickles_steadily_is_given_up(server, loader, part):
    def trickle(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" if part == "headers" else b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            for _ in range(1200):  # a minute
                handler.wfile.write(b"X-A: b\r\n" if part == "headers" else b"x")
                time.sleep(0.05)
        except OSError:
            pass

    server.routes["/"] = trickle
    started = time.monotonic()
    with pytest.raises(DocumentTimeoutError):
        replace(loader, limits=Limits(seconds=0.4)).load(f"{server.url}/")
    assert time.monotonic() - started < 30


def test_redirects_are_followed_up_to_the_limit_and_not_beyond(server, loader):
    for hop in range(4):
        server.routes[f"/{hop}"] = redirect(f"/{hop + 1}")
    server.routes["/4"] = FILE
    assert loader.limits.redirects == 3
    assert loader.load(f"{server.url}/1").content == FILE
    with pytest.raises(TooManyRedirectsError, match="redirects more than 3 times"):
        loader.load(f"{server.url}/0")


def test_the_body_of_a_redirect_is_not_read(server, loader):
    def endless(handler):
        handler.send_response(302)
        handler.send_header("Location", "/agent.json")
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(bytes(2**16))  # until the client hangs up
        server.routes["/agent.json"] = b"it was read to its end"

    server.routes |= {"/": endless, "/agent.json": FILE}
    assert loader.load(f"{server.url}/").content == FILE


def test_the_body_of_a_redirect_is_not_unpacked(server, loader):
    bomb = gzip.compress(bytes(2**25))
    answer = {"Location": "/agent.json", "Content_Encoding": "gzip"}
    server.routes |= {"/": lambda handler: respond(handler, bomb, 302, **answer), "/agent.json": FILE}
    tracemalloc.start()
    try:
        assert loader.load(f"{server.url}/").content == FILE
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_redirects_share_one_time(server, loader):
    def slowly(handler):
        time.sleep(0.2)
        redirect("/")(handler)

    server.routes["/"] = slowly
    with pytest.raises(DocumentTimeoutError):
        replace(loader, limits=Limits(seconds=0.5, redirects=100)).load(f"{server.url}/")


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://localhost/x", "data:,x", "gopher://x", "http://", "http://xn--/"]
)
def test_a_redirect_to_another_scheme_is_refused(server, loader, target):
    server.routes["/"] = redirect(target)
    with pytest.raises((UnsupportedUriError, UnreachableDocumentError)):
        loader.load(f"{server.url}/")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [201, 204, 304, 400, 404, 500])
def test_any_status_but_success_is_named(server, loader, status):
    server.routes["/"] = lambda handler: respond(handler, b"", status)
    with pytest.raises(UnreachableDocumentError, match=f"returned status {status}"):
        loader.load(f"{server.url}/")


def test_a_server_that_does_not_speak_http_is_named(server, loader):
    server.routes["/"] = lambda handler: handler.wfile.write(b"\x00\x01\x02\r\n\r\n")
    with pytest.raises(UnreachableDocumentError, match="cannot be read"):
        loader.load(f"{server.url}/")


def test_a_document_that_breaks_off_is_refused(server, loader):
    def break_off(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")

    server.routes["/"] = break_off
    with pytest.raises(UnreachableDocumentError, match="cannot be read"):
        loader.load(f"{server.url}/")


def test_a_host_without_a_server_is_named(loader):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # so that no other process listens at the port meanwhile
        port = silent.getsockname()[1]
        with pytest.raises(UnreachableDocumentError, match='"localhost" did not respond on port'):
            loader.load(f"http://localhost:{port}/")


def test_a_certificate_of_an_unknown_authority_is_refused(secure_server, loader):
    secure_server.routes["/"] = FILE
    with pytest.raises(UnreachableDocumentError, match=r"(?i)certificate verify failed"):
        loader.load(f"{secure_server.url}/")
    assert secure_server.requests == []


def test_a_certificate_is_checked_against_the_name_although_the_address_is_connected_to(secure_server, trusting):
    secure_server.routes["/"] = FILE
    assert trusting.load(f"{secure_server.url}/").content == FILE
    with pytest.raises(UnreachableDocumentError, match=r"(?i)certificate verify failed"):
        trusting.load(f"https://127.0.0.1:{secure_server.port}/")


@pytest.mark.parametrize("port", ["-99999999999999999999999", "-1", "0", "65536"])
def test_a_redirect_to_no_port_is_refused(server, loader, port):
    server.routes["/"] = redirect(f"http://localhost:{port}/")
    with pytest.raises(UnsupportedUriError, match=r"redirects to .*, which is not an http or https URL"):
        loader.load(f"{server.url}/")
    assert len(server.requests) == 1


def test_a_redirect_from_http_to_https_is_followed(server, secure_server, trusting):
    secure_server.routes["/"] = FILE
    server.routes["/"] = redirect(f"{secure_server.url}/")
    assert trusting.load(f"{server.url}/").content == FILE


def test_a_redirect_from_https_to_http_is_refused(secure_server, server, trusting):
    server.routes["/"] = FILE
    secure_server.routes["/"] = redirect(f"{server.url}/")
    with pytest.raises(TooManyRedirectsError, match="from https to http"):
        trusting.load(f"{secure_server.url}/")
    assert server.requests == []


def test_a_redirect_from_https_to_http_is_refused_although_http_led_to_https(
    server, secure_server, other_server, trusting
):
    server.routes["/"] = redirect(f"{secure_server.url}/")
    secure_server.routes["/"] = redirect(f"{other_server.url}/")
    other_server.routes["/"] = FILE
    with pytest.raises(TooManyRedirectsError, match="from https to http"):
        trusting.load(f"{server.url}/")
    assert len(secure_server.requests) == 1
    assert other_server.requests == []


def test_a_redirect_to_a_private_address_is_refused(server, other_server, guarded):
    """The loader trusts the first server by name and port, like a gateway, but not the target of a redirect."""
    server.routes |= {"/": redirect("/again"), "/again": redirect(f"{other_server.url}/secrets")}
    other_server.routes["/secrets"] = b"secrets"
    network = replace(guarded.network, trusted=frozenset({("localhost", server.port)}))
    with pytest.raises(ForbiddenAddressError, match=r"resolves to .*, which is not a public address"):
        replace(guarded, network=network).load(f"{server.url}/")
    assert other_server.requests == []


def test_a_proxy_of_the_environment_is_not_used(server, other_server, loader, monkeypatch):
    monkeypatch.setenv("http_proxy", other_server.url)
    monkeypatch.setenv("ALL_PROXY", other_server.url)
    server.routes["/"] = FILE
    assert loader.load(f"{server.url}/").content == FILE
    assert other_server.requests == []


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "agent.json",
        "//localhost/agent.json",
        "HTTP",
        "http:",
        "http://",
        "http:///x",
        "http://xn--/",
        "https://xn--a.example/",
        "https://[::1",
        "http://host:port/",
        "http://host:65536/",
        "http://host:99999/",
        "http://host:0/",
        "http://host:-1/",
        "http://127.0.0.1:-99999999999999999999999/",
        "http://\x00/",
        "http://a\nb/",
        "http://\udcff/",
        "http://" + "a" * 70_000,
        "ftp://host/x",
        "javascript:alert(1)",
        "gopher://host/x",
        "ar://tx",
    ],
)
def test_an_unsupported_uri_is_refused(guarded, uri):
    with pytest.raises(UnsupportedUriError) as refusal:
        guarded.load(uri)
    assert str(refusal.value).isprintable()


def test_a_document_is_sent_again_only_if_it_changed(server, loader):
    def versioned(handler):
        is_known = handler.headers["If-None-Match"] == '"v1"'
        respond(handler, b"" if is_known else FILE, 304 if is_known else 200, ETag='"v1"')

    server.routes["/"] = versioned
    document = loader.load(f"{server.url}/")
    assert document.validators.etag == '"v1"'
    assert loader.load_changes(document.uri, document.validators) is None
    server.routes["/"] = lambda handler: respond(handler, b"{}", ETag='"v2"')
    assert loader.load_changes(document.uri, document.validators).content == b"{}"


def test_a_server_that_refuses_says_its_status_and_the_time_to_wait(server, loader):
    server.routes["/"] = lambda handler: respond(handler, b"", 503, Retry_After="120")
    with pytest.raises(RefusedDocumentError, match="returned status 503") as refusal:
        loader.load(f"{server.url}/")
    assert (refusal.value.status, refusal.value.wait_seconds) == (503, 120)
    server.routes["/"] = lambda handler: respond(handler, b"", 503, Retry_After="Sun, 06 Nov 1994 08:49:37 GMT")
    with pytest.raises(RefusedDocumentError) as refusal:
        loader.load(f"{server.url}/")
    assert refusal.value.wait_seconds == 0

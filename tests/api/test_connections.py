"""Connections of clients that are slow, or too many: they cost the service little, and others are answered."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import Response

from bilateral.api import guard, protocol
from bilateral.api.answers import ProblemError
from bilateral.api.app import create_app
from bilateral.api.guard import StoredBodies
from bilateral.api.protocol import BoundedProtocol
from tests.api.world import served
from tests.waiting import wait_until

PATIENCE = 300
"""The seconds to wait for a busy service."""

LARGE = 32 * 1024 * 1024
"""The bytes of an answer that no system keeps in its buffers."""

QUERY = b'{"query": "{ _meta { deployment } }"}'
HEAD = b"POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(QUERY)


@contextmanager
def connected(url, buffer=None):
    """Open a connection, with a buffer of some bytes for what arrives."""
    parts = urlsplit(url)
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.connect((parts.hostname, parts.port))
        yield connection


def read_all(connection):
    """Return the number of bytes that arrive until the service closes the connection."""
    size = 0
    try:
        while part := connection.recv(1 << 20):
            size += len(part)
    except ConnectionResetError:
        pass
    return size


def under_way(connection):
    """Send the head of a request, and wait until the service reads its body."""
    connection.sendall(HEAD)
    assert connection.recv(100).startswith(b"HTTP/1.1 100")


def is_closed(connection):
    """Wait until the service closes a connection."""
    return read_all(connection) == 0


def with_large_answer(settings):
    """Make the application with an answer that is large."""
    app = create_app(settings)
    app.get("/large")(lambda: Response(bytes(LARGE)))
    app.router.routes.insert(0, app.router.routes.pop())  # before the pages, which take any path
    return app


@pytest.mark.parametrize("option", [b"", b"Connection: close\r\n"], ids=["keep-alive", "close"])
def test_client_that_reads_too_slowly_is_given_up(api_settings, monkeypatch, option):
    monkeypatch.setattr(protocol, "READ_SECONDS", 0.2)
    given_up, give_up = threading.Event(), BoundedProtocol.give_up
    monkeypatch.setattr(BoundedProtocol, "give_up", lambda self: (give_up(self), given_up.set()))
    with served(api_settings, with_large_answer) as url, connected(url, buffer=4_096) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n" + option + b"\r\n")
        assert given_up.wait(PATIENCE)
        assert 0 < read_all(connection) < LARGE


def test_client_that_reads_gets_a_large_answer(api_settings):
    with served(api_settings, with_large_answer) as url:
        assert len(httpx.get(f"{url}/large", timeout=PATIENCE).content) == LARGE


def test_client_that_has_read_an_answer_is_not_given_up_for_the_next_one(api_settings, monkeypatch):
    """The next answer is unread as well when the service looks, however fast the client reads."""
    monkeypatch.setattr(protocol, "READ_SECONDS", PATIENCE * 10)
    watched, watch = [], BoundedProtocol._watch_reader
    monkeypatch.setattr(BoundedProtocol, "_watch_reader", lambda self: (watched.append(self), watch(self)))
    with served(api_settings, with_large_answer) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        for _ in range(2):
            assert len(client.get("/large").content) == LARGE
            wait_until(lambda: watched[-1]._reader_timer is None)
        assert len(set(map(id, watched))) == 1  # one connection


def test_connection_that_waits_longest_makes_room(api_settings, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", PATIENCE * 10)  # it closes nothing here
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 2)
    with served(api_settings) as url, connected(url) as first, connected(url) as second:
        first.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow")
        assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        assert is_closed(first)
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert second.recv(100).startswith(b"HTTP/1.1 200")


def test_connection_with_a_request_under_way_is_kept(api_settings, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 1)
    with served(api_settings) as url, connected(url) as busy:
        under_way(busy)
        with connected(url) as late:
            assert is_closed(late)
        busy.sendall(QUERY)
        assert busy.recv(100).startswith(b"HTTP/1.1 200")


def test_bodies_of_one_address_are_held_up_to_a_limit(api_settings, monkeypatch):
    monkeypatch.setattr(guard, "MAX_STORED_OF_ADDRESS", len(QUERY))
    with served(api_settings) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:

        def status():
            return client.post("/graphql", content=QUERY).status_code

        assert status() == 200
        with connected(url) as slow:
            under_way(slow)
            slow.sendall(QUERY[:-1])
            wait_until(lambda: status() == 503)
            refused = client.post("/graphql", content=QUERY)
            assert (refused.json()["code"], refused.headers["retry-after"]) == ("busy", "1")
        wait_until(lambda: status() == 200)


def test_bodies_are_counted_by_address_and_together(monkeypatch):
    monkeypatch.setattr(guard, "MAX_STORED_OF_ADDRESS", 10)
    monkeypatch.setattr(guard, "MAX_STORED", 15)
    held = StoredBodies()
    held.take("a", 10)
    held.take("b", 5)
    for address in "abc":
        with pytest.raises(ProblemError, match="too many large requests"):
            held.take(address, 1)
    held.give_back("a", 10)
    held.take("c", 10)


def test_warnings_about_requests_are_seldom(caplog):
    with caplog.at_level(logging.INFO, logger="uvicorn.error"):
        for _ in range(100):
            logging.getLogger("uvicorn.error").warning("not HTTP, in a test")
        for _ in range(2):
            logging.getLogger("uvicorn.error").error("a fault, in a test")
    assert caplog.messages == ["not HTTP, in a test", "a fault, in a test", "a fault, in a test"]

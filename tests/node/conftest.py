"""Fixtures of the tests of connections to nodes: a web server whose answers a test writes, and both transports."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from bilateral.node.transport import AsyncTransport, Transport
from tests.sdk.servers import HttpServer, respond


class Awaited:
    """An `AsyncTransport` that is waited for in an event loop of its own."""

    def __init__(self, rpc, timeout):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._inner = self._wait(self._made(rpc, timeout))

    async def _made(self, rpc, timeout):
        return AsyncTransport(rpc, timeout)

    def _wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def request(self, method, parameters):
        return self._wait(self._inner.request(method, parameters))

    def batch(self, requests):
        return self._wait(self._inner.batch(requests))

    def close(self):
        self._wait(self._inner.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class Node(HttpServer):
    """A JSON-RPC server of which a test writes each reply.

    Attributes:
        reply: The function that answers a post. It is given the request's handler and the parsed body.
        asked: The parsed bodies, in order.
    """

    def __init__(self):
        super().__init__()
        self.asked = []
        self.reply = lambda handler, body: reply_with(handler, answer_to(body))
        self.released = threading.Event()

    def answer(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.asked.append(body)
        self.reply(handler, body)

    def __exit__(self, *_):
        self.released.set()
        super().__exit__(*_)


def answer_to(body):
    """The method's name as the result, for one request or a batch."""
    if isinstance(body, list):
        return [answer_to(request) for request in body]
    return {"jsonrpc": "2.0", "id": body["id"], "result": body["method"]}


def error_to(body, message, code=-32000):
    """An error as the answer to one request."""
    return {"jsonrpc": "2.0", "id": body["id"], "error": {"code": code, "message": message}}


def reply_with(handler, answer, status=200, **headers):
    """Send an answer as JSON."""
    respond(handler, json.dumps(answer).encode(), status, **headers)


@pytest.fixture
def node():
    """A node that answers each request with the name of its method, until a test says otherwise."""
    with Node() as running:
        yield running


@pytest.fixture(params=[Transport, Awaited], ids=["blocking", "asynchronous"])
def connect(request):
    """Connects to a URL, in one way and then in the other."""
    made = []

    def make(url, timeout=60.0):
        made.append(request.param(url, timeout))
        return made[-1]

    yield make
    for transport in made:
        transport.close()

"""A node that misbehaves: it passes requests on to a real one, except where a test interferes."""

from __future__ import annotations

import json
import threading
from urllib.request import Request, urlopen

from tests.sdk.servers import HttpServer, respond


class UnreliableNode:
    """A JSON-RPC server in front of a real node.

    Attributes:
        url: Its URL.
        interference: By method, what answers instead of the node. It is given the request's parameters and a function
            that passes the request on, and returns the answer, or bytes, or a status; or None to never answer.
        methods: The methods that were asked for, in order.
        round_trips: The number of HTTP requests; a batch is one.
    """

    def __init__(self, rpc):
        self._rpc = rpc
        self._server = HttpServer()
        self._released = threading.Event()
        self.interference = {}
        self.methods = []
        self.round_trips = 0
        self.url = self._server.url

    def __enter__(self):
        self._server.routes["/"] = self._answer
        self._server.__enter__()
        return self

    def __exit__(self, *_):
        self._released.set()
        self._server.__exit__()

    def _answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        asked = json.loads(body)
        self.round_trips += 1
        if isinstance(asked, dict):
            self._respond(handler, self._answer_to(asked))
            return
        replies = [self._answer_to(request) for request in asked]
        whole = next((entry for entry in replies if not isinstance(entry, dict)), replies)
        self._respond(handler, whole if whole is not replies else json.dumps(replies).encode())

    def _answer_to(self, request):
        """The answer to one request: JSON-RPC with its id unless the test names another, bytes, a status, or None."""
        self.methods.append(request["method"])

        def forward():
            body = json.dumps(request).encode()
            with urlopen(Request(self._rpc, body, {"Content-Type": "application/json"})) as answer:  # noqa: S310
                return json.loads(answer.read())

        interfere = self.interference.get(request["method"], lambda _, forward: forward())
        answer = interfere(request["params"], forward)
        return {"id": request["id"]} | answer if isinstance(answer, dict) else answer

    def _respond(self, handler, answer):
        if answer is None:
            self._released.wait(30)
        elif isinstance(answer, int):
            respond(handler, b"no", status=answer)
        elif isinstance(answer, bytes):
            respond(handler, answer)
        else:
            respond(handler, json.dumps(answer).encode(), Content_Type="application/json")


def refuses(message, code=-32000, data=None):
    """An answer with an error."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return lambda *_: {"jsonrpc": "2.0", "error": error}


def answers(result):
    """An answer with a result."""
    return lambda *_: {"jsonrpc": "2.0", "result": result}


def times(number, interfere, then=lambda _, forward: forward()):
    """Interferes so often, and then otherwise or no more."""
    left = [number]

    def maybe(parameters, forward):
        left[0] -= 1
        return (interfere if left[0] >= 0 else then)(parameters, forward)

    return maybe

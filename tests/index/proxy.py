"""A JSON-RPC server in front of a real node that refuses, lies or fails as a test says."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import httpx


@dataclass
class Answer:
    """An answer in place of the node's: an HTTP status and a body, or None to close the connection without one.

    Attributes:
        status: The HTTP status.
        body: The body.
        retry_after: The value of the header Retry-After; empty for none.
        location: The value of the header Location; empty for none.
    """

    status: int
    body: bytes | None
    retry_after: str = ""
    location: str = ""


def refusal(message, code=-32000, data=None, status=200):
    """Return an answer with an error of JSON-RPC."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return Answer(status, json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode())


@dataclass
class Proxy:
    """The server.

    Attributes:
        node: The URL of the node behind it.
        rules: By method, a function of the parameters and the node's result: it returns another result or an `Answer`.
        own: By method, a function of the parameters: the node is not asked.
        calls: The method and the parameters of every call, in order.
        refuses_batches: True to refuse every request with several calls.
        url: The server's URL.
    """

    node: str
    rules: dict = field(default_factory=dict)
    own: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    refuses_batches: bool = False

    def __enter__(self):
        outer, self._client = self, httpx.Client(timeout=60)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = outer._answer(json.loads(body))
                if answer.body is None:
                    self.close_connection = True
                    return
                wait = f"Retry-After: {answer.retry_after}\r\n" if answer.retry_after else ""
                wait += f"Location: {answer.location}\r\n" if answer.location else ""
                head = f"HTTP/1.1 {answer.status} x\r\n{wait}Content-Length: {len(answer.body)}\r\n\r\n"
                self.wfile.write(head.encode() + answer.body)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.name = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.name}"
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()
        self._client.close()

    def asked(self, method):
        """Return the parameters of all calls of a method."""
        return [parameters for name, parameters in self.calls if name == method]

    def forward(self, method, parameters):
        """Ask the node, and return the whole answer."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        return self._client.post(self.node, json=body).json()

    def _answer(self, asked):
        if isinstance(asked, dict):
            answer = self._answer_to(asked)
            return answer if isinstance(answer, Answer) else Answer(200, json.dumps(answer).encode())
        if self.refuses_batches:
            return refusal("batches are not supported", code=-32600)
        answer = [self._answer_to(request) for request in asked]
        whole = next((entry for entry in answer if isinstance(entry, Answer)), None)
        return whole or Answer(200, json.dumps(answer).encode())

    def _answer_to(self, request):
        method, parameters = request["method"], request["params"]
        self.calls.append((method, parameters))
        if method in self.own:
            own_answer = self.own[method](parameters)
            return (
                own_answer
                if isinstance(own_answer, Answer)
                else {"jsonrpc": "2.0", "id": request["id"], "result": own_answer}
            )
        answer = self.forward(method, parameters)
        rule = self.rules.get(method)
        if rule is not None and "result" in answer:
            changed = rule(parameters, answer["result"])
            if isinstance(changed, Answer):
                return changed
            answer["result"] = changed
        return answer | {"id": request["id"]}


def first_times(times, rule):
    """Apply a rule to the first calls only."""
    numbers = count()
    return lambda parameters, result: rule(parameters, result) if next(numbers) < times else result


def range_of(parameters):
    """Return the first and the last block that a call of `eth_getLogs` asks for."""
    return int(parameters[0]["fromBlock"], 16), int(parameters[0]["toBlock"], 16)

"""A node that is not to be relied on: a proxy before a real one, which dies, lags behind, or refuses to answer."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnreliableNode:
    """Passes requests on to a node until it dies.

    Attributes:
        url: Its own URL.
        lagging: Another node of the chain, which has not seen the last blocks.
        lags: The number of requests that the other node still answers, by their method.
        refusals: Answers given instead, as HTTP status and body, by the requests' method.
        requests: The number of requests so far.
        dies_at: The request, counted from 1, at which it dies; None: it does not.
        handles_the_last: True to pass that request on before it dies, so that only the answer is lost.
    """

    def __init__(self, node: str, url: str) -> None:
        self.node = node
        self.url = url
        self.lagging = node
        self.lags: dict[str, int] = {}
        self.refusals: dict[str, tuple[int, bytes]] = {}
        self.revive()

    def revive(self, dies_at: int | None = None, *, handles_the_last: bool = False) -> None:
        """Begin to count anew."""
        self.requests = 0
        self.dies_at = dies_at
        self.handles_the_last = handles_the_last

    def answer(self, body: bytes) -> tuple[int, bytes] | None:
        self.requests += 1
        method = json.loads(body)["method"]
        if method in self.refusals:
            return self.refusals[method]
        self.lags[method] = self.lags.get(method, 0) - 1
        node = self.lagging if self.lags[method] >= 0 else self.node
        dead = self.dies_at is not None and self.requests >= self.dies_at
        if dead and not (self.requests == self.dies_at and self.handles_the_last):
            return None
        answer = requests.post(node, body, headers={"Content-Type": "application/json"}, timeout=120)
        return None if dead else (answer.status_code, answer.content)


@contextmanager
def unreliable(node: str) -> Iterator[UnreliableNode]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            answer = proxy.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.close_connection = True
            if answer is not None:
                status, content = answer
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy = UnreliableNode(node, f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()

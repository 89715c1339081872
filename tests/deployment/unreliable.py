"""A node that dies: a proxy before a real one, which drops connections from some request on."""

from __future__ import annotations

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
        url: Where it listens.
        requests: How many requests it has got.
        dies_at: The request, counted from 1, at which it dies; None: it does not.
        handles_the_last: Whether it passes that request on before it dies, so that only the answer is lost.
    """

    def __init__(self, node: str, url: str) -> None:
        self.node = node
        self.url = url
        self.revive()

    def revive(self, dies_at: int | None = None, *, handles_the_last: bool = False) -> None:
        """Begin to count anew."""
        self.requests = 0
        self.dies_at = dies_at
        self.handles_the_last = handles_the_last

    def answer(self, body: bytes) -> bytes | None:
        self.requests += 1
        dead = self.dies_at is not None and self.requests >= self.dies_at
        if dead and not (self.requests == self.dies_at and self.handles_the_last):
            return None
        answer = requests.post(self.node, body, headers={"Content-Type": "application/json"}, timeout=30)
        return None if dead else answer.content


@contextmanager
def unreliable(node: str) -> Iterator[UnreliableNode]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            answer = proxy.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.close_connection = True
            if answer is not None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

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

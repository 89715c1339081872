"""A receiver of webhooks that checks each signature, and answers as a test says."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, algorithms

from bilateral.api.webhooks import COVERED, TAG
from simulation.serving import serve_in_thread


class Receiver(ThreadingHTTPServer):
    """Keeps the deliveries that arrive.

    Attributes:
        deliveries: The bodies, as they came, that were signed as they should be.
        answer: Called with the handler; sends an answer.
    """

    daemon_threads = True

    def __init__(self, key):
        super().__init__(("127.0.0.1", 0), _Handler)
        keys = MappingKeyResolver(public_keys={key.thumbprint(): key.public_key}, private_keys={})
        self.verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=keys)
        self.deliveries = []
        self.answer = lambda handler: handler.reply(204)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/hook?shop=1"

    @property
    def ids(self):
        return [change["id"] for body in self.deliveries for change in body["changes"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # the base's name
        content = self.rfile.read(int(self.headers["Content-Length"]))
        url = f"http://{self.headers['Host']}{self.path}"
        request = httpx.Request("POST", url, headers=list(self.headers.items()), content=content)
        (result,) = self.server.verifier.verify(request, expect_tag=TAG, require_components=COVERED, body=content)
        assert result.body == content
        body = json.loads(content)
        assert self.headers["Webhook-Delivery"] == body["delivery"]
        self.server.deliveries.append(body)
        self.server.answer(self)

    def reply(self, status, content=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Log nothing."""


@contextmanager
def receiving(key):
    """Run a receiver."""
    with serve_in_thread(receiver := Receiver(key)):
        yield receiver

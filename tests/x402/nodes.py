"""Nodes that lack what others have: a real proxy before a chain's node."""

from __future__ import annotations

import json
from contextlib import contextmanager

import httpx

from tests.sdk.servers import HttpServer, respond

NOT_FOUND = {"error": {"code": -32601, "message": "the method does not exist"}}


@contextmanager
def node_with(url, **answers):
    """Run a node in front of another one, and yield its URL.

    Args:
        url: The URL of the other node.
        **answers: The answers to some methods: an error, such as `NOT_FOUND`, or a result; or a function of the request
            that returns such an answer, or None to pass the request on.
    """

    def answer(request):
        changed = answers.get(request["method"])
        changed = changed(request) if callable(changed) else changed
        if changed is None:
            return http.post(url, json=request).json()
        changed = changed if isinstance(changed, dict) and "error" in changed else {"result": changed}
        return {"jsonrpc": "2.0", "id": request["id"]} | changed

    def handle(handler):
        asked = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        answered = [answer(request) for request in asked] if isinstance(asked, list) else answer(asked)
        respond(handler, json.dumps(answered).encode(), Content_Type="application/json")

    with HttpServer() as server, httpx.Client(timeout=60) as http:
        server.routes["/"] = handle
        yield server.url

"""Real servers for tests: a web server, IPFS nodes and services, an object store.

The IPFS servers build files the way Kubo does, from the specifications and independently of the code under test.
"""

from __future__ import annotations

import base64
import email.parser
import email.policy
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

CHUNK = 262144
RAW, DAG_PB = 0x55, 0x70


class HttpServer:
    """A web server on a free port. `routes` maps a path to its answer.

    An answer is a body, or a function that takes the request's handler.
    """

    def __init__(self, tls=None):
        self.routes = {}
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append((self.command, self.path, dict(self.headers)))
                outer.answer(self)

            do_POST = do_PUT = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # in many tests the client hangs up
        self.port = self._http.server_port
        self.url = f"http{'s' if tls else ''}://localhost:{self.port}"
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()

    def answer(self, handler):
        route = self.routes.get(handler.path, b"")
        if callable(route):
            route(handler)
        elif handler.path in self.routes:
            respond(handler, route)
        else:
            handler.send_error(404)


def respond(handler, body, status=200, **headers):
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def redirect(location, status=302):
    """Return an answer that redirects."""
    return lambda handler: respond(handler, b"", status, Location=location)


class Blocks(dict):
    """Blocks by CID in text, built from files as Kubo's importer does."""

    def add(self, content, *, raw_leaves=True, version=1, chunk=CHUNK):
        """Add a file and return its CID. Each chunk is a leaf; one node links several leaves."""
        leaves = []
        for start in range(0, len(content) or 1, chunk):
            part = content[start : start + chunk]
            leaves.append((self._leaf(part, raw_leaves, version), len(part)))
        if len(leaves) == 1:
            return text(leaves[0][0])
        sizes = b"".join(varint_field(4, size) for _, size in leaves)
        data = varint_field(1, 2) + varint_field(3, len(content)) + sizes
        links = b"".join(bytes_field(2, link(cid, "", size)) for cid, size in leaves)
        return text(self.put(links + bytes_field(1, data), DAG_PB, version))

    def folder(self, **members):
        """Add a folder of files that are already stored, by name, and return its CID."""
        links = b"".join(bytes_field(2, link(untext(cid), name, 0)) for name, cid in sorted(members.items()))
        return text(self.put(links + bytes_field(1, varint_field(1, 1)), DAG_PB, 1))

    def put(self, block, codec, version):
        """Add a block and return its CID in bytes."""
        multihash = b"\x12\x20" + hashlib.sha256(block).digest()
        cid = multihash if version == 0 else bytes([1, codec]) + multihash
        self[text(cid)] = block
        return cid

    def _leaf(self, part, raw_leaves, version):
        if raw_leaves:
            return self.put(part, RAW, 1)
        data = varint_field(1, 2) + (bytes_field(2, part) if part else b"") + varint_field(3, len(part))
        return self.put(bytes_field(1, data), DAG_PB, version)


class GatewayServer(HttpServer):
    """An IPFS gateway that delivers blocks (`?format=raw`), or the forged ones in `forged`."""

    def __init__(self):
        super().__init__()
        self.blocks = Blocks()
        self.forged = {}

    def answer(self, handler):
        cid = urlsplit(handler.path).path.removeprefix("/ipfs/")
        asked_raw = handler.headers["Accept"] == "application/vnd.ipld.raw" and handler.path.endswith("?format=raw")
        block = self.forged.get(cid, self.blocks.get(cid))
        if block is None or not asked_raw:
            handler.send_error(404)
        elif callable(block):
            block(handler)
        else:
            respond(handler, block, Content_Type="application/vnd.ipld.raw")


class KuboServer(HttpServer):
    """An IPFS node with `add`, `block/get`, `id` of Kubo's HTTP API. `spoil` changes a file, as a lying node does."""

    def __init__(self):
        super().__init__()
        self.blocks = Blocks()
        self.pinned = set()
        self.spoil = lambda content: content

    def answer(self, handler):
        url = urlsplit(handler.path)
        options = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if handler.command == "POST" and url.path == "/api/v0/add":
            content = self.spoil(_uploaded(handler))
            version, raw_leaves = int(options["cid-version"]), options["raw-leaves"] == "true"
            cid = self.blocks.add(content, raw_leaves=raw_leaves, version=version)
            if options["pin"] == "true":
                self.pinned.add(cid)
            line = {"Name": "document.json", "Hash": cid, "Size": str(len(content))}
            respond(handler, json.dumps(line).encode() + b"\n", Content_Type="application/json")
        elif handler.command == "POST" and url.path == "/api/v0/id":
            identity = {"ID": "12D3Koo", "Addresses": [f"/ip4/127.0.0.1/tcp/{self.port}/p2p/12D3Koo"]}
            respond(handler, json.dumps(identity).encode(), Content_Type="application/json")
        elif handler.command == "POST" and url.path == "/api/v0/block/get" and options["arg"] in self.blocks:
            respond(handler, self.blocks[options["arg"]])
        else:
            handler.send_error(404)


class PinningServer(HttpServer):
    """A service with the IPFS Pinning Service API, which pins what it is asked to after some looks at the status."""

    def __init__(self, looks=1, outcome="pinned"):
        super().__init__()
        self.pins = {}
        self.looks, self.outcome = looks, outcome
        self.pinned_cid = lambda cid: cid

    def answer(self, handler):
        if handler.headers["Authorization"] != "Bearer secret":
            respond(handler, b'{"error": {"reason": "UNAUTHORIZED"}}', 401)
        elif handler.command == "POST" and handler.path == "/pins":
            pin = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            self.pins[pin["cid"]] = pin
            self._respond(handler, 202, pin, "queued")
        elif handler.command == "GET" and handler.path == "/pins/request-1":
            self.looks -= 1
            (pin,) = self.pins.values()
            self._respond(handler, 200, pin, self.outcome if self.looks <= 0 else "pinning")
        else:
            handler.send_error(404)

    def _respond(self, handler, code, pin, status):
        answer = {
            "requestid": "request-1",
            "status": status,
            "created": "2026-11-22T00:00:00Z",
            "pin": pin | {"cid": self.pinned_cid(pin["cid"])},
            "delegates": [],
        }
        respond(handler, json.dumps(answer).encode(), code, Content_Type="application/json")


class PinataServer(HttpServer):
    """Pinata's uploads and its gateway. `add` stores a file, and returns the CID that Pinata tells."""

    def __init__(self):
        super().__init__()
        self.blocks = Blocks()
        self.add = self.blocks.add

    def answer(self, handler):
        url = urlsplit(handler.path)
        if handler.command == "GET" and url.query == "format=raw" and url.path.startswith("/ipfs/"):
            block = self.blocks.get(url.path.removeprefix("/ipfs/"))
            respond(handler, block or b"", 200 if block else 404)
        elif handler.headers["Authorization"] != "Bearer secret":
            respond(handler, b'{"error": "unauthorized"}', 401)
        elif handler.command == "POST" and url.path == "/v3/files":
            parts = _parts(handler)
            form = {part.get_param("name", header="Content-Disposition"): part for part in parts}
            assert form["network"].get_payload() == "public"
            content = form["file"].get_payload(decode=True)
            answer = {"data": {"id": "1", "cid": self.add(content), "size": len(content)}}
            respond(handler, json.dumps(answer).encode(), Content_Type="application/json")
        else:
            handler.send_error(404)


class PutServer(HttpServer):
    """An object store with presigned URLs: PUT needs the signature in the query, GET needs none."""

    def __init__(self):
        super().__init__()
        self.contents = {}

    def answer(self, handler):
        url = urlsplit(handler.path)
        if handler.command == "PUT" and url.query == "signature=s":
            self.contents[url.path] = handler.rfile.read(int(handler.headers["Content-Length"]))
            respond(handler, b"")
        elif handler.command == "GET" and url.path in self.contents:
            respond(handler, self.contents[url.path])
        else:
            respond(handler, b"denied", 403)


def _uploaded(handler):
    """Return the content of the one file in a multipart form."""
    (part,) = _parts(handler)
    return part.get_payload(decode=True)


def _parts(handler):
    """Return the parts of a multipart form."""
    body = handler.rfile.read(int(handler.headers["Content-Length"]))
    head = f"Content-Type: {handler.headers['Content-Type']}\r\n\r\n".encode()
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    return list(form.iter_parts())


def varint(number):
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def varint_field(number, value):
    return varint(number << 3) + varint(value)


def bytes_field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def link(cid, name, size):
    return bytes_field(1, cid) + bytes_field(2, name.encode()) + varint_field(3, size)


def text(cid):
    """Return a CID as text: base 58 for version 0, base 32 for version 1."""
    if len(cid) == 34:
        alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
        number, digits = int.from_bytes(cid), ""
        while number:
            number, digit = divmod(number, 58)
            digits = alphabet[digit] + digits
        return digits
    return "b" + base64.b32encode(cid).decode().lower().rstrip("=")


def untext(cid):
    """Return the bytes of a CID of version 1 in base 32."""
    return base64.b32decode(cid[1:].upper() + "=" * (-len(cid[1:]) % 8))


@pytest.fixture
def server():
    """A web server whose answers a test sets."""
    with HttpServer() as running:
        yield running


@pytest.fixture
def other_server():
    """A second web server."""
    with HttpServer() as running:
        yield running


@pytest.fixture
def gateway():
    """An IPFS gateway that delivers blocks."""
    with GatewayServer() as running:
        yield running

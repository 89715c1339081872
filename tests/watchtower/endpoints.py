"""Servers that answer with exact bytes, by the host of the request, and record what they are asked."""

from __future__ import annotations

import base64
import json
import socket
import socketserver
import threading
from dataclasses import dataclass, field

import httpcore

from bilateral.documents import Network
from bilateral.index.measurements.values import Protocol, Target
from bilateral.watchtower.probes import Asker, ProbeSettings, probe

CONTACT = "https://operator.example/watchtower"

PAY_TO = "0x" + "11" * 20
OPTION = {
    "scheme": "exact",
    "network": "eip155:8453",
    "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "amount": "10000",
    "payTo": PAY_TO,
    "maxTimeoutSeconds": 60,
}
OLD_OPTION = {
    **{name: OPTION[name] for name in ("scheme", "asset", "payTo", "maxTimeoutSeconds")},
    "network": "base",
    "maxAmountRequired": "10000",
}
SKILL = {"id": "forecast", "name": "Forecast", "description": "Tells the weather.", "tags": ["weather"]}


@dataclass
class Request:
    """A request as a server received it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self):
        """The message of JSON-RPC; empty for any other body."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def question(self):
        """What the request asks: the method of its message, or its own."""
        return self.message.get("method") or self.method


@dataclass
class Endpoints:
    """Servers behind one socket. `answers` has for each host bytes, parts of bytes, or a function of the request."""

    answers: dict[str, object] = field(default_factory=dict)
    requests: list[tuple[str, Request]] = field(default_factory=list)
    tls: object = None

    def __enter__(self):
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                outer.serve(self)

        class Server(socketserver.ThreadingTCPServer):
            request_queue_size = 1024
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_):
                pass  # in many tests the client hangs up

            def finish_request(self, request, client_address):
                if outer.tls is not None:
                    request.settimeout(10)
                    request = outer.tls.wrap_socket(request, server_side=True)
                super().finish_request(request, client_address)

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.stop = threading.Event()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler):
        """Answer one request."""
        request = read_request(handler.rfile)
        if request is None:
            return
        host = request.headers.get("host", "").partition(":")[0]
        self.requests.append((host, request))
        answer = self.answers.get(host, http(404))
        answer = answer(request) if callable(answer) else answer
        for part in [answer] if isinstance(answer, bytes) else answer:
            if isinstance(part, bytes):
                handler.wfile.write(part)
            elif self.stop.wait(part):
                return
        handler.request.shutdown(socket.SHUT_WR)

    def url(self, host, path="/"):
        """Return the URL of a host; a path may be a whole URL."""
        return path if "://" in path else f"http{'s' if self.tls else ''}://{host}:{self.port}{path}"

    def asked(self, host):
        """Return what a host was asked."""
        return [request.question for name, request in self.requests if name == host]


def read_request(stream):
    """Read a request; None at the end of a connection."""
    line = stream.readline(65536).decode("latin-1").split()
    if len(line) < 2:
        return None
    headers = {}
    while (row := stream.readline(65536).decode("latin-1").rstrip("\r\n")) != "":
        name, _, value = row.partition(":")
        headers[name.lower()] = value.strip()
    return Request(line[0], line[1], headers, stream.read(int(headers.get("content-length", 0))))


def http(status, body=b"", kind="application/json", **headers):
    """Return an answer of HTTP."""
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def json_(value, status=200, **headers):
    """Return an answer with JSON."""
    return http(status, json.dumps(value).encode(), **headers)


def html(status=200, text="<html><body>Welcome</body></html>", **headers):
    """Return a page."""
    return http(status, text.encode(), "text/html; charset=utf-8", **headers)


def events(*messages, tail=b"", **headers):
    """Return a stream of messages, each as one event."""
    rows = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/event-stream", *rows])
    body = b"".join(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + body + tail


def offer(*options, status=402, body=b"{}", **fields):
    """Return an answer 402 of x402 version 2."""
    message = {"x402Version": 2, "resource": {"url": "https://shop.example/"}, "accepts": list(options), **fields}
    header = base64.b64encode(json.dumps(message).encode()).decode()
    return http(status, body, **{"PAYMENT-REQUIRED": header})


def card(url, version="1.0", **fields):
    """Return the card of an agent."""
    shared = {"name": "Weather", "description": "Weather of towns.", "version": "1.0.0", "skills": [SKILL], **fields}
    if version == "1.0":
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {"supportedInterfaces": [interface], **shared}
    return {"url": url, "protocolVersion": version, "preferredTransport": "JSONRPC", **shared}


TOOL = {"name": "get_weather", "description": "Tells the weather.", "inputSchema": {"type": "object"}}


def mcp(version="2026-07-28", *, tools=(TOOL,), session=None, is_stream=False, overrides=None):
    """Return a server of MCP, which speaks one version."""
    is_stateless = version == "2026-07-28"
    results = {
        "server/discover": {"supportedVersions": [version], "capabilities": {"tools": {}}, "resultType": "complete"},
        "initialize": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}},
        "tools/list": {"tools": list(tools)},
    }
    del results["initialize" if is_stateless else "server/discover"]

    def answer(request):
        question = request.question
        if overrides and question in overrides:
            override = overrides[question]
            return override(request) if callable(override) else override
        if question in ("DELETE", "notifications/initialized"):
            return http(204 if question == "DELETE" else 202)
        if question not in results:
            return rpc_error(request, -32601, 404 if is_stateless else 400)
        reply = {"jsonrpc": "2.0", "id": request.message["id"], "result": results[question]}
        headers = {"Mcp-Session-Id": session} if session and question == "initialize" else {}
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hello"}}
        return events(notice, reply, **headers) if is_stream else json_(reply, **headers)

    return answer


def rpc_error(request, code, status=200):
    """Return an error of JSON-RPC."""
    error = {"code": code, "message": "refused", "data": {"supported": ["2024-11-05"]}}
    return json_({"jsonrpc": "2.0", "id": request.message.get("id"), "error": error}, status)


def local_network(**options):
    """Return the network in which each host is this machine."""
    return Network(allow_private=True, resolver=lambda _host, _port: ["127.0.0.1"], **options)


class _Switchboard(httpcore.SyncBackend):
    """Connects to one port, whatever port is asked for."""

    def __init__(self, port):
        self.port = port

    def connect_tcp(self, _host, _port, *arguments, **options):
        return super().connect_tcp("127.0.0.1", self.port, *arguments, **options)


def run_probe(servers, host, protocol, *, path="/", is_paid=None, method=None, network=None, seconds=10.0, **options):
    """Probe a host of the servers."""
    is_paid = protocol is Protocol.X402 if is_paid is None else is_paid
    target = Target(protocol, servers.url(host, path), host, (), is_paid, method)
    settings = ProbeSettings(CONTACT, network or local_network(), seconds)
    return probe(Asker(target, settings, **options))


def at_usual_ports(servers):
    """Return the network in which servers listen at the usual ports, too."""
    return local_network(backend=_Switchboard(servers.port))

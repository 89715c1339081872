"""The connection of web3.py to a node of a test: it survives that the node closes it, and sends nothing twice."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from web3 import HTTPProvider


class Node(BaseHTTPRequestHandler):
    """A node that closes a connection, without an answer, at each request whose number is in `server.closed`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, asked["method"]))
        if len(self.server.asked) in self.server.closed:
            self.close_connection = True
            return
        answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "0x1"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def node():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Node)
    server.daemon_threads = True
    server.asked, server.closed = [], set()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def connection(node):
    url = f"http://127.0.0.1:{node.server_port}/some/path?key=1"
    return HTTPProvider(url, {"timeout": 60})


def test_requests_go_to_the_path_of_the_endpoint(node, connection):
    connection.make_request("eth_chainId", [])
    assert node.asked == [("/some/path?key=1", "eth_chainId")]


@pytest.mark.parametrize("method", ["eth_getCode", "eth_call", "eth_blockNumber", "net_version", "web3_clientVersion"])
def test_a_read_is_sent_again_if_a_kept_connection_is_closed(node, connection, method):
    node.closed = {2}
    connection.make_request("eth_chainId", [])
    assert connection.make_request(method, [])["result"] == "0x1"
    assert [name for _, name in node.asked] == ["eth_chainId", method, method]


@pytest.mark.parametrize("method", ["eth_sendTransaction", "eth_sendRawTransaction", "anvil_mine", "evm_revert"])
def test_nothing_else_is_sent_again(node, connection, method):
    node.closed = {2}
    connection.make_request("eth_chainId", [])
    with pytest.raises(requests.ConnectionError):
        connection.make_request(method, [])
    assert [name for _, name in node.asked] == ["eth_chainId", method]
    assert connection.make_request(method, [])["result"] == "0x1"  # by a new connection


def test_a_new_connection_that_is_closed_is_not_tried_again(node, connection):
    node.closed = {1}
    with pytest.raises(requests.ConnectionError):
        connection.make_request("eth_chainId", [])
    assert len(node.asked) == 1

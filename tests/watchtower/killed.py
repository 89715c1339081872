"""A watchtower in a process of its own, which tests kill, and the server that it asks."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bilateral.documents import Network
from bilateral.index.measurements.values import Protocol, Target
from bilateral.watchtower.politeness import Requests
from bilateral.watchtower.probes import ProbeSettings
from bilateral.watchtower.run import WatchSettings, Watchtower
from bilateral.watchtower.store import open_store
from bilateral.watchtower.watching import watch

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def address_of(host, port):  # a resolver's
    """Return an address of this machine that no other host has."""
    number = int(host[1:].partition(".")[0])
    return [f"127.1.{number // 250}.{number % 250 + 1}"]


def endpoints(count, port):
    """Return endpoints, each on a host with an address of its own."""
    return [
        Target(Protocol.WEB, f"http://h{number}.test:{port}/{number}", f"h{number}.test:{port}")
        for number in range(count)
    ]


def run_watchtower(url, interval, seconds=None):
    """Run a watchtower for so many seconds, and until each endpoint has a result; for ever without a time."""
    stop = threading.Event()
    network = Network(allow_private=True, resolver=address_of)
    requests = Requests(ProbeSettings("https://operator.example", network, 5.0))
    with ThreadPoolExecutor(50) as executor:
        settings = WatchSettings(interval=interval)
        tower = Watchtower(open_store(url), settings, requests, executor)

        def report():
            if seconds is not None and tower.time.now > seconds and tower.is_complete:
                stop.set()

        watch(tower, None, stop, report)


@contextmanager
def serving():
    """Serve a page at all addresses of this machine, and yield the port and the requests: times and paths."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((time.monotonic(), self.path))
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_port, requests
    finally:
        server.shutdown()
        server.server_close()

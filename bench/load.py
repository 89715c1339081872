"""Requests to a service over connections that stay open, by a client that costs little, and what both cost.

A library for HTTP takes longer for a request than the service for its answer, so it would measure itself. This client
sends a path and reads the status and the length of the answer, no more. `floor` measures it, and the HTTP server,
against an application that does nothing.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import Receive, Scope, Send

CONNECTIONS: Final = 8
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Load:
    """The answers to many requests.

    Attributes:
        seconds: The time of each answer, sorted.
        elapsed: The time of all together.
        client: The processor time of this process, a request.
        service: The processor time of the service, a request.
    """

    seconds: tuple[float, ...]
    elapsed: float
    client: float
    service: float

    @property
    def rate(self) -> float:
        """The requests a second."""
        return len(self.seconds) / self.elapsed

    def at(self, share: float) -> float:
        """Return a percentile in milliseconds.

        Args:
            share: The share of the requests that took no longer.
        """
        return self.seconds[int(len(self.seconds) * share)] * 1000


class Connection(asyncio.Protocol):
    """A connection that has one request at a time."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[int] | None = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """See `asyncio.Protocol`."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the service closed the connection"))

    def ask(self, head: bytes) -> asyncio.Future[int]:
        """Send a request, and return the status of its answer once it is complete."""
        self._received = b""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(head)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0 or self._answer is None:
            return
        length = _LENGTH.search(self._received, 0, end + 2)
        if len(self._received) >= end + 4 + (int(length[1]) if length else 0):
            self._answer.set_result(int(self._received[9:12]))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


async def load(url: str, paths: Sequence[str], connections: int = CONNECTIONS) -> list[float]:
    """Ask for paths over several connections that stay open, and return the seconds of each answer, sorted.

    Args:
        url: The service.
        paths: The paths.
        connections: The number of connections.

    Raises:
        RuntimeError: An answer is not 200.
    """
    host, port = url.removeprefix("http://").split(":")
    seconds: list[float] = []
    waiting = iter(paths)

    async def ask() -> None:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
        for path in waiting:
            head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()
            began = time.perf_counter()
            status = await asyncio.wait_for(connection.ask(head), _SECONDS)
            seconds.append(time.perf_counter() - began)
            if status != 200:  # noqa: PLR2004  # OK
                raise RuntimeError(f"{path} answered {status}")
        connection.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return sorted(seconds)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used.

    Args:
        pid: The process.
    """
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(url: str, pid: int, paths: Sequence[str], connections: int = CONNECTIONS) -> Load:
    """Ask for paths, and return what it took. A tenth of them is asked before, to warm the service.

    Args:
        url: The service.
        pid: Its process.
        paths: The paths.
        connections: The number of connections.
    """
    run = asyncio.run
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415  # not on each system

        run = uvloop.run
    run(load(url, paths[: len(paths) // 10], connections))
    before, own, began = processor_seconds(pid), time.process_time(), time.perf_counter()
    seconds = run(load(url, paths, connections))
    elapsed = time.perf_counter() - began
    used, count = processor_seconds(pid) - before, len(seconds)
    return Load(tuple(seconds), elapsed, (time.process_time() - own) / count, used / count)


@contextmanager
def served(database: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run the service in a process, and yield its URL and the process.

    Args:
        database: The database.
        *options: Further options of `bilateral serve`.
    """
    command = [str(Path(sys.executable).with_name("bilateral")), "serve", "--no-index", "--port", "0"]
    with _running([*command, "--rate", "1000000/second", "--database", database, *options]) as running:
        yield running


def floor(requests: int) -> Load:
    """Return what the client and the HTTP server cost without an application.

    Args:
        requests: The number of requests.
    """
    with _running([sys.executable, "-m", "bench.load"]) as (url, pid):
        return measure(url, pid, ["/"] * requests)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[tuple[str, int]]:
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:  # noqa: S603  # ours
        try:
            told = service.stderr.readline() if service.stderr else ""
            match = re.search(r"listening on (\S+)", told)
            if match is None:
                raise SystemExit(f"the service ended: {told}")
            yield match[1], service.pid
        finally:
            service.terminate()


async def _nothing(scope: Scope, _: Receive, send: Send) -> None:
    """Answer each request with two bytes."""
    if scope["type"] == "http":
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


def _serve_nothing() -> None:
    config = uvicorn.Config(_nothing, port=0, log_level="critical", access_log=False, lifespan="off")
    socket = config.bind_socket()
    socket.listen()  # connections wait until it answers
    print(f"listening on http://127.0.0.1:{socket.getsockname()[1]}", file=sys.stderr, flush=True)
    uvicorn.Server(config).run(sockets=[socket])


if __name__ == "__main__":
    _serve_nothing()

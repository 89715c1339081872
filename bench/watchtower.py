"""`python -m bench.watchtower`: the cost of a round of 10,000 endpoints on 500 hosts of this machine.

Of the hosts 40 % are up, 45 % refuse, 13 % are silent, 1 % answer a byte at a time and 1 % without end. The servers run
in a process of their own; names are resolved without a resolver. It is the first round, the dearest: each endpoint is
read in depth, and those that are down are not yet asked less often. It takes a quarter of an hour, as rounds do.
"""

import argparse
import asyncio
import multiprocessing
import resource
import ssl
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trustme

from bilateral.documents import Network
from bilateral.index.measurements.values import Protocol, Target
from bilateral.watchtower.outcomes import measured, reached
from bilateral.watchtower.politeness import Requests
from bilateral.watchtower.probes import ProbeSettings
from bilateral.watchtower.run import WatchSettings, Watchtower
from bilateral.watchtower.store import open_store
from bilateral.watchtower.watching import ALL_THREADS, watch

KINDS = (
    ("up", 200, "up"),
    ("refused", 225, "down"),
    ("silent", 65, "down"),
    ("loris", 5, "down"),
    ("endless", 5, "up"),
)
"""The kinds of hosts: how many there are, and the outcome of their endpoints."""

EACH = 20
SECONDS = 930


def _host(number: int) -> str:
    return f"h{number}.agents.test"


def _address(host: str, _: int) -> list[str]:
    number = int(host[1:].partition(".")[0])
    return [f"127.2.{number // 250}.{number % 250 + 1}"]


async def _answer(kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.readuntil(b"\r\n\r\n")
        if kind == "silent":
            await asyncio.sleep(60)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
        if kind == "up":
            writer.write(head + b"Content-Length: 2\r\n\r\nok")
        while kind == "loris" and not writer.is_closing():
            writer.write(b"H")
            await asyncio.sleep(1)
        writer.write(head + b"\r\n" if kind == "endless" else b"")
        while kind == "endless" and not writer.is_closing():
            writer.write(bytes(16_384))
            await writer.drain()
            await asyncio.sleep(0.01)  # the drain of a connection that its reader closed does not wait
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


def _serve(certificate: bytes, pipe: Connection) -> None:
    """Serve all kinds but the one that refuses, and send the ports."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(certificate)
        context.load_cert_chain(file.name)

    async def serve() -> None:
        ports = {}
        for kind in ("up", "silent", "loris", "endless"):

            async def answer(reader: Any, writer: Any, kind: str = kind) -> None:
                await _answer(kind, reader, writer)

            server = await asyncio.start_server(answer, "0.0.0.0", 0, ssl=context, backlog=1_000)  # noqa: S104
            ports[kind] = server.sockets[0].getsockname()[1]
        pipe.send(ports)
        await asyncio.sleep(10 * SECONDS)

    asyncio.run(serve())


def main() -> None:
    """Measure a round, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    seconds = parser.parse_args().seconds
    authority = trustme.CA()
    certificate = authority.issue_cert("*.agents.test").private_key_and_cert_chain_pem.bytes()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(certificate, theirs), daemon=True)
    server.start()
    ports = {"refused": 1, **ours.recv()}
    kinds = [(kind, expected) for kind, count, expected in KINDS for _ in range(count)]
    expected = {}
    targets = []
    for number, (kind, outcome) in enumerate(kinds):
        place = f"{_host(number)}:{ports[kind]}"
        for page in range(EACH):
            targets.append(Target(Protocol.WEB, f"https://{place}/{page}", place))
            expected[targets[-1].endpoint_id] = (kind, outcome)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    network = Network(allow_private=True, ssl_context=context, resolver=_address)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(ALL_THREADS) as executor:
        store = open_store(f"sqlite:///{folder}/watchtower.sqlite")
        store.set_targets(targets)
        requests = Requests(ProbeSettings("https://operator.example", network))
        tower, stop = Watchtower(store, WatchSettings(), requests, executor), threading.Event()
        before = resource.getrusage(resource.RUSAGE_SELF)
        threading.Timer(seconds, stop.set).start()
        late: list[float] = []
        watch(tower, None, stop, lambda: late.append(max(tower.delays, default=0.0)))
        after = resource.getrusage(resource.RUSAGE_SELF)
        hours = list(store.hours(0))
        results = sum(measured(counts) for *_, counts in hours)
        right = sum(reached(hour) if expected[key][1] == "up" else hour["down"] for _, key, _, hour in hours)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rows = [
        ("endpoints with a result", len({key for _, key, *_ in hours})),
        ("results", results),
        ("wrong results", results - right),
        ("seconds of processor time", round(cpu, 1)),
        ("MiB of memory at most", after.ru_maxrss // 1_024),
        ("seconds late, the latest start", round(max(late, default=0.0), 1)),
    ]
    print(f"In {seconds} seconds:", *(f"{value:>10,} {name}" for name, value in rows), sep="\n")
    server.terminate()


if __name__ == "__main__":
    main()

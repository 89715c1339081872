"""`python -m bench.overload`: what 200 clients on open connections get from a service with too much to do.

    python -m bench.overload --database sqlite:///world.sqlite --agents 20000 --ratings 200000

An empty database is filled first, as by `python -m bench.api`. The clients ask for a mix of pages of agents, GraphQL,
gated searches and lists, each as soon as it has its answer. After a 503 a client waits as long as `Retry-After` says.
The table has the answers of each kind, and the rejections apart. Then GraphQL is asked over eight connections, for the
processor time of an answer.
"""

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit

from bench.api import agents
from bench.load import CONNECTIONS, Connection, processor_seconds, served
from bench.report import print_head, print_row
from bench.search import AGENT, FILE
from bench.world.build import WorldParser, open_world
from bilateral.index.reading.readers import Reader

_ONE: Final = f"query($id: ID!) {{ agent(id: $id) {{ {AGENT} {FILE} }} }}"
_FEEDBACK: Final = "feedback(first: 10) { id value tag1 clientAddress createdAt }"
_TEN: Final = f"query($skip: Int!) {{ agents(first: 10, skip: $skip) {{ {AGENT} {FILE} {_FEEDBACK} }} }}"
_WORDS: Final = ("data", "service", "analysis", "weather", "trading", "reports", "image", "translation", "private")
_MIX: Final = {"agent": 40, "GraphQL, one agent": 15, "GraphQL, ten with feedback": 5, "search": 30, "list": 10}
"""The kinds of requests, and their shares in percent."""

_UNAVAILABLE: Final = 503
Request = tuple[str, str, bytes]
"""A request: its kind, its path, and its body, empty for GET."""


def requests(mix: Mapping[str, int], ids: Sequence[str], seed: int) -> Iterator[Request]:
    """Yield requests without an end. The same seed makes the same ones.

    Args:
        mix: The kinds, and their shares.
        ids: Agents to ask for.
        seed: The seed.
    """
    chance = random.Random(seed)  # noqa: S311  # reproducible, not secret
    while True:
        (kind,) = chance.choices(list(mix), list(mix.values()))
        yield request(kind, chance, ids)


def request(kind: str, chance: random.Random, ids: Sequence[str]) -> Request:
    """Return a request of a kind.

    Args:
        kind: The kind.
        chance: Draws the agent, the words and the gate.
        ids: Agents to ask for.
    """
    agent = chance.choice(ids)
    if kind == "agent":
        return kind, f"/v1/agents/{agent}?newest=20", b""
    if kind == "list":
        return kind, f"/v1/agents/{agent}/feedback?limit=50", b""
    if kind == "search":
        gate = {"q": chance.choice(_WORDS), "tag": "starred", "minimum": chance.choice((50, 70, 80)), "count": 3}
        return kind, f"/v1/search/agents?{urlencode(gate)}", b""
    query, name, value = (
        (_ONE, "id", agent) if kind == "GraphQL, one agent" else (_TEN, "skip", chance.randrange(1_000))
    )
    return (
        kind,
        f"/graphql/{agent.partition(':')[0]}",
        json.dumps({"query": query, "variables": {name: value}}).encode(),
    )


async def ask_all(url: str, of_clients: Sequence[Iterator[Request]], end: float) -> dict[str, list[float]]:
    """Let clients ask until a time, and return the seconds of the answers by kind, and of rejections.

    Args:
        url: The service.
        of_clients: The requests of each client.
        end: The time, by `time.perf_counter`.

    Raises:
        RuntimeError: An answer is neither 200 nor 503.
    """
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 0
    seconds: dict[str, list[float]] = defaultdict(list)

    async def ask(of_one: Iterator[Request]) -> None:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
        while time.perf_counter() < end:
            kind, path, body = next(of_one)
            method = "POST" if body else "GET"
            length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
            began = time.perf_counter()
            status = await connection.ask(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n".encode() + body)
            spent = time.perf_counter() - began
            if status == _UNAVAILABLE:
                seconds["503"].append(spent)
                await asyncio.sleep(1)
            elif status == 200:  # noqa: PLR2004  # OK
                seconds[kind].append(spent)
            else:
                raise RuntimeError(f"{path} answered {status}")
        connection.close()

    await asyncio.gather(*map(ask, of_clients))
    return seconds


def main() -> None:
    """Measure, and print two tables."""
    parser = WorldParser("Measure a service under more requests than it can answer.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    arguments = parser.parsed()
    open_world(arguments)
    reader = Reader(arguments.database, seconds=60.0)
    ids = reader.read(agents, 1_000)
    reader.close()
    with served(arguments.database) as (url, pid):
        print_head("request", "answers/s", "p50 ms", "p99 ms", "worst ms")
        streams = [requests(_MIX, ids, number) for number in range(arguments.clients)]
        before, began = processor_seconds(pid), time.perf_counter()
        every = asyncio.run(ask_all(url, streams, began + arguments.seconds))
        elapsed = time.perf_counter() - began
        answers = [answer for kind, of_kind in every.items() if kind != "503" for answer in of_kind]
        for kind, of_kind in {**dict(sorted(every.items())), "all answers": answers}.items():
            times = sorted(of_kind)
            figures = (times[len(times) // 2], times[int(len(times) * 0.99)], times[-1])
            print_row(kind, f"{len(times) / elapsed:,.1f}", *(f"{figure * 1000:,.0f}" for figure in figures))
        print(f"\nprocessor time: {(processor_seconds(pid) - before) / elapsed:.2f} of a core\n")
        print_head("GraphQL", "answers/s", "processor ms of the service")
        for kind in ("GraphQL, one agent", "GraphQL, ten with feedback"):
            streams = [requests({kind: 1}, ids, number) for number in range(CONNECTIONS)]
            for seconds in (1.0, arguments.seconds / 3):  # the first warms the service
                before, began = processor_seconds(pid), time.perf_counter()
                every = asyncio.run(ask_all(url, streams, began + seconds))
                count, used = len(every[kind]), processor_seconds(pid) - before
            print_row(kind, f"{count / (time.perf_counter() - began):,.0f}", f"{used / count * 1000:.2f}")


if __name__ == "__main__":
    main()

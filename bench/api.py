"""`python -m bench.api`: the speed of the service over HTTP, on a database that `python -m bench.world` made.

    python -m bench.api --database sqlite:////path/world.sqlite

It starts one process of the service, and asks for agents drawn at random, over connections that stay open. It prints
requests a second, latencies, and the processor time of the service for a request, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import httpx
from sqlalchemy import select

from bilateral.index import schema
from bilateral.index.readers import Reader

CONNECTIONS = 8
PARTS = {
    "one agent": "",
    "one agent with its 20 newest feedback": "?newest=20",
}


def agents(database: str, count: int) -> list[str]:
    """Return ids of agents, drawn at random but the same each time.

    Args:
        database: The database.
        count: The number of ids.
    """
    reader = Reader(database, seconds=60.0)
    table = schema.agent.c
    with reader.connect() as connection:
        rows = connection.execute(select(table.chain_id, table.agent_id).limit(100_000)).all()
    reader.close()
    return [f"{chain_id}:{agent_id}" for chain_id, agent_id in random.Random(1).choices(rows, k=count)]  # noqa: S311


async def load(url: str, paths: list[str]) -> list[float]:
    """Ask for paths over several connections, and return the seconds of each answer.

    Args:
        url: The service.
        paths: The paths.
    """
    seconds: list[float] = []
    waiting = iter(paths)

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            for path in waiting:
                began = time.perf_counter()
                response = await client.get(path)
                seconds.append(time.perf_counter() - began)
                response.raise_for_status()

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return sorted(seconds)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used.

    Args:
        pid: The process.
    """
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--requests", type=int, default=5_000)
    options = parser.parse_args()
    ids = agents(options.database, options.requests)
    command = [str(Path(sys.executable).with_name("bilateral")), "serve", "--no-index", "--port", "0"]
    arguments = ["--rate", "1000000/second", "--database", options.database]
    with subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True) as service:  # noqa: S603  # ours
        try:
            told = service.stderr.readline() if service.stderr else ""
            found = re.search(r"listening on (\S+)", told)
            if found is None:
                raise SystemExit(f"the service ended: {told}")
            print("| request | requests/s | p50 ms | p95 ms | processor ms of the service |")
            print("| --- | --- | --- | --- | --- |")
            for name, query in PARTS.items():
                asyncio.run(load(found[1], [f"/v1/agents/{it}{query}" for it in ids[:200]]))  # warm
                before, began = processor_seconds(service.pid), time.perf_counter()
                took = asyncio.run(load(found[1], [f"/v1/agents/{it}{query}" for it in ids]))
                elapsed = time.perf_counter() - began
                used = (processor_seconds(service.pid) - before) / len(took) * 1000
                p50, p95 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.95))
                print(f"| {name} | {len(took) / elapsed:,.0f} | {p50:.1f} | {p95:.1f} | {used:.2f} |")
            print(f"\nThe client used {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.1f} s of processor time.")
        finally:
            service.terminate()


if __name__ == "__main__":
    main()

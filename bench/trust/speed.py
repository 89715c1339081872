"""The time and the memory of a whole analysis, in a process of its own."""

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from bench.trust.worlds.world import tables_of
from bilateral.trust.engine import Engine
from bilateral.trust.tables.schema import Tables


def tables(size: int, seed: int = 1) -> Tables:
    """Return tables of a market with Pareto popularity.

    Args:
        size: The number of feedbacks.
        seed: The seed.
    """
    random = np.random.default_rng(seed)
    clients, agents = size // 5, max(size // 50, 10)
    names = pa.array([f"0x{number:040x}" for number in range(clients + agents + 20)])

    def addresses(codes: np.ndarray) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)

    popularity = random.pareto(1.3, agents) + 0.2
    client = np.minimum((random.pareto(0.9, size) * clients * 0.05).astype(int), clients - 1) * 7919 % clients
    agent = random.choice(agents, size, p=popularity / popularity.sum())
    ts = 1.77e9 + random.uniform(0, 180 * 86400, size)
    quality = np.clip(random.beta(5, 1.6, agents) * 100, 5, 99)
    paid = np.flatnonzero(random.random(size) < 0.6)  # noqa: PLR2004
    people = clients + agents
    from_exchange = clients + agents + random.integers(0, 20, people)
    source = np.where(random.random(people) < 0.75, from_exchange, random.integers(0, people, people))  # noqa: PLR2004
    owners = addresses(clients + np.arange(agents))
    uris = pa.array([f"u{number}" for number in range(agents)])
    registered = 1.77e9 + random.uniform(0, 1e6, agents)
    values = np.clip(np.round(quality[agent] + random.normal(0, 9, size)), 0, 100)
    tx = pa.array([f"{number:x}" for number in range(len(paid))])
    payments = (tx, addresses(client[paid]), addresses(clients + agent[paid]), agent[paid] + 1)
    tag = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), pa.array(["starred"]))
    return tables_of(
        agents=(np.arange(agents) + 1, owners, owners, uris, registered, np.zeros(agents, bool)),
        feedback=(np.arange(size), addresses(client), agent + 1, values, tag, ts, pa.nulls(size, pa.string())),
        payments=(*payments, random.lognormal(-1, 1, len(paid)), ts[paid] - 100),
        transfers=(
            *(addresses(source), addresses(np.arange(people))),
            *(random.lognormal(3, 1, people), 1.77e9 - random.uniform(0, 9e6, people)),
        ),
    )


def speed(sizes: list[int]) -> dict[str, dict[str, float]]:
    """Return seconds, seconds of a processor, and gigabytes of an analysis by size, reading included.

    Args:
        sizes: The numbers of feedbacks.
    """
    out = {}
    for size in sizes:
        with TemporaryDirectory() as folder:
            tables(size).write(Path(folder))
            command = [sys.executable, "-m", "bench.trust.speed", folder]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
            out[str(size)] = {"seconds": float(told[0]), "processor": float(told[1]), "gigabytes": float(told[2])}
    return out


if __name__ == "__main__":
    start, worked = time.perf_counter(), time.process_time()
    Engine().fit(Tables.read(Path(sys.argv[1])))
    spent, worked = time.perf_counter() - start, time.process_time() - worked
    print(f"{spent:.1f} {worked:.1f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}")

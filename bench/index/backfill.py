"""`python -m bench.index.backfill [EVENTS]`: processor time of one worker, and of a worker with a helper.

A chain of generated events is indexed into a PostgreSQL of its own, by one worker and then with a helper. The phases
run one after the other, so each has its own figures. With two machines the slowest part sets the pace: the worker, the
helper, or the process of the server that works most. The time of the node is in none of them. Of several runs the least
figures count, because other programs on the machine only add to them.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import ape
import psutil  # type: ignore[import-untyped]
from ape.logging import LogLevel, logger
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, text

from bench.index.measurement import databases, grow
from bench.index.runs import CHAIN_ID, follower
from bilateral.core.contracts import Deployment
from bilateral.index.backfill import Helper, Progress
from bilateral.index.chain.follow import Outcome
from bilateral.index.log.batches import Block
from bilateral.index.log.database import open_database
from bilateral.index.log.registries import record_registries
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.projections import PROJECTIONS
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator

_LOGS_A_BLOCK: Final = 100
_BLOCKS_A_RANGE: Final = 100
"""Ranges of the helper hold 10,000 events, as it chooses by itself on a long chain."""

_RUNS: Final = 5

_DEPLOYMENT: Final = Deployment.from_record(
    json.dumps(
        {"chainId": CHAIN_ID, "contracts": {kind.value: {"address": address} for kind, address in ADDRESSES.items()}}
    )
)


def server_times(engine: Engine) -> dict[int, float]:
    """Return the processor seconds of each process of a server on this machine."""
    with engine.connect() as connection:
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
    server = psutil.Process(int((Path(folder) / "postmaster.pid").read_text().split()[0]))
    return {child.pid: sum(child.cpu_times()[:2]) for child in server.children()}


def measure(engine: Engine, events: int, work: Callable[[], object]) -> tuple[float, float]:
    """Return the microseconds an event of this process, and of the process of the server that worked most."""
    before, began = server_times(engine), time.process_time()
    work()
    own = time.process_time() - began
    busiest = max(seconds - before.get(pid, 0.0) for pid, seconds in server_times(engine).items())
    return 1e6 * own / events, 1e6 * busiest / events


def index_to_head(engine: Engine, database: str, url: str) -> None:
    """Index the chain to its head by a worker."""
    following = follower(database, url)
    following._store.engine = engine  # noqa: SLF001  # its processes of the server are those that are measured
    while following.step().outcome is not Outcome.WAITED:
        pass


def begin(database: str, chain: EventChain) -> Engine:
    """Begin the chain after block 0 in a new database."""
    engine = open_database(database)
    record_registries(engine, CHAIN_ID, [_DEPLOYMENT], 0)
    header = chain.rpc("eth_getBlockByNumber", "0x0", False)
    ChainStore(engine, CHAIN_ID, PROJECTIONS).begin(
        Block(0, bytes.fromhex(header["hash"][2:]), int(header["timestamp"], 16))
    )
    return engine


def fill(engine: Engine, url: str) -> None:
    """Read all ranges of the chain as a helper."""
    helper = Helper(engine, ChainSettings((url,), (_DEPLOYMENT,)), threading.Event())
    helper._blocks = _BLOCKS_A_RANGE  # noqa: SLF001  # the chain is shorter than the first range of a long one
    while helper.step() is Progress.FILLED:
        pass


def phases(fresh: Callable[[str], str], name: str, chain: EventChain, events: int) -> dict[str, tuple[float, float]]:
    """Measure one worker, a helper and a helped worker, in two new databases, which are dropped again."""
    url = chain.url
    alone, helped = (begin(fresh(f"{name}_{part}"), chain) for part in ("alone", "helped"))
    figures = {
        "one worker": measure(alone, events, lambda: index_to_head(alone, fresh(f"{name}_alone"), url)),
        "helper": measure(helped, events, lambda: fill(helped, url)),
        "helped worker": measure(helped, events, lambda: index_to_head(helped, fresh(f"{name}_helped"), url)),
    }
    for engine, part in ((alone, "alone"), (helped, "helped")):
        with engine.begin() as connection:
            connection.execute(text(f'DROP SCHEMA "{name}_{part}" CASCADE'))
        engine.dispose()
    return figures


def main() -> None:
    """Measure, and print the table."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    logger.set_level(LogLevel.WARNING)
    code = ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    with tempfile.TemporaryDirectory() as folder, running_anvil(*OPTIONS) as url:
        chain = EventChain(url, code)
        chain.rpc("anvil_mine", hex(_BLOCKS_A_RANGE))  # these blocks are left to the worker
        grow(chain, Generator(seed=1), events // _LOGS_A_BLOCK, _LOGS_A_BLOCK)
        chain.rpc("anvil_mine", hex(150))
        servers = databases(folder)
        next(servers)  # SQLite has no second machine
        _, fresh = next(servers)
        runs = [phases(fresh, f"run_{number}", chain, events) for number in range(_RUNS)]
        next(servers, None)  # ends the server
    figures = {name: [min(times) for times in zip(*(run[name] for run in runs), strict=True)] for name in runs[0]}
    table = Table("process", "its own time, µs an event", "busiest process of the server, µs an event")
    for name, times in figures.items():
        table.add_row(name, *(f"{microseconds:.1f}" for microseconds in times))
    before = max(figures["one worker"])
    after = max(*figures["helper"], *figures["helped worker"])
    Console(width=110).print(table)
    print(
        f"With a helper on a second machine: {before / after:.2f} times the events a second ({before:.1f}/{after:.1f})"
    )


if __name__ == "__main__":
    main()

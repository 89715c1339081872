"""Work of the benchmark that is measured in a process of its own, with the imports of a worker of the index.

The memory of a process counts all that it imports, so the tools of the benchmark stay out of this module.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Table, select

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import open_database
from bilateral.index.log.rows import rows_of
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS
from simulation.events import ADDRESSES

CHAIN_ID: Final = 31337


@dataclass(frozen=True)
class Run:
    """One measured run.

    Attributes:
        events: The number of stored events.
        seconds: Its wall time.
        cpu_seconds: Its CPU time, the node's and the server's not included.
        mebibytes: The most memory that its process held.
    """

    events: int
    seconds: float
    cpu_seconds: float
    mebibytes: float

    @property
    def rate(self) -> float:
        """The events a second."""
        return self.events / self.seconds

    @property
    def microseconds(self) -> float:
        """The processor time of an event."""
        return 1e6 * self.cpu_seconds / self.events


def follower(database: str, url: str, first_block: int = 0) -> Follower:
    """Return a follower of the chain from a block on."""
    registries = {address: registry for registry, address in ADDRESSES.items()}
    source = Source(Endpoint(url), list(registries))
    store = ChainStore(open_database(database), CHAIN_ID, PROJECTIONS)
    return Follower(store, Pool(CHAIN_ID, [source]), registries, first_block)


def index_all(database: str, url: str, first_block: int) -> int:
    """Index the chain from a block, or from the cursor, to its head."""
    following, events = follower(database, url, first_block), 0
    while (step := following.step()).outcome is not Outcome.WAITED:
        events += step.events
    return events


def stored_rows(database: str) -> dict[Table, list[Any]]:
    """Return the rows that an index ends with, but for its cursor."""
    engine = open_database(database)
    tables = [table for table in PARTITIONED_TABLES if table is not schema.block]
    with engine.connect() as connection:
        rows = {table: list(map(tuple, connection.execute(select(table)))) for table in tables}
    engine.dispose()
    return rows


def store_finally(database: str, url: str, first_block: int, rows: Mapping[Table, Sequence[Any]]) -> int:
    """Fetch and decode a chain's events, and insert the rows that an index of them ends with: the least work."""
    source, registries = (
        Source(Endpoint(url), list(ADDRESSES.values())),
        {address: registry for registry, address in ADDRESSES.items()},
    )
    extraction, events, head = Extraction(CHAIN_ID, registries), 0, source.head()
    while first_block <= head:
        logs, end = source.logs(first_block, head)
        extraction.rows(logs)
        events += sum(len(block.entries) for block in logs)
        first_block = end + 1
    engine = open_database(database)
    ChainStore(engine, CHAIN_ID, PROJECTIONS).begin(Block(0, bytes(32), 0))
    with engine.begin() as connection:
        store = rows_of(connection)
        for table, of_table in rows.items():
            store.insert(table, of_table)
    engine.dispose()
    return events


def measured(work: Callable[..., int], *arguments: Any, prepare: Callable[[], Any] | None = None) -> Run:
    """Do some work in a process of its own, and measure it, without what prepares its last argument."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, arguments, prepare))
    process.start()
    sender.close()
    run: Run = receiver.recv()
    process.join()
    return run


def _measure(
    sender: Any, work: Callable[..., int], arguments: tuple[Any, ...], prepare: Callable[[], Any] | None
) -> None:
    """Measure some work, and send the figures."""
    if prepare is not None:
        arguments = (*arguments, prepare())
    began, cpu = time.perf_counter(), time.process_time()
    events = work(*arguments)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    sender.send(Run(events, seconds, cpu_seconds, _most_mebibytes()))


def _most_mebibytes() -> float:
    """Return the most memory that this process held, in MiB. `getrusage` would count its parent's too."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

"""Work of the benchmark that is measured in a process of its own, with the imports of a worker of the index.

The memory of a process counts all that it imports, so the tools of the benchmark stay out of this module.
"""

import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.payments.tables import payment
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.worker import PaymentFollower, PaymentStore
from bilateral.index.projections import PROJECTIONS
from bilateral.node.json_rpc import Reply
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


class CountingEndpoint(Endpoint):
    """An endpoint that counts its requests, a batch as one."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.requests = Counter[str]()

    def _post(self, method: str, content: Any) -> Reply:
        self.requests[method] += 1
        return super()._post(method, content)


def read_payments(database: str, endpoint: Endpoint, token: str, metered: str) -> int:
    """Read the payments of an indexed chain in two tokens, and return their number."""
    engine = open_database(database)
    store = PaymentStore(engine, CHAIN_ID, PaymentTerms({token: 6, metered: 6}))
    following = PaymentFollower(store, Pool(CHAIN_ID, [Source(endpoint, [])]))
    while following.step():
        pass
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(payment)).scalar_one())


def read_all_payments(database: str, url: str, token: str, metered: str) -> int:
    """Read the payments of an indexed chain. See `read_payments`."""
    return read_payments(database, Endpoint(url), token, metered)


def measured(work: Callable[..., int], *arguments: Any) -> Run:
    """Do some work in a process of its own, and measure it."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, arguments))
    process.start()
    sender.close()
    run: Run = receiver.recv()
    process.join()
    return run


def _measure(sender: Any, work: Callable[..., int], arguments: tuple[Any, ...]) -> None:
    """Measure some work, and send the figures."""
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

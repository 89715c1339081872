"""Copies of an index on several servers, and checks of which servers respond and how far they lag."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sqlalchemy import Connection, make_url, select

from bilateral.core.errors import BilateralError
from bilateral.index import errors
from bilateral.index.log import tables as schema
from bilateral.index.log.database import parsed_url
from bilateral.index.reading.missing_chains import without_missing_chains
from bilateral.index.reading.readers import Reader

_LOGGER: Final = logging.getLogger("bilateral.api.database")

_LOOK_SECONDS: Final = 1.0
"""Seconds between checks of a server, because the age of responses is reported in whole seconds."""

_LOOK_LIMIT: Final = 2.0
"""The time limit for a check, in seconds. A server that takes longer to return a few rows would delay readers."""

_GUARDED: Final[Mapping[str, str]] = {
    "connect_timeout": "2",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
}
"""Options with which a connection detects an unreachable machine quickly. Without them, detection takes minutes."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """The state of one chain on one server.

    Attributes:
        block: The last indexed block.
        block_time: The block time, in Unix seconds.
        head: The chain's head when the index last checked.
        updated_at: The time of the last check.
    """

    block: int
    block_time: int
    head: int
    updated_at: int


@dataclass(slots=True)
class Visit:
    """A request whose reads all go to one server.

    Attributes:
        key: A number that determines the server. It is the same for all requests from one client, so that the client
            never sees an older state than before.
        copy: The server that served the last read; None before the first read.
    """

    key: int
    copy: Copy | None = None


VISIT: Final[ContextVar[Visit | None]] = ContextVar("bilateral_visit", default=None)
"""The current request."""


@dataclass(eq=False)
class Copy:
    """A server that has a copy of the index.

    Attributes:
        url: The SQLAlchemy URL, with options that detect an unreachable machine.
        name: The server's host, port and database, for metrics and logs.
        is_primary: True for the server to which workers write.
        is_up: True while the server responds and its tables have the required version.
        states: The state of each chain at the last check.
        delay: The number of seconds by which the server lagged behind the primary at the last check.
    """

    url: str
    is_primary: bool
    name: str = field(init=False)
    is_up: bool = False
    states: Mapping[int, ChainState] = field(default_factory=dict)
    delay: float = 0.0
    _wakes: threading.Event = field(default_factory=threading.Event)
    _reader: Reader | None = None
    _problem: str | None = None

    def __post_init__(self) -> None:
        parsed = make_url(self.url)
        port = "" if parsed.port is None else f":{parsed.port}"
        self.name = f"{parsed.host or parsed.query.get('host', '')}{port}/{parsed.database}"

    def suspend(self) -> None:
        """Exclude the server from reads until a check shows that it responds."""
        self.is_up = False
        self._wakes.set()

    def watch(self, primary: Copy, is_over: threading.Event) -> None:
        """Check the server every second, and immediately after a failed read."""
        while not is_over.is_set():
            self.look(primary)
            self._wakes.wait(_LOOK_SECONDS)
            self._wakes.clear()
        if self._reader is not None:
            self._reader.close()

    def look(self, primary: Copy) -> None:
        """Read the chains' progress, and log a message when the server fails or recovers."""
        problem = None
        try:
            if self._reader is None:
                self._reader = Reader(self.url, seconds=_LOOK_LIMIT, connections=1)
            with without_missing_chains():
                self.states = self._reader.visit(_states)
        except BilateralError as error:
            problem = str(error)
        else:
            common = primary.states.keys() & self.states.keys()
            delays = [primary.states[chain].updated_at - self.states[chain].updated_at for chain in common]
            self.delay = math.inf if primary.states.keys() - common else float(max([0, *delays]))
        self.is_up = problem is None
        if problem is not None and self._problem is None:
            _LOGGER.warning("the database %s is excluded from reads: %s", self.name, problem)
        elif problem is None and self._problem is not None:
            _LOGGER.warning("the database %s responds again", self.name)
        self._problem = problem


def guarded_url(url: str | None) -> str:
    """Return a URL whose connections detect an unreachable machine. Options in the URL take precedence."""
    parsed = parsed_url(url)
    own = {name: value for name, value in _GUARDED.items() if name not in parsed.query}
    return parsed.update_query_dict(own).render_as_string(hide_password=False)


class Copies:
    """The primary server and its replicas, each monitored by a thread.

    Args:
        max_delay: The number of seconds by which a replica may lag before readers use another server.

    Attributes:
        primary: The primary server.
        all: The primary server and the replicas.
    """

    def __init__(self, primary: str | None, replicas: Sequence[str], max_delay: float) -> None:
        self.primary = Copy(guarded_url(primary), is_primary=True)
        self.replicas = [Copy(guarded_url(url), is_primary=False) for url in replicas]
        self.all = [self.primary, *self.replicas]
        self._max_delay = max_delay
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Check each server once, and then continuously in threads."""
        for thread in self._start(lambda copy: copy.look(self.primary)):
            thread.join()
        self._threads = self._start(lambda copy: copy.watch(self.primary, self._is_over))

    def _start(self, work: Callable[[Copy], None]) -> list[threading.Thread]:
        threads = [threading.Thread(target=work, args=(copy,), daemon=True) for copy in self.all]
        for thread in threads:
            thread.start()
        return threads

    def close(self) -> None:
        """End the threads."""
        self._is_over.set()
        for copy in self.all:
            copy.suspend()
        for thread in self._threads:
            thread.join(_LOOK_LIMIT)

    def in_order(self) -> list[Copy]:
        """Return the servers to try for a read, in order.

        Replicas that respond and do not lag come first, followed by the primary and then the other servers, because a
        stale response is better than none.
        """
        visit = VISIT.get()
        ready = [copy for copy in self.replicas if copy.is_up and copy.delay <= self._max_delay]
        if ready and visit is not None:
            start = visit.key % len(ready)
            ready = ready[start:] + ready[:start]
        primary = [self.primary] if self.primary.is_up else []
        rest = [copy for copy in self.all if copy not in ready and copy not in primary]
        return [*ready, *primary, *sorted(rest, key=lambda copy: (not copy.is_up, copy.delay))]

    def heads(self) -> dict[int, int]:
        """Return the highest head that any server reports for each chain."""
        heads: dict[int, int] = {}
        for copy in self.all:
            for chain_id, state in copy.states.items():
                heads[chain_id] = max(heads.get(chain_id, 0), state.head)
        return heads


def _states(connection: Connection) -> dict[int, ChainState]:
    table = schema.chain.c
    columns = (table.chain_id, table.block_number, table.block_time, table.head_number, table.updated_at)
    return {chain_id: ChainState(*state) for chain_id, *state in connection.execute(select(*columns))}


T = TypeVar("T")

_UNUSABLE: Final = (errors.DatabaseUnavailableError, errors.NewerSchemaError, errors.OlderSchemaError)
"""The errors raised if a server is down or its tables have a different version."""


class ReplicatedReader(Reader):
    """Reads an index from its replicas. Each visit sees one consistent state of a single server.

    A replica that is not responding is excluded until it recovers. Until then, other servers serve its reads.

    Args:
        max_delay: The number of seconds by which a replica may lag before visits use another server.

    Attributes:
        copies: The servers.

    Raises:
        InvalidArgumentError: A URL is malformed or specifies an unsupported database.
        OlderSchemaError: The primary's tables are missing or need `bilateral index schema`.
        NewerSchemaError: A newer version of this package created the primary's tables.
        DatabaseUnavailableError: The primary cannot be opened. (Replicas need not be available.)
    """

    def __init__(
        self,
        url: str | None,
        replicas: Sequence[str],
        *,
        seconds: float = 2.0,
        connections: int = 8,
        max_delay: float = 60.0,
    ) -> None:
        self.copies = Copies(url, replicas, max_delay)
        super().__init__(self.copies.primary.url, seconds=seconds, connections=connections)
        self._connections = connections
        self._readers: dict[Copy, Reader] = {}
        self.copies.start()

    @property
    def missing(self) -> frozenset[int]:
        """The chains whose server did not respond at the last check."""
        return frozenset[int]().union(*(reader.missing for reader in self._readers.values()))

    @contextmanager
    def connect(self, spent: float = 0.0) -> Iterator[Connection]:
        """Provide a connection to the first server that accepts one. See `Reader.connect`."""
        *copies, last = self.copies.in_order()
        for copy in (*copies, last):
            with _suspending(copy), ExitStack() as stack:
                try:
                    connection = stack.enter_context(self._reader_of(copy).connect(spent))
                except _UNUSABLE:
                    copy.suspend()
                    if copy is last:
                        raise
                    continue
                request = VISIT.get()
                if request is not None:
                    request.copy = copy
                yield connection
                return

    def visit(self, work: Callable[[Connection], T], spent: float = 0.0) -> T:
        """Run a visit, and retry it on another server if the first one fails. See `Reader.visit`."""
        try:
            return super().visit(work, spent)
        except errors.MissingChainError:
            raise
        except errors.DatabaseUnavailableError:
            return super().visit(work, spent)

    def close(self) -> None:
        """Close the connections and stop the checks."""
        self.copies.close()
        for reader in self._readers.values():
            reader.close()
        super().close()

    def _reader_of(self, copy: Copy) -> Reader:
        reader = self._readers.get(copy)
        if reader is None:
            opened = Reader(copy.url, seconds=self.seconds, connections=self._connections)
            reader = self._readers.setdefault(copy, opened)
        return reader


@contextmanager
def _suspending(copy: Copy) -> Iterator[None]:
    """Exclude a server after a failure, until a check shows that it responds."""
    try:
        yield
    except (errors.ChainServerFailedError, errors.MissingChainError):
        raise  # other copies would not have the rows either
    except errors.DatabaseUnavailableError:
        copy.suspend()
        raise

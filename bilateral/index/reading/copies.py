"""The copies of one index on several servers: which of them answer, and how far each is behind."""

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
"""The seconds between two looks at a server: a second is the least that an answer tells of its age."""

_LOOK_LIMIT: Final = 2.0
"""The time limit of a look. A server that takes longer for a few rows would hold readers up."""

_GUARDED: Final[Mapping[str, str]] = {
    "connect_timeout": "2",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
}
"""Options by which a connection notices a machine that vanished. Without them that takes minutes."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """The state of one chain on one server.

    Attributes:
        block: The last indexed block.
        block_time: Its time, Unix seconds.
        head: The head of the chain when the index last looked.
        updated_at: The time of that look.
    """

    block: int
    block_time: int
    head: int
    updated_at: int


@dataclass(slots=True)
class Visit:
    """A request whose reads go to one server.

    Attributes:
        key: A number by which the server is chosen. Requests of one client have the same: time never goes back for it.
        copy: The server that answered last; None before the first read.
    """

    key: int
    copy: Copy | None = None


VISIT: Final[ContextVar[Visit | None]] = ContextVar("bilateral_visit", default=None)
"""The request that is under way."""


@dataclass(eq=False)
class Copy:
    """A server that has the index.

    Attributes:
        url: The SQLAlchemy URL, which notices a machine that vanished.
        name: Its host, port and database, for figures and logs.
        is_primary: True for the server that workers write.
        is_up: True while it answers, and its tables have this version.
        states: The state of each chain when it was last looked at.
        behind: The seconds by which it was behind the primary then.
    """

    url: str
    is_primary: bool
    name: str = field(init=False)
    is_up: bool = False
    states: Mapping[int, ChainState] = field(default_factory=dict)
    behind: float = 0.0
    looks: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Name it, without its password."""
        parsed = make_url(self.url)
        port = "" if parsed.port is None else f":{parsed.port}"
        self.name = f"{parsed.host or parsed.query.get('host', '')}{port}/{parsed.database}"

    def doubt(self) -> None:
        """Leave it out until a look shows that it answers."""
        self.is_up = False
        self.looks.set()


def guarded_url(url: str | None) -> str:
    """Return a URL whose connections notice a machine that vanished. The URL's own options stay."""
    parsed = parsed_url(url)
    own = {name: value for name, value in _GUARDED.items() if name not in parsed.query}
    return parsed.update_query_dict(own).render_as_string(hide_password=False)


class Copies:
    """The primary server and its replicas, each of which a thread looks at.

    Args:
        max_delay: The seconds that a replica may be behind before readers go elsewhere.

    Attributes:
        primary: The primary server.
    """

    def __init__(self, primary: str | None, replicas: Sequence[str], max_delay: float) -> None:
        self.primary = Copy(guarded_url(primary), is_primary=True)
        self.replicas = [Copy(guarded_url(url), is_primary=False) for url in replicas]
        self._max_delay = max_delay
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def all(self) -> list[Copy]:
        """The primary server and the replicas."""
        return [self.primary, *self.replicas]

    def start(self) -> None:
        """Look at each server once, and then again and again in threads."""
        first = [threading.Thread(target=_Looks(self, copy).once, daemon=True) for copy in self.all]
        for thread in first:
            thread.start()
        for thread in first:
            thread.join()
        for copy in self.all:
            thread = threading.Thread(target=_Looks(self, copy).run, args=(self._is_over,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """End the threads."""
        self._is_over.set()
        for copy in self.all:
            copy.looks.set()
        for thread in self._threads:
            thread.join(_LOOK_LIMIT)

    def in_order(self) -> list[Copy]:
        """Return the servers for a read, the one to try first in front.

        Replicas that answer and are not late come first, then the primary, then all others: a late answer beats none.
        """
        visit = VISIT.get()
        ready = [copy for copy in self.replicas if copy.is_up and copy.behind <= self._max_delay]
        if ready and visit is not None:
            start = visit.key % len(ready)
            ready = ready[start:] + ready[:start]
        primary = [self.primary] if self.primary.is_up else []
        others = [copy for copy in self.all if copy not in ready and copy not in primary]
        others.sort(key=lambda copy: (not copy.is_up, copy.behind))
        return [*ready, *primary, *others]

    def heads(self) -> dict[int, int]:
        """Return the highest head of each chain that any server has told."""
        heads: dict[int, int] = {}
        for copy in self.all:
            for chain_id, state in copy.states.items():
                heads[chain_id] = max(heads.get(chain_id, 0), state.head)
        return heads


class _Looks:
    """Looks at one server."""

    def __init__(self, copies: Copies, copy: Copy) -> None:
        self._copies = copies
        self._copy = copy
        self._reader: Reader | None = None
        self._problem: str | None = None

    def run(self, is_over: threading.Event) -> None:
        """Look each second, and at once after a read failed."""
        while not is_over.is_set():
            self.once()
            self._copy.looks.wait(_LOOK_SECONDS)
            self._copy.looks.clear()
        if self._reader is not None:
            self._reader.close()

    def once(self) -> None:
        """Read the progress of the chains. A server that fails is left out of reads until a look succeeds."""
        try:
            if self._reader is None:
                self._reader = Reader(self._copy.url, seconds=_LOOK_LIMIT, connections=1)
            with without_missing_chains():
                self._copy.states = self._reader.visit(_states)
        except BilateralError as problem:
            self._copy.is_up = False
            self._tell(str(problem))
            return
        primary = self._copies.primary.states
        states = self._copy.states
        delays = [primary[chain].updated_at - states[chain].updated_at for chain in primary.keys() & states.keys()]
        self._copy.behind = math.inf if primary.keys() - states.keys() else float(max([0, *delays]))
        self._copy.is_up = True
        self._tell(None)

    def _tell(self, problem: str | None) -> None:
        """Log that a server failed, or answers again."""
        if (problem is None) != (self._problem is None):
            if problem is None:
                _LOGGER.warning("the database %s answers again", self._copy.name)
            else:
                _LOGGER.warning("the database %s is left out of reads: %s", self._copy.name, problem)
        self._problem = problem


def _states(connection: Connection) -> dict[int, ChainState]:
    table = schema.chain.c
    columns = (table.chain_id, table.block_number, table.block_time, table.head_number, table.updated_at)
    return {chain_id: ChainState(*state) for chain_id, *state in connection.execute(select(*columns))}


T = TypeVar("T")

_UNUSABLE: Final = (errors.DatabaseUnavailableError, errors.NewerSchemaError, errors.OlderSchemaError)
"""Errors of a server that is away, or whose tables have another version."""


class ReplicatedReader(Reader):
    """Reads an index on its replicas. Each visit sees one server, and one state of it.

    A replica that does not answer is left out until it answers again. The next replica or the primary takes its reads.

    Args:
        max_delay: The seconds that a replica may be behind the primary before visits go elsewhere.

    Attributes:
        copies: The servers.

    Raises:
        InvalidArgumentError: A URL is malformed, or of another database.
        OlderSchemaError: The tables of the primary wait for `bilateral index schema`, or there are none.
        NewerSchemaError: A newer version of this package made the tables of the primary.
        DatabaseUnavailableError: The primary cannot be opened. Replicas may fail meanwhile.
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
        """The chains whose server did not answer when a server looked at it last."""
        return frozenset[int]().union(*(reader.missing for reader in self._readers.values()))

    @contextmanager
    def connect(self, spent: float = 0.0) -> Iterator[Connection]:
        """Lend a connection to the first server that gives one. See `Reader.connect`."""
        last: BilateralError | None = None
        for copy in self.copies.in_order():
            with _doubting(copy), ExitStack() as stack:
                try:
                    connection = stack.enter_context(self._reader_of(copy).connect(spent))
                except _UNUSABLE as problem:
                    copy.doubt()
                    last = problem
                    continue
                _note(copy)
                yield connection
                return
        assert last is not None  # noqa: S101  # there is a primary
        raise last

    def visit(self, work: Callable[[Connection], T], spent: float = 0.0) -> T:
        """Do the work of a visit, once more on another server if one fails meanwhile. See `Reader.visit`."""
        try:
            return super().visit(work, spent)
        except errors.MissingChainError:
            raise
        except errors.DatabaseUnavailableError:
            return super().visit(work, spent)

    def close(self) -> None:
        """Close the connections, and end the looks."""
        self.copies.close()
        for reader in self._readers.values():
            reader.close()
        super().close()

    def _reader_of(self, copy: Copy) -> Reader:
        """Return the reader of a server, whose tables are checked when it is made."""
        reader = self._readers.get(copy)
        if reader is None:
            made = Reader(copy.url, seconds=self.seconds, connections=self._connections)
            reader = self._readers.setdefault(copy, made)
        return reader


@contextmanager
def _doubting(copy: Copy) -> Iterator[None]:
    """Leave a server out after a failure, until a look shows that it answers."""
    try:
        yield
    except (errors.ChainServerFailedError, errors.MissingChainError):
        raise  # another copy would not have the rows either
    except errors.DatabaseUnavailableError:
        copy.doubt()
        raise


def _note(copy: Copy) -> None:
    """Note the server that the request under way reads."""
    request = VISIT.get()
    if request is not None:
        request.copy = copy

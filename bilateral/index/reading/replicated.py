"""Reads that go to the replicas of a database, and elsewhere when one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection

from bilateral.core.errors import BilateralError
from bilateral.index.errors import (
    DatabaseUnavailableError,
    MissingChainError,
    NewerSchemaError,
    OlderSchemaError,
    ShardFailedError,
)
from bilateral.index.reading.copies import VISIT, Copies, Copy
from bilateral.index.reading.readers import Reader

T = TypeVar("T")

_UNUSABLE: Final = (DatabaseUnavailableError, NewerSchemaError, OlderSchemaError)
"""Errors of a server that is away, or whose tables have another version."""


class ReplicatedReader(Reader):
    """Reads an index on its replicas. Each visit sees one server, and one state of it.

    A replica that does not answer is left out until it answers again. The next replica or the primary takes its reads.

    Args:
        url: The SQLAlchemy URL of the primary; the default database if left out.
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
        """The chains whose shard did not answer when a server looked at it last."""
        return frozenset[int]().union(*(reader.missing for reader in self._readers.values()))

    @contextmanager
    def connect(self, spent: float = 0.0) -> Iterator[Connection]:
        """Lend a connection to the first server that gives one. See `Reader.connect`.

        Args:
            spent: The seconds of the limit that the caller has used before.

        Raises:
            DatabaseUnavailableError: No server gives one, or the server failed during the visit.
        """
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
        except MissingChainError:
            raise
        except DatabaseUnavailableError:
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
    except (ShardFailedError, MissingChainError):
        raise  # another copy would not have the rows either
    except DatabaseUnavailableError:
        copy.doubt()
        raise


def _note(copy: Copy) -> None:
    """Note the server that the request under way reads."""
    request = VISIT.get()
    if request is not None:
        request.copy = copy

"""A thread that writes rows of PostgreSQL on one connection, so that the server stores while Python computes."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Table

    from bilateral.index.log.rows import Row, Rows


class Writer:
    """Writes rows on one connection, in a thread. Nobody else uses the connection until `end`.

    Args:
        rows: The access to rows of the connection, which is in a transaction.
        patience: The seconds without a further write after which the thread undoes the transaction, unless it was
            claimed; None to wait for ever.

    Attributes:
        rows: The access to rows.
    """

    def __init__(self, rows: Rows, patience: float | None = None) -> None:
        self.rows = rows
        self._patience = patience
        self._claiming = threading.Lock()
        self._is_undone = False
        self._is_cancelled = False
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="index-behind", daemon=True)
        self._thread.start()

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows behind the caller's back. See `Rows.insert`."""
        self._waiting.put(partial(self.rows.insert, table, rows))

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        """Replace rows behind the caller's back. See `Rows.replace`."""
        self._waiting.put(partial(self.rows.replace, table, rows))

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Delete rows behind the caller's back. See `Rows.delete`."""
        self._waiting.put(partial(self.rows.delete, table, keys))

    def claim(self) -> bool:
        """Let the thread wait for ever from now on.

        Returns:
            False if its patience has ended already, and nothing is stored.
        """
        with self._claiming:
            self._patience = None
            return not self._is_undone

    def end(self, *, is_cancelled: bool = False) -> None:
        """Wait until the thread has ended, whatever interrupts the wait: nobody else may use its connection before.

        Args:
            is_cancelled: True to leave out what is not written yet, and to raise no failure.

        Raises:
            DBAPIError: A write failed. Nothing was written after it.
            BaseException: The wait was interrupted, by this. The thread has ended, and left out what was not written.
        """
        interruption = None
        while True:
            try:
                self._is_cancelled = is_cancelled or interruption is not None
                self._waiting.put(None)
                self._ended.wait()  # after an interrupted `join`, Python 3.11 takes a thread that runs for a dead one
                break
            except BaseException as problem:  # noqa: BLE001  # it is raised below
                interruption = problem
        self._thread.join()
        if interruption is not None:
            raise interruption
        if self._failure is not None and not is_cancelled:
            raise self._failure

    def _write_all(self) -> None:
        """Do the writes in their order, until one fails."""
        try:
            while (write := self._next()) is not None:
                if self._failure is None and not self._is_cancelled:
                    try:
                        write()
                    except BaseException as problem:  # noqa: BLE001  # `end` raises it
                        self._failure = problem
        finally:
            self._ended.set()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next write. Return None at the end, and after the transaction was undone."""
        while True:
            try:
                return self._waiting.get(timeout=self._patience)
            except Empty:
                with self._claiming:
                    if self._patience is None:
                        continue
                    self._is_undone = True
                with suppress(DBAPIError):  # the server undoes the transaction of a connection that is lost
                    self.rows.connection.rollback()
                return None

"""Notes of a chain's head: a batch stores it with its rows, and a note does while there are none to store."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from sqlalchemy import Engine, update
from sqlalchemy.exc import DBAPIError

from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block

_EVERY_SECONDS: Final = 5.0
"""Seconds between two notes: a write for each look would cost the disk."""


class HeadNotes:
    """The notes of one worker about the head of its chain.

    Args:
        clock: The monotonic time, in seconds.
    """

    def __init__(self, engine: Engine, chain_id: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._engine = engine
        self._chain_id = chain_id
        self._last = float("-inf")

    def take(self, cursor: Block, head: int) -> None:
        """Store the head that was just seen, and the time, unless another worker moved the cursor.

        The first note is stored, and then one in five seconds. A note only informs, so a database that cannot be
        written now is left to the next batch.
        """
        if self._clock() - self._last < _EVERY_SECONDS:
            return
        table = schema.chain
        is_unmoved = (table.c.block_number == cursor.number) & (table.c.block_hash == cursor.hash)
        note = update(table).where(table.c.chain_id == self._chain_id, is_unmoved)
        with suppress(DBAPIError), self._engine.begin() as connection:
            connection.execute(note.values(head_number=head, updated_at=int(time.time())))
        self._last = self._clock()

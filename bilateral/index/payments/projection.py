"""Payments that the index read after it was past their block, so that an earlier answer can be given again."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

from sqlalchemy import Connection, delete, select, update

from bilateral.index.log import tables as schema
from bilateral.index.log.locks import hold_cursor
from bilateral.index.log.projection import Projection, Removal
from bilateral.index.log.rows import rows_of
from bilateral.index.payments.tables import CHAIN_TABLES, FORGOTTEN, late_payment, payment_cursor


class Payments(Projection):
    """Payments of a chain, which follow its index by steps of their own."""

    name = "payments"
    tables = (payment_cursor, *CHAIN_TABLES, late_payment)

    def undo(self, removal: Removal) -> Iterator[None]:
        yield
        forget_payments_after(removal.connection, removal.chain_id, removal.target.number, removal.target.hash)
        yield


def note_late_payments(connection: Connection, chain_id: int, blocks: Collection[int]) -> None:
    """Note the last indexed block at which payments are read, if it is later than their own."""
    if not blocks:
        return
    hold_cursor(connection, chain_id)
    head = _head(connection, chain_id)
    if head > min(blocks):
        _note(connection, chain_id, min(blocks), head)


def note_forgotten_payments(connection: Connection, chain_id: int) -> None:
    """Note that all payments of a chain are read again: nobody can say any more which ones were known when."""
    connection.execute(delete(late_payment).where(late_payment.c.chain_id == chain_id))
    hold_cursor(connection, chain_id)
    _note(connection, chain_id, FORGOTTEN, _head(connection, chain_id))


def forget_late_payments_after(connection: Connection, chain_id: int, block: int) -> None:
    """Take notes out with the blocks that a reorganisation replaced.

    Payments that were read at removed blocks count from the block after the last one that stays: an answer at that
    one did not have them.
    """
    table = late_payment
    connection.execute(delete(table).where(table.c.chain_id == chain_id, table.c.first_block > block))
    later = (table.c.chain_id == chain_id) & (table.c.seen_block > block)
    connection.execute(update(table).where(later).values(seen_block=block + 1))


def _head(connection: Connection, chain_id: int) -> int:
    table = schema.chain
    block = connection.execute(select(table.c.block_number).where(table.c.chain_id == chain_id)).scalar_one_or_none()
    return -1 if block is None else block


def _note(connection: Connection, chain_id: int, first: int, seen: int) -> None:
    rows_of(connection).insert_if_absent(late_payment, {"chain_id": chain_id, "first_block": first, "seen_block": seen})


def forget_payments_after(connection: Connection, chain_id: int, block: int, hash_: bytes) -> None:
    """Remove the payments of blocks that a reorganisation replaced, and move the cursor back."""
    table, now = payment_cursor, int(time.time())
    # First, because it locks the cursor: a worker that stores payments of these blocks ends before, or gives up.
    connection.execute(update(table).where(table.c.chain_id == chain_id).values(changed_at=now))
    for chain_table in CHAIN_TABLES:
        connection.execute(
            delete(chain_table).where(chain_table.c.chain_id == chain_id, chain_table.c.block_number > block)
        )
    forget_late_payments_after(connection, chain_id, block)
    is_later = table.c.chain_id == chain_id, table.c.block_number > block
    connection.execute(update(table).where(*is_later).values(block_number=block, block_hash=hash_))

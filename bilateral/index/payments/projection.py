"""The payment projection. Payments are read after their block is indexed; notes record when, for reproducibility."""

import time
from collections.abc import Collection, Iterator

from sqlalchemy import Connection, delete, select, update

from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import hold_cursor
from bilateral.index.log.projection import Projection, Removal
from bilateral.index.log.rows import rows_of
from bilateral.index.payments.tables import CHAIN_TABLES, FORGOTTEN, late_payment, payment_cursor


class Payments(Projection):
    """A chain's payments, which are read in separate steps after the blocks are indexed."""

    name = "payments"
    tables = (payment_cursor, *CHAIN_TABLES, late_payment)

    def undo(self, removal: Removal) -> Iterator[None]:
        yield
        connection, chain_id, block = removal.connection, removal.chain_id, removal.target.number
        cursor, late = payment_cursor, late_payment
        # First, because it locks the cursor: a worker that stores payments of these blocks finishes first or gives up.
        connection.execute(update(cursor).where(cursor.c.chain_id == chain_id).values(changed_at=int(time.time())))
        for column in (*(table.c.block_number for table in CHAIN_TABLES), late.c.first_block):
            connection.execute(delete(column.table).where(column.table.c.chain_id == chain_id, column > block))
        # Payments that were read at removed blocks count from the block after the last remaining block, because
        # responses at that block did not include them.
        for column, values in (
            (late.c.seen_block, {"seen_block": block + 1}),
            (cursor.c.block_number, {"block_number": block, "block_hash": removal.target.hash}),
        ):
            is_later = column.table.c.chain_id == chain_id, column > block
            connection.execute(update(column.table).where(*is_later).values(values))
        yield


def note_late_payments(connection: Connection, chain_id: int, blocks: Collection[int]) -> None:
    """Record the last block indexed when payments were read, if this block is later than those of the payments."""
    if blocks:
        _note(connection, chain_id, min(blocks))


def note_forgotten_payments(connection: Connection, chain_id: int) -> None:
    """Record that all of a chain's payments will be read again, so that it is unknown when each was first stored."""
    connection.execute(delete(late_payment).where(late_payment.c.chain_id == chain_id))
    _note(connection, chain_id, FORGOTTEN)


def _note(connection: Connection, chain_id: int, first_block: int) -> None:
    hold_cursor(connection, chain_id)
    chain = schema.chain.c
    head = connection.execute(select(chain.block_number).where(chain.chain_id == chain_id)).scalar_one_or_none()
    if head is not None and head > first_block:
        late = {"chain_id": chain_id, "first_block": first_block, "seen_block": head}
        rows_of(connection).insert_if_absent(late_payment, late)

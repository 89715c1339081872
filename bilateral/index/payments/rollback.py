"""Remove payments with their blocks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import delete, update

from bilateral.index.payments.projection import forget_late_payments_after
from bilateral.index.payments.tables import CHAIN_TABLES, payment_cursor

if TYPE_CHECKING:
    from sqlalchemy import Connection


def forget_payments_after(connection: Connection, chain_id: int, block: int, hash_: bytes) -> None:
    """Remove the payments of blocks that a reorganisation replaced, and move the cursor back.

    Args:
        connection: The connection, in the transaction of the rollback.
        chain_id: The chain.
        block: The last block that stays.
        hash_: Its hash.
    """
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

"""Transactions that wait for locks without the limit that connections have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.index.log.dialects import dialect_of

if TYPE_CHECKING:
    from sqlalchemy import Connection


def wait_for_locks(connection: Connection) -> None:
    """Wait as long as it takes for the locks of a transaction: other workers of the index hold some for minutes.

    Args:
        connection: The connection, in a transaction.
    """
    dialect_of(connection).set_local(connection, "lock_timeout", "0")

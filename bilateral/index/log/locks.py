"""Locks that keep a chain's cursor in its place while a note about it is stored.

Files and payments are read by other workers than those that move the cursor. Their notes say the last indexed block.
Without a lock the cursor could move between the reading of that block and the commit of the note. An answer at the new
block would then lack what the note says was known before it.

A worker that moves the cursor owns the lock from its last statements to its commit. A worker that makes a note holds it
from its last statements to its commit, together with others. Neither waits for anything else meanwhile, so no two wait
for each other in a circle. SQLite has one writer at a time, and needs no lock.

An answer gives the number of the newest observation that it used. Observations of other files with smaller numbers must
be stored by then, so that the answer can be given again. A lock makes the observations of all workers commit in the
order of their numbers. Steps of the change feed have such a lock, too: always the last that a transaction takes.
"""

from typing import Final

from sqlalchemy import Connection, text

from bilateral.index.log.dialects import dialect_of

_FIRST: Final = 8004 << 48
"""The lock of chain 0. Advisory locks have numbers of 63 bits, which all programs of a database share."""

_OBSERVATIONS: Final = _FIRST - 1
"""The lock of the numbers of observations."""

_STEPS: Final = _FIRST - 2
"""The lock of the numbers of the change feed's steps."""

_CHAINS: Final = 1 << 48  # a lock has 63 bits; those of greater chains may share one, and wait


def own_cursor(connection: Connection, chain_id: int) -> None:
    """Wait for notes that others store about a chain's cursor. New ones wait for the end of the transaction."""
    dialect_of(connection).lock(connection, _lock_of(chain_id))


def number_observations(connection: Connection) -> None:
    """Wait for the numbers that others give to observations. The next ones wait for the end of the transaction."""
    dialect_of(connection).lock(connection, _OBSERVATIONS)


def number_steps(connection: Connection) -> None:
    """Lock the numbering of the change feed until the end of the transaction."""
    dialect_of(connection).lock(connection, _STEPS)


def hold_cursors(connection: Connection) -> None:
    """Keep the cursors of all chains where they are until the end of the transaction."""
    if dialect_of(connection).has_server:  # one statement for all chains: each would be a way to the server and back
        locks = text("SELECT pg_advisory_xact_lock_shared(:first + chain_id % :chains) FROM chain ORDER BY chain_id")
        connection.execute(locks, {"first": _FIRST, "chains": _CHAINS}).all()


def hold_cursor(connection: Connection, chain_id: int) -> None:
    """Keep the cursor of one chain where it is until the end of the transaction. See `hold_cursors`."""
    dialect_of(connection).lock(connection, _lock_of(chain_id), is_shared=True)


def wait_for_locks(connection: Connection) -> None:
    """Wait without a limit for the locks of a transaction: other workers of the index hold some for minutes."""
    dialect_of(connection).set_local(connection, "lock_timeout", "0")


def _lock_of(chain_id: int) -> int:
    return _FIRST + chain_id % _CHAINS

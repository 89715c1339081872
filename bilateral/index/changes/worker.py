"""Remove the oldest steps of the change feed, so that the feed does not grow forever."""

import logging
import threading
import time
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from sqlalchemy import Connection, Engine, delete, func, select, tuple_
from sqlalchemy.exc import DBAPIError

from bilateral.index.changes.tables import change_note, change_step, removed_change

_AT_ONCE: Final = 1_000
"""The number of steps to remove per transaction: it takes milliseconds, and on SQLite, the follower waits for it."""

_PAUSE: Final = 600.0
"""Seconds between checks. The limits are measured in days, so this is sufficient."""

_DAY: Final = 86_400  # seconds; Unix time ignores leap seconds
_LOGGER: Final = logging.getLogger("bilateral.index")


@dataclass(frozen=True)
class FeedLimits:
    """The limits of the change feed. The oldest steps are removed when the feed exceeds one of these limits.

    Attributes:
        days: The maximum age of a step. Readers offline for longer miss changes. Reorganisations should not reach
            further back.
        steps: The maximum number of steps. A chain with a block every two seconds produces at most 1.3 million in 30
            days.
    """

    days: float = 30.0
    steps: int = 2_000_000


def prune_feed(engine: Engine, limits: FeedLimits, now: float | None = None) -> int:
    """Remove the steps that exceed the limits, except the last step, whose number determines the next step's number."""
    horizon = (time.time() if now is None else now) - limits.days * _DAY
    total = 0
    while True:
        with engine.begin() as connection:
            removed = _prune_some(connection, horizon, limits.steps)
        total += removed
        if removed < _AT_ONCE:
            return total


def _prune_some(connection: Connection, horizon: float, most: int) -> int:
    step, removed = change_step.c, removed_change.c
    last = connection.execute(select(func.max(step.step))).scalar_one()
    oldest = connection.execute(select(step.step, step.made_at).order_by(step.step).limit(_AT_ONCE)).all()
    pruned = [row.step for row in takewhile(lambda row: row.step <= last - most or row.made_at < horizon, oldest)]
    pruned = [number for number in pruned if number < last]
    if pruned:
        # Keep an event that a later rollback removed until its retraction, which is pruned with the rollback's step.
        rollbacks = select(step.chain_id, step.removal).where(step.step <= pruned[-1], step.removal.is_not(None))
        connection.execute(delete(removed_change).where(tuple_(removed.chain_id, removed.removal).in_(rollbacks)))
        for table in (change_note, change_step):
            connection.execute(delete(table).where(table.c.step <= pruned[-1]))
    return len(pruned)


def keep_pruned(engine: Engine, limits: FeedLimits, stop: threading.Event) -> None:
    """Prune the feed periodically until `stop` is set."""
    while True:
        try:
            if steps := prune_feed(engine, limits):
                _LOGGER.warning("feed=pruned steps=%s", steps)
        except DBAPIError as problem:  # the database is unavailable; the next check removes more
            _LOGGER.warning("feed=unpruned problem=%r", str(problem.orig))
        if stop.wait(_PAUSE):
            return

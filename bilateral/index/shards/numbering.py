"""Numbers for the change feed of all shards: an order of their steps that never changes itself.

Each shard numbers its own steps. The coordinator gives each a further number when it first sees it, in the order of its
chain. So a reader there that has seen a step has seen all steps with smaller numbers, as without shards.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.log.database import unavailable
from bilateral.index.shards.coordinator import hold_numbers, places

_LOGGER: Final = logging.getLogger("bilateral.index")

_SECONDS: Final = 0.5
"""The time between two looks at the shards: a change is in the feed as soon after its block as workers look for it."""

_AT_ONCE: Final = 10_000  # steps of a transaction: a megabyte

_LAST: Final = text("SELECT coalesce(max(shard_step), 0) FROM sharded.numbered_step WHERE chain_id = :chain")

_NUMBER: Final = text("""
    INSERT INTO sharded.numbered_step
      (step, kind, chain_id, first_block, last_block, removal, changes, made_at, shard_step)
    SELECT (SELECT coalesce(max(step), 0) FROM sharded.numbered_step) + row_number() OVER (ORDER BY step),
           kind, chain_id, first_block, last_block, removal, changes, made_at, step
    FROM (SELECT * FROM sharded.change_step WHERE chain_id = :chain AND step > :last ORDER BY step LIMIT :most) new
""")

_PRUNED: Final = text("""
    SELECT max(step) FROM sharded.numbered_step WHERE chain_id = :chain
    AND shard_step < (SELECT min(step) FROM sharded.change_step WHERE chain_id = :chain)
""")

_RESTORED: Final = text("""
    UPDATE sharded.numbered_step SET chain_id = 0, shard_step = -step WHERE chain_id = :chain
    AND shard_step > (SELECT max(step) FROM sharded.change_step WHERE chain_id = :chain)
""")
"""Takes the steps from a chain that its shard does not know. The numbers stay taken: readers have seen them."""

_COPY_REGISTRIES: Final = (
    text("DELETE FROM registry WHERE chain_id = :chain"),
    text("INSERT INTO registry SELECT * FROM sharded.registry WHERE chain_id = :chain"),
)
"""A worker writes down the registries of its chain before the first step, and before it reads further ones."""


def number_steps(engine: Engine, failing: set[int] | None = None) -> int:
    """Number the steps that shards added. Those of a shard that does not answer wait."""
    failing = set() if failing is None else failing
    with engine.connect() as connection:
        chains = [placed.chain_id for placed in places(connection)]
    return sum(_numbered(engine, chain_id, failing) for chain_id in chains)


def release_restored(engine: Engine, chains: Iterable[int]) -> None:
    """Number steps again that come after a backup, if a shard was restored from one. Do it before its workers begin.

    The shard gives the numbers of the steps after its backup once more, to other steps.
    """
    for chain_id in chains:
        with engine.begin() as connection:
            hold_numbers(connection)
            connection.execute(_RESTORED, {"chain": chain_id})


def forget_pruned(engine: Engine) -> None:
    """Forget the steps up to the last one that a shard pruned: a reader of an earlier cursor would miss that one."""
    with engine.begin() as connection:
        hold_numbers(connection)
        pruned = [connection.execute(_PRUNED, {"chain": placed.chain_id}).scalar_one() for placed in places(connection)]
        forgotten = text("DELETE FROM sharded.numbered_step WHERE step <= :last")
        connection.execute(forgotten, {"last": max((step for step in pruned if step is not None), default=0)})


def keep_numbered(engine: Engine, stop: threading.Event, pruning_seconds: float = 60.0) -> None:
    """Number steps, and forget pruned ones, until the process ends."""
    looks, failing, is_told = 0, set[int](), False
    while not stop.wait(_SECONDS):
        looks += 1
        try:
            number_steps(engine, failing)
            if looks * _SECONDS >= pruning_seconds:
                looks = 0
                forget_pruned(engine)
            is_told = False
        except DBAPIError as problem:
            if not is_told:
                _LOGGER.warning("outcome=waits problem=%r", str(unavailable(problem)))
            is_told = True


def _numbered(engine: Engine, chain_id: int, failing: set[int]) -> int:
    """Number the steps of a chain, and return how many there were. A failure is logged once until it ends."""
    total = 0
    try:
        while True:
            with engine.begin() as connection:
                count = _number(connection, chain_id)
            total += count
            if count < _AT_ONCE:
                failing.discard(chain_id)
                return total
    except DBAPIError as problem:
        if chain_id not in failing:
            failing.add(chain_id)
            _LOGGER.warning("chain=%d outcome=waits problem=%r", chain_id, str(unavailable(problem)))
        return total


def _number(connection: Connection, chain_id: int) -> int:
    """Number some steps of a chain within a transaction."""
    hold_numbers(connection)
    last = connection.execute(_LAST, {"chain": chain_id}).scalar_one()
    count = connection.execute(_NUMBER, {"chain": chain_id, "last": last, "most": _AT_ONCE}).rowcount
    if count:
        for statement in _COPY_REGISTRIES:
            connection.execute(statement, {"chain": chain_id})
    return count

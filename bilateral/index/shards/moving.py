"""Moves a chain to another shard while readers read.

Its rows are copied in one transaction of each shard, which nobody sees. The coordinator then changes all of the chain's
tables at once: readers see the old rows until then, and the new ones from then on. The old rows go last. A move that
breaks off is begun again: the coordinator says where the chain is, and the rows elsewhere are removed first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Connection, Engine, text

from bilateral.index.log.database import open_database, snapshot
from bilateral.index.log.lock_waits import wait_for_locks
from bilateral.index.log.places import Placed
from bilateral.index.operating.databases import Shard
from bilateral.index.shards.coordinator import (
    connect_shard,
    hold_numbers,
    hold_places,
    next_range,
    number_of,
    place_chain,
    places,
    split,
)
from bilateral.index.shards.copying import copy_chain, forget_chain
from bilateral.index.shards.errors import MisplacedChainError
from bilateral.index.shards.process import shard_of
from bilateral.index.shards.reachable import keep_reachable
from bilateral.index.shards.served import claim, number_from, serve
from bilateral.index.shards.servers import of_shard, opened_shards

_RENUMBER: Final = (
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step - :added WHERE chain_id = :chain"),
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step WHERE chain_id = :chain"),
)
"""Below zero in between: the key of a row would meet that of one which is not renumbered yet."""


def move_chain(
    url: str | None, shards: Mapping[str, Shard], chain_id: int, note: Callable[[str], None] = lambda _: None
) -> list[Placed]:
    """Move a chain to the shard that the settings name. Safe to retry.

    Args:
        url: The URL of the coordinator.
        shards: The shards of the settings.
        note: Called with the name of each table that is copied.

    Returns:
        The places of all chains.

    Raises:
        DatabaseUnavailableError: A server does not answer. The chain is where it was, or there already.
        MisplacedChainError: The chain is on no shard yet, or the settings name none.
        ShardError: A server is not what the settings say.
    """
    name = shard_of(shards, chain_id)
    coordinator = open_database(url)
    try:
        with opened_shards(shards, creates=True) as engines:
            with coordinator.begin() as connection:
                hold_places(connection)
                identity = split(connection)
                former = next((placed.shard for placed in places(connection) if placed.chain_id == chain_id), None)
                if former is None:
                    raise MisplacedChainError(chain_id, "is on no shard yet: run bilateral index shards")
                if former != name:
                    placed = Placed(chain_id, name, number_of(connection, name))
                    with engines[former].connect() as holding:
                        _hold(holding, chain_id)  # until the coordinator reads the copy
                        _move(connection, engines[former], engines[name], (identity, placed, shards[name]), note)
                        connection.commit()
                        forget_chain(holding, chain_id)
                        holding.commit()
            with coordinator.connect() as connection:
                return places(connection)
    finally:
        coordinator.dispose()


def _hold(connection: Connection, chain_id: int) -> None:
    """Keep a chain's worker from moving its cursor."""
    wait_for_locks(connection)
    connection.execute(text("SELECT 1 FROM chain WHERE chain_id = :chain FOR UPDATE"), {"chain": chain_id}).all()


def _move(
    connection: Connection,
    former: Engine,
    engine: Engine,
    moved: tuple[str, Placed, Shard],
    note: Callable[[str], None],
) -> None:
    """Copy a chain, and let the coordinator read the copy from its commit on."""
    identity, placed, shard = moved
    with of_shard(placed.shard), engine.begin() as target:
        wait_for_locks(target)
        if claim(target, identity, (placed.shard, placed.number)):
            number_from(target, next_range(connection))
        forget_chain(target, placed.chain_id)  # of a move that broke off
        serve(target, [placed.chain_id])
        with snapshot(former) as source:
            added = copy_chain(source, target, placed.chain_id, note)
        number_from(target, next_range(connection))  # later sights have greater numbers than those that came
        schema_name = target.execute(text("SELECT current_schema()")).scalar_one()
    connect_shard(connection, placed.shard, placed.number, shard.url)
    hold_numbers(connection)
    place_chain(connection, placed, schema_name)
    keep_reachable(connection, places(connection))
    for statement in _RENUMBER:
        connection.execute(statement, {"added": added, "chain": placed.chain_id})

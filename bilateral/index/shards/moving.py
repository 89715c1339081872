"""Moves a chain to another shard while readers read.

Its rows are copied in one transaction of each shard, which nobody sees. The coordinator then changes all of the chain's
tables at once: readers see the old rows until then, and the new ones from then on. The old rows go last. A move that
breaks off is begun again: the coordinator says where the chain is, and the rows elsewhere are removed first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, text

from bilateral.index.errors import MisplacedChainError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine, open_database, snapshot
from bilateral.index.log.locks import wait_for_locks
from bilateral.index.log.places import PARTS, SERVED, Placed, has_schema
from bilateral.index.log.revisions import stored_revision, upgrade_within
from bilateral.index.operating.settings import Shard
from bilateral.index.shards.coordinator import (
    connect_shard,
    hold_numbers,
    hold_places,
    join,
    next_range,
    number_of,
    place_chain,
    places,
    split,
)
from bilateral.index.shards.copying import copy_chain, forget_chain
from bilateral.index.shards.process import shard_of
from bilateral.index.shards.reachable import keep_reachable
from bilateral.index.shards.served import claim, number_from, serve, serve_shared
from bilateral.index.shards.servers import closing_engine, of_shard, opened_shards, read_shards, update_shards


@dataclass(frozen=True)
class Migrated:
    """The migration of one server.

    Attributes:
        server: The name of the shard, or `coordinator`.
        before: The version of its tables before; None for an empty database.
        version: The version now.
    """

    server: str
    before: str | None
    version: str


def upgrade_shards(url: str | None, shards: Mapping[str, Shard]) -> list[Migrated]:
    """Bring the tables of all servers to the version that this package knows. Safe to retry."""
    with closing_engine(connect_engine(url)) as coordinator:
        migrated = []
        with coordinator.begin() as connection:
            hold_places(connection)
            is_split = has_schema(connection, PARTS)
            for name, shard in shards.items():
                number = number_of(connection, name) if is_split else None
                with of_shard(name):
                    migrated.append(Migrated(name, _upgrade_shard(shard.url, number), schema.REVISION))
            before = stored_revision(connection)
            is_older = is_split and before != schema.REVISION
            if is_older:
                join(connection)
            upgrade_within(connection)
            if is_older:
                split(connection)
                with opened_shards(shards) as engines:
                    read_shards(connection, engines, shards)  # readers see the tables of before until the commit
        if not is_older:
            update_shards(url, shards)
        return [*migrated, Migrated("coordinator", before, schema.REVISION)]


def _upgrade_shard(url: str, number: int | None) -> str | None:
    """Bring the tables of a shard to the version of this package, and return the one before."""
    with closing_engine(connect_engine(url)) as engine, engine.begin() as connection:
        before = stored_revision(connection)
        if before == schema.REVISION:
            return before
        is_served = number is not None and has_schema(connection, SERVED)
        if is_served:
            _drop_views(connection)
        upgrade_within(connection)
        if is_served and number is not None:
            serve_shared(connection, number)
            held = text("SELECT chain_id FROM served.chain ORDER BY chain_id")
            serve(connection, connection.execute(held).scalars().all())
        return before


def _drop_views(connection: Connection) -> None:
    """Drop the views for the coordinator: a migration may change columns that they show."""
    names = connection.execute(text("SELECT viewname FROM pg_views WHERE schemaname = 'served'")).scalars().all()
    if names:
        connection.exec_driver_sql("DROP VIEW " + ", ".join(f'served."{name}"' for name in names))


_RENUMBER: Final = (
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step - :added WHERE chain_id = :chain"),
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step WHERE chain_id = :chain"),
)
"""Below zero in between: the key of a row would meet that of one which is not renumbered yet."""


def move_chain(
    url: str | None, shards: Mapping[str, Shard], chain_id: int, note: Callable[[str], None] = lambda _: None
) -> list[Placed]:
    """Move a chain to the shard that the settings name. Safe to retry."""
    name = shard_of(shards, chain_id)
    with closing_engine(open_database(url)) as coordinator, opened_shards(shards, creates=True) as engines:
        with coordinator.begin() as connection:
            hold_places(connection)
            identity = split(connection)
            previous = next((placed.shard for placed in places(connection) if placed.chain_id == chain_id), None)
            if previous is None:
                raise MisplacedChainError(chain_id, "is on no shard yet: run bilateral index shards")
            if previous != name:
                placed = Placed(chain_id, name, number_of(connection, name))
                with engines[previous].connect() as holding:
                    _hold(holding, chain_id)  # until the coordinator reads the copy
                    _move(connection, engines[previous], engines[name], (identity, placed, shards[name]), note)
                    connection.commit()
                    forget_chain(holding, chain_id)
                    holding.commit()
        with coordinator.connect() as connection:
            return places(connection)


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

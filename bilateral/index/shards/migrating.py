"""Migrations of all servers of a sharded index: the shards first, as the coordinator reads their new tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from bilateral.index.log.database import connect_engine
from bilateral.index.log.migrate import upgrade_within
from bilateral.index.log.places import PARTS, SERVED, has_schema
from bilateral.index.log.revisions import stored_revision
from bilateral.index.log.tables import REVISION
from bilateral.index.operating.databases import Shard
from bilateral.index.shards.coordinator import hold_places, join, number_of, split
from bilateral.index.shards.served import serve, serve_shared
from bilateral.index.shards.servers import of_shard, opened_shards, read_shards, update_shards


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
    """Bring the tables of all servers to the version that this package knows. Safe to retry.

    Args:
        url: The URL of the coordinator.
        shards: The shards of the settings.

    Returns:
        The migrations, in their order.

    Raises:
        NewerSchemaError: A newer version of this package made the tables of a server.
        DatabaseUnavailableError: A server does not answer.
        ShardError: A server is not what the settings say.
    """
    coordinator = connect_engine(url)
    try:
        migrated = []
        with coordinator.begin() as connection:
            hold_places(connection)
            is_split = has_schema(connection, PARTS)
            for name, shard in shards.items():
                number = number_of(connection, name) if is_split else None
                with of_shard(name):
                    migrated.append(Migrated(name, _upgrade_shard(shard.url, number), REVISION))
            before = stored_revision(connection)
            is_older = is_split and before != REVISION
            if is_older:
                join(connection)
            upgrade_within(connection)
            if is_older:
                split(connection)
                with opened_shards(shards) as engines:
                    read_shards(connection, engines, shards)  # readers see the tables of before until the commit
        if not is_older:
            update_shards(url, shards)
        return [*migrated, Migrated("coordinator", before, REVISION)]
    finally:
        coordinator.dispose()


def _upgrade_shard(url: str, number: int | None) -> str | None:
    """Bring the tables of a shard to the version of this package, and return the one before."""
    engine = connect_engine(url)
    try:
        with engine.begin() as connection:
            before = stored_revision(connection)
            if before == REVISION:
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
    finally:
        engine.dispose()


def _drop_views(connection: Connection) -> None:
    """Drop the views for the coordinator: a migration may change columns that they show."""
    names = connection.execute(text("SELECT viewname FROM pg_views WHERE schemaname = 'served'")).scalars().all()
    if names:
        connection.exec_driver_sql("DROP VIEW " + ", ".join(f'served."{name}"' for name in names))

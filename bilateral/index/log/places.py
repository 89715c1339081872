"""Where chains are stored: partitions, the schemas of coordinators and shards, and checks of where workers write."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Table, text

from bilateral.index.errors import MisplacedChainError, ShardError
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of

PARTS: Final = "sharded"
"""The coordinator's schema that contains the foreign tables and the chains' locations."""

PLAIN: Final = "plain"
"""The coordinator's schema that contains empty tables for migrations, as in a database without shards."""

SERVED: Final = "served"
"""A shard's schema that contains the views for the coordinator, and the coordinator's name."""

REACHABLE: Final = "reachable"
"""The coordinator's schema that takes precedence over the main schema while a shard is not responding."""

DOWN: Final = "bilateral.down"
"""The setting that lists the shards to skip, separated by commas."""

LENIENT: Final = "bilateral.lenient"
"""The setting that, if `on`, makes queries silently skip rows on unavailable shards instead of raising an error."""

MISSING: Final = "MS001"
"""The code of the error that is raised if rows on a skipped shard are needed. Its detail contains the chain's id."""

_ADVISORY_LOCK: Final = 80048005
"""The key of a lock that all workers share, so that only one worker at a time creates a chain's partitions."""


@dataclass(frozen=True)
class Placed:
    """The location of a chain.

    Attributes:
        shard: The name of the chain's shard.
        number: The number of the shard.
    """

    chain_id: int
    shard: str
    number: int


def has_schema(connection: Connection, name: str) -> bool:
    """Return True if a database has a schema. An SQLite file has no partitions and no schemas."""
    if not dialect_of(connection).has_partitions:
        return False
    return bool(connection.execute(text("SELECT to_regnamespace(:name) IS NOT NULL"), {"name": name}).scalar_one())


def has_reachable(connection: Connection) -> bool:
    """Return True if a coordinator has this version's `REACHABLE` views."""
    if not has_schema(connection, REACHABLE):
        return False
    view = text("SELECT to_regclass(:name) IS NOT NULL")
    return bool(connection.execute(view, {"name": f"{REACHABLE}.server"}).scalar_one())


def require_single_server(connection: Connection) -> None:
    """Raise an error if the server belongs to a sharded index, whose servers must be migrated together."""
    shard = "" if has_schema(connection, PARTS) else None
    if shard is None and has_schema(connection, SERVED):
        shard = connection.execute(text("SELECT shard FROM served.claim")).scalar_one()
    if shard is not None:
        raise ShardError(shard, "all servers must be migrated together: run `bilateral index schema --settings`")


def holds(connection: Connection, chain_id: int) -> bool:
    """Return True if a shard contains a chain."""
    query = text("SELECT 1 FROM served.chain WHERE chain_id = :chain")
    return connection.execute(query, {"chain": chain_id}).one_or_none() is not None


def require_place(connection: Connection, chain_id: int) -> None:
    """Raise an error if readers would not see a chain written here. A database without shards may contain any chain."""
    if has_schema(connection, PARTS):
        raise MisplacedChainError(chain_id, "is written on its shard, not on the coordinator: pass --settings")
    if has_schema(connection, SERVED) and not holds(connection, chain_id):
        raise MisplacedChainError(
            chain_id, "is not on this shard: add it to the chains of a shard, and run `bilateral index shards`"
        )


def create_partitions(connection: Connection, chain_id: int, tables: Iterable[Table]) -> None:
    """Create a chain's partitions, unless they exist. SQLite has no partitions.

    A partition is created as a separate table and then attached, because other chains' workers continue to write.
    """
    dialect = dialect_of(connection)
    if not dialect.has_partitions:
        return
    dialect.lock(connection, _ADVISORY_LOCK)
    names = {schema.partition_name(table, chain_id): table.name for table in tables if schema.is_partitioned(table)}
    existing = text("SELECT name FROM unnest(CAST(:names AS text[])) name WHERE to_regclass(name) IS NOT NULL")
    for name in connection.execute(existing, {"names": list(names)}).scalars():
        del names[name]
    # Send all of them in one call, because each response from the server would have to be awaited.
    statements = [
        f'CREATE TABLE "{name}" (LIKE "{parent}" INCLUDING ALL);'
        f'ALTER TABLE "{parent}" ATTACH PARTITION "{name}" FOR VALUES IN ({chain_id:d})'
        for name, parent in names.items()
    ]
    if statements:
        connection.exec_driver_sql(";".join(statements))

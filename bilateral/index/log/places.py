"""Where chains are stored: partitions, schemas of coordinators and shards, and the guard for workers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Table, text

from bilateral.index.errors import MisplacedChainError, ShardError
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of

PARTS: Final = "sharded"
"""The schema of the coordinator that holds the foreign tables, and the places of chains."""

PLAIN: Final = "plain"
"""The schema of the coordinator with the empty tables of a database without shards, for migrations."""

SERVED: Final = "served"
"""The schema of a shard that holds the views for the coordinator, and the name of the coordinator."""

REACHABLE: Final = "reachable"
"""The schema of the coordinator that precedes its own while a shard is not responding."""

DOWN: Final = "bilateral.down"
"""The setting that lists the shards to leave out, separated by commas."""

LENIENT: Final = "bilateral.lenient"
"""The setting that leaves out the rows of a chain without an error, if it is `on`."""

MISSING: Final = "MS001"
"""The code of the error raised for rows of a shard that is left out. Its detail is the id of the chain."""

_ADVISORY_LOCK: Final = 80048005
"""A number that all workers share, so that two of them do not create the partitions of one chain at once."""


@dataclass(frozen=True)
class Placed:
    """The place of a chain.

    Attributes:
        shard: The name of its shard.
        number: The number of the shard.
    """

    chain_id: int
    shard: str
    number: int


def has_schema(connection: Connection, name: str) -> bool:
    """Return True if a database has a schema. One without partitions has none: a file of SQLite."""
    if not dialect_of(connection).has_partitions:
        return False
    return bool(connection.execute(text("SELECT to_regnamespace(:name) IS NOT NULL"), {"name": name}).scalar_one())


def has_reachable(connection: Connection) -> bool:
    """Return True if a coordinator has the views of `REACHABLE` in this version."""
    if not has_schema(connection, REACHABLE):
        return False
    view = text("SELECT to_regclass(:name) IS NOT NULL")
    return bool(connection.execute(view, {"name": f"{REACHABLE}.server"}).scalar_one())


def require_single_server(connection: Connection) -> None:
    """Refuse to migrate a single server of a sharded index."""
    shard = "" if has_schema(connection, PARTS) else None
    if shard is None and has_schema(connection, SERVED):
        shard = connection.execute(text("SELECT shard FROM served.claim")).scalar_one()
    if shard is not None:
        raise ShardError(shard, "all servers are migrated together: run bilateral index schema --settings")


def holds(connection: Connection, chain_id: int) -> bool:
    """Return True if a shard holds a chain."""
    query = text("SELECT 1 FROM served.chain WHERE chain_id = :chain")
    return connection.execute(query, {"chain": chain_id}).one_or_none() is not None


def require_place(connection: Connection, chain_id: int) -> None:
    """Refuse to write a chain where readers would not see it. A database without shards holds every chain."""
    if has_schema(connection, PARTS):
        raise MisplacedChainError(chain_id, "is written on its shard, not on the coordinator: pass --settings")
    if has_schema(connection, SERVED) and not holds(connection, chain_id):
        raise MisplacedChainError(
            chain_id, "is not on this shard: add it to the chains of a shard, and run bilateral index shards"
        )


def create_partitions(connection: Connection, chain_id: int, tables: Iterable[Table]) -> None:
    """Create the partitions of a chain, unless they exist. SQLite has none.

    A partition is created as a separate table and attached, because workers of other chains keep writing meanwhile.
    """
    dialect = dialect_of(connection)
    if not dialect.has_partitions:
        return
    dialect.lock(connection, _ADVISORY_LOCK)
    names = {schema.partition_name(table, chain_id): table.name for table in tables if schema.is_partitioned(table)}
    existing = text("SELECT name FROM unnest(CAST(:names AS text[])) name WHERE to_regclass(name) IS NOT NULL")
    for name in connection.execute(existing, {"names": list(names)}).scalars():
        del names[name]
    # All by one call: each answer of the server would be waited for.
    statements = [
        f'CREATE TABLE "{name}" (LIKE "{parent}" INCLUDING ALL);'
        f'ALTER TABLE "{parent}" ATTACH PARTITION "{name}" FOR VALUES IN ({chain_id:d})'
        for name, parent in names.items()
    ]
    if statements:
        connection.exec_driver_sql(";".join(statements))

"""The partitions of PostgreSQL's tables: each chain has its own, so a query about one chain reads no other's rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, Table, text

from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of

_ADVISORY_LOCK: Final = 80048005
"""A number that all workers share, so that two of them do not create the partitions of one chain at once."""


def create_partitions(connection: Connection, chain_id: int, tables: Iterable[Table]) -> None:
    """Create the partitions of a chain, unless they are there. SQLite has none.

    A partition is made as a table of its own and attached, because workers of other chains go on writing meanwhile.
    """
    dialect = dialect_of(connection)
    if not dialect.has_partitions:
        return
    dialect.lock(connection, _ADVISORY_LOCK)
    names = {schema.partition_name(table, chain_id): table.name for table in tables if schema.is_partitioned(table)}
    known = text("SELECT name FROM unnest(CAST(:names AS text[])) name WHERE to_regclass(name) IS NOT NULL")
    for name in connection.execute(known, {"names": list(names)}).scalars():
        del names[name]
    # All by one call: each answer of the server would be waited for.
    statements = [
        f'CREATE TABLE "{name}" (LIKE "{parent}" INCLUDING ALL);'
        f'ALTER TABLE "{parent}" ATTACH PARTITION "{name}" FOR VALUES IN ({chain_id:d})'
        for name, parent in names.items()
    ]
    if statements:
        connection.exec_driver_sql(";".join(statements))

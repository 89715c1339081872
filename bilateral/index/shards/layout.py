"""The places of tables in an index on several servers.

A shard is an index of its own: a worker there writes as it does without shards. The coordinator has no rows of chains.
In place of each table it has foreign tables of all shards, under the same name, so that readers need not know.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Table

from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS, READERS

CHAIN_TABLES: Final[tuple[Table, ...]] = (
    *(table for table in schema.metadata.tables.values() if table is not schema.registry),
    *(table for projection in PROJECTIONS for table in projection.tables),
)
"""Tables whose rows are of one chain, but for those of the change feed.

Each question reads the few rows of `registry`, so the coordinator has copies of them.
"""

OWN_PARTITIONS: Final = frozenset(PARTITIONED_TABLES)
"""Those of which a shard has a partition for each chain. Of the others the coordinator reads a view of its rows."""

SHARED_TABLES: Final[tuple[Table, ...]] = tuple(
    table
    for table in (*files.metadata.tables.values(), *(table for reader in READERS for table in reader.tables))
    if table not in CHAIN_TABLES
)
"""Files and what was read in them. Agents of several shards may name one file, which each shard then has."""

NUMBERED: Final = (
    files.file_sight,
    *(table for reader in READERS for table in reader.tables if table.autoincrement_column is not None),
)
"""Tables whose rows a sequence numbers. Each shard has numbers of its own, so that no two rows have the same."""

VIEWS: Final = {**schema.VIEWS, **files.VIEWS}
"""The views of an index, by their names. Each has a chain's rows beside its number, so a shard computes its part."""


def key_of(table: Table) -> list[str]:
    """Return the columns by which a row of a shared table is the same on all shards."""
    return ["content_hash"] if table in NUMBERED else [column.name for column in table.primary_key]

"""The shard's side: what the coordinator can read from a shard, and which chains the shard contains.

A shard is an independent index, to which workers write as they would without shards. The coordinator does not store the
rows of chains, but has foreign tables with the usual names, so readers notice no difference.
"""

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import Connection, Table, text

from bilateral.index.changes.tables import change_note, change_step, removed_change
from bilateral.index.errors import ShardError
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.places import PARTS, SERVED, create_partitions, has_schema
from bilateral.index.log.tables import registry
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS, READERS

CHAIN_TABLES: Final[tuple[Table, ...]] = (
    *(table for table in schema.metadata.tables.values() if table is not registry),
    *(table for projection in PROJECTIONS for table in projection.tables),
)
"""The tables in which each row belongs to one chain, except for the change feed's tables.

The coordinator has its own copy of the small table `registry`, because each query reads it.
"""

_TABLES: Final = (*CHAIN_TABLES, registry, change_step, removed_change)

OWN_PARTITIONS: Final = frozenset(PARTITIONED_TABLES)
"""Tables with one partition per chain on a shard. For other tables, the coordinator reads a view of a chain's rows."""

SHARED_TABLES: Final[tuple[Table, ...]] = tuple(
    table
    for table in (*files.metadata.tables.values(), *(table for reader in READERS for table in reader.tables))
    if table not in CHAIN_TABLES
)
"""Tables of files and their contents. If agents on several shards refer to the same file, each shard has a copy."""

NUMBERED: Final = tuple(
    table
    for tables in (*(projection.tables for projection in PROJECTIONS), *(reader.tables for reader in READERS))
    for table in tables
    if table.autoincrement_column is not None
)
"""Tables whose rows are numbered by a sequence. Each shard uses its own range, so that numbers are unique."""

VIEWS: Final = {**schema.VIEWS, **files.VIEWS}
"""The views of an index, keyed by name. Each shard computes the rows of its own chains."""


CHAIN_NAMES: Final = (*(table.name for table in CHAIN_TABLES), *VIEWS)
"""The names of the tables and views in which each row belongs to one chain."""


def key_of(table: Table) -> list[str]:
    """Return the columns that identify a row of a shared table across all shards."""
    return ["content_hash"] if table in NUMBERED else [column.name for column in table.primary_key]


_OF_ANOTHER: Final = "another coordinator reads it: use that one as database.url, or pass --adopt if it is gone"

_RANGE: Final = 1 << 40
"""The number of values in each shard's range for a sequence."""


def claim(connection: Connection, coordinator: str, shard: tuple[str, int], *, adopts: bool = False) -> bool:
    """Record, in a shard, the coordinator to which the shard belongs."""
    name, number = shard
    if has_schema(connection, PARTS):
        raise ShardError(name, "the database is that of a coordinator: specify the database of a shard")
    connection.exec_driver_sql(
        "CREATE SCHEMA IF NOT EXISTS served;"
        "CREATE TABLE IF NOT EXISTS served.claim (coordinator text NOT NULL, shard text NOT NULL);"
        "CREATE TABLE IF NOT EXISTS served.chain (chain_id bigint PRIMARY KEY)"
    )
    holder = connection.execute(text("SELECT coordinator, shard FROM served.claim FOR UPDATE")).one_or_none()
    is_own = holder is not None and holder.coordinator == coordinator
    if holder is not None and not is_own and not adopts:
        raise ShardError(name, _OF_ANOTHER)
    if holder is not None and is_own and holder.shard != name:
        raise ShardError(name, f"the database belongs to shard {holder.shard}: correct database.shards")
    serve_shared(connection, number)
    if is_own:
        return False
    connection.execute(text("DELETE FROM served.claim"))
    values = {"coordinator": coordinator, "name": name}
    connection.execute(text("INSERT INTO served.claim VALUES (:coordinator, :name)"), values)
    return True


def require_claim(connection: Connection, coordinator: str, name: str) -> None:
    """Raise an error if a shard belongs to another coordinator, whose readers would not learn of changes."""
    if not has_schema(connection, SERVED):
        raise ShardError(name, "no coordinator reads this shard yet: run `bilateral index shards`")
    if connection.execute(text("SELECT coordinator FROM served.claim")).scalar_one() != coordinator:
        raise ShardError(name, _OF_ANOTHER.replace("pass --adopt", "run `bilateral index shards --adopt`"))


def serve_shared(connection: Connection, number: int) -> None:
    """Let the coordinator read a shard's files."""
    for table in SHARED_TABLES:
        connection.exec_driver_sql(_view(table.name, f"{number:d} AS shard, rows.*", f'"{table.name}" rows'))


def number_anew(connection: Connection, coordinator: Connection) -> None:
    """Make a shard's sequences continue in a range that has never been used."""
    number_range = coordinator.execute(text("SELECT nextval('sharded.number_range')")).scalar_one()
    for table in NUMBERED:
        place = {"name": table.name, "column": next(iter(table.primary_key)).name, "last": number_range * _RANGE}
        connection.execute(text("SELECT setval(pg_get_serial_sequence(:name, :column), :last)"), place)


def require_listed(connection: Connection, name: str, chains: Collection[int]) -> None:
    """Raise an error if a shard contains chains that are missing from the settings."""
    for chain_id in connection.execute(text("SELECT chain_id FROM chain ORDER BY chain_id")).scalars():
        if chain_id not in chains:
            raise ShardError(name, f"database.shards.{name}.chains omits the stored chain {chain_id}: add it")


def serve(connection: Connection, chains: Iterable[int]) -> None:
    """Let the coordinator read a shard's chains, and let workers write to them."""
    for chain_id in chains:
        create_partitions(connection, chain_id, PARTITIONED_TABLES)
        connection.execute(text("INSERT INTO served.chain VALUES (:chain) ON CONFLICT DO NOTHING"), {"chain": chain_id})
        of_chain = f"rows WHERE rows.chain_id = {chain_id:d}"
        statements = [
            _view(f"{name}_{chain_id:d}", "*", f'"{name}" {of_chain}')
            for name in (*(table.name for table in _TABLES if table not in OWN_PARTITIONS), *VIEWS)
        ]
        notes = f"{change_note.name} note JOIN {change_step.name} rows USING (step) WHERE rows.chain_id = {chain_id:d}"
        statements.append(_view(f"{change_note.name}_{chain_id:d}", "rows.chain_id, note.*", notes))
        connection.exec_driver_sql(";".join(statements))


def _view(name: str, columns: str, rows: str) -> str:
    """Return the statement that creates a view for the coordinator. Later versions of a view only add columns."""
    return f'CREATE OR REPLACE VIEW served."{name}" AS SELECT {columns} FROM {rows}'  # noqa: S608  # names of the schema


def drop_views(connection: Connection, names: str = "%") -> None:
    """Drop the coordinator's views whose names match a pattern."""
    query = text("SELECT viewname FROM pg_views WHERE schemaname = :served AND viewname LIKE :names")
    views = connection.execute(query, {"served": SERVED, "names": names}).scalars().all()
    if views:
        connection.exec_driver_sql("DROP VIEW " + ", ".join(f'{SERVED}."{view}"' for view in views))


def forget_chain(connection: Connection, chain_id: int) -> None:
    """Remove a chain that is now on another shard. Files without references are deleted later, as after a rollback."""
    drop_views(connection, f"%\\_{chain_id:d}")
    of_chain = f"WHERE chain_id = {chain_id:d}"
    statements = [
        "INSERT INTO abandoned_file SELECT DISTINCT file_id, extract(epoch FROM now())::bigint FROM file_reference "  # noqa: S608
        f"{of_chain} AND file_id IS NOT NULL ON CONFLICT DO NOTHING",
        f"DELETE FROM change_note WHERE step IN (SELECT step FROM change_step {of_chain})",  # noqa: S608
        *(f'DELETE FROM "{table.name}" {of_chain}' for table in _TABLES),  # noqa: S608
        f"DELETE FROM {SERVED}.chain {of_chain}",  # noqa: S608
    ]
    connection.exec_driver_sql(";".join(statements))

"""The side of a shard: what the coordinator may read there, and which chains it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import Connection, text

from bilateral.index.changes.tables import change_note, change_step, removed_change
from bilateral.index.errors import ShardError
from bilateral.index.log.places import PARTS, SERVED, create_partitions, has_schema
from bilateral.index.log.tables import registry
from bilateral.index.projections import PARTITIONED_TABLES
from bilateral.index.shards.layout import CHAIN_TABLES, NUMBERED, OWN_PARTITIONS, SHARED_TABLES, VIEWS

_OF_ANOTHER: Final = "another coordinator reads it: name that one as database.url, or pass --adopt if it is gone"

RANGE: Final = 1 << 40
"""The numbers that a sequence of a shard may give before it meets those of another shard: a trillion."""


def claim(connection: Connection, coordinator: str, shard: tuple[str, int], *, adopts: bool = False) -> bool:
    """Write down which coordinator a shard is of."""
    name, number = shard
    if has_schema(connection, PARTS):
        raise ShardError(name, "the database is a coordinator itself: name the database of a shard")
    connection.exec_driver_sql(
        "CREATE SCHEMA IF NOT EXISTS served;"
        "CREATE TABLE IF NOT EXISTS served.claim (coordinator text NOT NULL, shard text NOT NULL);"
        "CREATE TABLE IF NOT EXISTS served.chain (chain_id bigint PRIMARY KEY)"
    )
    holder = connection.execute(text("SELECT coordinator, shard FROM served.claim FOR UPDATE")).one_or_none()
    if holder is not None and holder.coordinator != coordinator and not adopts:
        raise ShardError(name, _OF_ANOTHER)
    if holder is not None and holder.coordinator == coordinator and holder.shard != name:
        raise ShardError(name, f"the database is shard {holder.shard}: correct database.shards")
    serve_shared(connection, number)
    if holder is not None and holder.coordinator == coordinator:
        return False
    connection.execute(text("DELETE FROM served.claim"))
    connection.execute(
        text("INSERT INTO served.claim VALUES (:coordinator, :name)"), {"coordinator": coordinator, "name": name}
    )
    return True


def require_claim(connection: Connection, coordinator: str, name: str) -> None:
    """Refuse to work on a shard that another coordinator reads: its readers would not learn of the changes."""
    if not has_schema(connection, SERVED):
        raise ShardError(name, "no coordinator reads it yet: run bilateral index shards")
    if connection.execute(text("SELECT coordinator FROM served.claim")).scalar_one() != coordinator:
        raise ShardError(name, _OF_ANOTHER.replace("pass --adopt", "run bilateral index shards --adopt"))


def serve_shared(connection: Connection, number: int) -> None:
    """Let the coordinator read the files of a shard."""
    for table in SHARED_TABLES:
        connection.exec_driver_sql(_view(table.name, f"{number:d} AS shard, rows.*", f'"{table.name}" rows'))


def number_from(connection: Connection, number_range: int) -> None:
    """Let the sequences of a shard continue in a range that no shard had before."""
    for table in NUMBERED:
        place = {"name": table.name, "column": next(iter(table.primary_key)).name, "last": number_range * RANGE}
        connection.execute(text("SELECT setval(pg_get_serial_sequence(:name, :column), :last)"), place)


def require_no_others(connection: Connection, name: str, chains: Collection[int]) -> None:
    """Refuse a shard that holds chains which the settings leave out."""
    held = connection.execute(text("SELECT chain_id FROM chain ORDER BY chain_id")).scalars()
    if others := [chain_id for chain_id in held if chain_id not in chains]:
        raise ShardError(name, f"it holds chain {others[0]}, which database.shards.{name}.chains leaves out: add it")


def serve(connection: Connection, chains: Iterable[int]) -> None:
    """Let the coordinator read chains of a shard, and workers write them."""
    tables = (*CHAIN_TABLES, registry, change_step, removed_change)
    for chain_id in chains:
        create_partitions(connection, chain_id, PARTITIONED_TABLES)
        connection.execute(text("INSERT INTO served.chain VALUES (:chain) ON CONFLICT DO NOTHING"), {"chain": chain_id})
        of_chain = f"rows WHERE rows.chain_id = {chain_id:d}"
        statements = [
            _view(f"{name}_{chain_id:d}", "*", f'"{name}" {of_chain}')
            for name in (*(table.name for table in tables if table not in OWN_PARTITIONS), *VIEWS)
        ]
        notes = f"{change_note.name} note JOIN {change_step.name} rows USING (step) WHERE rows.chain_id = {chain_id:d}"
        statements.append(_view(f"{change_note.name}_{chain_id:d}", "rows.chain_id, note.*", notes))
        connection.exec_driver_sql(";".join(statements))


def _view(name: str, columns: str, rows: str) -> str:
    """Return the statement that makes a view for the coordinator. A newer version of it has more columns."""
    return f'CREATE OR REPLACE VIEW served."{name}" AS SELECT {columns} FROM {rows}'  # noqa: S608  # names of the schema

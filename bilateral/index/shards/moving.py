"""Move a chain to another shard while readers continue to read the chain.

The rows of the chain are copied in one transaction on each shard, invisible to readers. The coordinator then switches
all tables of the chain in one step; readers see the old rows before this step and the new rows after it. The old rows
are deleted last. An interrupted move can be started again: rows on shards other than the recorded location are then
removed first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import psycopg
from sqlalchemy import Connection, Engine, Table, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.changes.tables import change_note, change_step, removed_change
from bilateral.index.errors import MisplacedChainError
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine, is_transient, open_database, snapshot
from bilateral.index.log.dialects import number_steps, wait_for_locks
from bilateral.index.log.places import PARTS, SERVED, Placed, has_schema
from bilateral.index.log.revisions import stored_revision, upgrade_within
from bilateral.index.log.tables import registry
from bilateral.index.operating.settings import Shard
from bilateral.index.shards import coordinator, served
from bilateral.index.shards.process import shard_of
from bilateral.index.shards.reachable import keep_reachable

_MOVED_FILES: Final = """
    CREATE TEMP TABLE moved_file (file_id bytea PRIMARY KEY) ON COMMIT DROP;
    INSERT INTO moved_file
      SELECT file_id FROM file_reference WHERE chain_id = {chain} AND file_id IS NOT NULL
      UNION SELECT file_id FROM agent_file WHERE chain_id = {chain}
      UNION SELECT file_id FROM payment_claim WHERE chain_id = {chain}
      UNION SELECT file_id FROM file_sight WHERE chain_id = {chain};
    CREATE TEMP TABLE moved_content (content_hash bytea PRIMARY KEY) ON COMMIT DROP;
"""

_MOVED_DOMAINS: Final = text("""
    INSERT INTO moved_file SELECT domain.file_id FROM registration_domain domain
      JOIN file USING (content_hash) JOIN moved_file ON moved_file.file_id = file.file_id
    ON CONFLICT DO NOTHING
""")
"""Adds the files of domains to which moved registration files refer."""

_MOVED_CONTENT: Final = text("""
    INSERT INTO moved_content
      SELECT content_hash FROM file JOIN moved_file USING (file_id) WHERE content_hash IS NOT NULL
      UNION SELECT content_hash FROM file_sight WHERE chain_id = :chain AND content_hash IS NOT NULL
""")


def copy_chain(source: Connection, target: Connection, chain_id: int, note: Callable[[str], None]) -> int:
    """Copy all rows of a chain, and the files to which these rows refer."""
    source.exec_driver_sql(_MOVED_FILES.format(chain=f"{chain_id:d}"))
    while source.execute(_MOVED_DOMAINS).rowcount:
        pass
    source.execute(_MOVED_CONTENT, {"chain": chain_id})
    for table in served.SHARED_TABLES:
        if table is not files.abandoned_file:
            note(table.name)
            _copy_shared(source, target, table)
    of_chain = f"WHERE chain_id = {chain_id:d}"
    for table in (*served.CHAIN_TABLES, registry):
        note(table.name)
        _copy(source, target, table.name, f'SELECT {_columns(table)} FROM "{table.name}" {of_chain}', _columns(table))  # noqa: S608
    number_steps(target)  # take this lock last, because other chains on the shard wait for it
    added = int(target.execute(text("SELECT coalesce(max(step), 0) FROM change_step")).scalar_one())
    for table, rows in (
        (change_step, f"change_step {of_chain}"),
        (removed_change, f"removed_change {of_chain}"),
        (change_note, f"change_note WHERE step IN (SELECT step FROM change_step {of_chain})"),  # noqa: S608
    ):
        # Zero represents a step that was pruned.
        step = f"CASE step WHEN 0 THEN 0 ELSE step + {added:d} END"
        columns = ", ".join(step if column.name == "step" else f'"{column.name}"' for column in table.c)
        _copy(source, target, table.name, f"SELECT {columns} FROM {rows}", _columns(table))  # noqa: S608
    return added


def _copy_shared(source: Connection, target: Connection, table: Table) -> None:
    """Copy the rows of a shared table that the target lacks. The target gives them new numbers."""
    names = [column.name for column in table.c if not (table in served.NUMBERED and column.primary_key)]
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join("NULL::bytea" if name == "lease" else f'rows."{name}"' for name in names)
    query = f'SELECT {values} FROM "{table.name}" rows {_moved(table)}'  # noqa: S608  # names of the schema
    target.exec_driver_sql(f'CREATE TEMP TABLE copied ON COMMIT DROP AS TABLE "{table.name}" WITH NO DATA')
    _copy(source, target, "copied", query, columns)
    target.exec_driver_sql(
        f'INSERT INTO "{table.name}" ({columns}) SELECT {columns} FROM copied ON CONFLICT DO NOTHING; DROP TABLE copied'  # noqa: S608
    )


def _moved(table: Table) -> str:
    if table is files.file_host:
        return "WHERE host IN (SELECT host FROM file JOIN moved_file USING (file_id))"
    if table is files.file:
        return "WHERE rows.file_id IN (SELECT file_id FROM moved_file)"
    if "content_hash" not in table.c:
        return ""  # rows that belong to no content, such as a vocabulary
    return "WHERE rows.content_hash IN (SELECT content_hash FROM moved_content)"


def _columns(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.c)


def _copy(source: Connection, target: Connection, name: str, query: str, columns: str) -> None:
    """Stream a query's rows from one server to another."""
    reads, writes = (side.connection.cursor() for side in (source, target))
    try:
        with (
            reads.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as rows,
            writes.copy(f'COPY "{name}" ({columns}) FROM STDIN (FORMAT binary)') as into,
        ):
            for part in rows:
                into.write(part)
    except psycopg.Error as problem:
        raise DBAPIError(query, None, problem) from problem


@dataclass(frozen=True)
class Migrated:
    """The result of migrating one server.

    Attributes:
        server: The name of the shard, or `coordinator`.
        before: The previous version of the server's tables; None for an empty database.
        version: The current version of the server's tables.
    """

    server: str
    before: str | None
    version: str


def upgrade_shards(url: str | None, shards: Mapping[str, Shard]) -> list[Migrated]:
    """Migrate the tables on all servers to this package's version. The function can be retried safely."""
    with coordinator.closing_engine(connect_engine(url)) as database:
        migrated = []
        with database.begin() as connection:
            coordinator.hold_places(connection)
            is_split = has_schema(connection, PARTS)
            for name, shard in shards.items():
                number = coordinator.number_of(connection, name) if is_split else None
                with coordinator.of_shard(name):
                    migrated.append(Migrated(name, _upgrade_shard(shard.url, number), schema.REVISION))
            before = stored_revision(connection)
            is_older = is_split and before != schema.REVISION
            if is_older:
                _upgrade_coordinator(connection, shards)
            else:
                upgrade_within(connection)
        if not is_older:
            coordinator.update_shards(url, shards)
        return [*migrated, Migrated("coordinator", before, schema.REVISION)]


def _upgrade_coordinator(connection: Connection, shards: Mapping[str, Shard]) -> None:
    """Migrate a coordinator's tables to this package's version. Readers see the old tables until the commit."""
    while True:
        try:
            with connection.begin_nested():
                coordinator.join(connection)
                upgrade_within(connection)
                coordinator.split(connection)
                with coordinator.opened_shards(shards) as engines:
                    coordinator.read_shards(connection, engines, shards)
        except DBAPIError as problem:
            if not is_transient(problem):  # a reader that locks tables in another order will finish
                raise
        else:
            return


def _upgrade_shard(url: str, number: int | None) -> str | None:
    """Migrate a shard's tables to this package's version, and return the previous version."""
    with coordinator.closing_engine(connect_engine(url)) as engine, engine.begin() as connection:
        before = stored_revision(connection)
        if before == schema.REVISION:
            return before
        is_served = number is not None and has_schema(connection, SERVED)
        if is_served:
            served.drop_views(connection)  # a migration may change the views' columns
        upgrade_within(connection)
        if is_served and number is not None:
            served.serve_shared(connection, number)
            chains = text("SELECT chain_id FROM served.chain ORDER BY chain_id")
            served.serve(connection, connection.execute(chains).scalars().all())
        return before


_RENUMBER: Final = (
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step - :added WHERE chain_id = :chain"),
    text("UPDATE sharded.numbered_step SET shard_step = -shard_step WHERE chain_id = :chain"),
)
"""Renumbers steps, with negative numbers at first, so that keys do not collide with steps not yet renumbered."""


def move_chain(
    url: str | None, shards: Mapping[str, Shard], chain_id: int, note: Callable[[str], None] = lambda _: None
) -> list[Placed]:
    """Move a chain to the shard that the settings specify. The function can be retried safely."""
    name = shard_of(shards, chain_id)
    with (
        coordinator.closing_engine(open_database(url)) as database,
        coordinator.opened_shards(shards, creates=True) as engines,
    ):
        with database.begin() as connection:
            coordinator.hold_places(connection)
            identity = coordinator.split(connection)
            shard_by_chain = {placed.chain_id: placed.shard for placed in coordinator.places(connection)}
            if (previous := shard_by_chain.get(chain_id)) is None:
                raise MisplacedChainError(chain_id, "is not on a shard yet: run `bilateral index shards`")
            if previous != name:
                placed = Placed(chain_id, name, coordinator.number_of(connection, name))
                with engines[previous].connect() as holding:
                    wait_for_locks(holding)
                    cursor = text("SELECT 1 FROM chain WHERE chain_id = :chain FOR UPDATE")
                    holding.execute(cursor, {"chain": chain_id}).all()  # the worker waits until the copy is read
                    _move(connection, engines[previous], engines[name], (identity, placed, shards[name]), note)
                    connection.commit()
                    served.forget_chain(holding, chain_id)
                    holding.commit()
        with database.connect() as connection:
            return coordinator.places(connection)


def _move(
    connection: Connection,
    source_engine: Engine,
    engine: Engine,
    moved: tuple[str, Placed, Shard],
    note: Callable[[str], None],
) -> None:
    """Copy a chain and, once the copy is committed, make the coordinator read it."""
    identity, placed, shard = moved
    with coordinator.of_shard(placed.shard), engine.begin() as target:
        wait_for_locks(target)
        if served.claim(target, identity, (placed.shard, placed.number)):
            served.number_anew(target, connection)
        served.forget_chain(target, placed.chain_id)  # rows of an interrupted move
        served.serve(target, [placed.chain_id])
        with snapshot(source_engine) as source:
            added = copy_chain(source, target, placed.chain_id, note)
        # Later observations get larger numbers than the copied ones.
        served.number_anew(target, connection)
        schema_name = target.execute(text("SELECT current_schema()")).scalar_one()
    coordinator.connect_shard(connection, placed.shard, placed.number, shard.url)
    coordinator.hold_numbers(connection)
    coordinator.place_chain(connection, placed, schema_name)
    keep_reachable(connection, coordinator.places(connection))
    for statement in _RENUMBER:
        connection.execute(statement, {"added": added, "chain": placed.chain_id})

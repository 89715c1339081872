"""Copies the rows of one chain from a shard to another, each within one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import psycopg
from sqlalchemy import Connection, Table, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.changes.tables import change_note, change_step, removed_change
from bilateral.index.files import tables as files
from bilateral.index.log.locks import number_steps
from bilateral.index.log.places import SERVED
from bilateral.index.log.tables import registry
from bilateral.index.search import tables as search
from bilateral.index.shards.layout import CHAIN_TABLES, NUMBERED, SHARED_TABLES

_ROWS: Final = (*CHAIN_TABLES, registry)
"""The tables whose rows are copied as they are."""

_OF_HOST: Final = (files.file_host,)
_WHOLE: Final = (search.vocabulary, search.word_trigram)
_OF_FILE: Final = (files.file,)
_LEFT_OUT: Final = (files.abandoned_file,)

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
"""Registration files name domains, whose files name further ones."""

_MOVED_CONTENT: Final = text("""
    INSERT INTO moved_content
      SELECT content_hash FROM file JOIN moved_file USING (file_id) WHERE content_hash IS NOT NULL
      UNION SELECT content_hash FROM file_sight WHERE chain_id = :chain AND content_hash IS NOT NULL
""")


def copy_chain(source: Connection, target: Connection, chain_id: int, note: Callable[[str], None]) -> int:
    """Copy all rows of a chain, and the files that it names."""
    source.exec_driver_sql(_MOVED_FILES.format(chain=f"{chain_id:d}"))
    while source.execute(_MOVED_DOMAINS).rowcount:
        pass
    source.execute(_MOVED_CONTENT, {"chain": chain_id})
    for table in SHARED_TABLES:
        if table not in _LEFT_OUT:
            note(table.name)
            _copy_shared(source, target, table)
    of_chain = f"WHERE chain_id = {chain_id:d}"
    for table in _ROWS:
        note(table.name)
        _copy(source, target, table.name, f'SELECT {_columns(table)} FROM "{table.name}" {of_chain}', _columns(table))  # noqa: S608
    number_steps(target)  # the last lock: other chains of the shard wait for it
    added = int(target.execute(text("SELECT coalesce(max(step), 0) FROM change_step")).scalar_one())
    for table, rows in (
        (change_step, f"change_step {of_chain}"),
        (removed_change, f"removed_change {of_chain}"),
        (change_note, f"change_note WHERE step IN (SELECT step FROM change_step {of_chain})"),  # noqa: S608
    ):
        # Zero stands for a step that was pruned.
        step = f"CASE step WHEN 0 THEN 0 ELSE step + {added:d} END"
        columns = ", ".join(step if column.name == "step" else f'"{column.name}"' for column in table.c)
        _copy(source, target, table.name, f"SELECT {columns} FROM {rows}", _columns(table))  # noqa: S608
    return added


def forget_chain(connection: Connection, chain_id: int) -> None:
    """Remove a chain from a shard that another one holds. Files that nobody names go later, as after a rollback."""
    views = connection.execute(
        text("SELECT viewname FROM pg_views WHERE schemaname = :served AND viewname LIKE :name"),
        {"served": SERVED, "name": f"%\\_{chain_id:d}"},
    ).scalars()
    statements = [f'DROP VIEW {SERVED}."{view}"' for view in views]
    of_chain = f"WHERE chain_id = {chain_id:d}"
    statements += [
        "INSERT INTO abandoned_file SELECT DISTINCT file_id, extract(epoch FROM now())::bigint FROM file_reference "  # noqa: S608
        f"{of_chain} AND file_id IS NOT NULL ON CONFLICT DO NOTHING",
        f"DELETE FROM change_note WHERE step IN (SELECT step FROM change_step {of_chain})",  # noqa: S608
        *(f'DELETE FROM "{table.name}" {of_chain}' for table in (*_ROWS, change_step, removed_change)),  # noqa: S608
        f"DELETE FROM {SERVED}.chain {of_chain}",  # noqa: S608
    ]
    connection.exec_driver_sql(";".join(statements))


def _copy_shared(source: Connection, target: Connection, table: Table) -> None:
    """Copy the rows of a shared table that the target lacks. Numbers are given there."""
    names = [column.name for column in table.c if not (table in NUMBERED and column.primary_key)]
    columns = ", ".join(f'"{name}"' for name in names)
    wanted = ", ".join("NULL::bytea" if name == "lease" else f'rows."{name}"' for name in names)
    query = f'SELECT {wanted} FROM "{table.name}" rows {_moved(table)}'  # noqa: S608  # names of the schema
    target.exec_driver_sql(f'CREATE TEMP TABLE copied ON COMMIT DROP AS TABLE "{table.name}" WITH NO DATA')
    _copy(source, target, "copied", query, columns)
    target.exec_driver_sql(
        f'INSERT INTO "{table.name}" ({columns}) SELECT {columns} FROM copied ON CONFLICT DO NOTHING; DROP TABLE copied'  # noqa: S608
    )


def _moved(table: Table) -> str:
    """Return the condition on the rows of a shared table that a chain needs."""
    if table in _WHOLE:
        return ""
    if table in _OF_HOST:
        return "WHERE host IN (SELECT host FROM file JOIN moved_file USING (file_id))"
    key = "file_id" if table in _OF_FILE else "content_hash"
    return f"WHERE rows.{key} IN (SELECT {key} FROM moved_{'file' if table in _OF_FILE else 'content'})"  # noqa: S608


def _columns(table: Table) -> str:
    """Return the columns of a table as SQL."""
    return ", ".join(f'"{column.name}"' for column in table.c)


def _copy(source: Connection, target: Connection, name: str, query: str, columns: str) -> None:
    """Copy the rows of a query from one server to another, without keeping them."""
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

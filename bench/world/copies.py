"""Repeats a made-up world in PostgreSQL, by statements of its server: it takes minutes where filling takes hours.

Each copy has agents, events and files of its own, with the words, values and clients of the first. Its hashes are made
of those of the first, so they are not the hashes of the copied files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from bench.world.build import BLOCK_SECONDS
from bilateral.index.agents import tables as agent_tables
from bilateral.index.agents.tables import agent_activity
from bilateral.index.files import tables as file_tables
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.projections import PARTITIONED_TABLES
from bilateral.index.search import tables as search

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine, Table

_ONCE: Final = {agent_tables.primary_agent}
"""Derived tables without copies: an account speaks as one agent."""

_FILES: Final = (
    files.file_content,
    files.file,
    files.file_reference,
    files.file_sight,
    files.registration_file,
    files.registration_card,
    files.registration_service,
    files.registration_capability,
    files.registration_claim,
    files.feedback_file,
    search.registration_words,
    file_tables.agent_file,
    file_tables.payment_claim,
)

_AGENTS: Final = ("agent_id", "client_id", "server_id", "validator_id")
_BLOCKS: Final = ("block_number", "registered_block", "updated_block", "seen_block")
_TIMES: Final = ("block_time", "registered_at", "updated_at", "last_activity")
_HASHES: Final = ("content_hash", "file_id", "block_hash", "transaction_hash", "request_hash")
_NUMBERS: Final = ("document_id", "sight_id")

_SETTINGS: Final = (
    "SET maintenance_work_mem = '512MB'",
    "SET max_parallel_maintenance_workers = 0",
    "SET synchronous_commit = off",
)


@dataclass(frozen=True)
class _Step:
    """The distance between two copies.

    Attributes:
        chain_id: The chain.
        agents: The agents of the first.
        blocks: Its blocks.
    """

    chain_id: int
    agents: int
    blocks: int

    def value(self, table: Table, name: str) -> str:
        """Return the value of a column in copy `k`."""
        if name in _HASHES:
            return f'sha256("{name}" || int4send(k))'
        if name == "account":  # or an agent, such as "agent 7"
            agent = f"'agent ' || substr(account, 7)::numeric + k * {self.agents}"
            return f"CASE WHEN account LIKE 'agent %%' THEN {agent} ELSE account END"
        if name == "id_text":
            return f"(agent_id + k * {self.agents})::text"
        if name in _NUMBERS:
            return f'"{name}" + k * (SELECT max("{name}") FROM "{table.name}")'  # noqa: S608  # ours
        added = {
            **dict.fromkeys(_AGENTS, self.agents),
            **dict.fromkeys(_BLOCKS, self.blocks),
            **dict.fromkeys(_TIMES, self.blocks * BLOCK_SECONDS),
        }.get(name)
        is_text = table is files.feedback_file  # the words of strangers
        return f'"{name}"' if added is None or is_text else f'"{name}" + k * {added}'


def repeat(engine: Engine, copies: int, report: Callable[[str], None] = lambda _: None) -> None:
    """Repeat the world of a database.

    Args:
        engine: The database, of PostgreSQL, with one world.
        copies: The number of worlds in the end.
        report: Called with a line for each table.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for setting in _SETTINGS:
            connection.exec_driver_sql(setting)
        row = connection.execute(text("SELECT chain_id, block_number FROM chain")).one()
        agents = connection.execute(text("SELECT max(agent_id) FROM agent")).scalar_one()
        step = _Step(row.chain_id, int(agents), row.block_number)
        events = [partitioned_table for partitioned_table in PARTITIONED_TABLES if partitioned_table not in _ONCE]
        restore = _without_references(connection)
        for table in (*events, agent_activity, *_FILES):
            rows = _repeat(connection, table, step, copies)
            if rows:
                report(f"{table.name}: {rows:,} rows more")
        for statement in restore:
            connection.exec_driver_sql(statement)
        last = row.block_number * copies
        moved = "UPDATE chain SET block_number = :last, head_number = :last, finalized_number = :last"
        connection.execute(text(moved), {"last": last})
        connection.execute(text("UPDATE file_scan SET block_number = :last"), {"last": last})
        connection.exec_driver_sql("VACUUM ANALYZE")


def _repeat(connection: Connection, table: Table, step: _Step, copies: int) -> int:
    """Repeat the rows of a table, without its indexes meanwhile. Return the number of new rows."""
    is_part = table in PARTITIONED_TABLES
    place = schema.partition_name(table, step.chain_id) if is_part else table.name
    if connection.exec_driver_sql(f'SELECT NOT EXISTS (SELECT FROM "{place}")').scalar_one():  # noqa: S608  # ours
        return 0
    if is_part:
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" DETACH PARTITION "{place}"')
    restore = _without_indexes(connection, place)
    columns = [column.name for column in table.c]
    names, values = (
        ", ".join(f'"{column}"' for column in columns),
        ", ".join(step.value(table, column) for column in columns),
    )
    inserted = connection.exec_driver_sql(
        f'INSERT INTO "{place}" ({names}) SELECT {values} FROM generate_series(1, {copies - 1}) k, "{place}"'  # noqa: S608
    )
    for statement in restore:
        connection.exec_driver_sql(statement)
    if is_part:
        bound = f"FOR VALUES IN ({step.chain_id:d})"
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ATTACH PARTITION "{place}" {bound}')
    return inserted.rowcount


def _without_references(connection: Connection) -> list[str]:
    """Drop all foreign keys, and return the statements that make them again, which check all rows."""
    keys = connection.exec_driver_sql(
        "SELECT conrelid::regclass::text AS place, conname, pg_get_constraintdef(oid) AS made FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
    ).all()
    for key in keys:
        connection.exec_driver_sql(f'ALTER TABLE {key.place} DROP CONSTRAINT "{key.conname}"')
    return [f'ALTER TABLE {key.place} ADD CONSTRAINT "{key.conname}" {key.made}' for key in keys]


def _without_indexes(connection: Connection, place: str) -> list[str]:
    """Drop the keys and indexes of a table, and return the statements that make them again.

    A key is of hashes, in no order: to keep it while rows come would write a page for each.

    Args:
        connection: The database, without foreign keys.
        place: The table.
    """
    of_table = {"place": place}
    keys = connection.execute(
        text(
            "SELECT conname, pg_get_constraintdef(oid) AS made FROM pg_constraint "
            "WHERE conrelid = to_regclass(:place) AND contype IN ('p', 'u')"
        ),
        of_table,
    ).all()
    indexes = connection.execute(
        text(
            "SELECT relname, pg_get_indexdef(indexrelid) AS made FROM pg_index JOIN pg_class ON oid = indexrelid "
            "WHERE indrelid = to_regclass(:place) AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)"
        ),
        of_table,
    ).all()
    for key in keys:
        connection.exec_driver_sql(f'ALTER TABLE "{place}" DROP CONSTRAINT "{key.conname}"')
    for index in indexes:
        connection.exec_driver_sql(f'DROP INDEX "{index.relname}"')
    restore = [f'ALTER TABLE "{place}" ADD CONSTRAINT "{key.conname}" {key.made}' for key in keys]
    return restore + [index.made for index in indexes]

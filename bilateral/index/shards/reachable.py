"""Views through which a coordinator's readers see the remaining shards while one is not responding.

Before returning the first row, PostgreSQL connects to every server in a plan, even to those not needed. The schema
`reachable` therefore contains a view for each table. The view combines the individual chains, except those on shards
that a reader lists in the setting `bilateral.down`. A chain that is left out is replaced with a function that raises an
error. A query therefore returns either a complete result or an error that identifies the chain.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, Table, text

from bilateral.index.changes.tables import TABLES as FEED_TABLES
from bilateral.index.changes.tables import change_note, change_step, removed_change
from bilateral.index.log.places import DOWN, LENIENT, MISSING, REACHABLE, Placed, has_reachable
from bilateral.index.shards.served import CHAIN_NAMES, SHARED_TABLES, key_of

_FUNCTIONS: Final = f"""
    CREATE SCHEMA {REACHABLE};
    GRANT USAGE ON SCHEMA {REACHABLE} TO PUBLIC;
    CREATE FUNCTION {REACHABLE}.state_of(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      RETURN CASE WHEN name = ANY (string_to_array(current_setting('{DOWN}', true), ',')) IS NOT TRUE THEN 'up'
                  WHEN current_setting('{LENIENT}', true) = 'on' THEN 'left out' ELSE 'missing' END;
    END $$;
    CREATE FUNCTION {REACHABLE}.missing(kind anyelement, chain bigint, name text) RETURNS SETOF anyelement
    LANGUAGE plpgsql STABLE AS $$
    BEGIN
      RAISE EXCEPTION USING ERRCODE = '{MISSING}', DETAIL = chain,
        MESSAGE = 'chain ' || chain || ' is missing: its shard ' || name || ' does not answer';
    END $$;
    CREATE VIEW {REACHABLE}.server AS
      SELECT number, name, ARRAY (SELECT chain_id FROM sharded.place WHERE place.number = shard.number) AS chains
      FROM sharded.shard
"""  # noqa: S608  # constants
"""The functions used by the views. They are immutable, so the planner evaluates them and omits unneeded servers."""

FEED_VIEWS: Final = {
    change_step.name: """
        SELECT step, kind, chain_id, first_block, last_block,
               CASE WHEN kind = 'blocks' THEN coalesce((
                 SELECT there.kept_block FROM {steps} there
                 WHERE there.chain_id = numbered.chain_id AND there.step = numbered.shard_step), first_block - 1)
               END AS kept_block, removal, changes, made_at
        FROM sharded.numbered_step numbered
    """,
    removed_change.name: """
        SELECT there.chain_id, there.removal, there.block_number, there.log_index,
               coalesce(numbered.step, 0) AS step, there.table_name, there.packed_row
        FROM {removed} there LEFT JOIN sharded.numbered_step numbered
          ON numbered.chain_id = there.chain_id AND numbered.shard_step = there.step
    """,
    change_note.name: """
        SELECT numbered.step, there.position, there.kind, there.registry, there.agent_id, there.account, there.details
        FROM sharded.numbered_step numbered {notes}
    """,
}
"""The change feed with the coordinator's numbers. The shard provides the last kept block, which rollbacks change."""

_JOINED: Final = "JOIN {notes} there ON numbered.chain_id = there.chain_id AND numbered.shard_step = there.step"
_STEP_BY_STEP: Final = """CROSS JOIN LATERAL (
    SELECT * FROM {notes} note WHERE note.chain_id = numbered.chain_id AND note.step = numbered.shard_step OFFSET 0
) there"""
"""Reads only the notes of a step's chain. `OFFSET` prevents a join that reads all chains."""


def feed_views(schema_name: str) -> list[str]:
    """Return the statements that create the change feed's views."""
    prefix, inner = (f"{schema_name}.", f"{schema_name}.shard_") if schema_name else ("", "sharded.")
    notes = (_STEP_BY_STEP if schema_name else _JOINED).format(notes=f"{inner}{change_note.name}")
    tables = {"steps": f"{inner}{change_step.name}", "removed": f"{inner}{removed_change.name}", "notes": notes}
    return [f"CREATE VIEW {prefix}{name} AS {query.format(**tables)}" for name, query in FEED_VIEWS.items()]


def shared_view(table: Table, place: str, rows: str) -> str:
    """Return the statement that creates a view of a shared table. Each row is from the first shard that has its key."""
    columns = ", ".join(f'rows."{column.name}"' for column in table.c)
    same = " AND ".join(f'former."{name}" = rows."{name}"' for name in key_of(table))
    earlier = f"SELECT FROM {rows} former WHERE {same} AND former.shard < rows.shard"  # names from the schema
    return f"CREATE VIEW {place} AS SELECT {columns} FROM {rows} rows WHERE NOT EXISTS ({earlier})"  # noqa: S608


def forget_reachable(connection: Connection) -> None:
    """Drop the views before a change to the foreign tables on which they depend."""
    connection.exec_driver_sql(f"DROP SCHEMA IF EXISTS {REACHABLE} CASCADE")


def keep_reachable(connection: Connection, placed: Sequence[Placed]) -> None:
    """Create the views, unless they already exist."""
    if has_reachable(connection) or not placed:
        return
    forget_reachable(connection)
    shards = connection.execute(text("SELECT number, name FROM sharded.shard ORDER BY number")).all()
    statements = [_FUNCTIONS]
    for number, _ in shards:
        row = f'SELECT FROM sharded."{SHARED_TABLES[0].name}_{number:d}" LIMIT 1'
        statements.append(f"CREATE VIEW {REACHABLE}.look_{number:d} AS {row}")
    kinds = [(name, f'"{name}"', "") for name in CHAIN_NAMES]
    kinds += [(table.name, f'sharded."{table.name}"', "shard_") for table in FEED_TABLES]
    for name, kind, prefix in kinds:
        statements.append(_of_chains(name, kind, prefix, _columns(connection, kind), placed))
    for table in SHARED_TABLES:
        statements += _of_shards(table, shards)
    connection.exec_driver_sql(";".join((*statements, *feed_views(REACHABLE))))


def _of_shards(table: Table, shards: Iterable[tuple[int, str]]) -> list[str]:
    rows = f'{REACHABLE}."shard_{table.name}"'
    parts = (
        f'SELECT * FROM sharded."{table.name}_{number:d}" WHERE shard = {number:d} AND {_is(name, "up")}'  # noqa: S608
        for number, name in shards
    )
    return [
        f"CREATE VIEW {rows} AS {' UNION ALL '.join(parts)}",
        shared_view(table, f'{REACHABLE}."{table.name}"', rows),
    ]


def _of_chains(name: str, kind: str, prefix: str, columns: Sequence[str], placed: Sequence[Placed]) -> str:
    """Return the statement for a view of all chains. Those on unavailable shards are read from a failing function."""
    # The function returns its own columns, because constants could show the planner that no row meets a condition. Only
    # the chain is a constant, so that a query about another chain does not call the function.
    names = ", ".join(f'"{column}"' for column in columns)
    parts = []
    for place in placed:
        chain = f"{place.chain_id:d}"
        missing = ", ".join(f"{chain}::bigint" if column == "chain_id" else f'"{column}"' for column in columns)
        parts += [
            f'SELECT {names} FROM sharded."{name}_{chain}" WHERE chain_id = {chain} AND {_is(place.shard, "up")}',  # noqa: S608
            f"SELECT {missing} FROM {REACHABLE}.missing(NULL::{kind}, {chain}, '{place.shard}') "  # noqa: S608
            f"WHERE {_is(place.shard, 'missing')}",
        ]
    return f'CREATE VIEW {REACHABLE}."{prefix}{name}" AS {" UNION ALL ".join(parts)}'


def _is(shard: str, state: str) -> str:
    return f"{REACHABLE}.state_of('{shard}') = '{state}'"  # shard names contain no quotation marks


def _columns(connection: Connection, table: str) -> list[str]:
    query = text(
        "SELECT attname FROM pg_attribute "
        "WHERE attrelid = CAST(:name AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    return list(connection.execute(query, {"name": table}).scalars())

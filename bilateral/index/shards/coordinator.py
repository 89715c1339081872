"""The coordinator's side: which shard has each chain, and the foreign tables through which readers see the shards.

This module opens the databases of the coordinator and all shards, and adjusts them to match the settings.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.changes.tables import TABLES as FEED_TABLES
from bilateral.index.errors import DatabaseUnavailableError, OlderSchemaError, ShardError
from bilateral.index.log.database import open_database, parsed_url, unavailable
from bilateral.index.log.dialects import dialect_of, wait_for_locks
from bilateral.index.log.places import PARTS, PLAIN, SERVED, Placed, has_schema, holds
from bilateral.index.log.tables import registry
from bilateral.index.operating.settings import Shard
from bilateral.index.shards import served
from bilateral.index.shards.reachable import feed_views, forget_reachable, keep_reachable, shared_view

_PLACING: Final = 80048006
"""The key of the lock on chains' locations: only one program at a time may move chains."""

_NUMBERS: Final = 80048007
"""The key of the lock on numbering: only one program at a time may number steps of the change feed."""

_OPTIONS: Final = {"use_remote_estimate": "true", "fetch_size": "1000", "async_capable": "true", "connect_timeout": "2"}
"""The options of a foreign server. Joins look up keys there only if the planner queries the server for costs.

A thousand rows are fetched at a time, about a megabyte in the widest tables. The default of a hundred would cause ten
times as many round trips. By default, an attempt to connect to an unreachable machine takes minutes. Two seconds is the
shortest timeout that libpq supports.
"""

_KINDS: Final = {"r": "TABLE", "p": "TABLE", "v": "VIEW"}
"""The SQL keywords for PostgreSQL's kinds of relations."""

_LOCK_TIMEOUT: Final = "55P03"
"""PostgreSQL's code for a lock timeout."""

_LOCK_MILLISECONDS: Final = 300
"""The maximum wait for a lock that blocks readers, less than PostgreSQL's deadlock timeout of one second."""

_PLACES: Final = """
    CREATE EXTENSION IF NOT EXISTS postgres_fdw;
    CREATE SCHEMA sharded;
    CREATE TABLE sharded.coordinator (id text NOT NULL);
    CREATE TABLE sharded.shard (number integer PRIMARY KEY, name text NOT NULL UNIQUE);
    CREATE TABLE sharded.place (chain_id bigint PRIMARY KEY, number integer NOT NULL);
    CREATE SEQUENCE sharded.number_range;
    CREATE TABLE sharded.numbered_step (LIKE change_step, shard_step bigint NOT NULL, PRIMARY KEY (step));
    ALTER TABLE sharded.numbered_step DROP COLUMN kept_block;
    CREATE UNIQUE INDEX ON sharded.numbered_step (chain_id, shard_step);
"""

_BYTEWISE: Final = "'C', 'POSIX', 'C.UTF-8', 'C.utf8'"
"""The collations that compare texts byte by byte."""

_SHIPPABLE: Final = f"""
    DO $$ DECLARE parent record; companion text := pg_get_viewdef('plain.companion_agent'::regclass); BEGIN
      IF (SELECT datcollate NOT IN ({_BYTEWISE}) FROM pg_database WHERE datname = current_database()) THEN
        RETURN;
      END IF;
      DROP VIEW plain.companion_agent;  -- it reads registry
      FOR parent IN
        SELECT attrelid::regclass AS name, string_agg(format('ALTER %%I TYPE %%s COLLATE "default"', attname,
          format_type(atttypid, atttypmod)), ', ') AS changes
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace IN (current_schema()::regnamespace, 'sharded'::regnamespace)
          AND (relkind = 'p' OR attrelid = 'registry'::regclass)
          AND attcollation = '"C"'::regcollation AND attname <> 'metadata_key' AND NOT attisdropped
        GROUP BY attrelid
      LOOP EXECUTE format('ALTER TABLE %%s %%s', parent.name, parent.changes); END LOOP;
      EXECUTE 'CREATE VIEW plain.companion_agent AS ' || companion;
    END $$
"""  # noqa: S608  # a constant
"""Gives address columns the database's collation, if it is equivalent. If text has its own collation, PostgreSQL does
not send a server the values to compare it with, so a join would transfer all accounts' rows. Metadata keys are
unchanged, because they are untrusted and their case conversion depends on the collation.
"""


def split(connection: Connection) -> str:
    """Turn a database without chains into a coordinator, unless it already is one."""
    if not has_schema(connection, PARTS):
        if has_schema(connection, SERVED):
            raise ShardError("", "database.url is the database of a shard: choose a different one")
        if (chain_id := connection.execute(text("SELECT min(chain_id) FROM chain")).scalar_one()) is not None:
            problem = f"database.url has tables for chain {chain_id}: use an empty database, and make this one a shard"
            raise ShardError("", problem)
        connection.exec_driver_sql(_PLACES)
        connection.execute(text("INSERT INTO sharded.coordinator VALUES (:id)"), {"id": uuid4().hex})
    if not has_schema(connection, PLAIN):
        _replace_tables(connection)
    return identity_of(connection)


def identity_of(connection: Connection) -> str:
    """Return a coordinator's id."""
    return str(connection.execute(text("SELECT id FROM sharded.coordinator")).scalar_one())


def join(connection: Connection) -> None:
    """Restore a coordinator's own, empty tables for a migration. Afterwards, `split` replaces them again."""
    forget_reachable(connection)
    own = connection.execute(text("SELECT current_schema()")).scalar_one()
    kinds = text(
        "SELECT relname, relkind FROM pg_class WHERE relnamespace = CAST(:schema AS regnamespace) "
        "AND relkind IN ('r', 'p', 'v') AND NOT relispartition"
    )
    there: dict[str, str] = dict(map(tuple, connection.execute(kinds, {"schema": own})))
    # These are from the previous version, so they lack tables that are new.
    retained: dict[str, str] = dict(map(tuple, connection.execute(kinds, {"schema": PLAIN})))
    parts = connection.execute(kinds, {"schema": PARTS}).all()
    statements = [f'DROP {_KINDS[there[name]]} "{name}"' for name in retained if name in there]
    statements += [f'DROP TABLE sharded."{name}"' for name, kind in parts if kind == "p"]
    statements += [f'ALTER {_KINDS[kind]} plain."{name}" SET SCHEMA "{own}"' for name, kind in retained.items()]
    connection.exec_driver_sql(";".join((*statements, "DROP SCHEMA plain")))


def places(connection: Connection) -> list[Placed]:
    """Return the locations of all chains, keyed by chain id."""
    query = "SELECT chain_id, name, number FROM sharded.place JOIN sharded.shard USING (number) ORDER BY chain_id"
    return [Placed(*row) for row in connection.execute(text(query))]


def require_places(connection: Connection, shards: Mapping[str, Shard]) -> None:
    """Raise an error if the settings place a chain on a different shard than the coordinator has recorded."""
    requested = {chain_id: name for name, shard in shards.items() for chain_id in shard.chains}
    for placed in places(connection):
        if (name := requested.get(placed.chain_id)) is None:
            raise ShardError(placed.shard, f"the settings omit the shard's chain {placed.chain_id}: add it")
        if name != placed.shard:
            raise ShardError(
                placed.shard,
                f"it contains chain {placed.chain_id}, which the settings assign to {name}: "
                f"run `bilateral index move --chain-id {placed.chain_id}`",
            )


def number_of(connection: Connection, name: str) -> int:
    """Return a shard's number. A new shard gets the next free number."""
    number = text("SELECT number FROM sharded.shard WHERE name = :name")
    existing = connection.execute(number, {"name": name}).scalar_one_or_none()
    if existing is not None:
        return int(existing)
    added = text("INSERT INTO sharded.shard SELECT count(*) + 1, :name FROM sharded.shard RETURNING number")
    return int(connection.execute(added, {"name": name}).scalar_one())


def hold_places(connection: Connection) -> None:
    """Keep other programs from relocating chains until the transaction ends."""
    wait_for_locks(connection)
    dialect_of(connection).lock(connection, _PLACING)


def hold_numbers(connection: Connection) -> None:
    """Keep other programs from numbering steps of the change feed until the transaction ends."""
    dialect_of(connection).lock(connection, _NUMBERS)


def connect_shard(connection: Connection, name: str, number: int, url: str) -> None:
    """Let the coordinator read a shard at the shard's URL in the settings."""
    server, parsed = f'"{name}"', parsed_url(url)
    place = {**_OPTIONS, "host": parsed.host, "port": parsed.port, "dbname": parsed.database, **parsed.query}
    connection.exec_driver_sql(f"CREATE SERVER IF NOT EXISTS {server} FOREIGN DATA WRAPPER postgres_fdw")
    existing = text("SELECT srvoptions FROM pg_foreign_server WHERE srvname = :name")
    previous = connection.execute(existing, {"name": name}).scalar_one() or ()
    options = [f"DROP {option.partition('=')[0]}" for option in previous]
    options += [f"ADD {option} {_quoted(str(value))}" for option, value in place.items() if value is not None]
    connection.exec_driver_sql(f"ALTER SERVER {server} OPTIONS ({', '.join(options)})")
    for table in served.SHARED_TABLES:
        remote = _options({"schema_name": SERVED, "table_name": table.name})
        connection.exec_driver_sql(
            f'CREATE FOREIGN TABLE IF NOT EXISTS sharded."{table.name}_{number:d}" PARTITION OF sharded."{table.name}" '
            f"FOR VALUES IN ({number:d}) SERVER {server} OPTIONS ({remote})"
        )
    credentials = {"user": parsed.username, "password": parsed.password}
    user = _options({name: value for name, value in credentials.items() if value})
    connection.exec_driver_sql(
        f"DROP USER MAPPING IF EXISTS FOR PUBLIC SERVER {server};"
        f"CREATE USER MAPPING FOR PUBLIC SERVER {server} OPTIONS ({user})"
    )


def place_chain(connection: Connection, placed: Placed, schema_name: str) -> None:
    """Make the coordinator read a chain from the given shard."""
    chain_id = placed.chain_id
    parents = {name: f'"{name}"' for name in served.CHAIN_NAMES}
    parents |= {table.name: f"sharded.{table.name}" for table in (*FEED_TABLES, registry)}
    _hold_off_readers(connection, parents.values())
    forget_reachable(connection)
    own = {table.name for table in served.OWN_PARTITIONS}
    statements = []
    for name, parent in parents.items():
        part = f'sharded."{name}_{chain_id:d}"'
        there = schema_name if name in own else SERVED
        remote = _options({"schema_name": there, "table_name": f"{name}_{chain_id:d}"})
        statements.append(
            f"DROP FOREIGN TABLE IF EXISTS {part};"
            f"CREATE FOREIGN TABLE {part} PARTITION OF {parent} FOR VALUES IN ({chain_id:d}) "
            f'SERVER "{placed.shard}" OPTIONS ({remote})'
        )
    connection.exec_driver_sql(";".join(statements))
    place = text(
        "INSERT INTO sharded.place VALUES (:chain, :number) "
        "ON CONFLICT (chain_id) DO UPDATE SET number = excluded.number"
    )
    connection.execute(place, {"chain": chain_id, "number": placed.number})


def _hold_off_readers(connection: Connection, tables: Iterable[str]) -> None:
    """Wait for readers' visits to finish, and make new visits wait until the transaction ends."""
    # A visit may hold one table and wait for another that is locked here, so the locks are released before PostgreSQL
    # would cancel the visit. Each visit starts with `registry`; once it is locked, others can only finish.
    names = ", ".join(f"ONLY {table}" for table in (registry.name, *tables))
    while True:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_MILLISECONDS}'")
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
        except DBAPIError as problem:
            if getattr(problem.orig, "sqlstate", None) != _LOCK_TIMEOUT:
                raise
            time.sleep(_LOCK_MILLISECONDS / 1000)
            continue
        wait_for_locks(connection)
        return


def _replace_tables(connection: Connection) -> None:
    """Replace empty tables with tables that read the shards. The empty tables are stored for migrations."""
    statements = ["CREATE SCHEMA plain"]
    statements += [f'ALTER VIEW "{view}" SET SCHEMA plain' for view in served.VIEWS]
    statements += [
        f'ALTER TABLE "{table.name}" SET SCHEMA plain'
        for table in (*served.CHAIN_TABLES, *served.SHARED_TABLES, *FEED_TABLES)
    ]
    by_chain = "PARTITION BY LIST (chain_id)"
    statements.append(f"CREATE TABLE sharded.registry (LIKE registry) {by_chain}")
    statements += [f'CREATE TABLE "{name}" (LIKE plain."{name}") {by_chain}' for name in served.CHAIN_NAMES]
    for table in FEED_TABLES:
        chain = "" if "chain_id" in table.c else "chain_id bigint NOT NULL, "
        statements.append(f"CREATE TABLE sharded.{table.name} ({chain}LIKE plain.{table.name}) {by_chain}")
    for table in served.SHARED_TABLES:
        columns = f'(shard integer NOT NULL, LIKE plain."{table.name}")'
        statements.append(f'CREATE TABLE sharded."{table.name}" {columns} PARTITION BY LIST (shard)')
    statements += [_SHIPPABLE, *feed_views("")]
    statements += [shared_view(table, f'"{table.name}"', f'sharded."{table.name}"') for table in served.SHARED_TABLES]
    connection.exec_driver_sql(";".join(statements))
    database = connection.execute(text("SELECT current_database()")).scalar_one()
    for setting in ("enable_partitionwise_join", "enable_partitionwise_aggregate"):  # shards do more work
        connection.exec_driver_sql(f'ALTER DATABASE "{database}" SET {setting} = on')


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_quoted(str(value))}" for name, value in options.items())


def _quoted(value: str) -> str:
    """Return a string as an SQL literal. The driver would interpret a single percent sign as a parameter."""
    return "'" + value.replace("'", "''").replace("%", "%%") + "'"


@contextmanager
def closing_engine(engine: Engine) -> Iterator[Engine]:
    """Close an engine's connections when the context ends."""
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def opened_shards(shards: Mapping[str, Shard], *, creates: bool = False) -> Iterator[dict[str, Engine]]:
    """Open the databases of all shards."""
    with ExitStack() as stack:
        engines = {}
        for name, shard in shards.items():
            with of_shard(name):
                engines[name] = stack.enter_context(closing_engine(open_database(shard.url, creates=creates)))
        yield engines


@contextmanager
def of_shard(name: str) -> Iterator[None]:
    """Add a shard's name to the errors that the shard's database raises."""
    try:
        yield
    except DBAPIError as problem:
        raise DatabaseUnavailableError(f"shard {name}: {unavailable(problem)}") from None
    except DatabaseUnavailableError as problem:
        raise DatabaseUnavailableError(f"shard {name}: {problem}") from None
    except OlderSchemaError as problem:
        command = "bilateral index schema"
        raise ShardError(name, str(problem).replace(command, f"{command} --settings")) from None


def update_shards(url: str | None, shards: Mapping[str, Shard], *, adopts: bool = False) -> list[Placed]:
    """Make the coordinator read all chains in the settings from their shards. The function can be retried safely."""
    with closing_engine(open_database(url)) as database, opened_shards(shards, creates=True) as engines:
        with database.begin() as connection:
            hold_places(connection)
            split(connection)  # kept if a shard is rejected, because earlier shards have recorded the coordinator's id
        with database.begin() as connection:
            hold_places(connection)
            return read_shards(connection, engines, shards, adopts=adopts)


def read_shards(
    connection: Connection, engines: Mapping[str, Engine], shards: Mapping[str, Shard], *, adopts: bool = False
) -> list[Placed]:
    """Make a coordinator read all chains in the settings from their shards. See `update_shards`."""
    require_places(connection, shards)
    identity = identity_of(connection)
    for name, shard in shards.items():
        _add(connection, engines[name], identity, (name, shard), adopts=adopts)
    placed = places(connection)
    keep_reachable(connection, placed)
    return placed


def _add(connection: Connection, engine: Engine, identity: str, entry: tuple[str, Shard], *, adopts: bool) -> None:
    """Prepare a shard, and let the coordinator read it and its new chains."""
    name, shard = entry
    number = number_of(connection, name)
    with of_shard(name), engine.begin() as on_shard:
        wait_for_locks(on_shard)
        is_new = served.claim(on_shard, identity, (name, number), adopts=adopts)
        if is_new and not adopts and any(placed.shard == name for placed in places(connection)):
            raise ShardError(name, f"the shard's database has changed: correct database.shards.{name}.url")
        for placed in places(connection):
            if placed.shard != name and holds(on_shard, placed.chain_id):
                served.forget_chain(on_shard, placed.chain_id)  # an earlier move was interrupted
        served.require_listed(on_shard, name, shard.chains)
        if is_new:
            served.number_anew(on_shard, connection)
        served.serve(on_shard, shard.chains)
        schema_name = on_shard.execute(text("SELECT current_schema()")).scalar_one()
    connect_shard(connection, name, number, shard.url)
    with of_shard(name):
        # The coordinator's network and permissions may differ from this program's.
        connection.exec_driver_sql(f'SELECT FROM sharded."{served.SHARED_TABLES[0].name}_{number:d}" LIMIT 1')
    table = text("SELECT to_regclass(:name) IS NOT NULL")
    for chain_id in shard.chains:
        if not connection.execute(table, {"name": f"sharded.chain_{chain_id:d}"}).scalar_one():
            place_chain(connection, Placed(chain_id, name, number), schema_name)

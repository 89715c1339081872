"""Insert, replace, delete and select rows in bulk by key, on SQLite and PostgreSQL.

All differences in how the two engines handle rows are in this module. A row is a tuple of values in the order of
the table's columns. `Rows` converts Python integers that the engine cannot store directly.
"""

# ruff: noqa: S608  # the names in these statements are those of `schema`; values are parameters

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from bilateral.index.log.columns import WideInteger, narrowed, widened
from bilateral.index.log.database import is_pooled
from bilateral.index.log.dialects import insert_into
from bilateral.index.log.tables import is_partitioned, partition_name

Row: TypeAlias = tuple[Any, ...]

_ROWS_AT_ONCE: Final = 5_000
"""The number of rows that a cursor returns at once, because a deep rollback removes millions of rows."""


class Rows(ABC):
    """Reads and writes rows of tables within the transaction of a connection.

    Args:
        connection: The connection, in a transaction.

    Attributes:
        connection: The connection that reads.
    """

    _distinct = ""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def _fetched(self, query: str) -> list[Row]:
        with _sqlalchemy_errors(self.connection, query):
            rows: list[Row] = self._cursor().execute(query).fetchall()
        return rows

    def _cursor(self) -> Any:
        return cast("Any", self.connection.connection.driver_connection).cursor()

    def values_after(self, table: Table, columns: Sequence[str], chain_id: int, block: int) -> set[Row]:
        """Return the distinct combinations of the given columns' values in a chain's rows after a block."""
        where = f"chain_id = {chain_id:d} AND block_number > {block:d}"
        query = f'SELECT {self._distinct}{_names(columns)} FROM "{self._place(table, chain_id)}" WHERE {where}'
        existing: set[Row] = set()
        with _sqlalchemy_errors(self.connection, query):
            cursor = self._cursor().execute(query)
            while some := cursor.fetchmany(_ROWS_AT_ONCE):
                existing.update(some)
        return set(widened(list(existing), _wide_positions(table, tuple(columns))))

    def of_blocks(self, table: Table, chain_id: int, first: int, last: int, columns: Collection[str] = ()) -> list[Row]:
        """Return an event table's rows for a range of blocks, in chain order."""
        read = [not columns or name in columns for name in table.c.keys()]  # noqa: SIM118  # a collection of columns
        names = ", ".join(
            f'"{name}"' if is_stored else "NULL" for name, is_stored in zip(table.c.keys(), read, strict=True)
        )
        where = f"chain_id = {chain_id:d} AND block_number BETWEEN {first:d} AND {last:d}"
        query = f'SELECT {names} FROM "{self._place(table, chain_id)}" WHERE {where} ORDER BY block_number, log_index'
        return widened(self._fetched(query), [at for at in _wide_positions(table) if read[at]])

    def delete_after(self, table: Table, chain_id: int, block: int) -> int:
        """Delete the rows for a chain's blocks after a given block, and return the number of deleted rows."""
        where = f"chain_id = {chain_id:d} AND block_number > {block:d}"
        deleted = self.connection.exec_driver_sql(f'DELETE FROM "{self._place(table, chain_id)}" WHERE {where}')
        return deleted.rowcount

    def _place(self, table: Table, chain_id: int) -> str:  # noqa: ARG002  # one of the engines needs it
        return table.name

    @abstractmethod
    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows whose keys are not in the table yet."""

    def insert_if_absent(self, table: Table, values: Mapping[str, Any]) -> bool:
        """Insert a row, unless the table already has a row with its key."""
        statement = insert_into(self.connection, table).values(values).on_conflict_do_nothing()
        return self.connection.execute(statement.returning(*table.primary_key)).first() is not None

    @abstractmethod
    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows, replacing existing rows with the same keys."""

    @abstractmethod
    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Delete the rows with these primary keys; keys that are not in the table are ignored."""

    def analyze(self, chain_id: int, tables: Iterable[Table]) -> None:  # noqa: B027  # SQLite looks keys up without it
        """Update the engine's statistics on a chain's rows, so that the engine uses the right index to look up keys."""

    def select(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        """Return the rows whose columns have one of the given combinations of values."""
        return widened(self._matches(table, columns, keys, "found.*"), _wide_positions(table))

    def last_times(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        """For each given combination of values, return the block time of the last event that has it."""
        key = ", ".join(f'wanted."{column}"' for column in columns)
        rows = self._matches(table, columns, keys, f"{key}, max(found.block_time)", f"GROUP BY {key}")
        return widened(rows, _wide_positions(table, tuple(columns)))

    def _matches(
        self, table: Table, columns: Sequence[str], keys: Iterable[Row], selected: str, end: str = ""
    ) -> list[Row]:
        key_rows = list(keys)
        if not key_rows:
            return []
        name = self._fill_keys(table, tuple(columns), key_rows)
        # CROSS JOIN makes SQLite iterate over the keys and look each up in the other table's index.
        on = " AND ".join(f'found."{column}" = wanted."{column}"' for column in columns)
        place = self._place(table, key_rows[0][0])
        return self._fetched(f'SELECT {selected} FROM {name} wanted CROSS JOIN "{place}" found WHERE {on} {end}')

    @abstractmethod
    def _fill_keys(self, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> str:
        """Fill a temporary table with combinations of values, and return its name."""


def place_in_postgres(table: Table, chain_id: int) -> str:
    """Return the name of the PostgreSQL table that contains a chain's rows."""
    return partition_name(table, chain_id) if is_partitioned(table) else table.name


def rows_of(connection: Connection) -> Rows:
    """Return an instance of the `Rows` implementation for a connection's engine."""
    return _ROWS[connection.dialect.name](connection)


@contextmanager
def _sqlalchemy_errors(connection: Connection, statement: str) -> Iterator[None]:
    """Raise driver errors as SQLAlchemy would, for statements that use the driver directly."""
    base = connection.dialect.loaded_dbapi.Error
    try:
        yield
    except base as problem:
        raise DBAPIError.instance(statement, None, problem, base, dialect=connection.dialect) from problem


def picker(table: Table, *names: str) -> Callable[[Row], Any]:
    """Return a function that selects the given columns from a table's rows."""
    columns = list(table.c.keys())
    return itemgetter(*(columns.index(name) for name in names))


def key_columns(table: Table) -> tuple[str, ...]:
    """Return the column names of a table's primary key."""
    return tuple(column.name for column in table.primary_key)


@cache
def _wide_positions(table: Table, columns: tuple[str, ...] | None = None) -> tuple[int, ...]:
    names = columns or tuple(table.c.keys())
    return tuple(at for at, name in enumerate(names) if isinstance(table.c[name].type, WideInteger))


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


@cache
def _temporary_table(
    table: Table, columns: tuple[str, ...], dialect: Dialect, suffix: str, end: str = ""
) -> tuple[str, str]:
    name = f"{table.name}_{suffix}_{len(columns)}"  # keys may have several lengths
    types = ", ".join(f'"{column}" {table.c[column].type.compile(dialect)}' for column in columns)
    return name, f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({types}){end}"


class SqliteRows(Rows):
    """Rows in SQLite, written through the driver's `executemany`."""

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        self._fill("INSERT", table.name, rows, _wide_positions(table))

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        self._fill("INSERT OR REPLACE", table.name, rows, _wide_positions(table))

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        if keys:
            names = key_columns(table)
            where = " AND ".join(f'"{name}" = ?' for name in names)
            parameters = list(narrowed(keys, _wide_positions(table, names)))
            self.connection.exec_driver_sql(f'DELETE FROM "{table.name}" WHERE {where}', parameters)

    def _fill_keys(self, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> str:
        name, create = _temporary_table(table, columns, self.connection.dialect, "wanted")
        self.connection.exec_driver_sql(create)
        self.connection.exec_driver_sql(f"DELETE FROM {name}")
        self._fill("INSERT", name, keys, _wide_positions(table, columns))
        return name

    def _fill(self, verb: str, name: str, rows: Sequence[Row], wide: Sequence[int]) -> None:
        if rows:
            statement = f'{verb} INTO "{name}" VALUES ({", ".join("?" * len(rows[0]))})'
            self.connection.exec_driver_sql(statement, list(narrowed(rows, wide)))


class PostgresRows(Rows):
    """Rows in PostgreSQL, written through COPY. All rows and keys in a call start with the same chain id."""

    _distinct = "DISTINCT "  # on SQLite, DISTINCT would read a whole index, and is not needed to save memory

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        from psycopg.types.string import BytesBinaryDumper  # noqa: PLC0415  # not for SQLite: it is slow to import

        driver: Any = connection.connection.driver_connection
        driver.adapters.register_dumper(bytes, BytesBinaryDumper)  # by default, COPY would use a slower one for `bytea`
        connection.exec_driver_sql(_POSTGRES_SETTINGS)

    def _place(self, table: Table, chain_id: int) -> str:
        return place_in_postgres(table, chain_id)

    def _cursor(self) -> Any:
        """See `Rows._cursor`. It returns integers instead of Decimals, whose creation is slow."""
        from psycopg.types.numeric import IntLoader  # noqa: PLC0415  # as above

        cursor = super()._cursor()
        cursor.adapters.register_loader("numeric", IntLoader)
        return cursor

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            self._copy(self._place(table, rows[0][0]), table, tuple(table.c.keys()), rows)

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        if not rows:
            return
        columns, key = tuple(table.c.keys()), key_columns(table)
        name = self._fill(table, columns, rows, "new")
        rest = [column for column in columns if column not in key]
        action = ", ".join(f'"{column}" = EXCLUDED."{column}"' for column in rest)
        self.connection.exec_driver_sql(
            f'INSERT INTO "{self._place(table, rows[0][0])}" SELECT * FROM {name} ON CONFLICT ({_names(key)}) '
            + (f"DO UPDATE SET {action}" if rest else "DO NOTHING")
        )

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        if keys:
            columns = key_columns(table)
            name = self._fill(table, columns, keys, "gone")
            on = " AND ".join(f'kept."{column}" = gone."{column}"' for column in columns)
            self.connection.exec_driver_sql(
                f'DELETE FROM "{self._place(table, keys[0][0])}" kept USING {name} gone WHERE {on}'
            )

    def analyze(self, chain_id: int, tables: Iterable[Table]) -> None:
        """See `Rows.analyze`. A small sample suffices, because the indexes' selectivity differs greatly."""
        self.connection.exec_driver_sql("SET LOCAL default_statistics_target = 10")
        self.connection.exec_driver_sql("ANALYZE " + _names(self._place(table, chain_id) for table in tables))

    def _fill_keys(self, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> str:
        return self._fill(table, columns, keys, "wanted")

    def _fill(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row], suffix: str) -> str:
        # Creating the table again in each transaction would add rows to the catalogue.
        end = " ON COMMIT DROP" if is_pooled(self.connection) else " ON COMMIT DELETE ROWS"
        name, create = _temporary_table(table, columns, self.connection.dialect, suffix, end)
        self.connection.exec_driver_sql(create)
        self.connection.exec_driver_sql(f"DELETE FROM {name}")
        self._copy(name, table, columns, rows)
        return name

    def _copy(self, name: str, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        driver: Any = self.connection.connection.driver_connection
        types = [_binary_type(table, column) for column in columns]
        statement = f'COPY "{name}" ({_names(columns)}) FROM STDIN (FORMAT BINARY)'
        errors = _sqlalchemy_errors(self.connection, statement)
        with errors, driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            write = copy.write_row
            for row in rows:
                write(row)


@cache
def _binary_type(table: Table, column: str) -> str:
    name = table.c[column].type.compile(_POSTGRES).partition(" COLLATE")[0]
    return _BINARY_TYPES.get(name) or name.partition("(")[0].lower()


_ROWS: Final[dict[str, type[Rows]]] = {"sqlite": SqliteRows, "postgresql": PostgresRows}
_POSTGRES: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
_BINARY_TYPES: Final = {"BIGINT": "int8", "INTEGER": "int4", "BOOLEAN": "bool", "FLOAT(53)": "float8"}

_POSTGRES_SETTINGS: Final = "SET LOCAL random_page_cost = 1.1; SET LOCAL jit = off; SET LOCAL synchronous_commit = off"
"""Settings for the rest of a transaction, so that joins look up keys in indexes.

If the server crashes, the last transactions may be lost, including rows and cursor. The index then rereads the blocks.
"""

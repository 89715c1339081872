"""Precompiled statements. SQLAlchemy's cache lookup usually takes longer than running the statement."""

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Dialect,
    SelectBase,
    bindparam,
    false,
    literal_column,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

from bilateral.index.log.dialects import DIALECTS, dialect_of

_Convert: TypeAlias = Callable[[Any], Any]

CHAIN: Final = bindparam("chain", type_=BigInteger)
"""The parameter for a statement's chain. Subqueries use it too, so that a coordinator queries only one shard."""


def plan_by_values(connection: Connection) -> None:
    """Make PostgreSQL plan each of a visit's statements for the statement's current values.

    PostgreSQL plans a prepared statement anew a few times, and then uses a generic plan if that seems equally cheap.
    Searches differ too much for a generic plan: a word may be in three files or in all of them.
    """
    dialect_of(connection).set_local(connection, "plan_cache_mode", "force_custom_plan")


def at_most(count: int) -> ColumnElement[Any]:
    """Return a statement's limit as a literal in the statement's text.

    If the limit were a parameter, PostgreSQL would assume that a tenth of all rows is needed, and therefore create a
    new plan for each run.
    """
    return literal_column(str(int(count)))


def size_for(values: Sequence[Any]) -> int:
    """Return how many parameters to use for a list: the next power of two, to limit the number of statements."""
    return 1 << max(0, len(values) - 1).bit_length()


def one_of(name: str, column: ColumnElement[Any], size: int) -> ColumnElement[bool]:
    """Return the condition that a column has one of several values, each with its own parameter. See `spread`."""
    if not size:
        return false()
    return column.in_([bindparam(f"{name}_{place}", type_=column.type) for place in range(size)])


def spread(name: str, values: Sequence[Any], size: int) -> dict[str, Any]:
    """Return the parameters for `one_of`. The last value fills spare parameters; without values, no row matches."""
    last = values[-1] if values else None
    return {f"{name}_{place}": values[place] if place < len(values) else last for place in range(size)}


def listed(names: Iterable[str], lists: Iterable[Iterable[Any]]) -> tuple[dict[str, Any], list[int]]:
    """Return the parameters for several `one_of` conditions, and the number of parameters for each."""
    values, sizes = {}, []
    for name, entries in zip(names, lists, strict=True):
        different = sorted(set(entries))
        sizes.append(size_for(different))
        values.update(spread(name, different, sizes[-1]))
    return values, sizes


def entries_of(parameter: BindParameter[Any]) -> Sequence[Any]:
    """Return the values of a parameter: several if the parameter is a list (`IN`), otherwise one."""
    return (parameter.value or ()) if parameter.expanding else (parameter.value,)


class Prepared:
    """A statement whose changing values are named parameters. It is compiled once for each kind of database.

    Args:
        statement: The statement. A parameter for a list (`IN`) has a fixed length (see `one_of`).
        is_literal: True to write all constants into the text. PostgreSQL plans a statement without parameters only
            once, even after `plan_by_values`.
        parameters: The parameters that have no names. Their values are identified by number; each value in a list has
            its own number.
    """

    def __init__(
        self, statement: SelectBase, *, is_literal: bool = False, parameters: Sequence[BindParameter[Any]] = ()
    ) -> None:
        self._statement = statement
        self._is_literal = is_literal
        self._parameters = parameters
        self._compiled: dict[str, _Compiled] = {}
        self._make: Callable[[tuple[Any, ...]], Any] | None = None

    def all(self, connection: Connection, values: Mapping[Any, Any]) -> Sequence[tuple[Any, ...]]:
        """Return all rows, with values converted by the column types."""
        compiled = self._compiled.get(connection.dialect.name)
        if compiled is None:
            compiled = _Compiled(self._statement, connection.dialect, self._parameters, is_literal=self._is_literal)
            self._compiled[connection.dialect.name] = compiled
        return compiled.rows(connection, values)

    def records(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Return all rows, with values accessible by column name. See `all`."""
        if self._make is None:
            record: Any = namedtuple("record", self._statement.selected_columns.keys())  # type: ignore[misc]  # made of columns
            self._make = record._make
        return list(map(self._make, self.all(connection, values)))

    def first(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the first row of a statement that finds few rows; None if it finds no rows. See `all`."""
        rows = self.all(connection, values)
        return rows[0] if rows else None


class _Compiled:
    """A statement in the form that a particular database driver accepts."""

    def __init__(
        self, statement: SelectBase, dialect: Dialect, parameters: Sequence[BindParameter[Any]], *, is_literal: bool
    ) -> None:
        options = {"literal_binds" if is_literal else "render_postcompile": True}
        compiled: SQLCompiler = statement.compile(dialect=dialect, compile_kwargs=options)
        self._text = compiled.string
        self._places = compiled.positiontup
        self._types = [column.type for column in statement.selected_columns]
        self._constants: dict[str, Any] = {}
        variable = set(parameters)
        self._required: list[tuple[str, Any, _Convert | None]] = []
        for parameter, name in compiled.bind_names.items():
            convert = parameter.type.dialect_impl(dialect).bind_processor(dialect)
            if parameter.required:
                self._required.append((name, name, convert))
            elif parameter not in variable:
                for key, value in zip(_names(parameter, name), entries_of(parameter), strict=True):
                    self._constants[key] = value if convert is None else convert(value)
        number = 0
        for parameter in parameters:
            convert = parameter.type.dialect_impl(dialect).bind_processor(dialect)
            for key in _names(parameter, compiled.bind_names[parameter]):
                self._required.append((key, number, convert))
                number += 1
        self._converts: list[tuple[int, _Convert]] | None = None
        self._options = DIALECTS[dialect.name].of_prepared

    def rows(self, connection: Connection, values: Mapping[Any, Any]) -> Sequence[tuple[Any, ...]]:
        if not connection.in_transaction():
            connection.begin()  # the transaction ends with the visit
        cursor = connection.connection.cursor()
        try:
            shorten = connection.connection.info.get("shorten")  # set by a `Reader` on PostgreSQL
            if shorten is not None:
                shorten(connection, cursor)
            cursor.execute(self._text, self._parameters(values), **self._options)
            return self._converted(cursor.fetchall(), connection.dialect, cursor.description)
        except connection.dialect.loaded_dbapi.Error as problem:
            raise DBAPIError(self._text, None, problem) from problem
        finally:
            cursor.close()

    def _parameters(self, required: Mapping[Any, Any]) -> Any:
        values = dict(self._constants)
        for name, key, convert in self._required:
            values[name] = required[key] if convert is None else convert(required[key])
        return values if self._places is None else [values[name] for name in self._places]

    def _converted(
        self, rows: Sequence[tuple[Any, ...]], dialect: Dialect, description: Sequence[Any]
    ) -> Sequence[tuple[Any, ...]]:
        if self._converts is None:  # only the server knows the types of the columns
            processors = (
                kind.dialect_impl(dialect).result_processor(dialect, column[1])
                for kind, column in zip(self._types, description, strict=True)
            )
            self._converts = [(place, convert) for place, convert in enumerate(processors) if convert is not None]
        if not self._converts:
            return rows
        converted = []
        for row in rows:
            changed = list(row)
            for place, convert in self._converts:
                changed[place] = convert(changed[place])
            converted.append(tuple(changed))
        return converted


def _names(parameter: BindParameter[Any], name: str) -> Sequence[str]:
    """Return SQLAlchemy's names for a parameter's values."""
    return [f"{name}_{place}" for place, _ in enumerate(entries_of(parameter), 1)] if parameter.expanding else [name]

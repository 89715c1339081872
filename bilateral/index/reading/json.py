"""SQL expressions for statements that return JSON, on SQLite and PostgreSQL."""

from collections.abc import Callable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, ClassVar, Final

import msgspec
import sqlalchemy as sa

from bilateral.index.log.columns import python_integer, sqlite_integer


def has_all(
    lower: Callable[[sa.ColumnElement[str], str], sa.ColumnElement[str]],
    rows: sa.FromClause,
    value: sa.ColumnElement[Any],
    entries: Sequence[str],
    *conditions: sa.ColumnElement[bool],
    folded: bool = False,
) -> sa.ColumnElement[bool]:
    """Return an expression that is true if each given entry occurs as a value in the given rows."""
    requested = sorted({entry.lower() for entry in entries} if folded else set(entries))
    if folded:
        value = lower(value, "".join(requested))
    if len(requested) == 1:
        return sa.exists().where(*conditions, value == requested[0]).select_from(rows).correlate_except(rows)
    # A single query counts all entries, because the engine would otherwise plan a query for each entry.
    count = sa.select(sa.func.count(sa.distinct(value))).where(*conditions, value.in_(requested)).select_from(rows)
    return count.correlate_except(rows).scalar_subquery() == len(requested)


Member = tuple[str, "sa.ColumnElement[Any]"]

_MOST_MEMBERS: Final = 45
"""The maximum number of members per JSON function, because PostgreSQL functions accept at most 100 arguments."""

_DIGITS: Final = 100
"""The number of digits before the decimal point in a sort key, which is enough for every value."""

_EXACT: Final = Context(prec=800, Emax=MAX_EMAX, Emin=MIN_EMIN)  # more digits than 2^256 with 255 decimals


class EntityDialect:
    """SQL expressions that differ between the two engines. This class is for PostgreSQL."""

    has_small_parser: ClassVar[bool] = False
    """True if the engine rejects deeply nested expressions."""

    def members(self, members: Sequence[Member]) -> sa.ColumnElement[Any]:
        """Return a JSON object with any number of members."""
        if len(members) <= _MOST_MEMBERS:
            return self.json_object(members)
        parts = [self.json_object(members[at : at + _MOST_MEMBERS]) for at in range(0, len(members), _MOST_MEMBERS)]
        inner = [sa.func.substr(text := sa.cast(key, sa.Text), 2, sa.func.length(text) - 2) for key in parts]
        joined: sa.ColumnElement[Any] = sa.literal_column("'{'", sa.Text)
        for at, part in enumerate(inner):
            joined = joined + (sa.literal_column("','", sa.Text) + part if at else part)
        return self.embedded(joined + sa.literal_column("'}'", sa.Text))

    def row_by_row(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Return a query for `EXISTS` that runs once per row. PostgreSQL would otherwise find all linked rows first."""
        return query.offset(0)

    def json_object(self, members: Sequence[Member]) -> sa.ColumnElement[Any]:
        """Return a JSON object with a few members."""
        return sa.func.json_build_object(*_arguments(members), type_=sa.JSON)

    def json_list(self, item: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Return a JSON list with one item per row, in the order of the rows; an empty list if there are no rows."""
        return sa.func.coalesce(sa.func.json_agg(item), sa.cast(sa.literal_column("'[]'"), sa.JSON))

    def embedded(self, text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Return JSON text from a column in a form that can be embedded in other JSON."""
        return sa.cast(text, sa.JSON)

    def flag(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Return a Boolean as JSON."""
        return expression

    def whole(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
        """Return an integer of any size as its decimal digits."""
        return sa.cast(expression, sa.Text)

    def hexadecimal(self, expression: sa.ColumnElement[Any], *, is_nullable: bool = True) -> sa.ColumnElement[str]:  # noqa: ARG002  # for SQLite
        """Return bytes as `0x…` in lower case."""
        return sa.literal_column("'0x'", sa.Text) + sa.func.encode(
            expression, sa.literal_column("'hex'"), type_=sa.Text
        )

    def lower(self, expression: sa.ColumnElement[str], needle: str) -> sa.ColumnElement[str]:  # noqa: ARG002  # for SQLite
        """Return a text in lower case, for comparison with a lower-case search text."""
        return sa.func.lower(expression)

    def position(self, expression: sa.ColumnElement[Any], needle: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
        """Return the position of a text or of bytes within another value, counting from 1; 0 if it does not occur."""
        return sa.func.pg_catalog.position(expression, needle)

    def address_bytes(self, expression: sa.ColumnElement[str]) -> sa.ColumnElement[bytes]:
        """Convert an address in hexadecimal form to bytes."""
        return sa.func.decode(sa.func.substr(expression, 3), sa.literal_column("'hex'"), type_=sa.LargeBinary)

    def ordered(self, expression: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
        """Return a string in a form that databases compare by code points."""
        return sa.collate(expression, "C")

    def decimal_text(self, value: sa.ColumnElement[Any], decimals: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
        """Return a fixed-point number as a decimal string without trailing zeros."""
        return sa.cast(sa.func.trim_scale(self.decimal_key(value, decimals)), sa.Text)

    def decimal_key(self, value: sa.ColumnElement[Any], decimals: sa.ColumnElement[int]) -> sa.ColumnElement[Any]:
        """Return a fixed-point number in a form that databases compare by its exact value."""
        unit = sa.cast(sa.literal_column("'1e-'", sa.Text) + sa.cast(decimals, sa.Text), sa.Numeric)
        return sa.type_coerce(sa.cast(value, sa.Numeric) * unit, sa.Numeric)

    def decimal_operand(self, value: Decimal) -> sa.ColumnElement[Any]:
        """Return a number in the form in which it can be compared with a `decimal_key`."""
        return sa.literal(value, sa.Numeric)

    def decimal_in(
        self, value: sa.ColumnElement[Any], decimals: sa.ColumnElement[int], operands: Sequence[Decimal]
    ) -> sa.ColumnElement[bool]:
        """Return an expression that is true if a fixed-point number is one of the given numbers."""
        return self.decimal_key(value, decimals).in_([self.decimal_operand(operand) for operand in operands])

    def listed_keys(self, keys: Sequence[tuple[int, str, int]]) -> sa.Select[Any]:
        """Return a query that lists three-column keys. It has one parameter, regardless of the number of keys."""
        listed = msgspec.json.encode([(str(number), text, str(of)) for number, text, of in keys])
        keys_table = sa.func.json_array_elements(sa.cast(sa.literal(listed.decode(), sa.Text), sa.JSON)).table_valued(
            "value"
        )
        first, second, third = (sa.type_coerce(keys_table.c.value, sa.JSON)[at].as_string() for at in range(3))
        return sa.select(sa.cast(first, sa.Numeric), second, sa.cast(third, sa.Numeric))

    def integer_in_text(self, text: sa.ColumnElement[str]) -> sa.ColumnElement[int]:
        """Return a string of at most 18 digits as an integer; NULL for other strings."""
        return sa.case((text.bool_op("~")(sa.literal_column("'^[0-9]{1,18}$'")), sa.cast(text, sa.BigInteger)))

    def entries(self, listed: sa.ColumnElement[str]) -> sa.TableValuedAlias:
        """Return the entries of a JSON list of strings as a table with the column `value`."""
        return sa.func.json_array_elements_text(sa.cast(listed, sa.JSON)).table_valued("value")

    def has_entries(
        self, listed: sa.ColumnElement[str], values: Sequence[str], *, folded: bool
    ) -> sa.ColumnElement[bool]:
        """Return an expression that is true if a JSON list of strings has all entries, ignoring case if `folded`."""
        entries = self.entries(listed)
        return has_all(self.lower, entries, sa.type_coerce(entries.c.value, sa.Text), values, folded=folded)


class SqliteDialect(EntityDialect):
    """The expressions for SQLite."""

    has_small_parser = True

    def row_by_row(self, query: sa.Select[Any]) -> sa.Select[Any]:
        return query

    def json_object(self, members: Sequence[Member]) -> sa.ColumnElement[Any]:
        return sa.func.json_object(*_arguments(members))

    def json_list(self, item: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.func.json_group_array(item)

    def embedded(self, text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.func.json(text)

    def flag(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        true, false = (sa.func.json(_quoted(name)) for name in ("true", "false"))
        value: sa.ColumnElement[Any] = sa.type_coerce(expression, sa.Numeric)
        return sa.case({1: true, 0: false}, value=value)

    def whole(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
        is_text = sa.func.typeof(expression) == sa.literal_column("'text'")
        return sa.case(
            (is_text, sa.func.bilateral_digits(expression, type_=sa.Text)), else_=sa.cast(expression, sa.Text)
        )

    def hexadecimal(self, expression: sa.ColumnElement[Any], *, is_nullable: bool = True) -> sa.ColumnElement[str]:
        text = sa.literal_column("'0x'", sa.Text) + sa.func.lower(sa.func.hex(expression), type_=sa.Text)
        # hex(NULL) is empty text. SQLite evaluates an expression as often as it occurs in the statement.
        return sa.case((expression.is_not(None), text)) if is_nullable else text

    def lower(self, expression: sa.ColumnElement[str], needle: str) -> sa.ColumnElement[str]:
        # SQLite's own function is fast, but only handles ASCII letters.
        return sa.func.lower(expression) if needle.isascii() else sa.func.bilateral_lower(expression, type_=sa.Text)

    def position(self, expression: sa.ColumnElement[Any], needle: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
        return sa.func.instr(expression, needle)

    def address_bytes(self, expression: sa.ColumnElement[str]) -> sa.ColumnElement[bytes]:
        return sa.func.bilateral_bytes(expression, type_=sa.LargeBinary)

    def ordered(self, expression: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
        return expression

    def decimal_text(self, value: sa.ColumnElement[Any], decimals: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
        return sa.func.bilateral_decimal(value, decimals, type_=sa.Text)

    def decimal_key(self, value: sa.ColumnElement[Any], decimals: sa.ColumnElement[int]) -> sa.ColumnElement[Any]:
        return sa.func.bilateral_key(value, decimals, type_=sa.Text)

    def decimal_operand(self, value: Decimal) -> sa.ColumnElement[Any]:
        return sa.literal(_sort_key(value), sa.Text)

    def listed_keys(self, keys: Sequence[tuple[int, str, int]]) -> sa.Select[Any]:
        listed = msgspec.json.encode([(sqlite_integer(number), text, sqlite_integer(of)) for number, text, of in keys])
        keys_table = sa.func.json_each(sa.literal(listed.decode(), sa.Text)).table_valued("value")
        return sa.select(
            *(sa.func.json_extract(keys_table.c.value, sa.literal_column(f"'$[{at}]'")) for at in range(3))
        )

    def integer_in_text(self, text: sa.ColumnElement[str]) -> sa.ColumnElement[int]:
        digits = sa.and_(sa.func.length(text).between(1, 18), ~text.bool_op("GLOB")(sa.literal_column("'*[^0-9]*'")))
        return sa.case((digits, sa.cast(text, sa.BigInteger)))

    def entries(self, listed: sa.ColumnElement[str]) -> sa.TableValuedAlias:
        return sa.func.json_each(listed).table_valued("value")


_DIALECTS: Final = {"sqlite": SqliteDialect(), "postgresql": EntityDialect()}


def expressions_of(connection: sa.Connection) -> EntityDialect:
    """Return a connection's SQL expressions, for statements that do not need the functions added to SQLite."""
    return _DIALECTS[connection.dialect.name]


def entity_dialect(connection: sa.Connection) -> EntityDialect:
    """Return a connection's SQL expressions, and add the functions that they need if the database is SQLite."""
    info = connection.connection.info
    if connection.dialect.name == "sqlite" and not info.get("has_entities"):
        # Do this once per connection, because SQLite then prepares all statements again.
        driver: Any = connection.connection.driver_connection
        for name, function in _FUNCTIONS.items():
            driver.create_function(name, -1, function, deterministic=True)
        info["has_entities"] = True
    return expressions_of(connection)


def _arguments(members: Sequence[Member]) -> Iterator[sa.ColumnElement[Any]]:
    """Yield names and values alternately, as the functions of both engines expect."""
    for name, value in members:
        yield from (_quoted(name), value)


def _quoted(text: str) -> sa.ColumnElement[Any]:
    """Return a GraphQL name as an SQL literal. Such names contain only letters, digits and underscores."""
    if not text.isidentifier() or not text.isascii():
        raise ValueError(f"{text!r} is not a valid GraphQL name")
    return sa.literal_column(f"'{text}'", sa.Text)


def _number(value: Any, decimals: Any) -> Decimal:
    return Decimal(python_integer(value)).scaleb(-int(decimals), _EXACT)


def _decimal(value: Any, decimals: Any) -> str | None:
    if value is None or decimals is None:
        return None
    text = format(_number(value, decimals), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _key(value: Any, decimals: Any) -> str | None:
    """Return a string that sorts in the order of fixed-point numbers."""
    return None if value is None or decimals is None else _sort_key(_number(value, decimals))


def _sort_key(number: Decimal) -> str:
    """Return a string that sorts in numerical order. A negative number's digits are replaced with their complements."""
    whole, _, fraction = format(abs(number), "f").partition(".")
    text = whole.rjust(_DIGITS, "0") + fraction.rstrip("0")
    if number >= 0:
        return "1" + text
    return "0" + text.translate(_COMPLEMENT) + "~"


_COMPLEMENT: Final = str.maketrans("0123456789", "9876543210")

_FUNCTIONS: Final[dict[str, Any]] = {
    "bilateral_digits": lambda value: str(python_integer(value)),
    "bilateral_lower": lambda text: None if text is None else str(text).lower(),
    "bilateral_bytes": lambda text: None if text is None else bytes.fromhex(text[2:]),
    "bilateral_decimal": _decimal,
    "bilateral_key": _key,
}
"""The Python functions to add to SQLite, by name."""

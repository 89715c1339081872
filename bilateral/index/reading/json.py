"""The seam between SQLite and PostgreSQL for statements that answer with JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, ClassVar, Final

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    LargeBinary,
    Numeric,
    Select,
    Text,
    and_,
    case,
    cast,
    collate,
    distinct,
    exists,
    func,
    literal,
    literal_column,
    select,
    type_coerce,
)

from bilateral.index.log.columns import python_integer, sqlite_integer


def has_all(
    lower: Callable[[ColumnElement[str], str], ColumnElement[str]],
    rows: FromClause,
    value: ColumnElement[Any],
    entries: Sequence[str],
    *conditions: ColumnElement[bool],
    folded: bool = False,
) -> ColumnElement[bool]:
    """Return true if each of some entries is the value of a row."""
    requested = sorted({entry.lower() for entry in entries} if folded else set(entries))
    if folded:
        value = lower(value, "".join(requested))
    if len(requested) == 1:
        return exists().where(*conditions, value == requested[0]).select_from(rows).correlate_except(rows)
    # One query counts all entries: an engine would plan a query for each of them.
    count = select(func.count(distinct(value))).where(*conditions, value.in_(requested)).select_from(rows)
    return count.correlate_except(rows).scalar_subquery() == len(requested)


Member = tuple[str, "ColumnElement[Any]"]

_MOST_MEMBERS: Final = 45
"""The members of one JSON function: PostgreSQL takes 100 arguments."""

_DIGITS: Final = 100
"""Digits before the point of a sort key: more than any value has."""

_EXACT: Final = Context(prec=800, Emax=MAX_EMAX, Emin=MIN_EMIN)  # more digits than 2^256 with 255 decimals has


class EntityDialect(ABC):
    """Expressions that the two engines word differently."""

    has_small_parser: ClassVar[bool] = False
    """True if the engine refuses expressions that are nested deeply."""

    def prepare(self, connection: Connection) -> None:  # noqa: B027  # PostgreSQL needs nothing
        """Prepare a connection for statements with these expressions."""

    def members(self, members: Sequence[Member]) -> ColumnElement[Any]:
        """Return a JSON object of members, however many there are."""
        if len(members) <= _MOST_MEMBERS:
            return self.json_object(members)
        parts = [self.json_object(members[at : at + _MOST_MEMBERS]) for at in range(0, len(members), _MOST_MEMBERS)]
        inner = [func.substr(text := cast(key, Text), 2, func.length(text) - 2) for key in parts]
        joined: ColumnElement[Any] = literal_column("'{'", Text)
        for at, part in enumerate(inner):
            joined = joined + (literal_column("','", Text) + part if at else part)
        return self.embedded(joined + literal_column("'}'", Text))

    def row_by_row(self, query: Select[Any]) -> Select[Any]:
        """Return a query for `EXISTS` that the engine asks for each row."""
        return query

    @abstractmethod
    def json_object(self, members: Sequence[Member]) -> ColumnElement[Any]:
        """Return a JSON object of a few members."""

    @abstractmethod
    def json_list(self, item: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the JSON list of an item of each row, in the rows' order; an empty one without rows."""

    @abstractmethod
    def embedded(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return JSON that is stored as text as a part of more JSON."""

    @abstractmethod
    def flag(self, expression: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a truth value as JSON."""

    @abstractmethod
    def whole(self, expression: ColumnElement[Any]) -> ColumnElement[str]:
        """Return an integer of any size as its decimal digits."""

    @abstractmethod
    def hexadecimal(self, expression: ColumnElement[Any], *, is_nullable: bool = True) -> ColumnElement[str]:
        """Return bytes as `0x…` in lower case."""

    @abstractmethod
    def greatest(self, *expressions: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the greatest of some integers that are not NULL."""

    @abstractmethod
    def lower(self, expression: ColumnElement[str], needle: str) -> ColumnElement[str]:
        """Return a text in lower case, so that it can be compared with a needle in lower case."""

    @abstractmethod
    def position(self, expression: ColumnElement[Any], needle: ColumnElement[Any]) -> ColumnElement[int]:
        """Return the position of a text or of bytes in another one, from 1; 0 if it does not occur."""

    @abstractmethod
    def address_bytes(self, expression: ColumnElement[str]) -> ColumnElement[bytes]:
        """Return the bytes of an address in hexadecimal form."""

    @abstractmethod
    def ordered(self, expression: ColumnElement[str]) -> ColumnElement[str]:
        """Return a text that is compared by its code points."""

    @abstractmethod
    def decimal_text(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[str]:
        """Return a fixed-point number as a decimal text without closing zeros."""

    @abstractmethod
    def decimal_key(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[Any]:
        """Return a fixed-point number in a form that is compared by its exact value."""

    @abstractmethod
    def decimal_operand(self, value: Decimal) -> ColumnElement[Any]:
        """Return a number in the form of `decimal_key`."""

    def decimal_in(
        self, value: ColumnElement[Any], decimals: ColumnElement[int], operands: Sequence[Decimal]
    ) -> ColumnElement[bool]:
        """Return true if a fixed-point number is one of some numbers."""
        return self.decimal_key(value, decimals).in_([self.decimal_operand(operand) for operand in operands])

    @abstractmethod
    def listed_keys(self, keys: Sequence[tuple[int, str, int]]) -> Select[Any]:
        """Return a query of three columns that gives some keys. It has one parameter, however many there are."""

    @abstractmethod
    def integer_in_text(self, text: ColumnElement[str]) -> ColumnElement[int]:
        """Return the integer of at most 18 digits that a text is; NULL for other texts."""

    @abstractmethod
    def has_entries(self, listed: ColumnElement[str], values: Sequence[str], *, folded: bool) -> ColumnElement[bool]:
        """Return true if a JSON list of texts has all of some entries, in any case if folded."""


class SqliteDialect(EntityDialect):
    """Expressions of SQLite."""

    has_small_parser = True

    def prepare(self, connection: Connection) -> None:
        """Add the functions that SQLite lacks to a connection."""
        driver: Any = connection.connection.driver_connection
        for name, function in _FUNCTIONS.items():
            driver.create_function(name, -1, function, deterministic=True)

    def json_object(self, members: Sequence[Member]) -> ColumnElement[Any]:
        return func.json_object(*(part for key, value in members for part in (_quoted(key), value)))

    def json_list(self, item: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.json_group_array(item)

    def embedded(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.json(text)

    def flag(self, expression: ColumnElement[Any]) -> ColumnElement[Any]:
        true, false = (func.json(_quoted(name)) for name in ("true", "false"))
        value: ColumnElement[Any] = type_coerce(expression, Numeric)
        return case({1: true, 0: false}, value=value)

    def whole(self, expression: ColumnElement[Any]) -> ColumnElement[str]:
        is_text = func.typeof(expression) == literal_column("'text'")
        return case((is_text, func.bilateral_digits(expression, type_=Text)), else_=cast(expression, Text))

    def hexadecimal(self, expression: ColumnElement[Any], *, is_nullable: bool = True) -> ColumnElement[str]:
        text = literal_column("'0x'", Text) + func.lower(func.hex(expression), type_=Text)
        # hex(NULL) is an empty text. SQLite computes an expression as often as it stands in the statement.
        return case((expression.is_not(None), text)) if is_nullable else text

    def greatest(self, *expressions: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.max(*expressions)

    def lower(self, expression: ColumnElement[str], needle: str) -> ColumnElement[str]:
        # SQLite's own function is fast, and knows the letters of ASCII only.
        return func.lower(expression) if needle.isascii() else func.bilateral_lower(expression, type_=Text)

    def position(self, expression: ColumnElement[Any], needle: ColumnElement[Any]) -> ColumnElement[int]:
        return func.instr(expression, needle)

    def address_bytes(self, expression: ColumnElement[str]) -> ColumnElement[bytes]:
        return func.bilateral_bytes(expression, type_=LargeBinary)

    def ordered(self, expression: ColumnElement[str]) -> ColumnElement[str]:
        return expression

    def decimal_text(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[str]:
        return func.bilateral_decimal(value, decimals, type_=Text)

    def decimal_key(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[Any]:
        return func.bilateral_key(value, decimals, type_=Text)

    def decimal_operand(self, value: Decimal) -> ColumnElement[Any]:
        return literal(_sort_key(value), Text)

    def listed_keys(self, keys: Sequence[tuple[int, str, int]]) -> Select[Any]:
        listed = msgspec.json.encode([(sqlite_integer(number), text, sqlite_integer(of)) for number, text, of in keys])
        keys_table = func.json_each(literal(listed.decode(), Text)).table_valued("value")
        return select(*(func.json_extract(keys_table.c.value, literal_column(f"'$[{at}]'")) for at in range(3)))

    def integer_in_text(self, text: ColumnElement[str]) -> ColumnElement[int]:
        digits = and_(func.length(text).between(1, 18), ~text.bool_op("GLOB")(literal_column("'*[^0-9]*'")))
        return case((digits, cast(text, BigInteger)))

    def has_entries(self, listed: ColumnElement[str], values: Sequence[str], *, folded: bool) -> ColumnElement[bool]:
        entries = func.json_each(listed).table_valued("value")
        return has_all(self.lower, entries, type_coerce(entries.c.value, Text), values, folded=folded)


class PostgresDialect(EntityDialect):
    """Expressions of PostgreSQL."""

    def row_by_row(self, query: Select[Any]) -> Select[Any]:
        """See `EntityDialect.row_by_row`. Without an offset PostgreSQL finds all linked rows first."""
        return query.offset(0)

    def json_object(self, members: Sequence[Member]) -> ColumnElement[Any]:
        return func.json_build_object(*(part for key, value in members for part in (_quoted(key), value)), type_=JSON)

    def json_list(self, item: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.coalesce(func.json_agg(item), cast(literal_column("'[]'"), JSON))

    def embedded(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        return cast(text, JSON)

    def flag(self, expression: ColumnElement[Any]) -> ColumnElement[Any]:
        return expression

    def whole(self, expression: ColumnElement[Any]) -> ColumnElement[str]:
        return cast(expression, Text)

    def hexadecimal(self, expression: ColumnElement[Any], *, is_nullable: bool = True) -> ColumnElement[str]:  # noqa: ARG002  # see the base
        return literal_column("'0x'", Text) + func.encode(expression, literal_column("'hex'"), type_=Text)

    def greatest(self, *expressions: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.greatest(*expressions)

    def lower(self, expression: ColumnElement[str], needle: str) -> ColumnElement[str]:  # noqa: ARG002  # see the base
        return func.lower(expression)

    def position(self, expression: ColumnElement[Any], needle: ColumnElement[Any]) -> ColumnElement[int]:
        return func.pg_catalog.position(expression, needle)

    def address_bytes(self, expression: ColumnElement[str]) -> ColumnElement[bytes]:
        return func.decode(func.substr(expression, 3), literal_column("'hex'"), type_=LargeBinary)

    def ordered(self, expression: ColumnElement[str]) -> ColumnElement[str]:
        return collate(expression, "C")

    def decimal_text(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[str]:
        return cast(func.trim_scale(self.decimal_key(value, decimals)), Text)

    def decimal_key(self, value: ColumnElement[Any], decimals: ColumnElement[int]) -> ColumnElement[Any]:
        unit = cast(literal_column("'1e-'", Text) + cast(decimals, Text), Numeric)
        return type_coerce(cast(value, Numeric) * unit, Numeric)

    def decimal_operand(self, value: Decimal) -> ColumnElement[Any]:
        return literal(value, Numeric)

    def listed_keys(self, keys: Sequence[tuple[int, str, int]]) -> Select[Any]:
        listed = msgspec.json.encode([(str(number), text, str(of)) for number, text, of in keys])
        keys_table = func.json_array_elements(cast(literal(listed.decode(), Text), JSON)).table_valued("value")
        first, second, third = (type_coerce(keys_table.c.value, JSON)[at].as_string() for at in range(3))
        return select(cast(first, Numeric), second, cast(third, Numeric))

    def integer_in_text(self, text: ColumnElement[str]) -> ColumnElement[int]:
        digits = text.bool_op("~")(literal_column("'^[0-9]{1,18}$'"))
        return case((digits, cast(text, BigInteger)))

    def has_entries(self, listed: ColumnElement[str], values: Sequence[str], *, folded: bool) -> ColumnElement[bool]:
        entries = func.json_array_elements_text(cast(listed, JSON)).table_valued("value")
        return has_all(self.lower, entries, type_coerce(entries.c.value, Text), values, folded=folded)


_DIALECTS: Final = {"sqlite": SqliteDialect(), "postgresql": PostgresDialect()}


def expressions_of(connection: Connection) -> EntityDialect:
    """Return the expressions of a connection's engine, for statements that need no function which SQLite lacks."""
    return _DIALECTS[connection.dialect.name]


def entity_dialect(connection: Connection) -> EntityDialect:
    """Return the expressions of a connection's engine, and prepare the connection for them."""
    dialect = expressions_of(connection)
    dialect.prepare(connection)
    return dialect


def _quoted(text: str) -> ColumnElement[Any]:
    """Return a name of GraphQL, which has letters, digits and underscores only, as a literal."""
    if not text.isidentifier() or not text.isascii():
        raise ValueError(f"{text!r} is not a name")
    return literal_column(f"'{text}'", Text)


def _number(value: Any, decimals: Any) -> Decimal:
    """Return a fixed-point number."""
    return Decimal(python_integer(value)).scaleb(-int(decimals), _EXACT)


def _decimal(value: Any, decimals: Any) -> str | None:
    """Return a fixed-point number as text without closing zeros."""
    if value is None or decimals is None:
        return None
    text = format(_number(value, decimals), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _key(value: Any, decimals: Any) -> str | None:
    """Return a text that sorts as a fixed-point number does."""
    return None if value is None or decimals is None else _sort_key(_number(value, decimals))


def _sort_key(number: Decimal) -> str:
    """Return a text that sorts as a number does. Below zero each digit becomes its complement."""
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
"""The functions that SQLite lacks, by name."""

"""The values of entities: how each GraphQL type is output, compared and sorted in SQL."""

# ruff: noqa: ARG002  # every value takes the engine, though some values do not need it

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, Final

from sqlalchemy import ColumnElement, ScalarSelect, Text, and_, cast, false, func, literal, or_, true

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.index.reading.json import EntityDialect

Condition = ColumnElement[bool]

_LARGEST: Final = 2**63 - 1  # the largest BIGINT
_WIDEST: Final = 2**256  # one more than the largest uint256
_ADDRESS_DIGITS: Final = 40  # two digits for each of 20 bytes


class Value:
    """The values of one field, as an SQL expression on an entity's rows.

    Args:
        is_nullable: True if the value may be NULL.
    """

    def __init__(self, expression: ColumnElement[Any], *, is_nullable: bool = False) -> None:
        self.expression = expression
        self.is_nullable = is_nullable

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        """Return the value in a form that JSON functions accept."""
        return self.expression

    def sort_key(self, dialect: EntityDialect) -> ColumnElement[Any]:
        """Return the expression by which rows are sorted if a query sorts by this field."""
        return self.expression

    def test(self, dialect: EntityDialect, operator: str, operand: Any) -> Condition:
        """Return the condition for a filter."""
        if operand is None:
            return self.is_missing(dialect) if operator == "" else ~self.is_missing(dialect)
        if operator in ("", "in"):
            return self.equals(dialect, operand if operator else [operand])
        if operator in ("not", "not_in"):
            return and_(
                ~self.is_missing(dialect), ~self.equals(dialect, operand if operator == "not_in" else [operand])
            )
        return self.compare(dialect, operator, operand)

    def is_missing(self, dialect: EntityDialect) -> Condition:
        """Return an expression that is true if there is no value."""
        return self.expression.is_(None) if self.is_nullable else false()

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        """Return an expression that is true if the value equals one of the operands."""
        return self.expression.in_([self.bound(operand) for operand in operands])

    def compare(self, dialect: EntityDialect, operator: str, operand: Any) -> Condition:
        """Return an expression that is true if the value is less (or greater) than an operand."""
        return _ORDERS[operator](self.sort_key(dialect), self.bound(operand))

    def bound(self, operand: Any) -> Any:
        """Return an operand, converted to the form of the field's expression."""
        return operand


class MatchedValue(Value, ABC):
    """The values of a field for which a filter can test whether they contain, start with or end with an operand."""

    def test(self, dialect: EntityDialect, operator: str, operand: Any) -> Condition:
        if operand is not None and (place := _Place.of(operator)) is not None:
            condition = self.match(dialect, place, operand)
            return and_(~self.is_missing(dialect), ~condition if place.is_negated else condition)
        return super().test(dialect, operator, operand)

    @abstractmethod
    def match(self, dialect: EntityDialect, place: _Place, operand: Any) -> Condition:
        """Return the SQL condition that an operand occurs at a place in the value. Callers handle negation and NULL."""


@dataclass(frozen=True)
class _Place:
    """Where a filter such as `not_starts_with_nocase` expects an operand within a value.

    Attributes:
        name: `contains`, `starts_with` or `ends_with`.
        is_negated: True if the operand must be absent.
        is_folded: True to ignore case.
    """

    name: str
    is_negated: bool
    is_folded: bool

    @classmethod
    def of(cls, operator: str) -> _Place | None:
        """Return the place that an operator specifies; None for other operators."""
        name = operator.removeprefix("not_").removesuffix("_nocase")
        if name not in ("contains", "starts_with", "ends_with"):
            return None
        return cls(name, operator.startswith("not_"), operator.endswith("_nocase"))


_ORDERS: Final[dict[str, Callable[[Any, Any], Condition]]] = {"gt": gt, "lt": lt, "gte": ge, "lte": le}


class Whole(Value):
    """An integer of at most 64 bits, which is output as text if `is_text` is set."""

    def __init__(self, expression: ColumnElement[Any], *, is_nullable: bool = False, is_text: bool = True) -> None:
        super().__init__(expression, is_nullable=is_nullable)
        self._is_text = is_text

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return cast(self.expression, Text) if self._is_text else self.expression

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        return super().equals(dialect, [operand for operand in operands if abs(operand) <= _LARGEST])

    def compare(self, dialect: EntityDialect, operator: str, operand: Any) -> Condition:
        if abs(operand) > _LARGEST:
            is_true = (operand > 0) == (operator in ("lt", "lte"))
            return ~self.is_missing(dialect) if is_true else false()
        return super().compare(dialect, operator, operand)


class Wide(Value):
    """An unsigned integer of up to 256 bits, in a column of type `WideInteger`."""

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.whole(self.expression)

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        return super().equals(dialect, [operand for operand in operands if 0 <= operand < _WIDEST])

    def bound(self, operand: Any) -> Any:
        return min(max(int(operand), -1), _WIDEST)


class FixedPoint(Value):
    """A fixed-point number: an integer and a number of decimals."""

    def __init__(self, value: ColumnElement[Any], decimals: ColumnElement[Any]) -> None:
        super().__init__(value)
        self._decimals = decimals

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.decimal_text(self.expression, self._decimals)

    def sort_key(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.decimal_key(self.expression, self._decimals)

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        return dialect.decimal_in(self.expression, self._decimals, [Decimal(operand) for operand in operands])

    def compare(self, dialect: EntityDialect, operator: str, operand: Any) -> Condition:
        return _ORDERS[operator](self.sort_key(dialect), dialect.decimal_operand(Decimal(operand)))


class Flag(Value):
    """A Boolean."""

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.flag(self.expression)

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        flags = set(operands)
        if len(flags) > 1:
            return ~self.is_missing(dialect)
        return or_(
            false(), *(self.expression.is_(true()) if operand else self.expression.is_(false()) for operand in flags)
        )


class String(MatchedValue):
    """A string."""

    def sort_key(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.ordered(self.expression)

    def match(self, dialect: EntityDialect, place: _Place, operand: Any) -> Condition:
        text: ColumnElement[Any] = self.expression
        needle = str(operand)
        if place.is_folded:
            needle = needle.lower()
            text = dialect.lower(text, needle)
        if place.name == "contains":
            return dialect.position(text, literal(needle, Text)) > 0
        if place.name == "starts_with":
            return func.substr(text, 1, len(needle)) == needle
        start = func.length(text) - len(needle) + 1
        return and_(start > 0, func.substr(text, start) == needle)


class Id(String):
    """The id of an entity.

    Args:
        expression: The id, as text.
        finder: Returns the condition that the id is one of several ids, in a form that lets the database use an index.
    """

    def __init__(
        self, expression: ColumnElement[Any], finder: Callable[[Sequence[str]], Condition] | None = None
    ) -> None:
        super().__init__(expression)
        self._finder = finder

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        if self._finder is None:
            return super().equals(dialect, operands)
        return self._finder(operands)


class Address(MatchedValue):
    """An address. Comparisons ignore case."""

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return func.lower(self.expression, type_=Text)

    def sort_key(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.ordered(func.lower(self.expression, type_=Text))

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        checksums = [checksum for operand in operands if (checksum := checksum_address(operand)) is not None]
        return self.expression.in_(checksums)

    def match(self, dialect: EntityDialect, place: _Place, operand: Any) -> Condition:
        return dialect.position(dialect.address_bytes(self.expression), literal(_bytes(operand))) > 0

    def bound(self, operand: Any) -> Any:
        return f"0x{_bytes(operand).hex()}"


class Blob(MatchedValue):
    """Bytes."""

    def json_value(self, dialect: EntityDialect) -> ColumnElement[Any]:
        return dialect.hexadecimal(self.expression)

    def match(self, dialect: EntityDialect, place: _Place, operand: Any) -> Condition:
        return dialect.position(self.expression, literal(_bytes(operand))) > 0

    def bound(self, operand: Any) -> Any:
        return _bytes(operand)


class Entries(MatchedValue):
    """A list of strings or addresses.

    Args:
        shown: The list as JSON.
        has: Returns the condition that the list contains all of the given entries, ignoring case if the second argument
            is true.
        same: Returns the condition that the list equals another list.
    """

    def __init__(
        self,
        as_json: ColumnElement[Any] | ScalarSelect[Any],
        has: Callable[[Sequence[str], bool], Condition],
        same: Callable[[Sequence[str]], Condition],
    ) -> None:
        super().__init__(as_json)
        self._has = has
        self._same = same

    def equals(self, dialect: EntityDialect, operands: Sequence[Any]) -> Condition:
        return or_(false(), *(self._same(operand) for operand in operands))

    def match(self, dialect: EntityDialect, place: _Place, operand: Any) -> Condition:
        return self._has(operand, place.is_folded) if operand else true()


def checksum_address(text: str) -> str | None:
    """Return the checksum form of an address, whatever its letter case; None for any other string."""
    digits = text[2:] if text[:2] in ("0x", "0X") else text
    if len(digits) != _ADDRESS_DIGITS:
        return None
    try:
        return checksummed(f"0x{digits.lower()}")
    except MalformedIdentifierError:
        return None


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:] if text[:2] in ("0x", "0X") else text)

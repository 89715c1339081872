"""Column types for Solidity values on both SQLite and PostgreSQL."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Column, Dialect, Integer, LargeBinary, Numeric, String, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

_SQLITE_MIN: Final = -(2**63)  # the smallest SQLite integer
_SQLITE_MAX: Final = 2**63 - 1  # the largest SQLite integer
_HEXADECIMAL_DIGITS: Final = 64  # digits in 256 bits


def sqlite_integer(value: int) -> int | str:
    """Return the value with which SQLite stores an integer of up to 256 bits.

    SQLite integers have 64 bits. Larger integers are stored as `0x` and 64 hexadecimal digits, after a minus sign if
    they are negative. SQLite sorts text after integers, so unsigned values remain sorted correctly.
    """
    if _SQLITE_MIN <= value <= _SQLITE_MAX:
        return value
    return f"{'-' if value < 0 else ''}0x{abs(value):0{_HEXADECIMAL_DIGITS}x}"


def python_integer(value: Any) -> int:
    """Convert an integer from a database, which may be a number or text, to a Python integer."""
    return int(value, 16) if isinstance(value, str) else int(value)


def narrowed(rows: Sequence[tuple[Any, ...]], wide: Sequence[int]) -> Sequence[tuple[Any, ...]]:
    """Convert those integers in rows that are too large for SQLite to text."""
    for at in wide:
        values = [row[at] for row in rows if row[at] is not None]
        if values and (max(values) > _SQLITE_MAX or min(values) < _SQLITE_MIN):
            rows = [row if row[at] is None else (*row[:at], sqlite_integer(row[at]), *row[at + 1 :]) for row in rows]
    return rows


def widened(rows: list[tuple[Any, ...]], wide: Sequence[int]) -> list[tuple[Any, ...]]:
    """Convert the values that a driver returned for wide integers to Python integers, undoing `narrowed`."""
    for at in wide:
        rows = [
            row if type(row[at]) is int or row[at] is None else (*row[:at], python_integer(row[at]), *row[at + 1 :])
            for row in rows
        ]
    return rows


class _SqliteInteger(UserDefinedType[int]):
    """An SQLite column type for integers of any size: small ones are stored as integers, larger ones as text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return the column type, which has INTEGER affinity, so that `0x…` remains text."""
        return "INTEGER"

    def bind_processor(self, dialect: Dialect) -> Callable[[int | None], int | str | None]:  # noqa: ARG002  # the base's
        """Return the function that converts a Python integer for SQLite."""
        return lambda value: None if value is None else sqlite_integer(value)


class WideInteger(TypeDecorator[int]):
    """An integer that may exceed 64 bits: NUMERIC on PostgreSQL, the result of `sqlite_integer` on SQLite."""

    impl = Numeric(78, 0).with_variant(_SqliteInteger(), "sqlite")
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002  # the base's signature
        """Convert a database value to a Python integer."""
        return None if value is None else python_integer(value)


class _KeyText(Text):
    """Text whose column is compared byte by byte. Values that are compared with it have no collation of their own.

    A coordinator does not send comparisons with a collation to its shards, which would then return all rows.
    """


@compiles(_KeyText, "postgresql")
def _key_text(*_: object, **__: object) -> str:
    return 'TEXT COLLATE "C"'


def key_string(length: int | None = None) -> TypeEngine[str]:
    """Return the type for text that is compared byte by byte, as in SQLite, which is faster than using a collation."""
    if length is None:
        return Text().with_variant(_KeyText(), "postgresql")
    return String(length).with_variant(String(length, collation="C"), "postgresql")


ADDRESS: Final = key_string(42)
"""An address in EIP-55 checksum form."""

HASH: Final = LargeBinary(32)
"""A 32-byte hash."""


def column_type(entry: Mapping[str, Any]) -> TypeEngine[Any]:
    """Return the column type for an event's field, given its ABI entry. For indexed text, the log has only a hash."""
    if entry["indexed"] and entry["type"] in ("string", "bytes"):
        return HASH
    return _FIXED.get(entry["type"]) or BigInteger()


_FIXED: Final[dict[str, TypeEngine[Any]]] = {
    "address": ADDRESS,
    "bool": Boolean(),
    "bytes32": HASH,
    "bytes": LargeBinary(),
    "string": Text(),
    "uint256": WideInteger(),
    "uint64": WideInteger(),
    "int128": WideInteger(),
}

BY_CHAIN: Final[dict[str, Any]] = {"postgresql_partition_by": "LIST (chain_id)", "info": {"is_partitioned": True}}
"""The PostgreSQL options for tables with one partition per chain."""

PLACE_KEY: Final = ("chain_id", "block_number", "log_index")
"""The columns that identify a log across all chains."""


def required(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Return columns of one type that may not be NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def optional(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Return columns of one type that may be NULL."""
    return [Column(name, kind) for name in names]


def log_columns() -> list[Column[Any]]:
    """Return the columns that identify a log, which are listed in `PLACE_KEY`."""
    return [*required(BigInteger, "chain_id", "block_number"), *required(Integer, "log_index")]


def contract_columns(contract: str) -> list[Column[Any]]:
    """Return the columns that identify a contract on a chain."""
    return [Column("chain_id", BigInteger, nullable=False), Column(contract, ADDRESS, nullable=False)]


def agent_columns(contract: str) -> list[Column[Any]]:
    """Return the columns that identify an agent on a chain."""
    return [*contract_columns(contract), Column("agent_id", WideInteger, nullable=False)]


def place_columns(contract: str) -> list[Column[Any]]:
    """Return the columns for a log's position, which are the first columns in every log table."""
    return [
        *log_columns(),
        *required(HASH, "block_hash"),
        *required(BigInteger, "block_time"),
        *required(HASH, "transaction_hash"),
        *required(ADDRESS, contract),
    ]

"""The tables of an analysis: their columns and types, and how they are read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.tables.accounts import ACCOUNTS, one_spelling, require_addresses
from bilateral.trust.tables.columns import coded_together, encoded
from bilateral.trust.tables.folders import Folder

COLUMNS: Final[dict[str, dict[str, pa.DataType]]] = {
    "agents": {
        "agent_id": pa.int64(),
        "owner": pa.string(),
        "wallet": pa.string(),
        "uri": pa.string(),
        "ts": pa.float64(),
        "is_validator": pa.bool_(),
    },
    "feedback": {
        "id": pa.int64(),
        "client": pa.string(),
        "agent_id": pa.int64(),
        "value": pa.float64(),
        "tag": pa.string(),
        "ts": pa.float64(),
        "payment_tx": pa.string(),
    },
    "ratings": {
        "id": pa.int64(),
        "kind": pa.string(),
        "client": pa.string(),
        "validator_id": pa.int64(),
        "server_id": pa.int64(),
        "rating": pa.float64(),
        "ts": pa.float64(),
    },
    "validations": {"validator_id": pa.int64(), "agent_id": pa.int64(), "response": pa.float64(), "ts": pa.float64()},
    "payments": {
        "tx": pa.string(),
        "payer": pa.string(),
        "payee": pa.string(),
        "agent_id": pa.int64(),
        "amount": pa.float64(),
        "ts": pa.float64(),
    },
    "transfers": {"src": pa.string(), "dst": pa.string(), "amount": pa.float64(), "ts": pa.float64()},
}
"""The columns of each table. Times are Unix seconds; `payment_tx` is null for feedback without a proof of payment."""

SEALED: Final = "blind"
"""The column that marks ratings that were sealed before the server could see the client's feedback."""

OPTIONAL: Final[dict[str, dict[str, pa.DataType]]] = {
    "agents": {
        "operators": pa.list_(pa.string()),
        "holders": pa.list_(pa.struct([("account", pa.string()), ("since", pa.float64())])),
    },
    "ratings": {SEALED: pa.bool_()},
    "transfers": {"funds": pa.bool_(), "coin": pa.string()},
}
"""The optional columns of each table.

`operators` are the accounts that an owner approved for an agent, now or earlier. `holders` lists the accounts that held
the agent, and since when; it may be null for an agent that never changed hands. Opinions about an agent and payments to
it belong to its holder at the time, or to nobody if that account is null (unknown). `blind` is true for a rating that
was sealed before its server could see the client's feedback, so it cannot be a response. `funds` is
false for a transfer that cannot be its receiver's first. `coin` is the symbol of the coin sent, such as `ETH`; null for
the unit of payments. Coin amounts are neither added to payments nor compared with them.
"""

_REPEATED: Final = {
    name: (*columns, *{"feedback": ["tag"], "ratings": ["kind"]}.get(name, [])) for name, columns in ACCOUNTS.items()
}
"""Columns with repeated strings, which are read as dictionaries to save most of the memory."""

_CODED: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Tables:
    """The input of an analysis, as Arrow tables with the columns that `COLUMNS` lists.

    Attributes:
        agents: One row per agent.
        feedback: One row per feedback entry that is not revoked.
        ratings: One row per rating of a client (`kind` is `client`) or of a validator (`validator`) by a server.
        validations: One row per validation response, 0 to 100.
        payments: One row per payment from a client to an agent.
        transfers: One row per transfer. An account's first inbound transfer is its funding, unless `funds` is false.
    """

    agents: pa.Table
    feedback: pa.Table
    ratings: pa.Table
    validations: pa.Table
    payments: pa.Table
    transfers: pa.Table

    @classmethod
    def of(cls, **tables: pa.Table) -> Tables:
        """Check tables and cast their columns; an omitted table is empty.

        Addresses that differ only in case are treated as one account, in lower case.
        """
        if unknown := tables.keys() - COLUMNS.keys():
            raise InvalidArgumentError(f"unknown table {quoted(min(unknown))}: expected one of {', '.join(COLUMNS)}")
        return cls(**one_spelling({name: checked(name, tables.get(name)) for name in COLUMNS}))

    @classmethod
    def read(cls, folder: Path | str) -> Tables:
        """Read a folder with one Parquet file, or one folder of files, per table."""
        store = Folder.at(folder)
        if not store.has("agents"):
            raise InvalidArgumentError(f"{quoted(store.label)} has no agents.parquet: specify a folder of tables")
        normal = {}
        for name, columns in COLUMNS.items():
            if store.has(name):
                expected = columns | OPTIONAL.get(name, {})
                present = [column for column in store.columns(name) if column in expected]
                normal[name] = _read(store, name, present)
                require_addresses(name, normal[name])
        _share_texts(normal)
        pa.default_memory_pool().release_unused()
        return cls.of(**normal)

    def write(self, folder: Path) -> None:
        """Write one Parquet file per table."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            # Parquet would write a dictionary again for each row group, and read it again each time.
            pq.write_table(plain_texts(getattr(self, field.name)), folder / f"{field.name}.parquet", compression="zstd")


def _read(store: Folder, name: str, columns: Sequence[str]) -> pa.Table:
    """Read some columns of a table. Columns with repeated strings are dictionary-encoded, one at a time."""
    # Arrow would keep one dictionary for each row group, which takes many times as much memory.
    repeated = _REPEATED.get(name, ())
    table = store.read(name, [column for column in columns if column not in repeated])
    cast_columns = {column: table.column(column) for column in table.column_names}
    for column in columns:
        if column in repeated:
            texts = store.read(name, [column]).column(0)
            if pa.types.is_dictionary(texts.type):
                texts = cast(f"{name}.parquet: column {column}", texts, pa.string())
            cast_columns[column] = encoded(texts) if pa.types.is_string(texts.type) else texts
            del texts
            pa.default_memory_pool().release_unused()
    return pa.table({column: cast_columns[column] for column in columns})


def _share_texts(tables: dict[str, pa.Table]) -> None:
    """Make all address columns share one sorted dictionary. Otherwise, most strings would be stored several times."""
    places = [
        (name, column)
        for name, column in ((name, column) for name, columns in ACCOUNTS.items() for column in columns)
        if name in tables and column in tables[name].column_names and pa.types.is_dictionary(tables[name][column].type)
    ]
    texts, codes = coded_together([tables[name][column] for name, column in places])
    for (name, column), own in zip(places, codes, strict=True):
        indices = pa.array(own, mask=own < 0)
        shared = pa.DictionaryArray.from_arrays(indices, texts)
        tables[name] = tables[name].set_column(tables[name].column_names.index(column), column, shared)


def checked(name: str, table: pa.Table | None) -> pa.Table:
    """Return a table with exactly the columns of its schema, in that order and with their types."""
    expected = COLUMNS[name]
    if table is None:
        return pa.table({column: pa.array([], kind) for column, kind in expected.items()})
    present = {column: kind for column, kind in OPTIONAL.get(name, {}).items() if column in table.column_names}
    columns = {}
    for column, kind in (expected | present).items():
        if column not in table.column_names:
            raise InvalidArgumentError(f"table {name} has no column {quoted(column)}: add it")
        values = table.column(column)
        if kind == pa.string() and pa.types.is_dictionary(values.type) and pa.types.is_string(values.type.value_type):
            narrow = values.type.index_type.bit_width < pa.int32().bit_width  # too narrow for the strings of all chunks
            columns[column] = pc.cast(values, _CODED) if narrow else values
            continue
        columns[column] = cast(f"{name}.{column}", values, kind)
    if name == "agents":
        require_ids(columns["agent_id"])
        owners = pc.cast(columns["owner"], pa.string())  # a dictionary may contain null as a string
        if owners.null_count:
            row = pc.index(pc.is_null(owners), True).as_py() + 1
            raise InvalidArgumentError(f"agents.owner is empty in row {row}: give each agent an owner")
    return pa.table(columns)


def plain_texts(table: pa.Table) -> pa.Table:
    """Return a table without dictionary columns."""
    columns = {
        name: pc.cast(table.column(name), pa.string())
        if pa.types.is_dictionary(table.column(name).type)
        else table.column(name)
        for name in table.column_names
    }
    return pa.table(columns)


def cast(name: str, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to another type. Casting to integers must not lose digits before or after the decimal point."""
    if values.type == kind:
        return values
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_integer(kind) and pa.types.is_floating(values.type):
        # Pandas stores integers with missing values as floats, and missing values as nan.
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    # Floats represent 15 digits of an integer exactly, which suffices for times and values. Text must be UTF-8.
    exact = pa.types.is_integer(kind) or pa.types.is_string(kind)
    try:
        return pc.cast(values, kind, safe=exact)
    except pa.ArrowException:
        row = _first_unreadable(values, kind, exact=exact)
    problem = f"{name} has type {values.type}" if row is None else f"{name} has {_quoted(values[row])} in row {row + 1}"
    raise InvalidArgumentError(f"{problem}, which cannot be read as {kind}")


def require_ids(ids: pa.ChunkedArray) -> None:
    """Check the ids of agents."""
    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py()
        raise InvalidArgumentError(f"agents.agent_id is empty in row {row + 1}: give each agent its number")
    numbers = np.asarray(ids)
    order = np.argsort(numbers, kind="stable")
    if len(numbers) and numbers[order[0]] < 0:
        raise InvalidArgumentError(
            f"agents.agent_id has {numbers[order[0]]} in row {order[0] + 1}: agent numbers must not be negative"
        )
    again = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]])
    if len(again):
        first, second = (int(order[again[0] + step]) for step in (0, 1))
        raise InvalidArgumentError(
            f"agents.agent_id has {numbers[first]} in row {first + 1} and again in row {second + 1}: keep one row "
            "per agent"
        )


def _first_unreadable(values: pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> int | None:
    """Using bisection, return the first row that cannot be cast; None if the types do not match at all."""
    start, stop = 0, len(values)
    if stop and not _can_cast(values.slice(0, 0), kind, exact=exact):
        return None
    while stop - start > 1:
        middle = (start + stop) // 2
        if _can_cast(values.slice(start, middle - start), kind, exact=exact):
            start = middle
        else:
            stop = middle
    return start


def _can_cast(values: pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> bool:
    try:
        pc.cast(values, kind, safe=exact)
    except pa.ArrowException:
        return False
    return True


def _quoted(value: pa.Scalar) -> str:
    text = value.as_py()
    return quoted(text) if isinstance(text, str) else str(text)

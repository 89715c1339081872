"""The tables of a database, in which it numbers the accounts: this process holds each address once, and hashes none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.trust.accounts import ACCOUNTS, LISTED, are_addresses, require_addresses
from bilateral.trust.columns import location
from bilateral.trust.copies import joined_texts, moved
from bilateral.trust.tables import COLUMNS, OPTIONAL, Tables, checked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bilateral.trust.runners import Runner

_REPEATED: Final = frozenset({"tag", "kind"})
"""Columns whose texts repeat, beside those of addresses."""

_STRETCH: Final = 2**20
"""The rows that are held while they are copied: 150 MB of the widest table."""

_NO_TEXTS: Final = pa.table({"address": pa.array([], pa.string())})


class NumberedTables:
    """One reading of the tables of a database.

    Attributes:
        accounts: A table of the database with the `address`, in small letters, and the `number` of each account.
    """

    def __init__(self, runner: Runner, names: Sequence[str]) -> None:
        self._runner, self._names = runner, names
        self._numbers = self._numbered()
        ordered = self._numbers.order_by("number").select("address")
        self._texts = joined_texts(part["address"].combine_chunks() for part in self._stretches(ordered))
        self.accounts = self._numbers.mutate(address=lowered(self._numbers.address))
        names_of_accounts = self.accounts.select("address").distinct()
        counted = runner.out(names_of_accounts.aggregate(accounts=names_of_accounts.count()))
        self._is_spelled_once = counted["accounts"][0].as_py() == len(self._texts)

    def tables(self) -> Tables:
        """Return the tables.

        Raises:
            InvalidArgumentError: A table is not as `Tables.of` takes it, or an account is not an address.
        """
        tables = {name: self._read(name) for name in self._names}
        pa.default_memory_pool().release_unused()
        if not are_addresses(self._texts):
            for name, table in tables.items():
                require_addresses(name, table)
        if self._is_spelled_once and not LISTED & set(tables["agents"].column_names):
            return Tables(**{name: checked(name, tables.get(name)) for name in COLUMNS})
        return Tables.of(**tables)

    def has(self, addresses: pa.Array) -> bool:
        """Return True if these are the accounts that are numbered here.

        Args:
            addresses: The address of each account.
        """
        return location(addresses) == location(self._texts)

    def drop(self) -> None:
        """Remove the numbers from the database."""
        self._runner.drop(self._numbers)

    def _numbered(self) -> Any:
        """Return the distinct texts of all columns of addresses with their numbers, ascending, as a kept table."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        columns = [
            table.select(address=_text(table[column]))
            for name in self._names
            for table in [self._runner.connection.table(name)]
            for column in ACCOUNTS.get(name, ())
            if column in table.columns
        ]
        texts = ibis.union(*columns, distinct=True) if columns else self._runner.rows(_NO_TEXTS)
        texts = texts.filter(texts.address.notnull())
        return self._runner.keep(texts.mutate(number=ibis.row_number().over(order_by=texts.address)))

    def _read(self, name: str) -> pa.Table:
        """Return a table with codes of accounts, in the order that it has in the database."""
        table = self._runner.connection.table(name)
        known = (*COLUMNS[name], *OPTIONAL.get(name, {}))
        table = table.select([column for column in known if column in table.columns])
        addresses = [column for column in ACCOUNTS.get(name, ()) if column in table.columns]
        if not self._runner.scans_in_order or len(addresses) == len(table.columns):
            return self._columns(self._joined(table, addresses), addresses)
        columns = self._columns(table.drop(*addresses))
        for column in addresses:
            codes = self._codes(table[column], columns.num_rows)
            columns = columns.append_column(column, pa.DictionaryArray.from_arrays(codes, self._texts))
        return columns

    def _joined(self, table: Any, addresses: Sequence[str]) -> Any:
        """Return a table of the database with numbers in place of addresses, in its order."""
        table = table.mutate(place=self._runner.place())
        for column in addresses:
            account = self._numbers.rename({f"{column}_number": "number", f"{column}_address": "address"})
            table = table.left_join(account, _text(table[column]) == account[f"{column}_address"])
            table = table.mutate(**{column: table[f"{column}_number"].cast("int32")})
            table = table.drop(f"{column}_number", f"{column}_address")
        return table.order_by("place").drop("place")

    def _codes(self, column: Any, rows: int) -> pa.Array:
        """Return the number of each row's account. One join at a time, without order, takes the least memory."""
        placed = column.as_table().select(text=_text(column), place=self._runner.place())
        joined = placed.join(self._numbers, placed.text == self._numbers.address).select("place", "number")
        codes = np.full(rows, -1, np.int32)
        for batch in self._runner.batches(joined):
            codes[batch["place"].to_numpy()] = batch["number"].to_numpy()
        missing = codes < 0
        return pa.array(codes, mask=missing if missing.any() else None)

    def _columns(self, table: Any, addresses: Collection[str] = ()) -> pa.Table:
        """Return a table of the database, in which columns of addresses have numbers."""
        parts = [_coded(part, addresses, self._texts) for part in self._stretches(table)]
        columns = {column: pa.chunked_array([part[column] for part in parts]) for column in parts[0]}
        for column in set(columns) & _REPEATED:
            unified = columns[column].unify_dictionaries()
            columns[column] = pa.chunked_array([moved(chunk) for chunk in unified.chunks], unified.type)
        return pa.table(columns)

    def _stretches(self, expression: Any) -> Iterator[pa.Table]:
        """Yield tables with the rows of an expression, a stretch at a time. Without rows, yield an empty table."""
        schema, batches, rows = expression.schema().to_pyarrow(), list[pa.RecordBatch](), 0
        for batch in self._runner.batches(expression):
            batches.append(batch)
            rows += len(batch)
            if rows >= _STRETCH:
                yield pa.Table.from_batches(batches).cast(schema)
                batches, rows = [], 0
        if batches:
            yield pa.Table.from_batches(batches).cast(schema)
        else:
            yield schema.empty_table()


def lowered(column: Any) -> Any:
    """Return addresses of a database as `in_small_letters` does.

    Args:
        column: A column of Ibis.
    """
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    texts = _text(column)
    return ibis.ifelse(texts.left(2).lower() == "0x", texts.lower(), texts)


def _text(column: Any) -> Any:
    """Return addresses as texts: they may be an ENUM of DuckDB."""
    return column.cast("string")


def _coded(table: pa.Table, addresses: Collection[str], texts: pa.Array) -> dict[str, pa.Array]:
    """Return the columns of a table, copied, with codes in place of texts that repeat."""
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if name in addresses:
            columns[name] = pa.DictionaryArray.from_arrays(moved(column), texts)
        elif name in _REPEATED and pa.types.is_string(column.type):
            columns[name] = moved(pc.dictionary_encode(column))
        else:
            columns[name] = moved(column)
    return columns

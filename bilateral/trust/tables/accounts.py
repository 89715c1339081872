"""Addresses in tables: a single spelling for each account, and checks that addresses are valid and tables match."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.tables.columns import coded_together, distinct

ACCOUNTS: Final = {
    "agents": ("owner", "wallet"),
    "feedback": ("client",),
    "ratings": ("client",),
    "payments": ("payer", "payee"),
    "transfers": ("src", "dst"),
}
"""The columns that contain addresses."""

LISTED: Final = frozenset({"operators", "holders"})
"""The columns in the agents table that contain lists of accounts."""

HEXADECIMAL: Final = "^0[xX]"
"""The prefix of the addresses whose case is ignored."""

_ADDRESS: Final = "^(0[xX][0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$"
"""The pattern of an EVM address, or of a 32-byte account address on a foreign chain in base58."""

_RELATED: Final = (
    (("feedback", "client"), ("transfers", "dst")),
    (("feedback", "client"), ("payments", "payer")),
    (("ratings", "client"), ("feedback", "client")),
    (("agents", "wallet"), ("payments", "payee")),
)
"""Pairs of columns that should share accounts within a chain."""

_ENOUGH: Final = 20
"""The minimum number of accounts for a meaningful overlap: with fewer, an empty overlap may be chance."""

_FEW: Final = 0.05
"""The share of the smaller column's accounts that the other contains, below which tables seem to cover different
accounts. In tests, the share is over 0.3."""


def one_spelling(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Return tables in which no two addresses differ only in case; the same tables if none did."""
    columns = [tables[name][column] for name, column in _present(tables)]
    lists = [_flat(tables["agents"][column]) for column in _listed(tables)]
    texts = pc.unique(pa.chunked_array(list(_texts([*columns, *lists])), pa.string())).drop_null()
    if len(pc.unique(in_small_letters(texts))) == len(texts):
        return tables
    folded = dict(tables)
    for name, column in _present(tables):
        place = folded[name].column_names.index(column)
        folded[name] = folded[name].set_column(place, column, _spelled(folded[name][column]))
    for column in _listed(tables):
        place = folded["agents"].column_names.index(column)
        chunks = [_spelled_lists(chunk) for chunk in folded["agents"][column].chunks]
        folded["agents"] = folded["agents"].set_column(place, column, pa.chunked_array(chunks, chunks[0].type))
    return folded


def in_small_letters(texts: pa.Array) -> pa.Array:
    """Return strings with hexadecimal addresses in lower case. Base58 is case-sensitive and does not change."""
    return pc.if_else(pc.match_substring_regex(texts, HEXADECIMAL), pc.ascii_lower(texts), texts)


def require_addresses(name: str, table: pa.Table) -> None:
    """Check that a table's accounts are addresses."""
    for column in ACCOUNTS.get(name, ()):
        if column in table.column_names and _is_text(table[column].type):
            texts = distinct(table[column]).drop_null()
            wrong = texts.filter(pc.invert(pc.match_substring_regex(texts, _ADDRESS)))
            for text in wrong[:1].to_pylist():
                row = pc.index(pc.cast(table[column], pa.string()), text).as_py()
                if row >= 0:  # a dictionary may contain strings that no row uses
                    raise InvalidArgumentError(
                        f"{name}.{column} has {quoted(text)} in row {row + 1}: write an address, as 0x and 40 "
                        "hexadecimal digits, or null"
                    )


def unrelated_columns(tables: Mapping[str, pa.Table]) -> list[str]:
    """Return a sentence for each pair of columns that should share accounts but have hardly any in common."""
    columns = list(dict.fromkeys(column for pair in _RELATED for column in pair))
    texts, codes = coded_together([tables[name][column] for name, column in columns])
    occurs = dict.fromkeys(columns, np.zeros(0, np.bool_))
    for column, own in zip(columns, codes, strict=True):
        occurs[column] = np.zeros(len(texts), np.bool_)
        occurs[column][own[own >= 0]] = True
    sentences = []
    for pair in _RELATED:
        rare, other = sorted(pair, key=lambda column: occurs[column].sum())
        few, shared = int(occurs[rare].sum()), int((occurs[rare] & occurs[other]).sum())
        if few >= _ENOUGH and shared < _FEW * few:
            sentences.append(
                f"only {shared} of the {few} accounts in {'.'.join(rare)} are in {'.'.join(other)}: "
                "check that both tables are from the same chain and time"
            )
    return sentences


def _present(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, str]]:
    for name, columns in ACCOUNTS.items():
        yield from ((name, column) for column in columns if name in tables)


def _listed(tables: Mapping[str, pa.Table]) -> list[str]:
    agents = tables.get("agents")
    return [name for name in LISTED if agents is not None and name in agents.column_names and agents.num_rows]


def _flat(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    entries = pc.list_flatten(lists)
    return pc.struct_field(entries, "account") if pa.types.is_struct(entries.type) else entries


def _texts(columns: list[pa.ChunkedArray]) -> Iterator[pa.Array]:
    """Yield the columns' distinct strings. A dictionary that several columns share is yielded once."""
    locations = set()
    for column in columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else [distinct(column)]:
            texts = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            key = (
                tuple(None if buffer is None else buffer.address for buffer in texts.buffers()),
                texts.offset,
                len(texts),
            )
            if key not in locations:
                locations.add(key)
                yield texts


def _spelled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return in_small_letters(column)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, in_small_letters(chunk.dictionary)) for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def _spelled_lists(lists: pa.ListArray) -> pa.ListArray:
    entries = lists.values
    if pa.types.is_struct(entries.type):
        fields = [entries.type.field(place).name for place in range(entries.type.num_fields)]
        parts = [pc.struct_field(entries, name) for name in fields]
        parts[fields.index("account")] = in_small_letters(parts[fields.index("account")])
        entries = pa.StructArray.from_arrays(parts, fields, mask=pc.is_null(entries))
    else:
        entries = in_small_letters(entries)
    offsets = lists.offsets
    return pa.ListArray.from_arrays(offsets, entries, mask=pc.is_null(lists) if lists.null_count else None)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind))

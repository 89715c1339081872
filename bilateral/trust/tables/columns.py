"""Arrow table columns as arrays: text codes, and numbers without nulls."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.trust.tables.arrays import Flags, Floats, Ints, dense

LARGEST: Final = 1e38
"""The largest value that the registry stores. Larger values in a table are reduced to it."""


def distinct(column: pa.ChunkedArray) -> pa.Array:
    """Return a column's distinct strings."""
    if not pa.types.is_dictionary(column.type):
        return pc.unique(column)
    return pc.unique(pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string()))


def positions(column: pa.ChunkedArray, among: pa.Array, missing: int = -1) -> Ints:
    """Return the position of each string among the distinct strings; -1 for null."""
    out = []
    for chunk in (chunk for chunk in column.chunks if len(chunk)):  # searching for no rows would still hash all strings
        if pa.types.is_dictionary(chunk.type):
            table = np.asarray(pc.fill_null(pc.index_in(chunk.dictionary, among), missing))
            codes = _indices(chunk)
            codes_of = np.full(len(codes), -1, np.int32)
            codes_of[codes >= 0] = table[codes[codes >= 0]]
        else:
            codes_of = np.asarray(pc.fill_null(pc.index_in(chunk, among), missing)).copy()
            codes_of[np.asarray(chunk.is_null())] = -1
        out.append(codes_of.astype(np.int32, copy=False))
    if len(out) == 1:
        return out[0]
    return np.concatenate(out) if out else np.zeros(0, np.int32)


def coded_together(columns: Sequence[pa.ChunkedArray]) -> tuple[pa.Array, list[Ints]]:
    """Return several columns' sorted distinct strings, and the position of each row's string; -1 for null.

    All strings go into a single hash table. Searching each column separately would take many times as long.
    """
    if (shared := _shared_texts(columns)) is not None:
        return shared, [_codes(column) for column in columns]
    coded = [
        column.unify_dictionaries() if pa.types.is_dictionary(column.type) else encoded(column) for column in columns
    ]
    parts = [column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string()) for column in coded]
    joined = encoded(pa.chunked_array(parts, pa.string()))
    texts = joined.chunk(0).dictionary.drop_null() if joined.num_chunks else pa.array([], pa.string())
    order = pc.sort_indices(texts)
    rank = np.empty(len(texts) + 1, np.int32)
    rank[np.asarray(order)], rank[-1] = np.arange(len(texts), dtype=np.int32), -1
    codes = rank[np.concatenate([np.zeros(0, np.int64), *(_indices(chunk) for chunk in joined.chunks)])]
    bounds = np.cumsum([0, *(len(texts_of_column) for texts_of_column in parts)])
    out = []
    for column, start, stop in zip(coded, bounds[:-1], bounds[1:], strict=True):
        table = np.append(codes[start:stop], np.int32(-1))
        out.append(np.concatenate([np.zeros(0, np.int32), *(table[_indices(chunk)] for chunk in column.chunks)]))
    return texts.take(order), out


def encoded(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return strings as a dictionary-encoded column with a single dictionary and a single chunk."""
    coded = pc.dictionary_encode(texts)
    if not coded.num_chunks:
        return coded
    codes = pa.concat_arrays([chunk.indices for chunk in coded.chunks])  # all chunks have the same dictionary
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, coded.chunk(0).dictionary)])


def _shared_texts(columns: Sequence[pa.ChunkedArray]) -> pa.Array | None:
    """Return the dictionary that all columns share if it is sorted and has no duplicates; otherwise None."""
    filled = [column for column in columns if len(column)]
    if not filled or not all(pa.types.is_dictionary(column.type) for column in filled):
        return None
    parts = [chunk.dictionary for column in filled for chunk in column.chunks]
    return parts[0] if len({_location(texts) for texts in parts}) == 1 and _is_sorted(parts[0]) else None


def _location(texts: pa.Array) -> tuple[int | None, ...]:
    """Return the memory location of strings, by which identical dictionaries are recognised."""
    return (*(None if buffer is None else buffer.address for buffer in texts.buffers()), texts.offset, len(texts))


def _is_sorted(texts: pa.Array) -> bool:
    """Check that strings are ascending, without duplicates or nulls."""
    return not texts.null_count and pc.all(pc.less(texts[:-1], texts[1:])).as_py() is not False


def _codes(column: pa.ChunkedArray) -> Ints:
    if column.num_chunks == 1 and len(column):
        return _indices(column.chunk(0))  # does not copy
    return np.concatenate([np.zeros(0, np.int32), *(_indices(chunk) for chunk in column.chunks if len(chunk))])


def _indices(chunk: pa.DictionaryArray) -> Ints:
    """Return the indices into a dictionary; -1 for null."""
    return np.asarray(pc.fill_null(pc.cast(chunk.indices, pa.int32()), -1))  # the index type may be unsigned


def shared_codes(column: pa.ChunkedArray) -> Ints:
    """Return a code for each distinct string; -1 for null and for the empty string."""
    texts = distinct(column).drop_null()
    codes = positions(column, texts).astype(np.int64)
    empty = pc.index(texts, "").as_py()
    codes[codes == (empty if empty >= 0 else -2)] = -1
    return dense(codes)[0]


def equal(column: pa.ChunkedArray, text: str) -> Flags:
    """Return a mask of the rows whose value equals the given string."""
    return np.asarray(positions(column, pa.array([text])) == 0, np.bool_)


def floats(column: pa.ChunkedArray) -> Floats:
    """Return a column as floats, clipped to `LARGEST` in either direction, with 0 for null and nan."""
    values = np.asarray(pc.fill_null(column, 0.0), np.float64)
    return np.clip(np.nan_to_num(values, nan=0.0), -LARGEST, LARGEST)


def integers(column: pa.ChunkedArray) -> Ints:
    """Return a column as integers, with -1 for null."""
    return np.asarray(pc.fill_null(column, -1), np.int64)


def flags(column: pa.ChunkedArray, *, missing: bool = False) -> Flags:
    """Return a column as an array of Booleans."""
    return np.asarray(pc.fill_null(column, missing), np.bool_)


def at(values: Ints, places: Ints) -> Ints:
    """Return the value at each position; -1 where the position is negative."""
    if not len(values):
        return np.full(len(places), -1, np.int64)
    return np.where(places >= 0, values[places], -1)

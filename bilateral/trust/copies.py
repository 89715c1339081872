"""Copies of Arrow's arrays in memory of NumPy: on disk where NumPy's arrays are (`bilateral.trust.disk`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bilateral.trust.arrays import Ints

_STRETCH: Final = 2**18
"""The rows of a column that Arrow makes at a time: 12 MB of addresses."""


def moved(values: pa.Array) -> pa.Array:
    """Return a copy of an array of Arrow in memory of NumPy, so that it is on disk where NumPy's arrays are.

    Args:
        values: The array. One with arrays inside is returned as it is.
    """
    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(moved(values.indices), values.dictionary)
    if pa.types.is_nested(values.type):
        return values
    buffers = [buffer and pa.py_buffer(np.frombuffer(buffer, np.uint8).copy()) for buffer in values.buffers()]
    return pa.Array.from_buffers(values.type, len(values), buffers, values.null_count, values.offset)


def in_stretches(rows: int, made: Callable[[slice], pa.Array]) -> pa.ChunkedArray:
    """Return a column that Arrow makes in parts, each of which is moved.

    Args:
        rows: The number of rows.
        made: Makes the rows of a slice.
    """
    return pa.chunked_array([moved(made(slice(start, start + _STRETCH))) for start in range(0, max(rows, 1), _STRETCH)])


def taken(texts: pa.Array, places: Ints) -> pa.ChunkedArray:
    """Return the texts at some places.

    Args:
        places: Their places.
    """
    return in_stretches(len(places), lambda part: texts.take(pa.array(places[part], pa.int64())))


def as_texts(values: Any) -> pa.ChunkedArray:
    """Return texts of Python as a column.

    Args:
        values: An array of objects.
    """
    return in_stretches(len(values), lambda part: pa.array(values[part], pa.string()))


def joined_texts(parts: Iterable[pa.Array]) -> pa.Array:
    """Return texts in one array, in memory of NumPy.

    Args:
        parts: The texts, without null.
    """
    parts = [moved(part) for part in parts]
    offsets = np.zeros(sum(map(len, parts)) + 1, np.int32)
    ends = [np.frombuffer(part.buffers()[1], np.int32)[part.offset : part.offset + len(part) + 1] for part in parts]
    letters = np.empty(sum(int(end[-1] - end[0]) for end in ends), np.uint8)
    row = byte = 0
    for part, end in zip(parts, ends, strict=True):
        count = int(end[-1] - end[0])
        if count:
            letters[byte : byte + count] = np.frombuffer(part.buffers()[2], np.uint8)[end[0] : end[-1]]
        offsets[row + 1 : row + 1 + len(part)] = end[1:] - end[0] + byte
        row, byte = row + len(part), byte + count
    return pa.Array.from_buffers(pa.string(), row, [None, pa.py_buffer(offsets), pa.py_buffer(letters)], 0)

"""Columns as analyses need them: values of the right type, and agents that occur once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted


def cast(name: str, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in another type, without loss of digits before or after the point of an integer.

    Args:
        name: The table's and the column's name, for errors.
        values: The column.
        kind: The type.

    Raises:
        InvalidArgumentError: A value cannot be read as one of this type.
    """
    if values.type == kind:
        return values
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_integer(kind) and pa.types.is_floating(values.type):
        # Pandas keeps integers with holes as floats, and the holes as nan.
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    # Floats keep 15 digits of an integer, which suffices for times and values. Texts must be UTF-8.
    exact = pa.types.is_integer(kind) or pa.types.is_string(kind)
    try:
        return pc.cast(values, kind, safe=exact)
    except pa.ArrowException:
        row = _first_unreadable(values, kind, exact=exact)
    told = f"{name} has type {values.type}" if row is None else f"{name} has {_shown(values[row])} in row {row + 1}"
    raise InvalidArgumentError(f"{told}: it must be readable as {kind}")


def require_ids(ids: pa.ChunkedArray) -> None:
    """Check the ids of agents.

    Args:
        ids: The column of the ids.

    Raises:
        InvalidArgumentError: An id is missing, negative, or occurs twice.
    """
    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py()
        raise InvalidArgumentError(f"agents.agent_id is empty in row {row + 1}: give each agent its number")
    numbers = np.asarray(ids)
    order = np.argsort(numbers, kind="stable")
    if len(numbers) and numbers[order[0]] < 0:
        raise InvalidArgumentError(
            f"agents.agent_id has {numbers[order[0]]} in row {order[0] + 1}: write the agent's number, from 0"
        )
    again = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]])
    if len(again):
        first, second = (int(order[again[0] + step]) for step in (0, 1))
        raise InvalidArgumentError(
            f"agents.agent_id has {numbers[first]} in row {first + 1} and again in row {second + 1}: keep one row an "
            "agent"
        )


def _first_unreadable(values: pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> int | None:
    """Return the first row that cannot be cast, by halves; None if the types do not fit at all."""
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


def _shown(value: pa.Scalar) -> str:
    """Return a value as a message shows it."""
    text = value.as_py()
    return quoted(text) if isinstance(text, str) else str(text)

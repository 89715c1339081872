"""Filters on lists: all of some entries must be there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, distinct, exists, func, select


def has_all(
    lower: Callable[[ColumnElement[str], str], ColumnElement[str]],
    rows: FromClause,
    value: ColumnElement[Any],
    entries: Sequence[str],
    *conditions: ColumnElement[bool],
    folded: bool = False,
) -> ColumnElement[bool]:
    """Return true if each of some entries is the value of a row.

    Args:
        lower: Folds the case of a text on the engine, given the text to be found in it (`EntityDialect.lower`).
        conditions: The conditions of the rows. Other tables that they name are of the statement around it.
        folded: True if upper and lower case are the same.
    """
    wanted = sorted({entry.lower() for entry in entries} if folded else set(entries))
    if folded:
        value = lower(value, "".join(wanted))
    if len(wanted) == 1:
        return exists().where(*conditions, value == wanted[0]).select_from(rows).correlate_except(rows)
    # One query counts all entries: an engine would plan a query for each of them.
    count = select(func.count(distinct(value))).where(*conditions, value.in_(wanted)).select_from(rows)
    return count.correlate_except(rows).scalar_subquery() == len(wanted)

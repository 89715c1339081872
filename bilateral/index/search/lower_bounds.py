"""The lower bound of ratings as SQL."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Float, case, func, literal

from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.bounds import QUANTILE, SHARES, scale_of_tag

_REAL: Final = Float(53)


def lower_bound(share_sum: Any, clients: Any, tag: Any) -> ColumnElement[Any]:
    """Return `values.bounds.lower_bound` in SQL: the same operations in the same order, on the same numbers.

    Args:
        share_sum: The sum of the shares of those who gave ratings, each of `SHARES`.
        clients: Their number.
    """
    squared = QUANTILE**2
    share = share_sum / (clients * SHARES)
    centre = share + literal(squared, _REAL) / (2 * clients)
    inner = (share * (1 - share) + literal(squared, _REAL) / (4 * clients)) / clients
    spread = literal(QUANTILE, _REAL) * func.sqrt(inner)
    bound = (centre - spread) / (1 + literal(squared, _REAL) / clients)
    positive = case((bound > 0, bound), else_=literal(0.0, _REAL))
    scales = {name: scale_of_tag(name) for name in STANDARD_TAGS}
    ordinary = (0, 100)
    values: list[Any] = [
        (tag == name, None if scale is None else _scaled(positive, scale))
        for name, scale in scales.items()
        if scale != ordinary
    ]
    return case(*values, else_=_scaled(positive, ordinary))


def _scaled(bound: ColumnElement[Any], scale: tuple[int, int]) -> ColumnElement[Any]:
    lowest, highest = scale
    return literal(float(lowest), _REAL) + bound * (highest - lowest)

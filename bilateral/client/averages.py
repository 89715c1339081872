"""The average of feedback exactly as the reputation registry computes it (`getSummary`), for who has the entries."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bilateral.values import MAX_DECIMALS, FeedbackValue

if TYPE_CHECKING:
    from collections.abc import Sequence


def average(values: Sequence[FeedbackValue]) -> FeedbackValue | None:
    """Average values: scaled to 18 decimals, averaged, scaled to the most frequent decimals, both toward zero.

    Args:
        values: The values that count.

    Returns:
        The average, with the most frequent number of decimals, the smallest such on a tie; None of no values.
    """
    if not values:
        return None
    total = sum(value.value * 10 ** (MAX_DECIMALS - value.decimals) for value in values)
    frequencies = Counter(value.decimals for value in values)
    decimals = min(frequencies, key=lambda it: (-frequencies[it], it))
    divided = abs(total) // len(values) // 10 ** (MAX_DECIMALS - decimals)
    return FeedbackValue(-divided if total < 0 else divided, decimals)

"""Feedback summaries, computed as in the registry, and a filter that selects blind ratings.

These functions summarise any selection of loaded feedback, without further requests to the node.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from bilateral.core.values import MAX_DECIMALS, FeedbackValue


class Blind(StrEnum):
    """A filter for ratings. Without the filter, both open and blind ratings are included."""

    ONLY = "only"
    """Only ratings that were sealed before either side saw the other's rating."""


SEALED_SIDES: Final = {"server": "b-server", "client": "b-client"}
"""The names of the additional summaries that include only a side's sealed ratings."""

_INT128: Final = 2**127  # ERC-8004 returns summaries as int128


@dataclass(frozen=True)
class Summary:
    """The number of values and their average, as returned by `getSummary`.

    Attributes:
        count: The number of values.
        value: The average of the values, times `10 ** decimals`. It fits into 128 bits but may exceed 1e38.
        decimals: The most frequent number of decimals among the values (the lowest on a tie), or fewer if `value` would
            otherwise exceed 128 bits; 0 if there are no values.
    """

    count: int
    value: int
    decimals: int

    @property
    def average(self) -> Decimal | None:
        """The average as a number, with all its decimals; None if there are no values."""
        return Decimal(f"{self.value}e-{self.decimals}") if self.count else None


def summarize(values: Iterable[FeedbackValue]) -> Summary:
    """Average values as defined by ERC-8004.

    Each value is scaled to 18 decimals. The sum is divided by the number of values, then scaled to the most frequent
    number of decimals (the lowest on a tie). Both divisions round toward zero. As in the registry, an average that
    would exceed 128 bits is scaled to the largest number of decimals with which it fits.
    """
    sums, numbers = [0] * (MAX_DECIMALS + 1), [0] * (MAX_DECIMALS + 1)
    for value in values:
        sums[value.decimals] += value.value
        numbers[value.decimals] += 1
    count = sum(numbers)
    if not count:
        return Summary(0, 0, 0)
    total = sum(part * 10 ** (MAX_DECIMALS - decimals) for decimals, part in enumerate(sums))
    wad_average = _toward_zero(total, count)
    decimals = numbers.index(max(numbers))
    average = _scaled(wad_average, decimals)
    while not -_INT128 <= average < _INT128:
        decimals -= 1
        average = _scaled(wad_average, decimals)
    return Summary(count, average, decimals)


def _scaled(wad: int, decimals: int) -> int:
    return _toward_zero(wad, 10 ** (MAX_DECIMALS - decimals))


def _toward_zero(number: int, divisor: int) -> int:
    """Divide as Solidity does. Python's integer division rounds toward minus infinity instead."""
    return number // divisor if number >= 0 else -(-number // divisor)

"""Summaries of feedback, worked out here by the same arithmetic as the registry's `getSummary`.

For whoever has the feedback at hand already: another selection of it than by client and tag, or the summary of each of
many subsets, costs no further question to the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from bilateral.errors import UnrepresentableValueError
from bilateral.values import MAX_DECIMALS, FeedbackValue

if TYPE_CHECKING:
    from collections.abc import Iterable

_INT128: Final = 2**127


@dataclass(frozen=True)
class Summary:
    """A number of values and their average, as `getSummary` returns them.

    Attributes:
        count: How many values there are.
        value: Their average, times `10 ** decimals`. It may exceed the 1e38 that a single value is limited to.
        decimals: The decimals that most of the values have, the fewest on a tie; 0 if there are none.
    """

    count: int
    value: int
    decimals: int

    @property
    def average(self) -> Decimal | None:
        """The average as a number, with all of its decimals; None where there is nothing to average."""
        return Decimal(f"{self.value}e-{self.decimals}") if self.count else None


def summarize(values: Iterable[FeedbackValue], *, within_registry: bool = True) -> Summary:
    """Average values as ERC-8004 defines it.

    Each value is scaled to 18 decimals; the sum is divided by the number of values, then scaled to the most frequent
    decimals, the fewest on a tie. Both divisions cut toward zero.

    Args:
        values: The values that count: the registry leaves revoked feedback out.
        within_registry: Whether to refuse what the registry refuses, because it has 128 bits for an average.

    Returns:
        What `getSummary` returns for the same values; zeros if there are none.

    Raises:
        UnrepresentableValueError: The average exceeds 128 bits, where the registry reverts with `SummaryTooLarge`.
    """
    sums, numbers = [0] * (MAX_DECIMALS + 1), [0] * (MAX_DECIMALS + 1)
    for value in values:
        sums[value.decimals] += value.value
        numbers[value.decimals] += 1
    count = sum(numbers)
    if not count:
        return Summary(0, 0, 0)
    total = sum(part * 10 ** (MAX_DECIMALS - decimals) for decimals, part in enumerate(sums))
    decimals = numbers.index(max(numbers))
    average = _toward_zero(_toward_zero(total, count), 10 ** (MAX_DECIMALS - decimals))
    if within_registry and not -_INT128 <= average < _INT128:
        raise UnrepresentableValueError(f"the average at {decimals} decimals exceeds the 128 bits of a summary")
    return Summary(count, average, decimals)


def _toward_zero(number: int, divisor: int) -> int:
    """Divide as Solidity does; Python's own division goes toward minus infinity."""
    return number // divisor if number >= 0 else -(-number // divisor)

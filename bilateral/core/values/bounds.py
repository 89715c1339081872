"""Lower bounds of ratings, and values in millionths: integers whose sums are exact and fit into 64 bits.

The trust analysis uses the same quantile, but computes a standing's `lower` bound differently; see `docs/trust.md`.

Each value is converted to a share: its place on the tag's scale, from 0 to 1. Each rater contributes only the mean of
its shares, so an account gains nothing by rating repeatedly. The bound comes from the Wilson score interval: if the
raters were a random sample, the mean of all raters would be above the bound with 95 % confidence. With few raters, the
bound is far below the mean.
"""

from math import sqrt
from typing import Final

from bilateral.core.values import STANDARD_TAGS

SHARES: Final = 10**6
"""The integer for a share of 1: shares are counted in millionths, so that sums are exact."""

QUANTILE: Final = 1.6448536269514722
"""The quantile of the normal distribution for the bound's one-sided confidence of 95 %."""

_DEFAULT_SCALE: Final = (0, 100)  # as EIP-8004a rates


def scale_of_tag(tag: str) -> tuple[int, int] | None:
    """Return a tag's minimum and maximum value, or None if a standard tag has no such limits."""
    standard = STANDARD_TAGS.get(tag)
    if standard is None:
        return _DEFAULT_SCALE
    if standard.highest is None or standard.lowest is None:
        return None
    return int(standard.lowest), int(standard.highest)


def share_of_scale(value: int, decimals: int, scale: tuple[int, int]) -> int:
    """Return a value's place on its scale, from 0 to 1, in millionths. Values outside the scale are clamped."""
    lowest, highest = scale
    unit: int = 10**decimals
    share = (value - lowest * unit) * SHARES // ((highest - lowest) * unit)
    return min(max(share, 0), SHARES)


def lower_bound(share_sum: int, counterparts: int, scale: tuple[int, int]) -> float:
    """Return the lower confidence bound for the mean of the raters' shares, as a value on the scale."""
    bound, _ = wilson(share_sum / (counterparts * SHARES), counterparts, QUANTILE)
    lowest, highest = scale
    return lowest + bound * (highest - lowest)


def wilson(share: float, trials: int, quantile: float) -> tuple[float, float]:
    """Return the bounds of the Wilson score interval for a share of trials."""
    squared = quantile**2
    centre = share + squared / (2 * trials)
    spread = quantile * sqrt((share * (1 - share) + squared / (4 * trials)) / trials)
    low, high = ((centre + sign * spread) / (1 + squared / trials) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


UNITS: Final = 10**6
"""The integer for the value 1, in millionths."""

MAX_UNITS: Final = 10**18
"""The maximum absolute value of a single number, to which larger values are clamped: 10^12, in millionths."""


def units_of(value: int, decimals: int) -> int:
    """Return a value in millionths, rounded down to an integer and limited to ±`MAX_UNITS`."""
    unit: int = 10**decimals
    return min(max(value * UNITS // unit, -MAX_UNITS), MAX_UNITS)

"""Values in millionths: integers whose sums are exact, and small enough for 64 bits unless somebody is hostile."""

from typing import Final

UNITS: Final = 10**6
"""The value 1, in millionths."""

MAX_UNITS: Final = 10**18
"""The most that one value counts, either side of zero: 10^12."""


def units_of(value: int, decimals: int) -> int:
    """Return a value in millionths, cut to an integer."""
    unit: int = 10**decimals
    return min(max(value * UNITS // unit, -MAX_UNITS), MAX_UNITS)

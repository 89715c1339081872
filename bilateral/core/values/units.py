"""Values in millionths: integers whose sums are exact and fit 64 bits, except for hostile values."""

from typing import Final

UNITS: Final = 10**6
"""The value 1, in millionths."""

MAX_UNITS: Final = 10**18
"""The limit of a single value on either side of zero: 10^12."""


def units_of(value: int, decimals: int) -> int:
    """Return a value in millionths, truncated to an integer."""
    unit: int = 10**decimals
    return min(max(value * UNITS // unit, -MAX_UNITS), MAX_UNITS)

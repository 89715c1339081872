"""Times of the chain: seconds since 1970 in as many bits as a word has, of which Python can hold few."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_LAST_SECOND: Final = 253402300799  # of the year 9999, the last that a datetime can hold


def moment(seconds: int) -> datetime:
    """A time of the chain, in UTC; the last that Python can hold for any later one.

    Args:
        seconds: The time in Unix time.
    """
    return datetime.fromtimestamp(min(seconds, _LAST_SECOND), UTC)

"""On-chain times: Unix seconds in up to 256 bits, far beyond the range of `datetime`."""

from datetime import UTC, datetime
from typing import Final

_LAST_SECOND: Final = 253402300799  # the end of the year 9999, the last moment of a datetime


def chain_time(seconds: int) -> datetime:
    """Return an on-chain time as a UTC `datetime`; for any time after the year 9999, the last second of that year."""
    return datetime.fromtimestamp(min(seconds, _LAST_SECOND), UTC)

"""The times at which files are fetched again: soon after a failure, then less and less often."""

from __future__ import annotations

from typing import Final

from bilateral.index.files.tables import Kind

_MINUTE: Final = 60  # seconds
_HOUR: Final = 3_600  # seconds
_DAY: Final = 86_400  # seconds; Unix time has no leap seconds

# A restart takes a minute, an outage hours.
_AFTER_FAILURES: Final = (_MINUTE, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 12 * _HOUR)
_DAILY_FAILURES: Final = 30
"""Failures with a day between, after which a week is between: the server is most likely gone."""

_HOST_SECONDS: Final = 5
"""The first pause of a host that fails: a restart takes no longer."""

_MOST_HOST_SECONDS: Final = _HOUR
_LONGEST_WAIT: Final = _DAY
_MOST_DOUBLINGS: Final = 12
"""Doublings after which a pause is the longest one; more would overflow."""


def retry_seconds(failures: int) -> int:
    """Return the seconds after which a file is tried again.

    Args:
        failures: Its failures in a row, this one included.

    Returns:
        A minute, then more, up to 12 hours; then a day, and after 30 failures a week.
    """
    if failures <= len(_AFTER_FAILURES):
        return _AFTER_FAILURES[max(failures, 1) - 1]
    return _DAY if failures <= _DAILY_FAILURES else 7 * _DAY


def host_seconds(failures: int) -> int:
    """Return the seconds for which a host that does not answer is left alone.

    Args:
        failures: Its failures in a row, this one included.

    Returns:
        5 seconds, doubled by each further failure, up to an hour.
    """
    return min(_HOST_SECONDS << min(max(failures, 1) - 1, _MOST_DOUBLINGS), _MOST_HOST_SECONDS)


def refresh_seconds(kind: Kind, former: int, *, is_changed: bool) -> int:
    """Return the seconds after which a file that may change is asked for changes.

    Args:
        kind: The kind of the file.
        former: The former seconds; 0 before the first look.
        is_changed: True if the last look found it changed.

    Returns:
        An hour for a registration and a day for others; doubled while nothing changes, up to a day or 30 days.
    """
    least, most = (_HOUR, _DAY) if kind in (Kind.REGISTRATION, Kind.DOMAIN) else (_DAY, 30 * _DAY)
    return least if is_changed or not former else min(2 * former, most)


def waited(seconds: int | None) -> int:
    """Return the seconds that a host may make others wait: as it asks, but a day at most."""
    return min(seconds or 0, _LONGEST_WAIT)


def spread(file_id: bytes, seconds: float) -> float:
    """Return a time within a tenth of another, different for each file, so that not all are due at once."""
    return seconds * (0.9 + file_id[0] / 1275)

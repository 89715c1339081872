"""The time for which a server tells its clients to wait."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_SECONDS: Final = re.compile(r"\d{1,9}", re.ASCII)


def seconds_to_wait(retry_after: str) -> int | None:
    """Return the number of seconds to wait, according to the `Retry-After` header (RFC 9110, 10.2.3)."""
    if _SECONDS.fullmatch(retry_after):
        return int(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:  # the only zone of HTTP dates is GMT
        until = until.replace(tzinfo=UTC)
    return max(0, round((until - datetime.now(UTC)).total_seconds()))

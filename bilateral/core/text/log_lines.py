"""Log lines that untrusted text cannot forge."""

import copy
import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, TextIO

_MOST_TEXTS: Final = 16  # per ten seconds, so at most 140,000 lines a day
_FORMAT: Final = "time=%(asctime)s level=%(levelname)s %(message)s"


class SafeFormatter(logging.Formatter):
    """Formats a record as one line with its traceback as indented lines, and escapes terminal control characters.

    A message may contain untrusted text from a node, a file or a request. Characters that are not printable, such as
    line breaks and terminal escape sequences, are shown as Python escapes. Times are marked as UTC.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as described for the class."""
        copied = copy.copy(record)
        copied.exc_text = None  # another formatter may have cached it
        return super().format(copied)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the base's name
        """Return a record as one line, with unprintable characters escaped."""
        return _escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the base's name
        """Return a traceback as indented lines."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  # the base's name
        """Return a call stack as indented lines."""
        return _indented(stack_info)


class SeldomFilter(logging.Filter):
    """Lets the same text through at most once every few seconds, so that repeated requests cannot fill the log.

    Because attackers may be able to vary the text, at most 16 different texts are let through in any such period.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._until: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record may be logged."""
        text, now = record.getMessage(), self._clock()
        with self._lock:
            self._until = {line: end for line, end in self._until.items() if now < end}
            if text in self._until or len(self._until) >= _MOST_TEXTS:
                return False
            self._until[text] = now + self._seconds
            return True


def safe_handler(stream: TextIO | None = None) -> logging.Handler:
    """Return a log handler that formats records with `SafeFormatter`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(SafeFormatter(_FORMAT))
    return handler


def log_safely() -> None:
    """Write warnings and errors from all libraries to standard error, unless the program already has a handler."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(safe_handler())


def _indented(text: str) -> str:
    return "\n".join(f"    {_escaped(line)}" for line in text.split("\n"))


def _escaped(text: str) -> str:
    return (
        text
        if text.isprintable()
        else "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    )

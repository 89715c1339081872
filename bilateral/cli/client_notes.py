"""Notes of the SDK client, which commands show to people. JSON has no notes."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilateral.cli.output import Output


class _Notes(logging.Handler):
    """Handler that shows log lines as notes beside the result."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line."""
        self._output.note(record.getMessage())


@contextmanager
def client_notes(output: Output) -> Iterator[None]:
    """Show the notes of clients within a context.

    Args:
        output: Shows the notes.
    """
    logger, handler = logging.getLogger("bilateral.client"), _Notes(output)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)

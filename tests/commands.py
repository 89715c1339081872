"""Commands of the package in the process of the tests: a process of their own takes a second to import the package."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import contextmanager

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bilateral.cli.app import app

COMMAND = get_command(app)
"""Made once: that takes as long as most commands."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOGGER = logging.getLogger("bilateral.index")


@contextmanager
def as_before():
    """Give signals and the log back to the tests in the end."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    state = (LOGGER.handlers[:], LOGGER.level, LOGGER.propagate)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        LOGGER.handlers[:], level, LOGGER.propagate = state
        LOGGER.setLevel(level)


def run_here(*arguments, environment=None, stdin=None):
    """Run a command, and return its exit code, its output and its messages."""
    with CliRunner().isolation(input=stdin, env=environment) as (out, err, _), as_before():
        with pytest.raises(SystemExit) as end:
            COMMAND.main([str(argument) for argument in arguments], prog_name="bilateral")
        sys.stdout.flush()
        sys.stderr.flush()
        return end.value.code, out.getvalue().decode(), err.getvalue().decode()

"""Waiting for what another thread or process does."""

from __future__ import annotations

import time

SECONDS = 300


def until(read, holds, seconds=SECONDS):
    """Read until a condition holds, and return what was read."""
    end = time.monotonic() + seconds
    while True:
        value = read()
        if holds(value):
            return value
        assert time.monotonic() < end, value
        time.sleep(0.05)


def wait_until(condition):
    """Wait until a condition holds."""
    until(condition, bool)

"""Waiting for what another thread or process does."""

from __future__ import annotations

import time

SECONDS = 300


def until(read, holds, seconds=SECONDS):
    """Read until a condition holds, and return what was read."""
    end = time.monotonic() + seconds
    while True:
        found = read()
        if holds(found):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.02)

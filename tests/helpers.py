"""Helpers of the tests of every registry."""

from __future__ import annotations

from contextlib import contextmanager

from scripts._anvil import restore
from tests.conformance.assertions import LoggedEvent


def logged(receipt):
    """Return all events of a transaction, in order and with every field, as `(name, {field: value})`.

    The comparison is exact. Ape's own comparison ignores fields that the test omits, and never matches an indexed
    string, because the log holds its hash. An event counts as tested after such a comparison.
    """
    return [LoggedEvent(event.event_name, dict(event.event_arguments), event.abi) for event in receipt.events]


@contextmanager
def isolated(chain):
    """Restore the chain on exit. Unlike `chain.isolate()`, raise exceptions of the block."""
    snapshot = chain.snapshot()
    try:
        yield
    finally:
        restore(chain, snapshot)

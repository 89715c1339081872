"""What tests of every registry need beyond fixtures."""

from __future__ import annotations

from contextlib import contextmanager

from scripts._anvil import restore
from tests.proof.assertions import LoggedEvent


def logged(receipt):
    """All events of a transaction, in order and with every field, as `(name, {field: value})`.

    Comparing these is exact, whereas Ape's own comparison of events passes over fields that the test leaves out and
    never matches an indexed string, which is logged as its hash. An event counts as tested once it was compared so.
    """
    return [LoggedEvent(event.event_name, dict(event.event_arguments), event.abi) for event in receipt.events]


@contextmanager
def isolated(chain):
    """Undo on leaving whatever was done to the chain. Unlike `chain.isolate()`, it lets failures through."""
    snapshot = chain.snapshot()
    try:
        yield
    finally:
        restore(chain, snapshot)

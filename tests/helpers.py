"""Helpers of the tests of every registry."""

from __future__ import annotations

import random
import socket
from contextlib import contextmanager

from scripts._anvil import restore
from tests.conformance.assertions import LoggedEvent

PORTS = (20_000, 32_767)
"""The least and the highest port for a server that must be told its port.

Linux gives the ports from 32,768 on to connections. A server cannot listen at one that a connection has.
"""

OF_CHAIN = frozenset({"accounts", "chain", "networks", "project"})
"""The fixtures of Ape that lead to its chain."""


def uses_chain(request):
    """Return True if a test, or a fixture that it asks for, asks for Ape's chain."""
    return not OF_CHAIN.isdisjoint(request.fixturenames)


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


@contextmanager
def forked_to(chain, chain_id):
    """Give the chain another id, like a fork, and restore it; snapshots do not."""
    own = chain.chain_id
    chain.provider.make_request("anvil_setChainId", [chain_id])
    try:
        yield
    finally:
        chain.provider.make_request("anvil_setChainId", [own])


def free_port() -> int:
    """Return a port at which a server can listen now, and that no connection is given."""
    while True:
        port = random.SystemRandom().randint(*PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port

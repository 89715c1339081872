"""The pinned anvil, and snapshots of the chains that it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bilateral.dev import anvil
from scripts._build import ROOT

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ape.api import TestProviderAPI
    from ape.managers.chain import ChainManager
    from ape.types import SnapshotID

ANVIL = ROOT / ".venv" / "bin" / "anvil"
POOL_TIMEOUT = 60
"""Seconds in which anvil must mine the transactions of its pool."""


def running_anvil(*options: str, states: int = 256) -> AbstractContextManager[str]:
    """Run the pinned anvil on a free port. See `bilateral.dev.anvil.running_anvil`.

    Args:
        *options: Further options of anvil, as `--chain-id`, `84532`.
        states: The number of blocks whose states it keeps, in memory.

    Returns:
        A context with the URL of its RPC.
    """
    return anvil.running_anvil(ANVIL, *options, states=states)


def restore(chain: ChainManager, snapshot: SnapshotID) -> None:
    """Restore a chain to a snapshot.

    Args:
        chain: The chain, run by anvil.
        snapshot: The snapshot.

    Raises:
        TimeoutError: If transactions stay in the pool.
    """
    await_empty_pool(chain.provider)
    chain.restore(snapshot)


def await_empty_pool(provider: TestProviderAPI) -> None:
    """Wait until no transaction is left in anvil's pool.

    A block can be seen a moment before its transactions leave the pool. A snapshot that is restored in that moment
    leaves them there: the next transaction with the same nonce is refused ("replacement transaction underpriced"), or
    is lost when they leave.

    Args:
        provider: The connection to anvil.

    Raises:
        TimeoutError: If transactions stay in the pool.
    """
    deadline = time.monotonic() + POOL_TIMEOUT
    while set(provider.make_request("txpool_status", []).values()) != {"0x0"}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"anvil's pool is not empty after {POOL_TIMEOUT} seconds")
        time.sleep(0.001)

"""Keeps Ape from asking a block explorer about everything that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ape.api import ExplorerAPI, NetworkAPI


def use_explorer(network: NetworkAPI, explorer: ExplorerAPI | None) -> None:
    """Set the block explorer of a network.

    Left to itself, Ape downloads the list of all chains that Etherscan knows as soon as it shows a transaction or a
    revert, and fails without internet, after the transaction was sent. It caches the explorer; so it is set there.

    Args:
        network: The network that Ape is connected to.
        explorer: The explorer; None for no explorer.
    """
    network.__dict__["explorer"] = explorer

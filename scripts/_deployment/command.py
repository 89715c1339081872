"""The common parts of the commands that work on a network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ape.cli import ConnectedProviderCommand
from rich.console import Console

from scripts._deployment.errors import DeploymentError, explained
from scripts._deployment.live_chain import LOCAL_CHAIN_IDS, Chain

if TYPE_CHECKING:
    import click
    from ape.api import ProviderAPI

RPC_VARIABLE = "WEB3_PROVIDER_URI"
"""The variable from which Ape takes a live network's node if its settings name none."""

RPC_GIVEN = RPC_VARIABLE in os.environ

CONSOLE_WIDTH = 120


class NetworkCommand(ConnectedProviderCommand):  # type: ignore[misc]  # Ape has no types
    """A command with Ape's network options, which tells in one line why it cannot connect."""

    def invoke(self, ctx: click.Context) -> Any:
        """Connect and run.

        Args:
            ctx: Click's context.

        Returns:
            What the command returns.

        Raises:
            DeploymentError: If there is no connection to the network that was asked for.
        """
        try:
            with explained("The network cannot be used"):
                return super().invoke(ctx)
        except DeploymentError:
            _require_given_node()
            raise


def chain_of(provider: ProviderAPI) -> Chain:
    """Look at the chain that Ape is connected to.

    Args:
        provider: Ape's connection.

    Returns:
        The chain.

    Raises:
        DeploymentError: If it is not reached through the node that the user named, or is a live one that the user
            took for a local one.
    """
    _require_given_node()
    chain = Chain(provider.web3, f"{provider.network.ecosystem.name}:{provider.network.name}")
    if provider.network.is_local and chain.chain_id not in LOCAL_CHAIN_IDS:
        raise DeploymentError(f"{chain.network} is a local network, but the node serves chain {chain.chain_id}.")
    return chain


def _require_given_node() -> None:
    """Refuse to go on with a public node, as Ape does after dropping the user's that serves another chain."""
    if RPC_GIVEN and RPC_VARIABLE not in os.environ:
        raise DeploymentError(f"{RPC_VARIABLE} names a node of another chain than --network names.")


def make_console() -> Console:
    """Return a console that is wide enough for addresses.

    Returns:
        The console.
    """
    return Console(width=CONSOLE_WIDTH, soft_wrap=True, highlight=False, markup=False)

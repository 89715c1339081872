"""What the commands that work on a network have in common."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ape.cli import ConnectedProviderCommand
from rich.console import Console

from scripts._deployment.chain import Chain
from scripts._deployment.errors import DeploymentError, explained

if TYPE_CHECKING:
    import click
    from ape.api import ProviderAPI

RPC_VARIABLE = "WEB3_PROVIDER_URI"
"""Where Ape takes a live network's node from, if its settings name none."""

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
        DeploymentError: If it is not reached through the node that the user named, or if Ape would sign for another.
    """
    _require_given_node()
    chain = Chain(provider.web3, f"{provider.network.ecosystem.name}:{provider.network.name}")
    if provider.chain_id != chain.chain_id:  # of a local node Ape does not ask, but takes it for one of Geth's
        raise DeploymentError(
            f"The node is of chain {chain.chain_id}, and Ape would sign for chain {provider.chain_id}. "
            f"Set node: ethereum: local: chain_id: {chain.chain_id} in ape-config.yaml."
        )
    return chain


def _require_given_node() -> None:
    """Refuse to go on with a public node, as Ape does after dropping the user's that serves another chain."""
    if RPC_GIVEN and RPC_VARIABLE not in os.environ:
        raise DeploymentError(f"{RPC_VARIABLE} names a node of another chain than the one that was asked for.")


def make_console() -> Console:
    """A console that is wide enough for addresses.

    Returns:
        The console.
    """
    return Console(width=CONSOLE_WIDTH, soft_wrap=True, highlight=False, markup=False)

# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Clients of several chains, chosen by the chain of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bilateral.client.inputs import AgentLike
from bilateral.client.operations.registries import chain_of
from bilateral.client.sync.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.errors import UnknownChainError
from bilateral.node.closing import Closing
from bilateral.node.transport import Provider


class Clients(Closing):
    """One client a chain, all with the same settings.

        clients = Clients({8453: "https://base.example", 84532: "https://sepolia.example"}, signer=signer)
        agent = clients.of("84532:42").load_agent("84532:42")

    Args:
        rpcs: The node of each chain, by chain id: a URL, or a provider, as `Client` takes it.
        deployments: The addresses of the registries on chains for which the packaged ones are not meant.
        **settings: Further settings of `Client`, such as `signer`; `deployment` names the packaged deployment on
            the other chains.
    """

    def __init__(
        self, rpcs: Mapping[int, str | Provider], *, deployments: Iterable[Deployment] = (), **settings: Any
    ) -> None:
        known = {deployment.chain_id: deployment for deployment in deployments}
        named = settings.pop("deployment", None)
        self._clients = {
            chain_id: Client(rpc, deployment=known.get(chain_id, named), chain_id=chain_id, **settings)
            for chain_id, rpc in rpcs.items()
        }

    def close(self) -> None:
        """Close the connections to all nodes."""
        for client in self._clients.values():
            client.close()

    @property
    def chain_ids(self) -> tuple[int, ...]:
        """The chains, in the order in which they were given."""
        return tuple(self._clients)

    def on(self, chain_id: int) -> Client:
        """Return the client of a chain.

        Args:
            chain_id: The chain's EIP-155 id.

        Raises:
            UnknownChainError: No node of the chain was given.
        """
        if chain_id not in self._clients:
            raise UnknownChainError(chain_id, self.chain_ids)
        return self._clients[chain_id]

    def of(self, agent_id: AgentLike) -> Client:
        """Return the client of an agent's chain.

        Args:
            agent_id: The agent, with its chain: `"84532:42"` or `"eip155:84532:0x…#42"`.

        Raises:
            MalformedIdentifierError: The id is malformed, or does not name its chain.
            UnknownChainError: No node of the chain was given.
        """
        return self.on(chain_of(agent_id))

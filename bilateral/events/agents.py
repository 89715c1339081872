"""The state of agents, derived from the identity registry's events alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bilateral.events.identity import MetadataSet, PrimaryAgentSet, Transfer
from bilateral.identifiers import checksummed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bilateral.events.base import Event

WALLET_KEY: Final = "agentWallet"
"""The metadata key under which the registry reports an agent's wallet."""

_NOBODY: Final = "0x" + "00" * 20
_ADDRESS_BYTES: Final = 20


class AgentStates:
    """Owners, wallets and primary agents, as an indexer that sees nothing but events derives them.

    Attributes:
        owners: The owner of each agent that has one.
        wallets: The wallet of each agent that has one.
        primary_agents: The primary agent of each account that has one: what `agentOf` returns. Only a registry with
            the August 2025 directory has primary agents.
    """

    def __init__(self) -> None:
        """Begin before the first block."""
        self.owners: dict[int, str] = {}
        self.wallets: dict[int, str] = {}
        self.primary_agents: dict[str, int] = {}

    def apply(self, events: Iterable[Event]) -> None:
        """Take account of further events.

        Args:
            events: Events of one identity registry, in the order of the chain, none left out, and a transaction's in
                one call. Other registries' events are ignored.
        """
        cleared: tuple[int, str | None] | None = None  # an agent without a wallet any more, and its former wallet
        for event in events:
            # A transfer clears the wallet just before it moves the token, and the wallet may be the receiver.
            is_moved = isinstance(event, Transfer) and cleared is not None and cleared[0] == event.agent_id
            if cleared is not None and not is_moved:
                self._disown(*cleared)
            match event:
                case PrimaryAgentSet():
                    self.primary_agents[event.account] = event.agent_id
                case Transfer():
                    self._transfer(event)
            if cleared is not None and is_moved:
                self._disown(*cleared)
            cleared = self._set_wallet(event) if isinstance(event, MetadataSet) else None
        if cleared is not None:
            self._disown(*cleared)

    def _transfer(self, event: Transfer) -> None:
        """Give an agent its new owner; a new agent also its wallet."""
        agent_id, owner = event.agent_id, event.to_address
        former = self.owners.pop(agent_id, None)
        if owner != _NOBODY:
            self.owners[agent_id] = owner
        if event.from_address == _NOBODY:
            self.wallets[agent_id] = owner
            self.primary_agents.setdefault(owner, agent_id)
        self._disown(agent_id, former)

    def _set_wallet(self, event: MetadataSet) -> tuple[int, str | None] | None:
        """Give an agent its new wallet. If this clears the wallet, return the agent and its former wallet."""
        if event.metadata_key != WALLET_KEY:
            return None
        former = self.wallets.pop(event.agent_id, None)
        if len(event.metadata_value) != _ADDRESS_BYTES:
            return event.agent_id, former
        wallet = self.wallets[event.agent_id] = checksummed("0x" + event.metadata_value.hex())
        self._disown(event.agent_id, former)
        self.primary_agents.setdefault(wallet, event.agent_id)
        return None

    def _disown(self, agent_id: int, account: str | None) -> None:
        """End an account's choice of a primary agent of which it is neither owner nor wallet any more."""
        entitled = self.owners.get(agent_id), self.wallets.get(agent_id)
        if account is not None and account not in entitled and self.primary_agents.get(account) == agent_id:
            del self.primary_agents[account]

"""The owners, wallets and primary agents, derived from the identity registry's events alone."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from bilateral.core.events import AgentRegistered, AgentUpdated, Event, MetadataSet, PrimaryAgentSet, Transfer
from bilateral.core.identifiers import checksummed

WALLET_KEY: Final = "agentWallet"
"""The metadata key under which the registry reports an agent's wallet."""

NOBODY: Final = "0x" + "00" * 20
ADDRESS_BYTES: Final = 20  # of an account of Ethereum: the last 20 bytes of its key's hash


class AgentStates:
    """Owners, wallets and primary agents, as an indexer that sees only events would derive them.

    Attributes:
        owners: The owner of each agent that has an owner.
        wallets: The wallet of each agent that has a wallet.
        primary_agents: The primary agent of each account that has set one, as returned by `agentOf`. Only registries
            with the agent directory of August 2025 have primary agents.
    """

    def __init__(self) -> None:
        self.owners: dict[int, str] = {}
        self.wallets: dict[int, str] = {}
        self.primary_agents: dict[str, int] = {}
        self._cleared: tuple[int, str | None] | None = None  # the agent whose wallet was just cleared, and that wallet

    def apply(self, events: Iterable[Event]) -> None:
        """Update the state with additional events."""
        for event in events:
            match event:
                case Transfer():
                    self.transfer(event.agent_id, event.from_address, event.to_address)
                case MetadataSet() if event.metadata_key == WALLET_KEY:
                    self.set_wallet(event.agent_id, event.metadata_value)
                case PrimaryAgentSet():
                    self.choose(event.account, event.agent_id)
                case AgentRegistered() | AgentUpdated():
                    self.name_address(event.agent_id, event.agent_address)
                case _:
                    self.settle()
        self.settle()

    def transfer(self, agent_id: int, from_address: str, to_address: str) -> None:
        """Set an agent's new owner and, if the agent was just registered, its wallet."""
        # A transfer clears the wallet just before it moves the token, and the wallet may be the receiver.
        cleared = self._cleared if self._cleared is not None and self._cleared[0] == agent_id else None
        if cleared is None:
            self.settle()
        previous = self.owners.pop(agent_id, None), self.wallets.get(agent_id)
        if to_address == NOBODY:
            self.wallets.pop(agent_id, None)
        else:
            self.owners[agent_id] = to_address
            if from_address == NOBODY:
                self.wallets[agent_id] = to_address
                self.primary_agents.setdefault(to_address, agent_id)
        for account in previous:
            self._disown(agent_id, account)
        self.settle()

    def set_wallet(self, agent_id: int, value: bytes) -> None:
        """Set or clear an agent's wallet. An agent without an owner gets no wallet."""
        self.settle()
        previous = self.wallets.pop(agent_id, None)
        if len(value) != ADDRESS_BYTES:
            self._cleared = agent_id, previous
            return
        if agent_id not in self.owners:
            return
        wallet = self.wallets[agent_id] = address_of_bytes(value)
        self._disown(agent_id, previous)
        self.primary_agents.setdefault(wallet, agent_id)

    def choose(self, account: str, agent_id: int) -> None:
        """Set an account's primary agent."""
        self.settle()
        self.primary_agents[account] = agent_id

    def name_address(self, agent_id: int, address: str) -> None:
        """Apply the address in an event from ERC-8004 of August 2025.

        In a registry with tokens, the address is the agent's owner or wallet. A registry without tokens emits no other
        ownership event, so a new address is a new owner.
        """
        self.settle()
        previous = self.owners.get(agent_id), self.wallets.get(agent_id)
        if address in (*previous, NOBODY):
            return
        self.owners[agent_id] = self.wallets[agent_id] = address
        self.primary_agents.setdefault(address, agent_id)
        for account in previous:
            self._disown(agent_id, account)

    def settle(self) -> None:
        """Clear a removed wallet's primary agent, unless the transfer made that wallet the owner of the agent."""
        if self._cleared is not None:
            cleared, self._cleared = self._cleared, None
            self._disown(*cleared)

    def _disown(self, agent_id: int, account: str | None) -> None:
        """Clear an account's primary agent if the account is no longer that agent's owner or wallet."""
        entitled = self.owners.get(agent_id), self.wallets.get(agent_id)
        if account is not None and account not in entitled and self.primary_agents.get(account) == agent_id:
            del self.primary_agents[account]


@lru_cache(maxsize=1 << 14)
def address_of_bytes(raw: bytes) -> str:
    """Return an address in checksum form."""
    return checksummed("0x" + raw.hex())

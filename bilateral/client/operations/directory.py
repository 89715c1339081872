"""The directory of agents: their domains, the primary agents of accounts, and proofs that agents exist."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.client.operations import registries, transactions
from bilateral.client.operations.agents import load
from bilateral.client.results import Agent, Registered
from bilateral.client.state import AgentLike, ClientState, Sent
from bilateral.core import events as registry_events
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import AgentCountRaised, AgentRegistered, AgentUpdated, Event, MetadataSet, PrimaryAgentSet
from bilateral.core.events.agents import WALLET_KEY
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.identifiers.caip import ZERO_ADDRESS
from bilateral.core.text import ChainText
from bilateral.node.steps import Operation

_WALLET_TOPIC: Final = "0x" + keccak(text=WALLET_KEY).hex()


@dataclass(frozen=True)
class DirectoryEntry:
    """An agent's entry in the directory (ERC-8004 of August 2025).

    Attributes:
        domain: The agent's domain as registered; empty if the agent has none.
        address: The agent's wallet, or the agent's owner if there is no wallet.
    """

    agent: AgentId
    domain: ChainText
    address: str


@dataclass(frozen=True)
class AgentProven:
    """The result of proving to the companion contract that an agent exists, so that rating batches can include it.

    Attributes:
        is_highest: True if no agent with a higher id had been proven earlier.
    """

    agent: AgentId
    is_highest: bool


@dataclass(frozen=True)
class PrimaryAgentChosen:
    """The result of choosing an account's primary agent."""

    account: str
    agent: AgentId


@dataclass(frozen=True)
class Rater:
    """The identity behind an address that gave feedback (best practices, "Agent-as-Rater").

    Attributes:
        agent: The address's primary agent; None if the address has none.
    """

    address: str
    agent: Agent | None

    @property
    def name(self) -> str | None:
        """The agent's name, which is untrusted text."""
        return self.agent.name if self.agent else None

    @property
    def image(self) -> str | None:
        """The URI of the agent's picture, which is untrusted text."""
        return self.agent.image if self.agent else None


def new_agent(state: ClientState, domain: str) -> Operation[Sent[Registered]]:
    """See `Client.new_agent`."""
    deployment = yield from registries.connect(state)
    owner = registries.require_address(state)

    def decode(events: Sequence[Event]) -> Registered:
        event = transactions.require_event(events, AgentRegistered, agent_address=owner)
        registered = transactions.require_event(events, registry_events.Registered, agent_id=event.agent_id)
        agent = AgentId(event.agent_id, deployment.chain_id)
        return Registered(agent, event.agent_address, registered.agent_uri, domain=event.agent_domain)

    return (yield from transactions.send(state, Registry.IDENTITY, "newAgent", (domain, owner), decode))


def update_agent(
    state: ClientState, agent_id: AgentLike, domain: str, address: str | None
) -> Operation[Sent[DirectoryEntry]]:
    """See `Client.update_agent`."""
    if not domain and address is None:
        raise InvalidArgumentError("pass a new domain, a new address, or both")
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    arguments = (agent.token_id, domain, checksummed(address) if address is not None else ZERO_ADDRESS)
    return (yield from transactions.send(state, Registry.IDENTITY, "updateAgent", arguments, _update_decoder(agent)))


def release_agent_domain(state: ClientState, agent_id: AgentLike) -> Operation[Sent[DirectoryEntry]]:
    """See `Client.release_agent_domain`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    arguments = (agent.token_id,)
    decoder = _update_decoder(agent)
    return (yield from transactions.send(state, Registry.IDENTITY, "releaseAgentDomain", arguments, decoder))


def resolve_by_domain(state: ClientState, domain: str) -> Operation[DirectoryEntry]:
    """See `Client.resolve_by_domain`."""
    return (yield from _resolve(state, Registry.IDENTITY, "resolveByDomain", domain))


def resolve_by_address(state: ClientState, address: str) -> Operation[DirectoryEntry]:
    """See `Client.resolve_by_address`."""
    registry = (yield from registries.connect(state)).directory_registry
    return (yield from _resolve(state, registry, "resolveByAddress", checksummed(address)))


def set_primary_agent(state: ClientState, agent_id: AgentLike) -> Operation[Sent[PrimaryAgentChosen]]:
    """See `Client.set_primary_agent`."""
    deployment = yield from registries.connect(state)
    agent = registries.agent_of(deployment, agent_id)

    def decode(events: Sequence[Event]) -> PrimaryAgentChosen:
        return PrimaryAgentChosen(
            transactions.require_event(events, PrimaryAgentSet, agent_id=agent.token_id).account, agent
        )

    function, registry = "setPrimaryAgent", deployment.directory_registry
    return (yield from transactions.send(state, registry, function, (agent.token_id,), decode))


def prove_agent(state: ClientState, agent_id: AgentLike) -> Operation[Sent[AgentProven]]:
    """See `Client.prove_agent`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)

    def decode(events: Sequence[Event]) -> AgentProven:
        return AgentProven(agent, is_highest=any(isinstance(event, AgentCountRaised) for event in events))

    function, arguments = "proveAgent", (agent.token_id,)
    return (yield from transactions.send(state, Registry.COMPANION, function, arguments, decode))


def _update_decoder(agent: AgentId) -> Callable[[Sequence[Event]], DirectoryEntry]:
    """Return a decoder that creates an entry from the agent's `AgentUpdated` event."""
    # An agent that loses its domain to this one also has an `AgentUpdated` event, which precedes this agent's.

    def decode(events: Sequence[Event]) -> DirectoryEntry:
        event = transactions.require_event(events, AgentUpdated, agent_id=agent.token_id)
        return DirectoryEntry(agent, event.agent_domain, event.agent_address)

    return decode


def _resolve(state: ClientState, registry: Registry, function: str, argument: Any) -> Operation[DirectoryEntry]:
    (value,) = yield from registries.call(state, registry, function, argument)
    deployment = yield from registries.connect(state)
    return DirectoryEntry(AgentId(value["agentId"], deployment.chain_id), value["agentDomain"], value["agentAddress"])


def resolve(state: ClientState, address: str, *, load_file: bool) -> Operation[Rater]:
    """See `Client.resolve_rater`."""
    rater = checksummed(address)
    deployment = yield from registries.connect(state)
    try:
        (primary,) = yield from registries.call(state, deployment.directory_registry, "agentOf", rater)
        agent_id = primary or None
        if agent_id is None and deployment.directory is not None:  # few accounts choose one in a companion
            agent_id = yield from _first_by_wallet(state, rater)
    except registries.NO_FUNCTION:  # a registry without a directory
        agent_id = yield from _first_by_wallet(state, rater)
    if agent_id is None:
        return Rater(rater, None)
    return Rater(rater, (yield from load(state, agent_id, load_file=load_file)))


def _first_by_wallet(state: ClientState, address: str) -> Operation[int | None]:
    """Search the logs for the first agent whose current wallet is the given address."""
    events = yield from registries.events(state, Registry.IDENTITY, MetadataSet, [None, _WALLET_TOPIC])
    wallet = bytes.fromhex(address[2:])
    for agent_id in dict.fromkeys(event.agent_id for event in events if event.metadata_value == wallet):
        (now,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", agent_id)
        if now == address:
            return agent_id
    return None

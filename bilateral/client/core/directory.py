"""The directory of agents (August 2025): domains, addresses, and the agent that an account speaks as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.client.core import chain, transactions
from bilateral.client.core.agents import ZERO
from bilateral.client.results import DirectoryEntry, PrimaryAgentChosen, Registered
from bilateral.contracts import Registry
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import AgentId, checksummed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation


def new_agent(session: Session, domain: str) -> Operation[Sent[Registered]]:
    """See `Client.new_agent`."""
    deployment = yield from chain.connect(session)
    owner = chain.require_address(session)

    def decode(logs: Sequence[Log]) -> Registered:
        registered = transactions.the(logs, "Registered")
        event = transactions.the(logs, "AgentRegistered")
        agent = AgentId(event["agentId"], deployment.chain_id)
        return Registered(agent, event["agentAddress"], registered["agentURI"], domain=event["agentDomain"])

    function = "newAgent(string,address)"
    return (yield from transactions.send(session, Registry.IDENTITY, function, (domain, owner), decode))


def update_agent(
    session: Session, agent_id: AgentLike, domain: str, address: str | None
) -> Operation[Sent[DirectoryEntry]]:
    """See `Client.update_agent`."""
    if not domain and address is None:
        raise InvalidArgumentError("name a new domain, a new address, or both")
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)

    def decode(logs: Sequence[Log]) -> DirectoryEntry:
        event = transactions.the(logs, "AgentUpdated")
        return DirectoryEntry(agent, event["agentDomain"], event["agentAddress"])

    function = "updateAgent(uint256,string,address)"
    arguments = (agent.token_id, domain, checksummed(address) if address is not None else ZERO)
    return (yield from transactions.send(session, Registry.IDENTITY, function, arguments, decode))


def resolve_by_domain(session: Session, domain: str) -> Operation[DirectoryEntry]:
    """See `Client.resolve_by_domain`."""
    return (yield from _resolve(session, "resolveByDomain(string)", domain))


def resolve_by_address(session: Session, address: str) -> Operation[DirectoryEntry]:
    """See `Client.resolve_by_address`."""
    return (yield from _resolve(session, "resolveByAddress(address)", checksummed(address)))


def set_primary_agent(session: Session, agent_id: AgentLike) -> Operation[Sent[PrimaryAgentChosen]]:
    """See `Client.set_primary_agent`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)

    def decode(logs: Sequence[Log]) -> PrimaryAgentChosen:
        return PrimaryAgentChosen(transactions.the(logs, "PrimaryAgentSet")["account"], agent)

    function = "setPrimaryAgent(uint256)"
    return (yield from transactions.send(session, Registry.IDENTITY, function, (agent.token_id,), decode))


def _resolve(session: Session, function: str, argument: Any) -> Operation[DirectoryEntry]:
    """Ask the directory for an agent."""
    (found,) = yield from chain.call(session, Registry.IDENTITY, function, argument)
    deployment = yield from chain.connect(session)
    return DirectoryEntry(AgentId(found["agentId"], deployment.chain_id), found["agentDomain"], found["agentAddress"])

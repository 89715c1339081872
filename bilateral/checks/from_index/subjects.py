"""The subjects of a check: agents and accounts in the forms in which callers write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from bilateral.checks.errors import UnknownAgentError, UnknownChainError, UnknownRegistryError
from bilateral.checks.from_index.agents import AgentHistory, agents_at, agents_of_accounts
from bilateral.checks.from_index.as_of_block import AsOfBlock, identity_registries, registries
from bilateral.checks.names import is_account, parse_agent
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed


@dataclass(frozen=True)
class Subject:
    """An agent as of a block."""

    as_of: AsOfBlock
    identity: str
    history: AgentHistory

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each registry of the agent's identity registry, by address."""
        return registries(self.as_of, self.identity)

    @property
    def name(self) -> str:
        """The agent as text: `8453:247`."""
        return f"{self.as_of.chain_id}:{self.history.agent_id}"


@dataclass(frozen=True)
class Asker:
    """The side that asks.

    Attributes:
        agent_id: Its agent; None without one.
        history: The agent as of the block.
    """

    agent_id: int | None
    accounts: frozenset[str]
    history: AgentHistory | None = None


def find_agent(agent: str | int | AgentId | GlobalAgentId, as_of_chain: Callable[[int | None], AsOfBlock]) -> Subject:
    """Return an agent as of a block."""
    reference = parse_agent(agent)
    as_of = as_of_chain(reference.chain_id)
    identity = _identities(as_of, reference.identity)[0]
    return Subject(as_of, identity, _existing(as_of, identity, agent, reference.agent_id))


def find_account(as_of: AsOfBlock, account: str) -> Subject | None:
    """Return the agent that an account acts as: the lowest id of which it is the wallet, else of which it is the owner.

    Accounts without an agent in any identity registry of the chain give None.
    """
    for identity in _identities(as_of, None):
        agents = agents_of_accounts(as_of, identity, [account])
        if agents:
            history = min(agents.values(), key=lambda agent: (agent.wallet != account, agent.agent_id))
            return Subject(as_of, identity, history)
    return None


def asker_of(as_of: AsOfBlock, identity: str, asker: str | int) -> Asker:
    """Return the side that asks: an account, or an agent of the registry."""
    if is_account(asker):
        account = checksummed(str(asker))
        agents = agents_of_accounts(as_of, identity, [account])
        agent_id = min(agents, default=None)
        return Asker(agent_id, frozenset({account}), None if agent_id is None else agents[agent_id])
    reference = parse_agent(asker)
    if reference.chain_id not in (None, as_of.chain_id) or reference.identity not in (None, identity):
        raise MalformedIdentifierError(
            f"an agent of chain {as_of.chain_id}", str(asker), f"its identity registry is not {identity}"
        )
    history = _existing(as_of, identity, asker, reference.agent_id)
    return Asker(reference.agent_id, history.holders, history)


def _existing(as_of: AsOfBlock, identity: str, agent: object, agent_id: int) -> AgentHistory:
    history = agents_at(as_of, identity, [agent_id]).get(agent_id)
    if history is None:
        raise UnknownAgentError(str(agent), as_of.block)
    return history


def _identities(as_of: AsOfBlock, identity: str | None) -> list[str]:
    """Return the identity registries to look in."""
    indexed = identity_registries(as_of)
    if not indexed:
        raise UnknownChainError(as_of.chain_id, [])
    if identity is not None and identity not in indexed:
        raise UnknownRegistryError(as_of.chain_id, identity, indexed)
    return indexed if identity is None else [identity]

"""The subjects of a check: agents and accounts in the forms in which callers name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilateral.checks.agents import AgentFacts, agents_at, agents_of_accounts
from bilateral.checks.as_of_block import identity_registries
from bilateral.checks.errors import UnknownAgentError, UnknownChainError, UnknownRegistryError
from bilateral.checks.names import named_agent
from bilateral.checks.raters import Asker
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import checksummed

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.core.identifiers import AgentId, GlobalAgentId

_ADDRESS_LENGTH = 42  # characters: 0x, and two digits for each of 20 bytes


@dataclass(frozen=True)
class Party:
    """An agent at a moment.

    Attributes:
        identity: Its identity registry.
        facts: The agent.
    """

    moment: Moment
    identity: str
    facts: AgentFacts

    @property
    def agent_id(self) -> int:
        """The id of the agent in its registry."""
        return self.facts.agent_id

    @property
    def name(self) -> str:
        """The agent as text: `8453:247`."""
        return f"{self.moment.chain_id}:{self.agent_id}"


def is_account(text: str | int | AgentId | GlobalAgentId) -> bool:
    """Return True if a text names an account, not an agent."""
    return isinstance(text, str) and len(text) == _ADDRESS_LENGTH and text[:2].lower() == "0x"


def find_agent(
    connection: Connection, agent: str | int | AgentId | GlobalAgentId, moment_for: Callable[[int | None], Moment]
) -> Party:
    """Return an agent at a moment.

    Args:
        agent: The agent, as a caller names it.
        moment_for: Returns the moment for a chain.

    Raises:
        UnknownAgentError: Its identity registry does not have it at the moment.
        UnknownChainError: The index has no identity registry of its chain.
        UnknownRegistryError: The index does not have the registry that the agent's id names.
        MalformedIdentifierError: The agent is malformed.
    """
    named = named_agent(agent)
    moment = moment_for(named.chain_id)
    identity = _identities(moment, named.identity)[0]
    facts = agents_at(connection, moment, identity, [named.agent_id]).get(named.agent_id)
    if facts is None:
        raise UnknownAgentError(str(agent), moment.block)
    return Party(moment, identity, facts)


def find_account(connection: Connection, moment: Moment, account: str) -> Party | None:
    """Return the agent that an account acts as: the lowest id of which it is the wallet, else of which it is the owner.

    Args:
        account: The account, in checksum form.

    Returns:
        The agent; None if the account has no agent in any identity registry of the chain.
    """
    for identity in _identities(moment, None):
        agents = agents_of_accounts(connection, moment, identity, [account])
        if agents:
            facts = min(agents.values(), key=lambda agent: (agent.wallet != account, agent.agent_id))
            return Party(moment, identity, facts)
    return None


def asker_of(connection: Connection, moment: Moment, identity: str, asker: str | int) -> Asker:
    """Return the side that asks.

    Args:
        identity: The identity registry.
        asker: An account or an agent of the registry.

    Raises:
        UnknownAgentError: It names an agent that does not exist at the moment.
        MalformedIdentifierError: It is malformed, or of another chain.
    """
    if isinstance(asker, str) and is_account(asker):
        account = checksummed(asker)
        known = agents_of_accounts(connection, moment, identity, [account])
        agent_id = min(known, default=None)
        return Asker(agent_id, frozenset({account}), None if agent_id is None else known[agent_id])
    named = named_agent(asker)
    if named.chain_id not in (None, moment.chain_id) or named.identity not in (None, identity):
        raise MalformedIdentifierError(
            f"an agent of chain {moment.chain_id}", str(asker), f"its identity registry is not {identity}"
        )
    facts = agents_at(connection, moment, identity, [named.agent_id]).get(named.agent_id)
    if facts is None:
        raise UnknownAgentError(str(asker), moment.block)
    return Asker(named.agent_id, facts.holders, facts)


def _identities(moment: Moment, named: str | None) -> list[str]:
    """Return the identity registries to look in."""
    known = identity_registries(moment)
    if not known:
        raise UnknownChainError(moment.chain_id, [])
    if named is not None and named not in known:
        raise UnknownRegistryError(moment.chain_id, named, known)
    return known if named is None else [named]

"""An account: the agents that it owns, is paid for, or speaks as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select, union

from bilateral.core.identifiers import global_agent_id
from bilateral.index.agents import tables as agent_tables

MAX_AGENTS: Final = 200
"""The largest number of agents of an account in one answer."""


@dataclass(frozen=True, slots=True)
class AccountAgent:
    """An agent of an account.

    Attributes:
        id: The agent's short id.
        global_id: Its id among all registries.
        is_owner: True if the account owns it.
        is_wallet: True if the account receives its payments.
        is_primary: True if the account speaks as it.
    """

    id: str
    global_id: str
    is_owner: bool
    is_wallet: bool
    is_primary: bool


@dataclass(frozen=True, slots=True)
class Account:
    """An account and its agents.

    Attributes:
        address: The account.
        agents: Its agents, by chain, registry and id: the first 200.
        has_more: True if there are more. A search by owner or wallet lists all of them by pages.
    """

    address: str
    agents: tuple[AccountAgent, ...]
    has_more: bool


def account(connection: Connection, address: str, chain_ids: tuple[int, ...]) -> Account:
    """Return an account.

    Args:
        address: The account, in checksum form.
        chain_ids: The chains to look at.
    """
    agent, primary = agent_tables.agent.c, agent_tables.primary_agent.c
    columns = (agent.chain_id, agent.identity_registry, agent.agent_id)
    on_chains = agent.chain_id.in_(chain_ids)
    speaks = (primary.chain_id, primary.identity_registry, primary.agent_id)
    related = union(
        select(*columns).where(on_chains, agent.owner == address),
        select(*columns).where(on_chains, agent.wallet == address),
        select(*speaks).where(primary.chain_id.in_(chain_ids), primary.account == address),
    ).subquery()
    join = related.join(
        agent_tables.agent,
        (agent.chain_id == related.c.chain_id)
        & (agent.identity_registry == related.c.identity_registry)
        & (agent.agent_id == related.c.agent_id),
    ).outerjoin(
        agent_tables.primary_agent,
        (primary.chain_id == related.c.chain_id)
        & (primary.identity_registry == related.c.identity_registry)
        & (primary.account == address)
        & (primary.agent_id == related.c.agent_id),
    )
    rows = connection.execute(
        select(*columns, agent.owner, agent.wallet, primary.account)
        .select_from(join)
        .order_by(*columns)
        .limit(MAX_AGENTS + 1)
    ).all()
    return Account(address, tuple(_agent(address, *row) for row in rows[:MAX_AGENTS]), len(rows) > MAX_AGENTS)


def _agent(address: str, chain_id: int, registry: str, agent_id: int, *roles: Any) -> AccountAgent:
    """Return a row as an account's agent."""
    names = (f"{chain_id}:{agent_id}", global_agent_id(chain_id, registry, agent_id))
    owner, wallet, primary = (role == address for role in roles)
    return AccountAgent(*names, owner, wallet, primary)

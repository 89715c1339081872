"""The conditions of a search on agents and their registration files as SQL. They are made once for each search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import ge, le
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.types import String

from bilateral.core.contracts import Registry
from bilateral.index.agents.tables import agent, agent_activity, agent_metadata
from bilateral.index.files import tables as files
from bilateral.index.files.tables import IS_LOADED, IS_READ, State, agent_file
from bilateral.index.log.tables import registry
from bilateral.index.log.unindexed import unindexed
from bilateral.index.ratings.tables import summary
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.tables import registration_vector, registration_words

MOST_CLAIMS: Final = 1_000
"""The claims of files from hosts up to which a search for verified domains begins with them. More such files mean that
domains are in use, so a walk down all agents soon finds a page of them."""

_CONTENTS: Final = sa.select(files.file.c.content_hash).where(files.IS_FROM_HOST).subquery()
_CLAIMS: Final = (
    sa.select(files.registration_claim.c.agent_registry, files.registration_claim.c.agent_id)
    .join(_CONTENTS, _CONTENTS.c.content_hash == files.registration_claim.c.content_hash)
    .limit(MOST_CLAIMS + 1)
)


def claimed_agents(connection: sa.Connection) -> Sequence[tuple[int, str, int]] | None:
    """Return the agents that files from hosts name: all whose domain is verified, and others. None if they are many."""
    rows = connection.execute(_CLAIMS).all()
    if len(rows) > MOST_CLAIMS:
        return None
    # Claims are the words of strangers: other names of registries fit no agent.
    claims = [(registry.split(":"), agent_id) for registry, agent_id in rows if agent_id is not None]
    return [
        (int(parts[1]), parts[2], int(agent_id))
        for parts, agent_id in claims
        if len(parts) == len(("eip155", "chain", "identity")) and parts[1].isdecimal() and int(parts[1]) < 2**63
    ]


def has_verified_domain() -> sa.ColumnElement[bool]:
    """Return the condition that a domain of an agent's services names the agent.

    The domain says so by the file at its well-known path, or because the registration file itself is from there.
    """
    current, own, served = agent_file.c, files.file.alias("own_file"), files.file.alias("domain_file")
    domain, claim = files.registration_domain.c, files.registration_claim.alias("domain_claim").c
    registry = sa.literal("eip155:") + sa.cast(agent.c.chain_id, String) + ":" + agent.c.identity_registry
    says_so = sa.or_(
        sa.and_(served.c.file_id == domain.file_id, served.c.state == State.LOADED),
        # ERC-8004: then the domain's own file is not needed
        sa.and_(served.c.file_id == own.c.file_id, own.c.host == domain.host, own.c.uri.startswith("https://")),
    )
    return (
        sa.select(sa.literal(1))
        .where(
            *(current[name] == agent.c[name] for name in ("chain_id", "identity_registry", "agent_id")),
            own.c.file_id == current.file_id,
            own.c.state == State.LOADED,
            domain.content_hash == own.c.content_hash,
            says_so,
            claim.content_hash == served.c.content_hash,
            claim.agent_registry == registry,
            claim.agent_id == agent.c.agent_id,
        )
        .correlate(agent)
        # PostgreSQL would hash the domains of all agents first, which takes seconds. With this it looks each agent up.
        .offset(0)
        .exists()
    )


KEY: Final = ("chain_id", "identity_registry", "agent_id")
"""The columns of the key of an agent."""

WITH_FILES: Final = (
    agent.outerjoin(agent_file, sa.and_(*(agent_file.c[name] == agent.c[name] for name in KEY)))
    .outerjoin(files.file, IS_LOADED)
    .outerjoin(files.registration_file, IS_READ)
)
"""Agents, with their loaded registration files."""

TIMES: Final = {
    Order.UPDATED: agent.c.updated_at,
    Order.REGISTERED: agent.c.registered_at,
    Order.LAST_ACTIVE: agent_activity.c.last_activity,
}
"""The times by which an order ranks."""

RATED_IN: Final = (Registry.REPUTATION, Registry.BIDIRECTIONAL, Registry.AUTHORIZED)
"""The kinds of registries that have summaries. An agent is looked up in each of them."""

_JOINED: Final = 4
"""The conditions of one filter that PostgreSQL may turn into joins."""


def tables_of(search: AgentSearch, *, has_words: bool, closest: sa.Subquery | None = None) -> sa.FromClause:
    """Return the tables of agents and, if a search reads them, of their files."""
    tables: sa.FromClause = agent
    if search.ranking is Order.LAST_ACTIVE:
        tables = agent.join(agent_activity, _is_of_agent(agent_activity.c))
    content = files.file.c.content_hash
    reads = search.active is not None or search.x402 is not None
    if has_words or search.capabilities or search.services or reads or closest is not None:
        is_loaded = sa.and_(files.file.c.file_id == agent_file.c.file_id, unindexed(files.file.c.state) == State.LOADED)
        tables = tables.join(agent_file, _is_of_agent(agent_file.c)).join(files.file, is_loaded)
    if has_words:
        tables = tables.join(registration_words, registration_words.c.content_hash == content)
    if closest is not None:
        vector = registration_vector.c
        tables = tables.join(registration_vector, vector.content_hash == content)
        tables = tables.join(closest, closest.c.vector_id == vector.vector_id)
    if reads:
        tables = tables.join(files.registration_file, files.registration_file.c.content_hash == content)
    return tables


def conditions_of(search: AgentSearch) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a search on agents and files, but for words and gates."""
    return [*_on_agent(search), *_on_file(search)]


def _is_of_agent(columns: Any) -> sa.ColumnElement[bool]:
    return sa.and_(*(columns[name] == agent.c[name] for name in KEY))


def _on_agent(search: AgentSearch) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions on the agent's state on chain."""
    columns = agent.c
    for name in ("registered", "updated"):
        for compare, limit in ((ge, getattr(search, f"{name}_from")), (le, getattr(search, f"{name}_to"))):
            if limit is not None:
                yield compare(columns[f"{name}_at"], limit)
    for name in ("owner", "wallet"):
        if getattr(search, name) is not None:
            yield columns[name] == getattr(search, name)
    yield from _all_of(sa.exists().where(*_has_entry(*pair)).correlate(agent) for pair in search.metadata)
    if search.rated is not None:
        yield _is_rated() if search.rated else ~_is_rated()
    if search.verified_domain is not None:
        yield has_verified_domain() if search.verified_domain else ~has_verified_domain()


def _on_file(search: AgentSearch) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions on the agent's registration file, without its words."""
    content, read = files.file.c.content_hash, files.registration_file.c
    for requested, column in ((search.active, read.active), (search.x402, read.x402_support)):
        if requested is not None:
            yield column.is_(requested)
    capability, service = files.registration_capability.c, files.registration_service.c
    offered = [sa.and_(capability.kind == kind.value, capability.value == value) for kind, value in search.capabilities]
    kinds = [sa.func.lower(service.name) == name.lower() for name in search.services]
    for entry, conditions in ((capability, offered), (service, kinds)):
        of_file = (sa.exists().where(entry.content_hash == content, condition) for condition in conditions)
        yield from _all_of(is_listed.correlate(files.file) for is_listed in of_file)


def _has_entry(key: str, value: bytes | None) -> list[sa.ColumnElement[bool]]:
    entry = agent_metadata.c
    conditions = [*(entry[name] == agent.c[name] for name in KEY), entry.metadata_key == key]
    return conditions if value is None else [*conditions, entry.metadata_value == value]


def _all_of(conditions: Iterable[sa.ColumnElement[bool]]) -> Iterator[sa.ColumnElement[bool]]:
    """Yield conditions of which PostgreSQL joins only the first ones: to plan many joins would take seconds."""
    for number, condition in enumerate(conditions):
        yield condition if number < _JOINED else condition.is_(True)


def _is_rated() -> sa.ColumnElement[bool]:
    return (
        sa.exists()
        .where(
            summary.c.chain_id == agent.c.chain_id,
            registry.c.chain_id == agent.c.chain_id,
            registry.c.identity_registry == agent.c.identity_registry,
            registry.c.kind.in_(RATED_IN),
            summary.c.registry == unindexed(registry.c.address),
            summary.c.agent_id == agent.c.agent_id,
            summary.c.side == "server",
        )
        .correlate(agent)
    )

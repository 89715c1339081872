"""Verified domains as SQL: a domain names the agent whose registration file has a service at it (ERC-8004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, cast, literal, or_, select
from sqlalchemy.types import String

from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.files.tables import State, agent_file

MOST_CLAIMS: Final = 1_000
"""The claims of files from hosts up to which a search for verified domains begins with them. More such files mean that
domains are in use, so a walk down all agents soon finds a page of them."""

_CONTENTS: Final = select(files.file.c.content_hash).where(files.IS_FROM_HOST).subquery()
_CLAIMS: Final = (
    select(files.registration_claim.c.agent_registry, files.registration_claim.c.agent_id)
    .join(_CONTENTS, _CONTENTS.c.content_hash == files.registration_claim.c.content_hash)
    .limit(MOST_CLAIMS + 1)
)


def claimed_agents(connection: Connection) -> Sequence[tuple[int, str, int]] | None:
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


def is_named_by_domain() -> ColumnElement[bool]:
    """Return the condition that a domain of an agent's services names the agent.

    The domain says so by the file at its well-known path, or because the registration file itself is from there.
    """
    current, own, served = agent_file.c, files.file.alias("own_file"), files.file.alias("domain_file")
    named, claim = files.registration_domain.c, files.registration_claim.alias("domain_claim").c
    registry = literal("eip155:") + cast(agent.c.chain_id, String) + ":" + agent.c.identity_registry
    says_so = or_(
        and_(served.c.file_id == named.file_id, served.c.state == State.LOADED),
        # ERC-8004: then the domain's own file is not needed
        and_(served.c.file_id == own.c.file_id, own.c.host == named.host, own.c.uri.startswith("https://")),
    )
    return (
        select(literal(1))
        .where(
            *(current[name] == agent.c[name] for name in ("chain_id", "identity_registry", "agent_id")),
            own.c.file_id == current.file_id,
            own.c.state == State.LOADED,
            named.content_hash == own.c.content_hash,
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

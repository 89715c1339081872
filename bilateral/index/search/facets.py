"""Facets of a search: in what the first agents that it finds differ, with counts, for the next condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, func, select

from bilateral.core.values import STANDARD_TAGS
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.tables import READ_FILES, agent_file
from bilateral.index.log import tables as schema
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.search.conditions import has_verified_domain

LOOKED_AT: Final = 50
"""The agents of which facets are counted: counting all that 100,000 agents may be would take seconds."""

_SHOWN: Final = 6
"""The values of a facet, those of the most agents."""

_MOST_SERVICES: Final = 1_000
"""The services of these agents that are read: a file may have any number."""

AgentPlace = tuple[int, str, int]
"""An agent: chain, identity registry and id."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A property by which agents of a search differ.

    Attributes:
        name: `chain`, `service`, `tag`, `x402` or `verified_domain`: the condition of a search.
        values: Its values with the number of agents, the most frequent first. Those of `service` are the words of
            strangers.
    """

    name: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of a search.

    Attributes:
        agents: The agents that were counted: the first 50.
        has_more: True if the search finds more.
        facets: The facets that have a value.
    """

    agents: int
    has_more: bool
    facets: tuple[Facet, ...]


def count_facets(connection: Connection, agents: Sequence[AgentPlace], side: str, *, has_more: bool) -> Facets:
    """Count the facets of some agents."""
    counts: dict[str, Counter[str]] = {"chain": Counter(str(chain_id) for chain_id, *_ in agents)}
    if agents:
        contents, takes_x402 = _files(connection, agents)
        counts["service"] = _services(connection, contents)
        counts["tag"] = _tags(connection, agents, side)
        counts["x402"] = Counter({"yes": takes_x402})
        counts["verified_domain"] = Counter({"yes": len(_rows(connection, _VERIFIED, agents))})
    facets = (
        Facet(name, tuple(sorted(values.items(), key=lambda value: (-value[1], value[0]))[:_SHOWN]))
        for name, values in ((name, +values) for name, values in counts.items())
        if values
    )
    return Facets(len(agents), has_more, tuple(facets))


def _listed(columns: Any, *names: str) -> list[ColumnElement[bool]]:
    """Return the conditions that columns have one of the values of the parameters of their names."""
    return [columns[name].in_(bindparam(name, expanding=True)) for name in names]


_KEY: Final = ("chain_id", "identity_registry", "agent_id")

# Statements are made once: to make them anew takes as long as to run them.
_FILES: Final = (
    select(
        *(agent_file.c[name] for name in _KEY),
        *(files.registration_file.c[name] for name in ("content_hash", "x402_support")),
    )
    .select_from(READ_FILES)
    .where(*_listed(agent_file.c, *_KEY))
)
_SERVICES: Final = (
    select(files.registration_service.c.content_hash, func.lower(files.registration_service.c.name))
    .where(*_listed(files.registration_service.c, "content_hash"))
    .distinct()
    .limit(_MOST_SERVICES)
)
_RATED: Final = (
    select(
        rating_tables.summary.c.chain_id,
        schema.registry.c.identity_registry,
        rating_tables.summary.c.agent_id,
        rating_tables.summary.c.tag,
    )
    .where(
        schema.registry.c.chain_id == rating_tables.summary.c.chain_id,
        schema.registry.c.address == rating_tables.summary.c.registry,
        rating_tables.summary.c.side == bindparam("side"),
        rating_tables.summary.c.tag.in_(tuple(STANDARD_TAGS)),  # strangers may rate an agent under any number of others
        *_listed(rating_tables.summary.c, "chain_id", "registry", "agent_id"),
    )
    .distinct()
)
_REGISTRIES: Final = select(schema.registry.c.address).where(
    *_listed(schema.registry.c, "chain_id", "identity_registry")
)
_VERIFIED: Final = select(*(agent_tables.agent.c[name] for name in _KEY)).where(
    *_listed(agent_tables.agent.c, *_KEY), has_verified_domain()
)


def _rows(
    connection: Connection, statement: Select[Any], agents: Sequence[AgentPlace], **values: Any
) -> list[Row[Any]]:
    """Return the rows of a statement that are about some agents: lists of keys also fit a few others."""
    listed = {name: sorted(set(column)) for name, column in zip(_KEY, zip(*agents, strict=True), strict=True)}
    requested = set(agents)
    rows = connection.execute(statement, listed | values)
    return [row for row in rows if (row[0], row[1], int(row[2])) in requested]


def _files(connection: Connection, agents: Sequence[AgentPlace]) -> tuple[Counter[bytes], int]:
    """Return the contents of the agents' files with the number of agents, and the number of agents that take x402."""
    rows = _rows(connection, _FILES, agents)
    return Counter(bytes(row.content_hash) for row in rows), sum(row.x402_support is True for row in rows)


def _services(connection: Connection, contents: Counter[bytes]) -> Counter[str]:
    """Return the number of agents with each kind of service, in any case of letters."""
    counts: Counter[str] = Counter()
    for content, name in connection.execute(_SERVICES, {"content_hash": sorted(contents)}):
        counts[name] += contents[bytes(content)]
    return counts


def _tags(connection: Connection, agents: Sequence[AgentPlace], side: str) -> Counter[str]:
    """Return the number of agents that are rated under each standard tag."""
    chains, identities = ({agent[place] for agent in agents} for place in (0, 1))
    listed = {"chain_id": sorted(chains), "identity_registry": sorted(identities)}
    registries = sorted(set(connection.execute(_REGISTRIES, listed).scalars()))
    return Counter(row.tag for row in _rows(connection, _RATED, agents, registry=registries, side=side))

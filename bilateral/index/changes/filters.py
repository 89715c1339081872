"""Filters of the change feed, from texts."""

from __future__ import annotations

from collections.abc import Iterable

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import quoted
from bilateral.index.changes.queries import FeedFilter
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.reading.registries import Registries, agent_key


def parse_filter(
    registries: Registries,
    agents: Iterable[str] = (),
    accounts: Iterable[str] = (),
    tags: Iterable[str] = (),
    kinds: Iterable[str] = (),
) -> FeedFilter:
    """Return the filter of changes that texts describe.

    Args:
        registries: The indexed registries.
        agents: Ids of agents with their chains.
        accounts: Addresses.
        tags: Tags, exactly.
        kinds: Kinds of changes.

    Raises:
        InvalidArgumentError: A kind is unknown.
        MalformedIdentifierError: An id or an address is malformed.
        NotIndexedError: The index has no such chain or registry.
    """
    kinds = tuple(kinds)
    for kind in kinds:
        if kind not in list(ChangeKind):
            raise InvalidArgumentError(f"kind {quoted(kind)} is unknown: choose {', '.join(ChangeKind)}")
    return FeedFilter(
        tuple(agent_key(registries, text) for text in agents),
        tuple(checksummed(text) for text in accounts),
        tuple(tags),
        tuple(map(ChangeKind, kinds)),
    )

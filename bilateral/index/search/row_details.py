"""The words and figures beside each agent of a search: why it matched, its services, ratings and last price."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection, func, select

from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.feedback import PAID_TAGS
from bilateral.index.files import tables as files
from bilateral.index.files.tables import READ_FILES, agent_file
from bilateral.index.payments.tables import payment
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.queries import RatingSummary
from bilateral.index.reading.registries import Registries
from bilateral.index.search.queries import FoundAgent
from bilateral.index.search.words import words_of

_READ: Final = 2_000
"""The characters of a description in which words are looked for."""

_BEFORE: Final = 50  # characters around a match: two lines of a card
_AFTER: Final = 90  # longer than the text before it: the words after a match explain it better
_SERVICES: Final = 4  # as many fit into a row
_MOST: Final = 1_000
"""The services and capabilities of a page of agents that are read."""

_MICROS: Final = 1_000_000  # millionths of a dollar
_PAYMENTS: Final = 100
"""The newest payments to an account that are looked at: it may be the wallet of other agents, too."""

_TAGS: Final = ("", *PAID_TAGS, *(tag for tag in STANDARD_TAGS if scale_of_tag(tag) is not None))
"""The tags whose ratings are shown. Strangers may rate an agent under any number of others."""

_TOKEN: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """The place in a registration file that a word of a search matched. All texts are the word of a stranger.

    Attributes:
        place: `description`, `service`, or the kind of a capability, such as `mcp_tool`.
        before: The text before the word.
        after: The text behind it.
    """

    place: str
    before: str
    word: str
    after: str


@dataclass(frozen=True, slots=True)
class RowDetails:
    """The words and figures beside an agent of a search.

    Attributes:
        rating: Its summary with the most raters, of a tag with a scale; None without one.
        services: The first kinds of its services; the word of a stranger.
        last_paid: The dollars of the newest payment to it; None if the index knows none.
        snippet: The place that a word of the search matched; None if only the name did, or nothing.
    """

    rating: RatingSummary | None
    services: tuple[str, ...]
    last_paid: Decimal | None
    snippet: Snippet | None


def row_details(
    connection: Connection, registries: Registries, agents: Sequence[FoundAgent], text: str | None, side: str
) -> dict[str, RowDetails]:
    """Return the words and figures beside agents of a search, by their short ids."""
    if not agents:
        return {}
    contents, descriptions = _files(connection, agents)
    services = _listed(connection, files.registration_service, ("name",), contents.values())
    requested = tuple(words_of([text]))
    capabilities = (
        _listed(connection, files.registration_capability, ("kind", "value"), contents.values()) if requested else {}
    )
    ratings = _ratings(connection, registries, agents, side)
    details = {}
    for agent in agents:
        content = contents.get(agent.id)
        names = [name for (name,) in services.get(content, ())]
        entries = [("service", name) for name in names] + list(capabilities.get(content, ()))
        details[agent.id] = RowDetails(
            ratings.get(agent.id),
            tuple(dict.fromkeys(names))[:_SERVICES],
            _last_paid(connection, agent) if agent.x402_support else None,
            _snippet(requested, descriptions.get(agent.id), entries),
        )
    return details


def _files(connection: Connection, agents: Sequence[FoundAgent]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the hash of each agent's file, and its description."""
    current, file, read = agent_file.c, files.file, files.registration_file
    existing = {(agent.chain_id, agent.identity_registry, int(agent.agent_id)): agent.id for agent in agents}
    chains, identities, ids = (sorted(set(column)) for column in zip(*existing, strict=True))
    query = select(
        *(current.chain_id, current.identity_registry, current.agent_id, file.c.content_hash),
        func.substr(read.c.description, 1, _READ),
    ).select_from(READ_FILES)
    query = query.where(
        current.chain_id.in_(chains), current.identity_registry.in_(identities), current.agent_id.in_(ids)
    )
    contents, descriptions = {}, {}
    for chain_id, identity, agent_id, content, description in connection.execute(query):
        if id_ := existing.get((chain_id, identity, int(agent_id))):
            contents[id_], descriptions[id_] = bytes(content), description or ""
    return contents, descriptions


def _listed(
    connection: Connection, table: Any, names: tuple[str, ...], contents: Iterable[bytes]
) -> dict[bytes | None, list[Any]]:
    """Return entries of files by the hash of the file."""
    query = select(table.c.content_hash, *(table.c[name] for name in names)).where(
        table.c.content_hash.in_(sorted(set(contents)))
    )
    listed: dict[bytes | None, list[Any]] = {}
    for content, *entry in connection.execute(query.order_by(table.c.content_hash, table.c.position).limit(_MOST)):
        listed.setdefault(bytes(content), []).append(tuple(entry))
    return listed


def _ratings(
    connection: Connection, registries: Registries, agents: Sequence[FoundAgent], side: str
) -> dict[str, RatingSummary]:
    """Return the summary with the most raters of each agent, among those of a tag with a scale."""
    keys = {agent.id: registries.key(agent.chain_id, int(agent.agent_id), agent.identity_registry) for agent in agents}
    of_registry = {
        (key.chain_id, address, key.agent_id): id_ for id_, key in keys.items() for address in key.registries
    }
    if not of_registry:
        return {}
    columns = rating_tables.summary.c
    chains, addresses, ids = (sorted(set(column)) for column in zip(*of_registry, strict=True))
    query = select(
        *(columns.chain_id, columns.registry, columns.agent_id, columns.tag, columns["count"]),
        *(columns.counterparts, columns.mean, columns.lower_bound),
    ).where(
        *(columns.chain_id.in_(chains), columns.registry.in_(addresses), columns.agent_id.in_(ids)),
        *(columns.side == side, columns.tag.in_(_TAGS)),
    )
    best: dict[str, RatingSummary] = {}
    for chain_id, registry, agent_id, tag, count, counterparts, mean, bound in connection.execute(query):
        id_ = of_registry.get((chain_id, registry, int(agent_id)))
        if id_ is not None and (id_ not in best or (counterparts, count) > (best[id_].counterparts, best[id_].count)):
            best[id_] = RatingSummary(
                registry=registry, side=side, tag=tag, count=count, counterparts=counterparts, mean=mean,
                lower_bound=bound,
            )  # fmt: skip
    return best


def _last_paid(connection: Connection, agent: FoundAgent) -> Decimal | None:
    """Return the dollars of the newest payment to an agent."""
    columns = payment.c
    newest = (
        select(columns.micros, columns.identity_registry, columns.agent_id, columns.kinship)
        .where(columns.chain_id == agent.chain_id, columns.payee == (agent.wallet or agent.owner))
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(_PAYMENTS)
    )
    for micros, identity, agent_id, kinship in connection.execute(newest):
        if (identity, int(agent_id), kinship) == (agent.identity_registry, int(agent.agent_id), None):
            return Decimal(micros) / _MICROS
    return None


def _snippet(wanted: Sequence[str], description: str | None, entries: Iterable[tuple[str, str]]) -> Snippet | None:
    """Return the first place that a word of a search matched: in the description, else in a service or capability."""
    if not wanted:
        return None
    for place, text in (("description", description or ""), *entries):
        for token in _TOKEN.finditer(text[:_READ]):
            if any(word.startswith(tuple(wanted)) for word in words_of([token[0]])):
                first, last = max(0, token.start() - _BEFORE), token.end() + _AFTER
                before = ("…" if first else "") + text[first : token.start()]
                after = text[token.end() : last] + ("…" if len(text) > last else "")
                return Snippet(place, before, token[0], after)
    return None

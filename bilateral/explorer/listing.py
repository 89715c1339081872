"""The page that lists an agent's ratings: all entries behind a figure. Each state of the page has its own path."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import Connection

from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.text import quoted
from bilateral.core.values.summaries import Blind
from bilateral.explorer.records import Evidence, evidence_of, progress_of
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.profiles.queries import Agent
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_feedback_of
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_of
from bilateral.index.ratings.queries import Direction, RatedSide, Rating, RatingSummary, ratings_of
from bilateral.index.reading.registries import AgentKey, Registries
from bilateral.index.search.feedback import counted_feedback, speakers
from bilateral.index.search.filters import Payment, address, require_short, storable
from bilateral.index.standing.queries import Doubt, doubts_of

FIELDS: Final = ("side", "tag", "client", "reviewer", "payment", "blind", "registry", "cursor")
"""The path's parameters, in order."""

GATE_FILTERS: Final = ("payment", "blind")
"""The parameters that search gates (rating conditions) share with this page."""

SIDES: Final = ("server", "authorized", "client", "validator", "given")
"""The kinds of ratings: feedback, authorised feedback, ratings as a client or validator, and ratings given."""

_FILTERS: Final = {
    "tag": ("server", "authorized"),
    "client": ("server", "authorized"),
    "reviewer": ("server", "authorized", "client", "validator"),
    "payment": ("server",),
    "blind": ("server", "client", "given"),
}
"""The kinds of ratings to which each filter applies."""

_ROWS: Final = 50  # rows per page; the ratings file contains all of them
_AT_ONCE: Final = 1_000  # rows per query for a ratings file: a thousand queries for a million


@dataclass(frozen=True, slots=True)
class RatingsPage:
    """The page's content. Only one of the lists has entries.

    Attributes:
        fields: The path's parameters: side, tag, client, reviewer, payment, blind, registry and cursor.
        side: The kind of ratings, one of `SIDES`.
        summaries: The summaries of these ratings.
        feedback: The feedback, newest first, including revoked entries.
        evidence: The payment proof and main response for each feedback entry, by the entry's page path.
        authorized: The feedback that the agent's owner authorised.
        ratings: The ratings by servers.
        next: The next page's path; None if this is the last page.
        names: The names of agents on the page, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
    """

    agent: Agent
    fields: dict[str, str]
    side: str
    summaries: tuple[RatingSummary, ...]
    feedback: tuple[Feedback, ...]
    evidence: dict[str, Evidence]
    authorized: tuple[AuthorizedFeedback, ...]
    ratings: tuple[Rating, ...]
    next: str | None
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class _Selection:
    """The ratings that a path requests.

    Attributes:
        key: The agent, with the registries that count.
        side: The kind of ratings.
        tag: The tag; None for any.
        client: The account that gave the ratings; None for any.
        reviewers: The accounts or server ids that gave the ratings; None for any.
        payment: The proof of payment; None for any.
        blind: `only` for ratings sealed first; None for all.
        cursor: The position in the list.
    """

    key: AgentKey
    side: str
    tag: str | None
    client: str | None
    reviewers: tuple[str, ...] | None
    payment: Payment | None
    blind: Blind | None
    cursor: str | None


def ratings_page(
    connection: Connection, registries: Registries, key: AgentKey, path: str, parameters: Mapping[str, str]
) -> RatingsPage | None:
    """Read the content of a page with an agent's ratings."""
    agent = read_agent(connection, key)
    if agent is None:
        return None
    fields = _fields(parameters)
    owned = authorizing(registries, key)
    request = _selection(connection, registries, key, agent, fields)
    feedback, authorized, ratings, following = _rows(connection, request)
    ids = {rating.server for rating in ratings} | {rating.agent for rating in ratings}
    rated_side = "server" if request.side == "authorized" else request.side
    return RatingsPage(
        agent=agent,
        fields=fields,
        side=request.side,
        summaries=tuple(
            rating
            for rating in agent.ratings
            if rating.side == rated_side
            and request.tag in (None, rating.tag)
            and rating.registry in request.key.registries
            and (rated_side != "server" or (rating.registry in owned) == (request.side == "authorized"))
        ),
        feedback=feedback,
        evidence=evidence_of(connection, registries, feedback),
        authorized=authorized,
        ratings=ratings,
        next=None if following is None else f"{path}?{urlencode({**fields, 'cursor': following})}",
        names=names_of(connection, registries, ids),
        doubts=doubts_of(connection, registries, {key.id, *ids}),
        progress=progress_of(connection, key.chain_id),
    )


def rating_rows(
    connection: Connection, registries: Registries, key: AgentKey, parameters: Mapping[str, str]
) -> tuple[type[Any], tuple[Any, ...], str | None] | None:
    """Read up to 1,000 of the ratings that a path requests, for a file that contains all of them."""
    agent = read_agent(connection, key)
    if agent is None:
        return None
    request = _selection(connection, registries, key, agent, _fields(parameters))
    feedback, authorized, ratings, following = _rows(connection, request, _AT_ONCE)
    kind = {"server": Feedback, "authorized": AuthorizedFeedback}.get(request.side, Rating)
    return kind, (*feedback, *authorized, *ratings), following


def _fields(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters that are set in a path. A tag may be empty."""
    return {name: value for name in FIELDS if (value := parameters.get(name)) is not None and (value or name == "tag")}


def authorizing(registries: Registries, key: AgentKey) -> tuple[str, ...]:
    """Return the registries in which an agent's owner authorises feedback."""
    return tuple(
        registry.address
        for registry in registries.by_chain.get(key.chain_id, ())
        if registry.kind == Registry.AUTHORIZED and registry.address in key.registries
    )


def _selection(
    connection: Connection, registries: Registries, key: AgentKey, agent: Agent, fields: Mapping[str, str]
) -> _Selection:
    side = fields.get("side", SIDES[0])
    if side not in SIDES:
        raise InvalidArgumentError(f"side {quoted(side)} is not one of {', '.join(SIDES)}")
    tag = storable(fields["tag"]) if "tag" in fields else None
    if "registry" in fields:
        registry = checksummed(fields["registry"])
        if registry not in key.registries:
            raise InvalidArgumentError(f"registry {registry} contains no ratings for agent {key.id}")
        key = replace(key, registries=(registry,))
    of_tag = {rating.registry for rating in agent.ratings if (rating.side, rating.tag) == (SIDES[0], tag)} & set(
        key.registries
    )
    if side == SIDES[0] and (of_tag or set(key.registries)) <= set(authorizing(registries, key)):
        side = "authorized"  # this registry or tag only has authorised feedback
    for name, sides in _FILTERS.items():
        if name in fields and side not in sides:
            raise InvalidArgumentError(f"{name} does not apply to side {side}: omit it, or use side {sides[0]}")
    payment = fields.get("payment")
    if payment not in (None, *Payment):
        raise InvalidArgumentError(f"payment {quoted(payment or '')} is not one of {', '.join(Payment)}")
    blind = fields.get("blind")
    if blind not in (None, *Blind):
        raise InvalidArgumentError(f"blind {quoted(blind or '')} is not one of {', '.join(Blind)}")
    return _Selection(
        key=key,
        side=side,
        tag=tag,
        client=checksummed(fields["client"]) if "client" in fields else None,
        reviewers=_reviewers(connection, registries, key.chain_id, side, fields["reviewer"])
        if "reviewer" in fields
        else None,
        payment=None if payment is None else Payment(payment),
        blind=None if blind is None else Blind(blind),
        cursor=fields.get("cursor"),
    )


def _reviewers(connection: Connection, registries: Registries, chain_id: int, side: str, text: str) -> tuple[str, ...]:
    """Parse a list of accounts or server ids. Where accounts are expected, an agent stands for its accounts."""
    entries = tuple(text.replace(",", " ").split())
    require_short("reviewers", entries)
    if side in set(RatedSide):
        return tuple(str(AgentId.parse(entry).on(chain_id).token_id) for entry in entries)
    servers: list[str] = []
    for entry in entries:
        if ":" in entry:
            servers += speakers(connection, registries.key(chain_id, AgentId.parse(entry).on(chain_id).token_id))
        else:
            servers.append(address("reviewer", entry))
    return tuple(servers)


def _rows(
    connection: Connection, query: _Selection, limit: int = _ROWS
) -> tuple[tuple[Feedback, ...], tuple[AuthorizedFeedback, ...], tuple[Rating, ...], str | None]:
    if query.side == "server" and query.reviewers is None and query.payment is None:
        chosen = FeedbackFilter(query.tag, None, query.client, include_revoked=True, blind=query.blind)
        page = feedback_of(connection, query.key, chosen, limit=limit, cursor=query.cursor)
        return page.items, (), (), page.next
    if query.side in _FILTERS["client"]:
        clients = query.reviewers
        if query.client is not None:
            clients = (query.client,) if clients is None or query.client in clients else ()
        if query.side == "authorized":
            allowed = authorized_feedback_of(
                connection, query.key, tag=query.tag, clients=clients, limit=limit, cursor=query.cursor
            )
            return (), allowed.items, (), allowed.next
        counted = counted_feedback(
            connection,
            query.key,
            tag=query.tag,
            clients=clients,
            payment=query.payment,
            blind=query.blind,
            limit=limit,
            cursor=query.cursor,
        )
        return counted.items, (), (), counted.next
    direction = Direction.GIVEN if query.side == "given" else Direction.RECEIVED
    side = None if query.side == "given" else RatedSide(query.side)
    servers = None if query.reviewers is None else tuple(map(int, query.reviewers))
    rated = ratings_of(
        connection, query.key, direction, side, servers=servers, sealed=query.blind, limit=limit, cursor=query.cursor
    )
    return (), (), rated.items, rated.next

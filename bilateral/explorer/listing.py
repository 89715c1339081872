"""The page of an agent's ratings: all entries that a figure is made of, with a path for every state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from bilateral.errors import InvalidArgumentError
from bilateral.explorer.evidence import Evidence, evidence_of
from bilateral.explorer.records import progress_of
from bilateral.identifiers import checksummed
from bilateral.index.queries.agents import Agent, RatingSummary
from bilateral.index.queries.agents import agent as read_agent
from bilateral.index.queries.authorized import AuthorizedFeedback, authorized_feedback_of
from bilateral.index.queries.chains import ChainProgress
from bilateral.index.queries.feedback import Feedback, FeedbackFilter, feedback_of
from bilateral.index.queries.names import names_of
from bilateral.index.queries.ratings import Direction, Rating, ratings_of
from bilateral.index.queries.ratings import Side as RatedSide
from bilateral.index.queries.search_filters import storable
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from bilateral.index.queries.registries import AgentKey, Registries

FIELDS: Final = ("side", "tag", "client", "cursor")
"""The parameters of the path, in their order."""

SIDES: Final = ("server", "authorized", "client", "validator", "given")
"""The kinds of ratings: feedback, authorised feedback, ratings as a client or validator, and those that it gave."""

_FILTERS: Final = {"tag": ("server",), "client": ("server", "authorized")}
"""The kinds of ratings that each filter is for."""

_ROWS: Final = 50


@dataclass(frozen=True, slots=True)
class RatingsPage:
    """The content of the page. One of the lists has entries.

    Attributes:
        agent: The agent.
        fields: The parameters of the path: side, tag, client and cursor.
        summaries: The summaries of these ratings.
        feedback: The feedback, the newest first, revoked ones too.
        evidence: The payments and answers of the feedback, by the path of its page.
        authorized: The feedback that the agent's owner authorised.
        ratings: The ratings by servers.
        next: The path of the next page; None if this is the last one.
        names: The names of the agents on the page, by short id.
        progress: The chain's progress.
    """

    agent: Agent
    fields: dict[str, str]
    summaries: tuple[RatingSummary, ...]
    feedback: tuple[Feedback, ...]
    evidence: dict[str, Evidence]
    authorized: tuple[AuthorizedFeedback, ...]
    ratings: tuple[Rating, ...]
    next: str | None
    names: dict[str, str]
    progress: ChainProgress


def ratings_page(
    connection: Connection, registries: Registries, key: AgentKey, path: str, given: Mapping[str, str]
) -> RatingsPage | None:
    """Read a page of an agent's ratings.

    Args:
        connection: The database.
        registries: The indexed registries.
        key: The agent.
        path: The path of the page, without parameters.
        given: The parameters of the path.

    Returns:
        The content; None if the index has no such agent.

    Raises:
        InvalidArgumentError: A parameter is wrong.
    """
    agent = read_agent(connection, key)
    if agent is None:
        return None
    fields = {name: value for name in FIELDS if (value := given.get(name)) is not None and (value or name == "tag")}
    side, cursor = fields.get("side", SIDES[0]), fields.get("cursor")
    if side not in SIDES:
        raise InvalidArgumentError(f"side {quoted(side)} is not one of {', '.join(SIDES)}")
    for name, sides in _FILTERS.items():
        if name in fields and side not in sides:
            raise InvalidArgumentError(f"{name} does not filter side {side}: leave it out, or ask for {sides[0]}")
    tag = storable(fields["tag"]) if "tag" in fields else None
    client = checksummed(fields["client"]) if "client" in fields else None
    feedback: tuple[Feedback, ...] = ()
    authorized: tuple[AuthorizedFeedback, ...] = ()
    ratings: tuple[Rating, ...] = ()
    if side == "server":
        wanted = FeedbackFilter(tag, None, client, include_revoked=True)
        page = feedback_of(connection, key, wanted, limit=_ROWS, cursor=cursor)
        feedback, following = page.items, page.next
    elif side == "authorized":
        allowed = authorized_feedback_of(connection, key, client, limit=_ROWS, cursor=cursor)
        authorized, following = allowed.items, allowed.next
    else:
        direction = Direction.GIVEN if side == "given" else Direction.RECEIVED
        rated_side = None if side == "given" else RatedSide(side)
        rated = ratings_of(connection, key, direction, rated_side, limit=_ROWS, cursor=cursor)
        ratings, following = rated.items, rated.next
    ids = {it.server for it in ratings} | {it.agent for it in ratings}
    return RatingsPage(
        agent=agent,
        fields=fields,
        summaries=tuple(it for it in agent.ratings if it.side == side and tag in (None, it.tag)),
        feedback=feedback,
        evidence=evidence_of(connection, registries, feedback),
        authorized=authorized,
        ratings=ratings,
        next=None if following is None else f"{path}?{urlencode({**fields, 'cursor': following})}",
        names=names_of(connection, registries, ids),
        progress=progress_of(connection, key.chain_id),
    )

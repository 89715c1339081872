"""An agent's neighbourhood: who rated it, and whom it rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, column, func, or_, select, values

from bilateral.core.events import NewAuthorizedFeedback, NewFeedback
from bilateral.core.values.bounds import SHARES, scale_of_tag
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.log.unindexed import unindexed
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.queries import Direction, RatingSummary, ratings_of
from bilateral.index.ratings.tables import is_plain
from bilateral.index.reading.registries import AgentKey

TENTHS: Final = 10
"""The number of parts of a scale, as many as the bars of a histogram."""

MAX_COUNTERPARTS: Final = 10_000
"""The largest number of counterparts that are counted, or looked at for those with the most ratings."""


def distribution(connection: Connection, key: AgentKey, summary: RatingSummary) -> tuple[int, ...]:
    """Return how many counterparts have their mean in each tenth of the tag's scale, the lowest tenth first.

    A mean at the end of the scale counts in the last tenth. The database reads one row a counterpart, of
    `MAX_COUNTERPARTS` at most: the first ones in the order of their addresses, which says nothing about them.
    """
    columns = rating_tables.counterpart.c
    tally = (
        select(columns.share_sum, columns.count)
        .where(
            columns.chain_id == key.chain_id,
            columns.registry == summary.registry,
            columns.agent_id == key.agent_id,
            columns.side == summary.side,
            columns.tag == summary.tag,
        )
        .order_by(columns.account)
        .limit(MAX_COUNTERPARTS)
        .subquery()
        .c
    )
    tenth = dialect_of(connection).quotient(tally.share_sum * TENTHS, tally.count * SHARES).label("tenth")
    counts = [0] * TENTHS
    for part, count in connection.execute(select(tenth, func.count()).group_by(tenth)):
        counts[min(int(part), TENTHS - 1)] += count
    return tuple(counts)


MAX_EDGES: Final = 500
"""The largest number of edges of each kind in one answer."""

_AGENT: Final = "agent "
"""The begin of a counterpart that is an agent, not an account."""

_SERVER: Final = "server"

_KEY: Final = ("chain_id", "registry", "agent_id", "tag", "account")
"""The columns that name an account's entries about an agent."""

_KEYS_AT_ONCE: Final = 100
"""Rows to ask for by one statement."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The values of one tag between the agent and one counterpart.

    Attributes:
        direction: `received` if the counterpart gave them, `given` if the agent did.
        side: The side of the rated one: `server` for feedback, `client` or `validator` for ratings by servers.
        agent: The counterpart's short id, if it is an agent or speaks as one.
        account: The account that gave the feedback; None for ratings, which agents give.
        tag: The tag; a rating has none.
        count: The number of values.
        share: Their mean as a share of the tag's scale, 0 to 1; None for a tag without a scale.
    """

    direction: str
    side: str
    agent: str | None
    account: str | None
    tag: str
    count: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An agent's neighbourhood.

    Attributes:
        agent: The agent's short id.
        edges: The edges: received ones first, then those given, each kind with the largest counts first.
        is_whole: False if the agent has more edges of a kind than the answer.
    """

    agent: str
    edges: tuple[Edge, ...]
    is_whole: bool


def neighbourhood(connection: Connection, key: AgentKey, *, limit: int = 100) -> Neighbourhood:
    """Return the accounts and agents that rated an agent, and those that it rated. Revoked feedback does not count.

    The agent gives feedback as its owner and its wallet.
    """
    limit = min(max(limit, 1), MAX_EDGES)
    received = _received(connection, key, limit)
    speaks_as = _agents_of(connection, key, {row.account for row in received[:limit]})
    links, is_all = _links_by_agent(connection, key, limit)
    rated = ratings_of(connection, key, Direction.GIVEN, limit=limit)
    edges = [
        *(_edge(key, Direction.RECEIVED, row, speaks_as) for row in received[:limit]),
        *(_edge(key, Direction.GIVEN, row, {}) for row in links[:limit]),
        *(Edge(Direction.GIVEN, rating.side, rating.agent, None, "", 1, rating.rating / 100) for rating in rated.items),
    ]
    is_whole = is_all and max(len(received), len(links)) <= limit and rated.next is None
    return Neighbourhood(key.id, tuple(edges), is_whole)


def _received(connection: Connection, key: AgentKey, limit: int) -> list[Row[*tuple[Any, ...]]]:
    """Return the counterparts that rated the agent. Only the first `MAX_COUNTERPARTS` by address are looked at."""
    columns = rating_tables.counterpart.c
    names = ("agent_id", "side", "account", "tag", "count", "share_sum")
    looked_at = (
        select(*(columns[name] for name in names))
        .where(*key.in_registries(columns))
        .where(is_plain(columns.side))
        .limit(MAX_COUNTERPARTS)
        .subquery()
    )
    tally = looked_at.c
    statement = (
        select(*(tally[name] for name in names))
        .order_by(tally.count.desc(), tally.side, tally.tag, tally.account)
        .limit(limit + 1)
    )
    return list(connection.execute(statement))


def _links_by_agent(connection: Connection, key: AgentKey, limit: int) -> tuple[list[Row[*tuple[Any, ...]]], bool]:
    """Return the counterparts of others that are the agent's owner or wallet, and False if there may be more.

    Of each account the last `MAX_COUNTERPARTS` entries of each kind of feedback are looked at. They name agents and
    tags. The rows of those with the most entries are read first, until no other can have more: revoked entries do
    not count, so a row has at most the entries that name it.
    """
    agent = agent_tables.agent.c
    people = connection.execute(select(agent.owner, agent.wallet).where(*key.of(agent))).first()
    if people is None:
        return [], True
    named: Counter[tuple[Any, ...]] = Counter()
    is_all = True
    for account in sorted({account for account in people if account is not None}):
        for event, text_of in ((NewFeedback, key_text), (NewAuthorizedFeedback, padded_text)):
            entries = _entries(connection, key, account, event)
            is_all = is_all and len(entries) < MAX_COUNTERPARTS
            named.update((registry, agent_id, text_of(tag), account) for registry, agent_id, tag in entries)
    ranked = named.most_common()
    rows: list[Row[*tuple[Any, ...]]] = []
    for start in range(0, len(ranked), _KEYS_AT_ONCE):
        counts = sorted((row[4] for row in rows), reverse=True)
        if len(counts) > limit and counts[limit] >= ranked[start][1]:
            break
        requested = [(key.chain_id, *agent) for agent, _ in ranked[start : start + _KEYS_AT_ONCE]]
        rows += connection.execute(_of_keys(requested, key.chain_id))
    return sorted(rows, key=lambda row: (-row[4], row.agent_id, row.tag, row.account)), is_all


def _of_keys(keys: Sequence[tuple[Any, ...]], chain_id: int) -> Select[Any]:
    """Return the query for the counterparts with some keys, the columns of `_KEY`, on a chain."""
    columns = rating_tables.counterpart.c
    requested = values(*(column(name, columns[name].type) for name in _KEY), name="wanted").data(list(keys)).cte()
    return (
        select(columns.agent_id, columns.side, columns.account, columns.tag, columns.count, columns.share_sum)
        .select_from(
            requested.join(rating_tables.counterpart, and_(*(columns[name] == requested.c[name] for name in _KEY)))
        )
        # PostgreSQL reads one partition by this. SQLite must look each row up by its whole key.
        .where(unindexed(columns.chain_id) == chain_id, columns.side == _SERVER)
    )


def _entries(
    connection: Connection, key: AgentKey, account: str, event: type[NewFeedback | NewAuthorizedFeedback]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return registry, agent and tag of the last entries of feedback that an account gave."""
    columns = schema.EVENT_TABLES[event].c
    newest = (
        select(columns.registry, columns.agent_id, columns.tag1)
        .where(columns.chain_id == key.chain_id, columns.client_address == account)
        .where(unindexed(columns.registry).in_(key.registries))
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(MAX_COUNTERPARTS)
    )
    return connection.execute(newest).all()


def _agents_of(connection: Connection, key: AgentKey, accounts: Iterable[str]) -> dict[str, int]:
    """Return the agents as which accounts speak."""
    addresses = [account for account in accounts if not account.startswith(_AGENT)]
    primary, agent = agent_tables.primary_agent.c, agent_tables.agent.c
    holds = and_(
        agent.chain_id == primary.chain_id,
        agent.identity_registry == key.identity_registry,
        agent.agent_id == primary.agent_id,
        or_(agent.owner == primary.account, agent.wallet == primary.account),
    )
    rows = connection.execute(
        select(primary.account, primary.agent_id)
        .select_from(agent_tables.primary_agent.join(agent_tables.agent, holds))
        .where(
            primary.chain_id == key.chain_id,
            primary.identity_registry.in_({key.identity_registry, *key.registries}),
            primary.account.in_(addresses),
        )
    )
    return {row.account: row.agent_id for row in rows}


def _edge(key: AgentKey, direction: Direction, row: Row[*tuple[Any, ...]], speaks_as: dict[str, int]) -> Edge:
    agent_id, side, account, tag, count, share_sum = row
    has_scale = scale_of_tag(tag) is not None
    share = share_sum / (count * SHARES) if has_scale else None
    if direction is Direction.GIVEN:
        return Edge(direction, side, f"{key.chain_id}:{agent_id}", account, tag, count, share)
    if account.startswith(_AGENT):
        return Edge(direction, side, f"{key.chain_id}:{account.removeprefix(_AGENT)}", None, tag, count, share)
    speaker = speaks_as.get(account)
    other = None if speaker is None else f"{key.chain_id}:{speaker}"
    return Edge(direction, side, other, account, tag, count, share)

"""An agent's neighbourhood: who rated it, and whom it rated."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, column, or_, select, values

from bilateral.bounds import SHARES, scale_of_tag
from bilateral.events import NewAuthorizedFeedback, NewFeedback
from bilateral.index import schema
from bilateral.index.queries.distribution import MAX_COUNTERPARTS
from bilateral.index.queries.ratings import Direction, ratings_of
from bilateral.index.queries.unindexed import unindexed
from bilateral.index.text import key_text, padded_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection, Row

    from bilateral.index.queries.registries import AgentKey

MAX_EDGES: Final = 500
"""The largest number of edges of each kind in one answer."""

_AGENT: Final = "agent "
"""The begin of a counterpart that is an agent, not an account."""

_SERVER: Final = "server"

_KEY: Final = ("registry", "agent_id", "tag", "account")
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

    Args:
        connection: The database.
        key: The agent.
        limit: The largest number of edges of each kind.
    """
    limit = min(max(limit, 1), MAX_EDGES)
    received = _received(connection, key, limit)
    speaks_as = _agents_of(connection, key, {row.account for row in received[:limit]})
    given, is_all = _given(connection, key, limit)
    rated = ratings_of(connection, key, Direction.GIVEN, limit=limit)
    edges = [
        *(_edge(key, Direction.RECEIVED, row, speaks_as) for row in received[:limit]),
        *(_edge(key, Direction.GIVEN, row, {}) for row in given[:limit]),
        *(Edge(Direction.GIVEN, it.side, it.agent, None, "", 1, it.rating / 100) for it in rated.items),
    ]
    is_whole = is_all and max(len(received), len(given)) <= limit and rated.next is None
    return Neighbourhood(key.id, tuple(edges), is_whole)


def _received(connection: Connection, key: AgentKey, limit: int) -> list[Row[*tuple[Any, ...]]]:
    """Return the counterparts that rated the agent. Only the first `MAX_COUNTERPARTS` by address are looked at."""
    columns = schema.counterpart.c
    names = ("agent_id", "side", "account", "tag", "count", "share_sum")
    looked_at = (
        select(*(columns[name] for name in names))
        .where(columns.chain_id == key.chain_id, columns.registry.in_(key.registries), columns.agent_id == key.agent_id)
        .limit(MAX_COUNTERPARTS)
        .subquery()
    )
    it = looked_at.c
    statement = (
        select(*(it[name] for name in names)).order_by(it.count.desc(), it.side, it.tag, it.account).limit(limit + 1)
    )
    return list(connection.execute(statement))


def _given(connection: Connection, key: AgentKey, limit: int) -> tuple[list[Row[*tuple[Any, ...]]], bool]:
    """Return the counterparts of others that are the agent's owner or wallet, and False if there may be more.

    Of each account the last `MAX_COUNTERPARTS` entries of feedback are looked at. They name agents and tags. The rows
    of those with the most entries are read: of twice as many as are wanted, because revoked entries do not count.
    """
    agent, it = schema.agent.c, schema.counterpart.c
    people = connection.execute(
        select(agent.owner, agent.wallet).where(
            agent.chain_id == key.chain_id,
            agent.identity_registry == key.identity_registry,
            agent.agent_id == key.agent_id,
        )
    ).first()
    if people is None:
        return [], True
    named: Counter[tuple[Any, ...]] = Counter()
    for account in sorted({account for account in people if account is not None}):
        named.update(_named(connection, key, account))
    wanted = [found for found, _ in named.most_common(2 * limit)]
    rows: list[Row[*tuple[Any, ...]]] = []
    for start in range(0, len(wanted), _KEYS_AT_ONCE):
        keys = values(*(column(name, it[name].type) for name in _KEY), name="wanted")
        looked_up = keys.data(wanted[start : start + _KEYS_AT_ONCE]).cte()
        statement = (
            select(it.agent_id, it.side, it.account, it.tag, it.count, it.share_sum)
            .select_from(looked_up.join(schema.counterpart, and_(*(it[name] == looked_up.c[name] for name in _KEY))))
            .where(it.chain_id == key.chain_id, it.side == _SERVER)
        )
        rows += connection.execute(statement)
    is_all = len(wanted) == len(named) and named.total() < MAX_COUNTERPARTS
    return sorted(rows, key=lambda row: (-row[4], row.agent_id, row.tag, row.account)), is_all


def _named(connection: Connection, key: AgentKey, account: str) -> Iterator[tuple[Any, ...]]:
    """Yield registry, agent, tag and account of the last entries of feedback that an account gave."""
    for event, text_of in ((NewFeedback, key_text), (NewAuthorizedFeedback, padded_text)):
        it = schema.EVENT_TABLES[event].c
        given = (
            select(it.registry, it.agent_id, it.tag1)
            .where(it.chain_id == key.chain_id, it.client_address == account)
            .where(unindexed(it.registry).in_(key.registries))
            .order_by(it.block_number.desc(), it.log_index.desc())
            .limit(MAX_COUNTERPARTS)
        )
        for registry, agent_id, tag in connection.execute(given):
            yield registry, agent_id, text_of(tag), account


def _agents_of(connection: Connection, key: AgentKey, accounts: Iterable[str]) -> dict[str, int]:
    """Return the agents as which accounts speak."""
    addresses = [it for it in accounts if not it.startswith(_AGENT)]
    primary, agent = schema.primary_agent.c, schema.agent.c
    holds = and_(
        agent.chain_id == primary.chain_id,
        agent.identity_registry == key.identity_registry,
        agent.agent_id == primary.agent_id,
        or_(agent.owner == primary.account, agent.wallet == primary.account),
    )
    rows = connection.execute(
        select(primary.account, primary.agent_id)
        .select_from(schema.primary_agent.join(schema.agent, holds))
        .where(
            primary.chain_id == key.chain_id,
            primary.identity_registry.in_({key.identity_registry, *key.registries}),
            primary.account.in_(addresses),
        )
    )
    return {row.account: row.agent_id for row in rows}


def _edge(key: AgentKey, direction: Direction, row: Row[*tuple[Any, ...]], speaks_as: dict[str, int]) -> Edge:
    """Return a row as an edge."""
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

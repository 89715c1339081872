"""Who rated whom: an agent's neighbourhood, and the newest links on a chain."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.types import NullType

from bilateral.core.events import ClientRated, Event, NewAuthorizedFeedback, NewFeedback
from bilateral.core.values.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.columns import python_integer
from bilateral.index.log.dialects import dialect_of, unindexed
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.queries import Direction, RatingSummary, ratings_of
from bilateral.index.ratings.tables import is_plain
from bilateral.index.reading.prepared import CHAIN, Prepared
from bilateral.index.reading.registries import AgentKey

TENTHS: Final = 10
"""The number of equal parts into which a tag's scale is divided, one per bar of the histogram."""

MAX_COUNTERPARTS: Final = 10_000
"""The maximum number of counterparts to read for a histogram or for selecting those with the most ratings."""


def distribution(connection: sa.Connection, key: AgentKey, summary: RatingSummary) -> tuple[int, ...]:
    """Return the number of counterparts whose mean is in each tenth of the tag's scale, starting with the lowest tenth.

    A mean at the top of the scale is in the last tenth. Only the first `MAX_COUNTERPARTS` counterparts in order of
    address, an arbitrary selection, are counted.
    """
    columns = rating_tables.counterpart.c
    of_agent = columns.chain_id == key.chain_id, columns.registry == summary.registry, columns.agent_id == key.agent_id
    of_summary = sa.select(columns.share_sum, columns.count).where(
        *of_agent, columns.side == summary.side, columns.tag == summary.tag
    )
    tally = of_summary.order_by(columns.account).limit(MAX_COUNTERPARTS).subquery().c
    tenth = dialect_of(connection).quotient(tally.share_sum * TENTHS, tally.count * SHARES).label("tenth")
    counts = [0] * TENTHS
    for part, count in connection.execute(sa.select(tenth, sa.func.count()).group_by(tenth)):
        counts[min(int(part), TENTHS - 1)] += count
    return tuple(counts)


MAX_EDGES: Final = 500
"""The maximum number of edges of each kind in one response."""

_AGENT: Final = "agent "
"""The prefix of counterparts that are agents instead of accounts."""

_SERVER: Final = "server"

_KEY: Final = ("chain_id", "registry", "agent_id", "tag", "account")
"""The columns that identify an account's feedback on an agent with one tag."""

_KEYS_AT_ONCE: Final = 100
"""The number of rows requested per statement."""

_TALLY: Final = ("agent_id", "side", "account", "tag", "count", "share_sum")
_Tally: TypeAlias = sa.Row[*tuple[Any, ...]]
"""The columns of the `counterpart` table from which an edge is built."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The values for one tag that a counterpart gave the agent or that the agent gave a counterpart.

    Attributes:
        direction: `received` if the counterpart gave the values, or `given` if the agent did.
        side: The role of the rated agent: `server` for feedback, `client` or `validator` for ratings by servers.
        agent: The short id of the counterpart, if it is an agent or has a primary agent.
        account: The account that gave the feedback; None for ratings, which are given by agents.
        tag: The tag; empty for ratings, which have none.
        count: The number of values.
        share: The mean value as a share of the tag's scale, 0 to 1; None for a tag without a scale.
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
        edges: The edges: first those received, then those given, each in descending order of count.
        is_whole: False if edges in either direction were left out.
    """

    agent: str
    edges: tuple[Edge, ...]
    is_whole: bool


def neighbourhood(connection: sa.Connection, key: AgentKey, *, limit: int = 100) -> Neighbourhood:
    """Return the accounts and agents that rated an agent, and those that the agent rated. Revoked feedback is ignored.

    Feedback from accounts that own the agent or are the agent's wallet counts as feedback from the agent.
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


def _received(connection: sa.Connection, key: AgentKey, limit: int) -> Sequence[_Tally]:
    """Return the counterparts that rated the agent, up to the first `MAX_COUNTERPARTS` by address."""
    columns = rating_tables.counterpart.c
    first = sa.select(*(columns[name] for name in _TALLY)).where(*key.in_registries(columns), is_plain(columns.side))
    tally = first.limit(MAX_COUNTERPARTS).subquery()
    order = tally.c.count.desc(), tally.c.side, tally.c.tag, tally.c.account
    return connection.execute(sa.select(tally).order_by(*order).limit(limit + 1)).all()


def _links_by_agent(connection: sa.Connection, key: AgentKey, limit: int) -> tuple[list[_Tally], bool]:
    """Return this agent's owner and wallet as counterparts of other agents, and whether the list is complete."""
    # The last `MAX_COUNTERPARTS` entries of each account and kind of feedback show which agents and tags occur. Rows
    # with the most entries are read first, until no other row can have more. Because revoked entries do not count, a
    # row counts at most as many entries as were seen for its agent and tag.
    agent = agent_tables.agent.c
    people = connection.execute(sa.select(agent.owner, agent.wallet).where(*key.of(agent))).first()
    if people is None:
        return [], True
    entries_by_key: Counter[tuple[Any, ...]] = Counter()
    is_all = True
    for account in sorted({account for account in people if account is not None}):
        for event, text_of in ((NewFeedback, key_text), (NewAuthorizedFeedback, padded_text)):
            entries = _entries(connection, key, account, event)
            is_all = is_all and len(entries) < MAX_COUNTERPARTS
            entries_by_key.update((registry, agent_id, text_of(tag), account) for registry, agent_id, tag in entries)
    ranked = entries_by_key.most_common()
    rows: list[_Tally] = []
    for start in range(0, len(ranked), _KEYS_AT_ONCE):
        counts = sorted((row[4] for row in rows), reverse=True)
        if len(counts) > limit and counts[limit] >= ranked[start][1]:
            break
        requested = [(key.chain_id, *agent) for agent, _ in ranked[start : start + _KEYS_AT_ONCE]]
        rows += connection.execute(_of_keys(requested, key.chain_id))
    return sorted(rows, key=lambda row: (-row[4], row.agent_id, row.tag, row.account)), is_all


def _of_keys(keys: Sequence[tuple[Any, ...]], chain_id: int) -> sa.Select[Any]:
    """Return the query for a chain's counterparts with the given keys (values of the columns in `_KEY`)."""
    columns = rating_tables.counterpart.c
    requested = sa.values(*(sa.column(name, columns[name].type) for name in _KEY), name="wanted").data(list(keys)).cte()
    return (
        sa.select(*(columns[name] for name in _TALLY))
        .select_from(
            requested.join(rating_tables.counterpart, sa.and_(*(columns[name] == requested.c[name] for name in _KEY)))
        )
        # With this condition, PostgreSQL reads one partition. SQLite must look up each row by its whole key.
        .where(unindexed(columns.chain_id) == chain_id, columns.side == _SERVER)
    )


def _entries(
    connection: sa.Connection, key: AgentKey, account: str, event: type[NewFeedback | NewAuthorizedFeedback]
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    columns = schema.EVENT_TABLES[event].c
    is_by = columns.chain_id == key.chain_id, columns.client_address == account
    entries = sa.select(columns.registry, columns.agent_id, columns.tag1).where(*is_by)
    newest = entries.where(unindexed(columns.registry).in_(key.registries))
    newest = newest.order_by(columns.block_number.desc(), columns.log_index.desc())
    return connection.execute(newest.limit(MAX_COUNTERPARTS)).all()


def _agents_of(connection: sa.Connection, key: AgentKey, accounts: Iterable[str]) -> dict[str, int]:
    addresses = [account for account in accounts if not account.startswith(_AGENT)]
    primary = agent_tables.primary_agent.c
    speaker = _speaker(primary.chain_id, key.identity_registry)
    rows = connection.execute(
        sa.select(primary.account, primary.agent_id)
        .select_from(agent_tables.primary_agent.join(agent_tables.agent, speaker))
        .where(
            primary.chain_id == key.chain_id,
            primary.identity_registry.in_({key.identity_registry, *key.registries}),
            primary.account.in_(addresses),
        )
    )
    return {row.account: row.agent_id for row in rows}


def _speaker(chain_id: Any, identity: Any) -> sa.ColumnElement[bool]:
    """Return the condition that an account's primary agent is in a registry and still belongs to the account."""
    primary, agent = agent_tables.primary_agent.c, agent_tables.agent.c
    return sa.and_(
        agent.chain_id == chain_id,
        agent.identity_registry == identity,
        agent.agent_id == primary.agent_id,
        sa.or_(agent.owner == primary.account, agent.wallet == primary.account),
    )


def _edge(key: AgentKey, direction: Direction, row: _Tally, speaks_as: dict[str, int]) -> Edge:
    agent_id, side, account, tag, count, share_sum = row
    share = share_sum / (count * SHARES) if scale_of_tag(tag) is not None else None
    if direction is Direction.RECEIVED:
        is_agent = account.startswith(_AGENT)
        agent_id = account.removeprefix(_AGENT) if is_agent else speaks_as.get(account)
        account = None if is_agent else account
    agent = None if agent_id is None else f"{key.chain_id}:{agent_id}"
    return Edge(direction, side, agent, account, tag, count, share)


MAX_RATINGS: Final = 20_000
"""The number of newest ratings of each kind (feedback, and ratings of clients) from which a network is built."""

MAX_NODES: Final = 5_000
"""The maximum number of agents and accounts in a network. Those with the most ratings are included."""


@dataclass(slots=True, unsafe_hash=True)  # a network has 20,000 links, and frozen ones take four times as long
class Link:
    """The ratings that one rater gave one agent.

    Attributes:
        source: The rater: an agent's short id or an account's address.
        target: The short id of the rated agent.
        side: The role in which the agent was rated, `server` or `client`.
        count: The number of ratings.
        mean: The mean of the ratings as a percentage of each tag's scale; None if no tag has a scale.
    """

    source: str
    target: str
    side: str
    count: int
    mean: float | None


def newest_links(connection: sa.Connection, chain_id: int, identity: str, limit: int = MAX_RATINGS) -> tuple[Link, ...]:
    """Return who rated whom in a chain's newest ratings, pairs with the most ratings first.

    An account with a primary agent is shown as that agent. Revoked feedback is included. The result contains at most
    `MAX_NODES` nodes.
    """
    registry = schema.registry.c
    registries = sa.select(registry.address).where(
        registry.chain_id == chain_id, registry.identity_registry == identity
    )
    allowed = set(connection.execute(registries).scalars())
    parameters = {"chain": chain_id, "identity": identity, "limit": limit}
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for address, agent, client, value, decimals, tag, speaker in _FEEDBACK.all(connection, parameters):
        if address in allowed and (speaker is None or speaker != agent):
            source = client if speaker is None else _short_id(chain_id, speaker)
            _add(sums[source, _short_id(chain_id, agent), "server"], _share(tag, value, decimals))
    for address, agent, server, rating in _RATINGS.all(connection, parameters):
        if address in allowed:
            _add(sums[_short_id(chain_id, server), _short_id(chain_id, agent), "client"], rating * SHARES // 100)
    return _largest(sums)


@lru_cache(maxsize=1 << 16)  # converting the numbers in all rows takes as long as everything else
def _short_id(chain_id: int, agent: Any) -> str:
    return f"{chain_id}:{python_integer(agent)}"


@lru_cache(maxsize=1 << 12)
def _share(tag: str, value: Any, decimals: int) -> int | None:
    scale = scale_of_tag(tag)
    return None if scale is None else share_of_scale(python_integer(value), decimals, scale)


def _add(total: list[int], share: int | None) -> None:
    """Add a rating to totals: number of ratings and, for a tag with a scale, number and sum of shares of the scale."""
    total[0] += 1
    if share is not None:
        total[1] += 1
        total[2] += share


def _largest(sums: dict[tuple[str, str, str], list[int]]) -> tuple[Link, ...]:
    ratings: dict[str, int] = defaultdict(int)
    for (source, target, _), (count, _, _) in sums.items():
        ratings[source] += count
        ratings[target] += count
    retained = set(sorted(sorted(ratings), key=ratings.__getitem__, reverse=True)[:MAX_NODES])
    ends = sorted(ends for ends in sums if ends[0] in retained and ends[1] in retained)
    ends.sort(key=lambda pair: -sums[pair][0])
    links = []
    for pair in ends:
        count, scaled, share = sums[pair]
        links.append(Link(*pair, count, 100 * share / (scaled * SHARES) if scaled else None))
    return tuple(links)


def _newest(event: type[Event], *names: str) -> sa.Subquery:
    columns = schema.EVENT_TABLES[event].c
    query = sa.select(columns.registry, *(columns[name] for name in names)).where(columns.chain_id == CHAIN)
    newest = query.order_by(columns.block_number.desc(), columns.log_index.desc())
    return newest.limit(sa.bindparam("limit", type_=sa.BigInteger)).subquery("newest")


def _raw(subquery: sa.Subquery) -> list[sa.ColumnElement[Any]]:
    """Return an event's columns without converting the stored values to Python types."""
    return [sa.type_coerce(column, NullType()).label(column.name) for column in subquery.c]


def _newest_feedback() -> Prepared:
    """Return the statement for the newest feedback with the client's primary agent, or NULL if there is none."""
    newest = _newest(NewFeedback, "agent_id", "client_address", "value", "value_decimals", "tag1")
    primary, agent = agent_tables.primary_agent, agent_tables.agent
    chosen = sa.and_(
        primary.c.chain_id == CHAIN,
        primary.c.identity_registry == sa.bindparam("identity", type_=primary.c.identity_registry.type),
        primary.c.account == newest.c.client_address,
    )
    speaker = sa.type_coerce(agent.c.agent_id, NullType()).label("speaker")
    with_speakers = newest.outerjoin(primary, chosen).outerjoin(agent, _speaker(CHAIN, primary.c.identity_registry))
    return Prepared(sa.select(*_raw(newest), speaker).select_from(with_speakers))


_FEEDBACK: Final = _newest_feedback()
_RATINGS: Final = Prepared(sa.select(*_raw(_newest(ClientRated, "client_id", "server_id", "rating"))))

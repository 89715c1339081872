"""Search for agents by words, by what they do, and by how they are rated.

An agent that strangers praise is found like any other: words and capabilities are the word of whoever wrote the file.
Gates are the way to ask for agents that accounts one trusts have rated.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, and_, cast, exists, func, literal, or_, select, tuple_

from bilateral.index.files import schema as files
from bilateral.index.files.schema import State
from bilateral.index.queries.pages import DEFAULT_LIMIT, Page, Wide, decode_cursor, encode_cursor, require_limit
from bilateral.index.queries.search_filters import OF_GATE, AgentSearch, Gate, Order
from bilateral.index.queries.search_gates import best, best_of_agent, is_of_few, is_rated, prepare, ratings, source
from bilateral.index.queries.search_words import Matcher, Term, count_up_to
from bilateral.index.queries.values import Wide as WideValue
from bilateral.index.schema import agent, agent_metadata, chain
from bilateral.index.search.schema import agent_file, registration_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select

_REAL: Final = Float(53)

_FEW: Final = 2_000
"""Files with the words of a query up to which the gates of each agent are looked up, rather than all gates at once."""

_SHOWN: Final = 300
"""Characters of a description that a search shows."""

_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True, slots=True)
class Rating:
    """The ratings by which an agent passed the first gate of a search.

    Attributes:
        registry: The registry of ratings.
        tag: The tag.
        count: The number of ratings.
        counterparts: The number of distinct clients, or of servers, that gave them.
        mean: Their mean.
        lower_bound: The value that the agent has at least, with a confidence of 95 %; None for a tag without a scale.
    """

    registry: str
    tag: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float | None


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent that a search found. Name and description are the word of a stranger.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id among all registries.
        chain_id: Its chain.
        identity_registry: The address of its identity registry.
        agent_id: The id of its token.
        owner: The owner's address.
        wallet: The address that receives its payments; None without one.
        name: Its name; None without a file.
        description: The beginning of its description.
        active: True if its file says that it works; None if it does not say.
        x402_support: True if its file says that it takes payments by x402.
        registered_at: The time of its registration, Unix seconds.
        updated_at: The time of its last change on chain.
        relevance: The points for the words of the query: a word of the name counts 7, the beginning of one 2, a word
            elsewhere 1. 0 without a text.
        rating: The ratings by which it passed the first gate; None without a gate.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: WideValue
    owner: str
    wallet: str | None
    name: str | None
    description: str | None
    active: bool | None
    x402_support: bool | None
    registered_at: int
    updated_at: int
    relevance: int
    rating: Rating | None


def search_agents(
    connection: Connection, search: AgentSearch, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> Page[FoundAgent]:
    """Return the agents that fulfil all conditions of a search, in its order.

    Args:
        connection: The database.
        search: The conditions.
        limit: The largest number of agents.
        cursor: The cursor of the former page. It names a rank and an agent, so new blocks shift nothing; an agent whose
            rank changed meanwhile may come twice, or not.

    Raises:
        InvalidArgumentError: The limit is out of range.
        InvalidCursorError: The cursor is of another search.
    """
    require_limit(limit)
    kind = _kind(search)
    place = None if cursor is None else decode_cursor(kind, cursor, float, float, int, str, Wide)
    prepare(connection)
    terms = Matcher(connection).terms(search.words)
    chains = search.chains or tuple(connection.execute(select(chain.c.chain_id)).scalars())
    if terms is None or not chains:
        return Page((), None)
    query = _Query(connection, search, terms, chains).statement(place).limit(limit + 1)
    rows = connection.execute(query).all()
    shown = rows[:limit]
    details = _details(connection, search, shown)
    found = tuple(_found(row, *detail) for row, detail in zip(shown, details, strict=True))
    if len(rows) <= limit:
        return Page(found, None)
    last = shown[-1]
    key = (float(last.first_rank), float(last.second_rank), last.chain_id, last.identity_registry, last.agent_id)
    return Page(found, encode_cursor(kind, *key))


class _Query:
    """The statement of one search.

    Args:
        connection: The database.
        search: The conditions.
        terms: The words, as `Matcher` returns them.
        chains: The chains.
    """

    def __init__(
        self, connection: Connection, search: AgentSearch, terms: Sequence[Term], chains: Sequence[int]
    ) -> None:
        """See the class."""
        self._search = search
        self._terms = terms
        self._chains = chains
        self._matcher = Matcher(connection)
        self._from: FromClause = agent
        self._where: list[ColumnElement[bool]] = [agent.c.chain_id.in_(chains)]
        # With few files, or one owner, it takes less to look up each agent's ratings than to collect all that pass.
        self._is_narrow = search.owner is not None or search.wallet is not None
        if terms and not self._is_narrow:
            self._is_narrow = count_up_to(connection, self._matcher.documents(terms), _FEW + 1) <= _FEW
            self._matcher.is_narrow = self._is_narrow
            if self._is_narrow:
                # A sum has no index, so SQLite begins with the few documents and not with all agents of the chains.
                self._where[0] = (agent.c.chain_id + 0).in_(chains)

    def statement(self, place: tuple[Any, ...] | None) -> Select[Any]:
        """Return the statement.

        Args:
            place: The values of the cursor; None for the first page.
        """
        self._add_agent()
        self._add_file()
        gate_rank = self._add_gates()
        relevance = self._matcher.relevance(self._terms)
        first, second = self._ranks(relevance, gate_rank)
        columns = [*(agent.c[name] for name in _KEY), relevance.label("relevance")]
        inner = (
            select(*columns, first.label("first_rank"), second.label("second_rank"))
            .select_from(self._from)
            .where(*self._where)
        ).subquery()
        key = [inner.c[name] for name in _KEY]
        query = select(inner).order_by(inner.c.first_rank.desc(), inner.c.second_rank.desc(), *key)
        if place is None:
            return query
        first_rank, second_rank, *last = place
        last_key = tuple_(*last, types=[column.type for column in key])
        behind = or_(
            inner.c.first_rank < literal(first_rank, _REAL),
            and_(
                inner.c.first_rank == literal(first_rank, _REAL),
                or_(
                    inner.c.second_rank < literal(second_rank, _REAL),
                    and_(inner.c.second_rank == literal(second_rank, _REAL), tuple_(*key) > last_key),
                ),
            ),
        )
        return query.where(behind)

    def _ranks(
        self, relevance: ColumnElement[int], gate_rank: ColumnElement[Any] | None
    ) -> tuple[ColumnElement[float], ColumnElement[float]]:
        """Return what ranks an agent, and what ranks agents with the same first rank."""
        order, zero = self._search.ranking, literal(0.0, _REAL)
        by_gate = zero if gate_rank is None else cast(gate_rank, _REAL)
        if order is Order.RELEVANCE:
            return cast(relevance, _REAL), by_gate
        if order is Order.UPDATED:
            return cast(agent.c.updated_at, _REAL), zero
        if order is Order.REGISTERED:
            return cast(agent.c.registered_at, _REAL), zero
        return by_gate, zero

    def _add_agent(self) -> None:
        """Add the conditions on the agent's state on chain."""
        search, columns = self._search, agent.c
        for limit, column, is_least in (
            (search.registered_from, columns.registered_at, True),
            (search.registered_to, columns.registered_at, False),
            (search.updated_from, columns.updated_at, True),
            (search.updated_to, columns.updated_at, False),
        ):
            if limit is not None:
                self._where.append(column >= limit if is_least else column <= limit)
        if search.owner is not None:
            self._where.append(columns.owner == search.owner)
        if search.wallet is not None:
            self._where.append(columns.wallet == search.wallet)
        for key, value in search.metadata:
            entry = agent_metadata.c
            wanted = [*(entry[name] == columns[name] for name in _KEY), entry.metadata_key == key]
            self._where.append(exists().where(*wanted, *([] if value is None else [entry.metadata_value == value])))
        if search.rated is not None:
            self._where.append(is_rated() if search.rated else ~is_rated())

    def _add_file(self) -> None:
        """Add the conditions on the agent's registration file."""
        search, content = self._search, files.file.c.content_hash
        if not (
            self._terms
            or search.capabilities
            or search.services
            or search.active is not None
            or search.x402 is not None
        ):
            return
        self._from = _with_file(self._from)
        if self._terms:
            self._from = self._from.join(registration_words, registration_words.c.content_hash == content)
            self._where.append(self._matcher.has(self._terms))
        if search.active is not None or search.x402 is not None:
            read = files.registration_file
            self._from = self._from.join(read, read.c.content_hash == content)
            for wanted, column in ((search.active, read.c.active), (search.x402, read.c.x402_support)):
                if wanted is not None:
                    self._where.append(column.is_(wanted))
        capability, service = files.registration_capability.c, files.registration_service.c
        for kind, value in search.capabilities:
            same = (capability.kind == kind.value, capability.value == value)
            self._where.append(exists().where(capability.content_hash == content, *same))
        for name in search.services:
            same_name = func.lower(service.name) == name.lower()
            self._where.append(exists().where(service.content_hash == content, same_name))

    def _add_gates(self) -> ColumnElement[Any] | None:
        """Add the conditions on ratings, and return the rank by the first gate."""
        order = self._search.ranking if self._search.ranking in OF_GATE else Order.LOWER_BOUND
        ranks: list[ColumnElement[Any]] = []
        for gate in self._search.gates:
            if self._is_narrow and not is_of_few(gate):
                rank = best_of_agent(gate, order)
                self._where.append(rank.is_not(None))
                ranks.append(rank)
                continue
            passed = best(gate, order, self._chains)
            self._from = self._from.join(passed, and_(*(passed.c[name] == agent.c[name] for name in _KEY)))
            ranks.append(passed.c.rank)
        return ranks[0] if ranks else None


def _with_file(tables: FromClause) -> FromClause:
    """Join each agent with its registration file, if that is loaded."""
    current = and_(*(agent_file.c[name] == agent.c[name] for name in _KEY))
    file = files.file
    is_loaded = and_(file.c.file_id == agent_file.c.file_id, file.c.state == State.LOADED)
    return tables.join(agent_file, current).join(file, is_loaded)


def _details(connection: Connection, search: AgentSearch, rows: Sequence[Row[Any]]) -> list[tuple[Any, Any]]:
    """Return for each agent of a page what the search shows of it, and its ratings for the first gate."""
    if not rows:
        return []
    wanted = [(row.chain_id, row.identity_registry, row.agent_id) for row in rows]
    key = tuple_(*(agent.c[name] for name in _KEY))
    current = and_(*(agent_file.c[name] == agent.c[name] for name in _KEY))
    file, read = files.file, files.registration_file
    is_loaded = and_(file.c.file_id == agent_file.c.file_id, file.c.state == State.LOADED)
    tables = (
        agent.outerjoin(agent_file, current)
        .outerjoin(file, is_loaded)
        .outerjoin(read, read.c.content_hash == file.c.content_hash)
    )
    shown = select(
        *(agent.c[name] for name in (*_KEY, "owner", "wallet", "registered_at", "updated_at")),
        read.c.name,
        func.substr(read.c.description, 1, _SHOWN).label("description"),
        read.c.active,
        read.c.x402_support,
    )
    found = {tuple(row[:3]): row for row in connection.execute(shown.select_from(tables).where(key.in_(wanted)))}
    passed = _passed(connection, search.gates[0], search.ranking, wanted) if search.gates else {}
    return [(found[it], passed.get(it)) for it in wanted]


def _passed(
    connection: Connection, gate: Gate, order: Order, wanted: Sequence[tuple[int, str, int]]
) -> dict[tuple[int, str, int], Rating]:
    """Return the best ratings for a gate of some agents."""
    columns = source(gate).c
    ids = sorted({it[2] for it in wanted})
    chains = sorted({it[0] for it in wanted})
    rows = connection.execute(ratings(gate, columns.chain_id.in_(chains), columns.agent_id.in_(ids)))
    best_of: dict[tuple[int, str, int], Rating] = {}
    for chain_id, identity, agent_id, *values in rows:
        registry, tag, count, counterparts, mean, bound = values
        rating = Rating(
            registry, tag, int(count), int(counterparts), float(mean), None if bound is None else float(bound)
        )
        known = best_of.get((chain_id, identity, agent_id))
        if known is None or _merit(rating, order) > _merit(known, order):
            best_of[chain_id, identity, agent_id] = rating
    return best_of


def _merit(rating: Rating, order: Order) -> tuple[Any, ...]:
    """Return what makes one of an agent's ratings better than another."""
    bound = -1.0 if rating.lower_bound is None else rating.lower_bound
    first = {Order.MEAN: rating.mean, Order.ACTIVITY: float(rating.count)}.get(order, bound)
    return first, bound, rating.count, rating.registry, rating.tag


def _found(row: Row[Any], shown: Row[Any], rating: Rating | None) -> FoundAgent:
    """Return an agent that a search found."""
    chain_id, identity, agent_id = row.chain_id, row.identity_registry, int(row.agent_id)
    return FoundAgent(
        f"{chain_id}:{agent_id}",
        f"eip155:{chain_id}:{identity}#{agent_id}",
        *(chain_id, identity, agent_id, shown.owner, shown.wallet, shown.name, shown.description),
        *(shown.active, shown.x402_support, shown.registered_at, shown.updated_at, row.relevance, rating),
    )


def _kind(search: AgentSearch) -> str:
    """Return the name of a search in its cursors, so that a cursor of another search is refused."""
    return f"agents {sha256(repr(search).encode()).hexdigest()[:16]}"

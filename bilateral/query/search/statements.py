"""The statement of a search: its tables, and the conditions that every way to the first agents has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, and_, case, cast, exists, func, literal, or_, select, tuple_

from bilateral.index.derive.activity import agent_activity
from bilateral.index.tables import files
from bilateral.index.tables.files import State
from bilateral.index.tables.schema import agent, agent_metadata
from bilateral.index.tables.search import agent_file, registration_vector, registration_words
from bilateral.index.tables.standings import standing
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.search.domains import is_named_by_domain
from bilateral.query.search.filters import OF_GATE, Order
from bilateral.query.search.gates import best, best_of_agent, is_of_few, is_rated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, Subquery

    from bilateral.query.search.filters import AgentSearch
    from bilateral.query.search.words import Matcher, Term

REAL: Final = Float(53)
"""The type of ranks."""

TIMES: Final = {
    Order.UPDATED: agent.c.updated_at,
    Order.REGISTERED: agent.c.registered_at,
    Order.LAST_ACTIVE: agent_activity.c.last_activity,
}
"""The times by which an order ranks."""

_WITHOUT_GATE: Final = (Order.STANDING, Order.MEANING, *TIMES)
"""The orders in which agents that pass the first gate have a rank without it."""

_BY_STANDING: Final = (Order.STANDING, Order.MEANING)
"""The orders in which agents that are held back come last."""

RANKED: Final = 0.5
"""The addition of a standing to the first rank: those with one precede others with as many words in their names."""

HELD_BACK: Final = -100.0
"""The addition of being held back to the first rank. It puts agents last: a name has at most 16 words of a search."""

OUT_OF_REACH: Final = -1_000_000.0
"""The addition of being held back to the rank by meaning, which is at most 33,000 millionths."""

KEY: Final = ("chain_id", "identity_registry", "agent_id")
"""The columns of the key of an agent."""

_JOINED: Final = 4
"""The conditions of one filter that PostgreSQL may turn into joins. With many it would take seconds to plan them."""


@dataclass(frozen=True)
class Parts:
    """The parts of one search.

    Attributes:
        connection: The database.
        search: The conditions.
        terms: The words.
        chains: The chains.
        matcher: Makes the conditions on words.
        closest: The files that come closest to the meaning of the text, and their ranks; None in another order.
    """

    connection: Connection
    search: AgentSearch
    terms: Sequence[Term]
    chains: Sequence[int]
    matcher: Matcher
    closest: Subquery | None = None

    @property
    def relevance(self) -> ColumnElement[Any]:
        """The number of the words that the name of a row has."""
        return self.matcher.relevance(self.terms) if self.terms else literal(0)


def is_behind(columns: Sequence[ColumnElement[Any]], key: Sequence[Any]) -> ColumnElement[bool]:
    """Return the condition that the key in some columns comes after another key.

    Args:
        columns: The columns.
        key: The other key.
    """
    return tuple_(*columns) > tuple_(*key, types=[column.type for column in columns])


class Statement:
    """One statement of a search: its tables, and the conditions that every plan has.

    Args:
        parts: The search.
        are_few: True to look the ratings of each agent up, False to collect all that pass.
        walks: True if the statement begins with the summaries of the first gate.
        stands: True if conditions on the standing of the agent are added later. Without, an order by standings takes
            agents with and without one.

    Attributes:
        passes_first: The conditions that the agent passes the first gate, if they are not among all others.
    """

    def __init__(self, parts: Parts, *, are_few: bool, walks: bool = False, stands: bool = False) -> None:
        """See the class."""
        self._parts = parts
        self._search = parts.search
        self._terms = parts.terms
        self._from: FromClause = agent
        if parts.search.ranking is Order.LAST_ACTIVE:
            self._from = agent.join(agent_activity, and_(*(agent_activity.c[name] == agent.c[name] for name in KEY)))
        self._where: list[ColumnElement[bool]] = [*self._of_agent()]
        self.passes_first: list[ColumnElement[bool]] = []
        self._add_file()
        self._gate_rank = self._add_gates(parts.chains, are_few=are_few, walks=walks)
        if self._search.ranking in _BY_STANDING and not stands:
            self._from = self._from.outerjoin(standing, and_(*self.has_standing()))

    def has_words(self) -> list[ColumnElement[bool]]:
        """Return the condition that the file of a row has all words."""
        return [self._parts.matcher.has(self._terms)] if self._terms else []

    def has_standing(self, *, looks_up_agents: bool = False) -> list[ColumnElement[bool]]:
        """Return the conditions that a standing is that of the agent, on the side of the first gate.

        Args:
            looks_up_agents: True to keep SQLite from looking up the standing of each agent.
        """
        columns = standing.c
        agent_id = unindexed(columns.agent_id) if looks_up_agents else columns.agent_id
        return [
            columns.side == self._search.rated_side.value,
            agent.c.chain_id == columns.chain_id,
            agent.c.identity_registry == columns.identity_registry,
            agent.c.agent_id == agent_id,
        ]

    def select(
        self,
        first: ColumnElement[Any],
        second: ColumnElement[Any],
        relevance: Any,
        where: Sequence[ColumnElement[bool]],
    ) -> Select[Any]:
        """Return the statement for keys and ranks.

        Args:
            first: The first rank.
            second: The rank among agents with the same first rank.
            relevance: The number of words in the name.
            where: Further conditions.
        """
        columns = [*(agent.c[name] for name in KEY), relevance.label("relevance")]
        query = select(*columns, first.label("first_rank"), second.label("second_rank"))
        return query.select_from(self._from).where(*self._where, *where)

    def rows(
        self, place: tuple[Any, ...] | None, count: int, where: Sequence[ColumnElement[bool]]
    ) -> Sequence[Row[Any]]:
        """Run the statement, in the order of the ranks.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            where: Further conditions.
        """
        relevance = self._parts.relevance
        first_rank, second_rank = self._ranks(relevance)
        is_ranked = self._search.ranking not in _WITHOUT_GATE
        inner = (
            self.select(first_rank, second_rank, relevance, where if is_ranked else [*self.passes_first, *where])
            .offset(0)  # keeps the engine from computing ranks both here and around
            .subquery()
        )
        key = [inner.c[name] for name in KEY]
        query = select(inner).order_by(inner.c.first_rank.desc(), inner.c.second_rank.desc(), *key)
        if is_ranked and self.passes_first:
            by_gate = inner.c.second_rank if self._search.ranking is Order.RELEVANCE else inner.c.first_rank
            query = query.where(by_gate.is_not(None))
        if place is not None:
            first, second, *last = place
            first_rank, second_rank = (literal(rank, REAL) for rank in (first, second))
            behind = is_behind(key, last)
            tied = or_(inner.c.second_rank < second_rank, and_(inner.c.second_rank == second_rank, behind))
            query = query.where(or_(inner.c.first_rank < first_rank, and_(inner.c.first_rank == first_rank, tied)))
        return self._parts.connection.execute(query.limit(count)).all()

    def _ranks(self, relevance: ColumnElement[Any]) -> tuple[ColumnElement[float], ColumnElement[float]]:
        """Return what ranks an agent, and what ranks agents with the same first rank."""
        order, zero = self._search.ranking, literal(0.0, REAL)
        by_gate = zero if self._gate_rank is None else cast(self._gate_rank, REAL)
        if order is Order.RELEVANCE:
            return cast(relevance, REAL), by_gate
        if order is Order.MEANING and self._parts.closest is not None:
            rank = standing.c.rank
            is_held_back = and_(rank.is_(None), standing.c.agent_id.is_not(None))
            lowered = case((is_held_back, OUT_OF_REACH), else_=0.0)
            closeness = cast(self._parts.closest.c.rank, REAL) + cast(lowered, REAL)
            return closeness, case((rank.is_not(None), rank), else_=by_gate)
        if order is Order.STANDING:
            rank, has_none = standing.c.rank, standing.c.agent_id.is_(None)
            added = case((rank.is_not(None), RANKED), (has_none, 0.0), else_=HELD_BACK)
            return cast(relevance, REAL) + cast(added, REAL), case((rank.is_not(None), rank), else_=by_gate)
        if order in TIMES:
            return cast(TIMES[order], REAL), zero
        return by_gate, zero

    def _of_agent(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions on the agent's state on chain."""
        search, columns = self._search, agent.c
        for limit, column, is_least in (
            (search.registered_from, columns.registered_at, True),
            (search.registered_to, columns.registered_at, False),
            (search.updated_from, columns.updated_at, True),
            (search.updated_to, columns.updated_at, False),
        ):
            if limit is not None:
                yield column >= limit if is_least else column <= limit
        if search.owner is not None:
            yield columns.owner == search.owner
        if search.wallet is not None:
            yield columns.wallet == search.wallet
        yield from _all_of(exists().where(*_has_entry(*pair)).correlate(agent) for pair in search.metadata)
        if search.rated is not None:
            yield is_rated() if search.rated else ~is_rated()
        if search.verified_domain is not None:
            yield is_named_by_domain() if search.verified_domain else ~is_named_by_domain()

    def _add_file(self) -> None:
        """Add the conditions on the agent's registration file, without its words."""
        search, content = self._search, files.file.c.content_hash
        reads = search.active is not None or search.x402 is not None
        closest = self._parts.closest
        if not (self._terms or search.capabilities or search.services or reads or closest is not None):
            return
        current = and_(*(agent_file.c[name] == agent.c[name] for name in KEY))
        is_loaded = and_(files.file.c.file_id == agent_file.c.file_id, unindexed(files.file.c.state) == State.LOADED)
        self._from = self._from.join(agent_file, current).join(files.file, is_loaded)
        if self._terms:
            self._from = self._from.join(registration_words, registration_words.c.content_hash == content)
        if closest is not None:
            vector = registration_vector.c
            self._from = self._from.join(registration_vector, vector.content_hash == content).join(
                closest, closest.c.vector_id == vector.vector_id
            )
        if reads:
            read = files.registration_file
            self._from = self._from.join(read, read.c.content_hash == content)
            for wanted, column in ((search.active, read.c.active), (search.x402, read.c.x402_support)):
                if wanted is not None:
                    self._where.append(column.is_(wanted))
        capability, service = files.registration_capability.c, files.registration_service.c
        offered = [
            and_(capability.kind == kind.value, capability.value == value) for kind, value in search.capabilities
        ]
        self._where += _all_of(
            exists().where(capability.content_hash == content, condition).correlate(files.file) for condition in offered
        )
        kinds = [func.lower(service.name) == name.lower() for name in search.services]
        self._where += _all_of(
            exists().where(service.content_hash == content, kind).correlate(files.file) for kind in kinds
        )

    def _add_gates(self, chains: Sequence[int], *, are_few: bool, walks: bool) -> ColumnElement[Any] | None:
        """Add the conditions on ratings, and return the rank by the first gate."""
        order = self._search.ranking if self._search.ranking in OF_GATE else Order.LOWER_BOUND
        ranks: list[ColumnElement[Any]] = []
        for gate in self._search.gates[walks:]:
            if are_few and not is_of_few(gate):
                rank = best_of_agent(gate, order)
                (self._where if ranks or walks else self.passes_first).append(rank.is_not(None))
                ranks.append(rank)
                continue
            passed = best(gate, order, chains)
            self._from = self._from.join(passed, and_(*(passed.c[name] == agent.c[name] for name in KEY)))
            ranks.append(passed.c.rank)
        return ranks[0] if ranks else None


def _has_entry(key: str, value: bytes | None) -> list[ColumnElement[bool]]:
    """Return the conditions that an entry of metadata is an agent's, and has this key and value."""
    entry = agent_metadata.c
    conditions = [*(entry[name] == agent.c[name] for name in KEY), entry.metadata_key == key]
    return conditions if value is None else [*conditions, entry.metadata_value == value]


def _all_of(conditions: Iterable[ColumnElement[bool]]) -> Iterator[ColumnElement[bool]]:
    """Yield conditions on other tables, of which the server joins only the first ones."""
    for number, condition in enumerate(conditions):
        yield condition if number < _JOINED else condition.is_(True)

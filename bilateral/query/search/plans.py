"""The ways to the first agents of a search, of which each looks at few rows.

A search for agents has two sides, words and ratings, and either may be common. It begins with the rarer one. If both
are common, it walks down the index of lower bounds, where every few agents have the words: first among the agents with
all words in their names, then among those with one word less. A search without ratings walks down the agents in the
same way, in the order of their keys, of their registrations or of their last changes. In the order of standings, a
search walks down these, whether it has ratings or not.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, literal, select

from bilateral.index.tables import files
from bilateral.index.tables.dialects import dialect_of
from bilateral.index.tables.schema import agent, summary
from bilateral.index.tables.search import agent_file, registration_words
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.prepared import Prepared
from bilateral.query.search.domains import claimed_agents
from bilateral.query.search.filters import Order
from bilateral.query.search.gates import is_of_few, passing
from bilateral.query.search.statements import KEY, TIMES, Statement
from bilateral.query.search.unranked import Unranked, is_not_held_back
from bilateral.query.search.walks import MOST_COUNTED, Walks, has_named
from bilateral.query.search.words import count_up_to
from bilateral.values.bounds import scale_of_tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Row, Table

    from bilateral.query.search.filters import Gate
    from bilateral.query.search.statements import Parts
    from bilateral.query.search.words import Term

FEW_FILES: Final = 1_000
"""Files with the words of a query up to which a search begins with them, and looks up the ratings of each agent.

This holds for an index of up to 100,000 files. A walk passes as many more agents as the index has more files, so the
number grows with the root of the files.
"""

_USUAL_FILES: Final = 100_000
"""The files of an index for which the other numbers hold; they grow with the root of the files."""

MOST_LISTED: Final = 3_000
"""Files up to which PostgreSQL walks among their agents alone. It grows as `FEW_FILES` does.

The agents are a set in memory, which the walk asks for each summary. Otherwise it reads three tables for each.
"""

AGENTS_OF_FILE: Final = 4
"""Times as many agents as files up to which PostgreSQL walks among them alone. Any number of agents may name a file."""

FEW_RATED: Final = 2_000
"""Ratings that pass a gate up to which a search begins with them."""

LOOKED_AT: Final = 25 * FEW_RATED
"""Ratings of a tag that PostgreSQL looks at to find those that pass a gate, if it can begin with the files instead.

A gate that few pass takes the whole index of its tag to count, which takes longer than to look the files up.
"""


_OF_AGENTS: Final = (Order.STANDING, Order.RELEVANCE, *TIMES)
"""The orders in which searches without a gate walk down an index."""


def find(parts: Parts, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
    """Return the keys and ranks of the first agents of a search.

    Args:
        parts: The search.
        place: The values of the cursor; None for the first page.
        count: The number of agents.
    """
    search, terms, matcher, plans = parts.search, parts.terms, parts.matcher, _Plans(parts)
    if search.owner is not None or search.wallet is not None:
        return plans.by_agent(place, count)
    claimed = claimed_agents(parts.connection) if search.verified_domain else None
    if claimed is not None:
        return plans.by_agent(place, count, among(agent, claimed)) if claimed else []
    files = plans.most + 1 if not terms or matcher.are_common(terms, plans.most) else plans.count(terms)
    if files <= plans.sure:
        return plans.by_files(place, count, matcher.begins(terms))
    has_bounds = _has_bounds(parts, LOOKED_AT if files <= plans.few else None)
    if files <= plans.few and not has_bounds:
        return plans.by_files(place, count, matcher.begins(terms))
    is_of_agents = not search.gates and search.ranking in _OF_AGENTS
    if not (has_bounds or is_of_agents):
        return plans.by_gates(place, count)
    descent = _Descent(parts, plans, has_bounds=has_bounds, are_listed=has_bounds and files <= plans.most)
    by_names = {Order.STANDING: descent.by_standing, Order.RELEVANCE: descent.by_relevance}.get(search.ranking)
    return descent.walk(place, count, None) if by_names is None else by_names(place, count)


def among(table: Table, keys: Sequence[tuple[Any, ...]]) -> list[ColumnElement[bool]]:
    """Return conditions that let SQLite find the rows of some agents by their key, and perhaps of a few others.

    Args:
        table: A table with the key of agents.
        keys: The agents.
    """
    return [table.c[name].in_(sorted(set(values))) for name, values in zip(KEY, zip(*keys, strict=True), strict=True)]


_LAST_FILE: Final = Prepared(select(func.max(registration_words.c.document_id).label("last")))
"""Finds the number of the last file, which is about the number of files."""


def _has_bounds(parts: Parts, within: int | None) -> bool:
    """Check that many ratings pass, and that the order is of lower bounds under one tag, which has an index.

    Args:
        parts: The search.
        within: Only so many of the tag's greatest bounds may be looked at; None for all.
    """
    search = parts.search
    if not search.gates or search.ranking not in (Order.STANDING, Order.RELEVANCE, Order.LOWER_BOUND):
        return False
    gate = search.gates[0]
    if gate.tag is None or scale_of_tag(gate.tag) is None or is_of_few(gate):
        return False
    return _count_passing(parts, gate, within) > FEW_RATED


def _count_passing(parts: Parts, gate: Gate, within: int | None) -> int:
    """Count the summaries that pass a gate, up to `FEW_RATED` and one. The index of lower bounds has all that it reads.

    Args:
        parts: The search.
        gate: The gate, as for `passing`.
        within: See `_has_bounds`.
    """
    count, most = 0, FEW_RATED + 1
    for chain_id in parts.chains:
        columns: Any = summary.c
        if within is not None:
            of_tag = columns.chain_id == chain_id, columns.side == gate.summed_side, columns.tag == gate.tag
            greatest = select(summary).where(*of_tag).order_by(columns.lower_bound.desc()).limit(within)
            columns = greatest.subquery().c
        rows = select(literal(1).label("one")).where(*passing(gate, chain_id, columns)).limit(most - count)
        rows = rows.order_by(columns.lower_bound.desc())  # more pass at the top
        count += parts.connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one()
        if count >= most:
            break
    return count


class _Plans:
    """The statements that begin with a part of the agents.

    Args:
        parts: The search.

    Attributes:
        few: The files up to which a search begins with them. See `FEW_FILES`.
        sure: The files up to which it surely does: half of them, if a walk can be told the agents.
        most: The files up to which a walk is told the agents. See `MOST_LISTED`.
    """

    def __init__(self, parts: Parts) -> None:
        """See the class."""
        self._parts = parts
        (last,) = _LAST_FILE.first(parts.connection, {}) or (None,)
        growth = sqrt(max(1.0, (last or 0) / _USUAL_FILES))
        self.few = self.sure = self.most = int(FEW_FILES * growth)
        if dialect_of(parts.connection).has_arrays:
            self.sure, self.most = self.few // 2, max(self.few, int(MOST_LISTED * growth))

    def count(self, terms: Sequence[Term], named: int = 0) -> int:
        """Count the files with some words, up to one more than `most`.

        Args:
            terms: The words.
            named: The number of them that the name has at least.
        """
        return count_up_to(
            self._parts.connection, self._parts.matcher.documents(terms, self._named(named)), self.most + 1
        )

    def by_agent(
        self, place: tuple[Any, ...] | None, count: int, among: Sequence[ColumnElement[bool]] = ()
    ) -> Sequence[Row[Any]]:
        """Begin with the agents of an owner or wallet, or with those of some conditions."""
        statement = Statement(self._parts, are_few=True)
        chains = agent.c.chain_id.in_(self._parts.chains)
        return statement.rows(place, count, [chains, *among, *statement.has_words()])

    def by_files(
        self, place: tuple[Any, ...] | None, count: int, *conditions: ColumnElement[bool]
    ) -> Sequence[Row[Any]]:
        """Begin with the files that fulfil conditions on their words."""
        # SQLite begins with the documents, and not with all agents of the chains.
        of_chains = unindexed(agent.c.chain_id).in_(self._parts.chains)
        return Statement(self._parts, are_few=True).rows(place, count, [of_chains, *conditions])

    def by_gates(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Begin with all ratings that pass the gates; with all agents, if there is none."""
        statement = Statement(self._parts, are_few=False)
        chain_id = unindexed(agent.c.chain_id) if self._parts.search.gates else agent.c.chain_id
        return statement.rows(place, count, [chain_id.in_(self._parts.chains), *statement.has_words()])

    def begin_of_relevance(self, relevance: int) -> ColumnElement[bool] | None:
        """Return the condition on files whose names have at least as many words; None if these are not counted."""
        if relevance == 0 or len(self._parts.terms) > MOST_COUNTED:
            return None
        return self._parts.matcher.begins(self._parts.terms, self._named(relevance))

    def agents(self, begin: ColumnElement[bool]) -> Mapping[int, Sequence[int]] | None:
        """Return the ids of the agents whose files fulfil a condition on their words, by chains; None for too many."""
        content = registration_words.c.content_hash
        tables = registration_words.join(files.file, files.file.c.content_hash == content).join(
            agent_file, agent_file.c.file_id == files.file.c.file_id
        )
        most = self.most * AGENTS_OF_FILE
        query = select(agent_file.c.chain_id, agent_file.c.agent_id).select_from(tables).where(begin).limit(most + 1)
        rows = self._parts.connection.execute(query).all()
        if len(rows) > most:
            return None
        places: dict[int, list[int]] = {}
        for chain_id, agent_id in rows:
            places.setdefault(chain_id, []).append(agent_id)
        return places

    def _named(self, count: int) -> tuple[tuple[Term, ...], ...]:
        """Return the choices of words, of which the name has one."""
        return tuple(combinations(self._parts.terms, count)) if count else ()


class _Descent:
    """The walks of a search, each among the agents with its words if few have them.

    Args:
        parts: The search.
        plans: Its other plans.
        has_bounds: True to walk down the lower bounds, False to walk down the agents.
        are_listed: True if few files have the words.
    """

    def __init__(self, parts: Parts, plans: _Plans, *, has_bounds: bool, are_listed: bool) -> None:
        """See the class."""
        self._parts = parts
        self._plans = plans
        self._walks = Walks(parts)
        self._has_bounds = has_bounds
        self._are_listed = are_listed

    @cached_property
    def _with_words(self) -> Mapping[int, Sequence[int]] | None:
        """The agents with all words. They are the same for each number of words in names."""
        parts = self._parts
        return self._plans.agents(parts.matcher.begins(parts.terms)) if self._are_listed else None

    def walk(
        self,
        place: tuple[Any, ...] | None,
        count: int,
        relevance: int | None,
        named: ColumnElement[bool] | None = None,
    ) -> Sequence[Row[Any]]:
        """Walk down an index.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have; None for any number.
            named: The condition on the files with such names, if few have them.
        """
        if not self._has_bounds:
            return self._walks.by_agents(place, count, relevance)
        listed = self._with_words if named is None else self._plans.agents(named)
        return self._walks.by_bound(place, count, relevance, listed)

    def by_relevance(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Find the agents with all words in their names, then those with one word less, and so on. See `walk`."""
        rows: list[Row[Any]] = []
        terms, plans = self._parts.terms, self._plans
        most = len(terms) if place is None else min(len(terms), int(place[0]))
        for relevance in range(most, -1, -1):
            here, left = place if place is not None and relevance == place[0] else None, count - len(rows)
            named = plans.begin_of_relevance(relevance)
            files = plans.most + 1 if named is None else plans.count(terms, relevance)
            if named is not None and files <= (plans.sure if self._has_bounds else plans.few):
                rows += plans.by_files(here, left, named, has_named(self._parts, relevance))
            else:
                rows += self.walk(here, left, relevance, named if files <= plans.most else None)
            if len(rows) >= count:
                break
        return rows

    def by_standing(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Find agents as `by_relevance`, each time those with a standing first; then those that are held back."""
        rows: list[Row[Any]] = []
        terms, plans, unranked = self._parts.terms, self._plans, Unranked(self._parts)
        most = len(terms) if place is None else min(len(terms), floor(place[0]))
        for relevance in range(most, -1, -1):
            here = place if place is not None and relevance == floor(place[0]) else None
            named = plans.begin_of_relevance(relevance)
            files = plans.most + 1 if named is None else plans.count(terms, relevance)
            if named is not None and files <= (plans.sure if self._has_bounds else plans.few):
                begin = named, has_named(self._parts, relevance), is_not_held_back()
                rows += plans.by_files(here, count - len(rows), *begin)
            else:
                if here is None or here[0] > relevance:
                    rows += self._walk_ranks(here, count - len(rows), relevance, named if files <= plans.most else None)
                    here = None
                if len(rows) < count:
                    rows += unranked.find(here, count - len(rows), relevance, has_bounds=self._has_bounds)
            if len(rows) >= count:
                return rows
        held_back = None if place is None or place[0] >= 0 else place
        return [*rows, *unranked.held_back(held_back, count - len(rows))]

    def _walk_ranks(
        self, place: tuple[Any, ...] | None, count: int, relevance: int, named: ColumnElement[bool] | None
    ) -> Sequence[Row[Any]]:
        """Walk down the standings. See `walk`."""
        listed = None
        if self._has_bounds:
            listed = self._with_words if named is None else self._plans.agents(named)
        return self._walks.by_rank(place, count, relevance, listed)

"""The ways to the first agents of a search, of which each looks at few rows.

A search for agents has two sides, words and ratings, and either may be common. It begins with the rarer one. If both
are common, it walks down the index of lower bounds, where every few agents have the words: first among the agents with
all words in their names, then among those with one word less. A search without ratings walks down the agents in the
same way, in the order of their keys, of their registrations or of their last changes.
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from bilateral.bounds import scale_of_tag
from bilateral.index.queries.prepared import Prepared
from bilateral.index.queries.search_filters import Order
from bilateral.index.queries.search_gates import count_passing, is_of_few
from bilateral.index.queries.search_statements import KEY, Parts, Statement
from bilateral.index.queries.search_walks import MOST_COUNTED, Walks, has_named
from bilateral.index.queries.search_words import Matcher, Term, count_up_to
from bilateral.index.schema import agent
from bilateral.index.search.schema import registration_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

    from bilateral.index.queries.search_filters import AgentSearch

FEW_FILES: Final = 1_000
"""Files with the words of a query up to which a search begins with them, and looks up the ratings of each agent.

This holds for an index of up to 100,000 files. A walk passes as many more agents as the index has more files, so the
number grows with the root of the files.
"""

_USUAL_FILES: Final = 100_000

FEW_RATED: Final = 2_000
"""Ratings that pass a gate up to which a search begins with them."""


def find(  # noqa: PLR0913, PLR0917  # the parts of a search
    connection: Connection,
    search: AgentSearch,
    terms: Sequence[Term],
    chains: Sequence[int],
    place: tuple[Any, ...] | None,
    count: int,
) -> Sequence[Row[Any]]:
    """Return the keys and ranks of the first agents of a search.

    Args:
        connection: The database.
        search: The conditions.
        terms: The words, as `Matcher` returns them.
        chains: The chains.
        place: The values of the cursor; None for the first page.
        count: The number of agents.
    """
    matcher = Matcher(connection)
    parts = Parts(connection, search, terms, chains, matcher)
    plans, walks = _Plans(parts), Walks(parts)
    if search.owner is not None or search.wallet is not None:
        return plans.by_agent(place, count)
    if terms and plans.count(terms) <= plans.few:
        return plans.by_files(place, count, matcher.documents(terms))
    if not search.gates and search.ranking in (Order.RELEVANCE, Order.UPDATED, Order.REGISTERED):
        walk = walks.by_agents
    elif _has_bounds(search) and count_passing(connection, search.gates[0], chains, FEW_RATED + 1) > FEW_RATED:
        walk = walks.by_bound
    else:
        return plans.by_gates(place, count)
    if search.ranking is not Order.RELEVANCE:
        return walk(place, count, None)
    rows: list[Row[Any]] = []
    most = len(terms) if place is None else min(len(terms), int(place[0]))
    for relevance in range(most, -1, -1):
        here = place if place is not None and relevance == place[0] else None
        few = plans.files_of_relevance(relevance, here, count - len(rows))
        rows += walk(here, count - len(rows), relevance) if few is None else few
        if len(rows) >= count:
            break
    return rows


def among(table: Table, keys: Sequence[tuple[Any, ...]]) -> list[ColumnElement[bool]]:
    """Return conditions that let SQLite find the rows of some agents by their key, and perhaps of a few others.

    Args:
        table: A table with the key of agents.
        keys: The agents.
    """
    return [table.c[name].in_(sorted(set(values))) for name, values in zip(KEY, zip(*keys, strict=True), strict=True)]


_LAST_FILE: Final = Prepared(select(func.max(registration_words.c.document_id).label("last")))
"""Finds the number of the last file, which is about the number of files."""


def _has_bounds(search: AgentSearch) -> bool:
    """Check that a search is in the order of lower bounds under one tag, which has an index."""
    if not search.gates or search.ranking not in (Order.RELEVANCE, Order.LOWER_BOUND):
        return False
    gate = search.gates[0]
    return gate.tag is not None and scale_of_tag(gate.tag) is not None and not is_of_few(gate)


class _Plans:
    """The statements that begin with a part of the agents.

    Args:
        parts: The search.

    Attributes:
        few: The files up to which a search begins with them. See `FEW_FILES`.
    """

    def __init__(self, parts: Parts) -> None:
        """See the class."""
        self._parts = parts
        (last,) = _LAST_FILE.first(parts.connection, {}) or (None,)
        self.few = int(FEW_FILES * sqrt(max(1.0, (last or 0) / _USUAL_FILES)))

    def count(self, terms: Sequence[Term], named: int = 0) -> int:
        """Count the files with some words, up to one more than `few`.

        Args:
            terms: The words.
            named: The number of them that the name has at least.
        """
        return count_up_to(
            self._parts.connection, self._parts.matcher.documents(terms, self._named(named)), self.few + 1
        )

    def by_agent(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Begin with the agents of an owner or wallet."""
        statement = Statement(self._parts, are_few=True)
        return statement.rows(place, count, [agent.c.chain_id.in_(self._parts.chains), *statement.has_words()])

    def by_files(
        self, place: tuple[Any, ...] | None, count: int, documents: Select[int], *conditions: ColumnElement[bool]
    ) -> Sequence[Row[Any]]:
        """Begin with the files of some documents."""
        # A sum has no index, so SQLite begins with the documents and not with all agents of the chains.
        begin = [(agent.c.chain_id + 0).in_(self._parts.chains), registration_words.c.document_id.in_(documents)]
        return Statement(self._parts, are_few=True).rows(place, count, [*begin, *conditions])

    def by_gates(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Begin with all ratings that pass the gates; with all agents, if there is none."""
        statement = Statement(self._parts, are_few=False)
        chain_id = agent.c.chain_id + 0 if self._parts.search.gates else agent.c.chain_id
        return statement.rows(place, count, [chain_id.in_(self._parts.chains), *statement.has_words()])

    def files_of_relevance(
        self, relevance: int, place: tuple[Any, ...] | None, count: int
    ) -> Sequence[Row[Any]] | None:
        """Return the agents with as many words in their names; None if too many files have so many."""
        if (
            relevance == 0
            or len(self._parts.terms) > MOST_COUNTED
            or self.count(self._parts.terms, relevance) > self.few
        ):
            return None
        documents = self._parts.matcher.documents(self._parts.terms, self._named(relevance))
        return self.by_files(place, count, documents, has_named(self._parts, relevance))

    def _named(self, count: int) -> tuple[tuple[Term, ...], ...]:
        """Return the choices of words, of which the name has one."""
        return tuple(combinations(self._parts.terms, count)) if count else ()

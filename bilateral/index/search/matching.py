"""A query's words as conditions on registration files. The conditions mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSQUERY

from bilateral.index.reading.prepared import Prepared, at_most
from bilateral.index.search.filters import SIMILAR_LENGTHS, AgentSearch, Order, trigrams
from bilateral.index.search.tables import registration_words, vocabulary, word_trigram

_SHORTEST_BEGINNING: Final = 2
"""The minimum length of a word for it to match longer words that begin with it, too."""

_MOST_COUNTED: Final = 4
"""The maximum number of words in a query for which files with several of these words in their names are counted."""

_SIMILARITY: Final = 0.3
"""The minimum similarity of two words: their common trigrams, divided by all trigrams in either word."""

_MAX_SIMILAR: Final = 10
"""The maximum number of words that replace a misspelt word."""


@dataclass(frozen=True)
class Term:
    """A word of a query.

    Attributes:
        words: The word, or its replacements, any one of which suffices.
        is_beginning: True if the term also matches words that begin with it.
    """

    words: tuple[str, ...]
    is_beginning: bool


_Choices: TypeAlias = Sequence[Sequence[Term]]


class Matcher(ABC):
    """Builds the conditions for a connection's engine. See `matcher_of`."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def terms(self, words: Sequence[str]) -> list[Term] | None:
        """Return a query's terms. A word that is not in any file is replaced with similar words from names."""
        terms = []
        for word in words:
            term = Term((word,), len(word) >= _SHORTEST_BEGINNING)
            if not self._has_files(term):
                similar = _similar_words(self._connection, word)
                if not similar:
                    return None
                term = Term(tuple(similar), is_beginning=False)
            terms.append(term)
        return terms

    def _has_files(self, term: Term) -> bool:
        return self._connection.execute(self.documents([term]).limit(1)).first() is not None

    @abstractmethod
    def documents(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.Select[int]:
        """Return the query for documents with all terms, and with all terms of at least one choice in their names."""

    @abstractmethod
    def begins(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.ColumnElement[bool]:
        """Return the condition that `documents` finds a `registration_words` row, as a statement's starting point."""

    def are_common(self, terms: Sequence[Term], count: int) -> bool:  # noqa: ARG002  # SQLite counts fast
        """Return True if PostgreSQL's statistics show that the files with all terms must exceed a limit.

        Counting them in PostgreSQL would read the entire list of files for each word, even with a limit.
        """
        return False

    def count_up_to(self, documents: sa.Select[int], most: int) -> int:
        """Return the number of documents that a query finds, counted only up to a limit."""
        limited = documents.limit(most).subquery()
        return self._connection.execute(sa.select(sa.func.count()).select_from(limited)).scalar_one()

    def has(self, terms: Sequence[Term]) -> sa.ColumnElement[bool]:
        """Return the condition that a `registration_words` row contains all terms. Only this row is read."""
        return sa.and_(*(self._has_in("words", term) for term in terms))

    def relevance(self, terms: Sequence[Term]) -> sa.ColumnElement[int]:
        """Return the expression for the number of terms with which words in a `registration_words` row's name begin."""
        points: sa.ColumnElement[int] = sa.literal(0, sa.Integer)
        for term in terms:
            points += sa.case((self._has_in("name_words", term), 1), else_=0)
        return points

    def has_in_name(self, terms: Sequence[Term], count: int) -> sa.ColumnElement[bool]:
        """Return the condition that words in a name begin with exactly this many of the terms."""
        in_name = [self._has_in("name_words", term) for term in terms]
        choices = (
            sa.and_(*(has if number in chosen else sa.not_(has) for number, has in enumerate(in_name)))
            for chosen in combinations(range(len(terms)), count)
        )
        return sa.or_(*choices)

    @abstractmethod
    def _has_in(self, column: str, term: Term) -> sa.ColumnElement[bool]:
        """Return the condition that a row's column contains a term. No index is used."""


class _SqliteMatcher(Matcher):
    """Builds the conditions for FTS5."""

    def documents(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.Select[int]:
        in_names = " OR ".join(f"({_match('name_words', choice)})" for choice in choices)
        expression = f"({_match('words', terms)}) AND ({in_names})" if choices else _match("words", terms)
        matches = sa.literal_column("agent_words").op("MATCH")(expression)
        row: sa.ColumnElement[int] = sa.literal_column("rowid", sa.Integer)
        return sa.select(row).select_from(sa.table("agent_words")).where(matches)

    def begins(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.ColumnElement[bool]:
        return registration_words.c.document_id.in_(self.documents(terms, choices))

    def _has_in(self, column: str, term: Term) -> sa.ColumnElement[bool]:
        end = "" if term.is_beginning else " "
        listed = sa.type_coerce(registration_words.c[column], sa.Text)  # space-separated words
        words = sa.literal(" ").concat(listed).concat(sa.literal(end)) if end else sa.literal(" ").concat(listed)
        return sa.or_(*(sa.func.instr(words, f" {word}{end}") > 0 for word in term.words))


class _PostgresMatcher(Matcher):
    """Builds the conditions for `tsvector`."""

    def __init__(self, connection: sa.Connection) -> None:
        super().__init__(connection)
        self._estimates: dict[tuple[str, str], int] = {}

    def _has_files(self, term: Term) -> bool:
        return _FIRST_WITH_WORDS.first(self._connection, {"words": _expression([[term]])}) is not None

    def documents(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.Select[int]:
        return sa.select(registration_words.c.document_id).where(self.begins(terms, choices))

    def begins(self, terms: Sequence[Term], choices: _Choices = ()) -> sa.ColumnElement[bool]:
        if not choices:
            return self._vector("words", [terms])
        in_names = self._vector("name_words", choices)
        if len(choices[0]) == len(terms):
            return in_names  # all words of a name are also words of the file
        if self._estimate("name_words", choices) > _MANY_NAMES:
            return sa.and_(in_names, self._vector("words", [terms]))
        # PostgreSQL would use the index to find all files with these words, and then drop most of them.
        return sa.and_(in_names, self.has(terms))

    def are_common(self, terms: Sequence[Term], count: int) -> bool:
        return self._estimate("words", [terms]) > _SURELY * count

    def _estimate(self, column: str, choices: _Choices) -> int:
        """Return the number of documents that PostgreSQL expects to contain all terms of one choice in a column."""
        words = _expression(choices)
        if (column, words) not in self._estimates:
            ((plan,),) = self._connection.execute(_ESTIMATES[column], {"words": words})
            self._estimates[column, words] = plan[0]["Plan"]["Plan Rows"]
        return self._estimates[column, words]

    def _has_in(self, column: str, term: Term) -> sa.ColumnElement[bool]:
        # PostgreSQL assumes that this holds for every other row. It knows how many rows contain a word, but not that
        # rows with one word often contain others. It would expect few rows, start with them, and read them all.
        return sa.func.coalesce(self._vector(column, [[term]]), sa.false())

    @staticmethod
    def _vector(column: str, choices: _Choices) -> sa.ColumnElement[bool]:
        words: sa.ColumnElement[Any] = registration_words.c[column]
        return words.bool_op("@@")(sa.cast(_expression(choices), TSQUERY))


def matcher_of(connection: sa.Connection) -> Matcher:
    """Return the matcher for a connection's engine."""
    return (_SqliteMatcher if connection.dialect.name == "sqlite" else _PostgresMatcher)(connection)


_FIRST_WITH_WORDS: Final = Prepared(
    sa.select(registration_words.c.document_id)
    .where(registration_words.c.words.bool_op("@@")(sa.cast(sa.bindparam("words", type_=sa.Text), TSQUERY)))
    .limit(at_most(1))
)
"""The query that finds one document matching an expression on PostgreSQL."""

_ESTIMATES: Final = {
    column: sa.text(f"EXPLAIN (FORMAT JSON) SELECT FROM registration_words WHERE {column} @@ CAST(:words AS TSQUERY)")
    for column in ("words", "name_words")
}
"""The queries for PostgreSQL's estimate of the number of documents that match an expression, by column."""

_MANY_NAMES: Final = 5_000
"""The number of names with a query's words above which PostgreSQL also uses the index on all words."""

_SURELY: Final = 4
"""The factor by which PostgreSQL's estimate must exceed a limit to rule out that fewer files match."""


@dataclass(frozen=True)
class Words:
    """A search's words, with misspelt words replaced, and the conditions based on them.

    Attributes:
        matcher: Builds further conditions.
        terms: The words or their replacements.
        has: The condition that a file contains all words; empty if there are no words.
        relevance: The expression for the number of the search's words that occur in a row's name.
        files: The number of files with all words, counted up to a maximum of one more than requested; without words,
            this maximum.
    """

    matcher: Matcher
    terms: Sequence[Term]
    has: Sequence[sa.ColumnElement[bool]]
    relevance: sa.ColumnElement[int]
    files: int

    def begin(self) -> list[sa.ColumnElement[bool]]:
        """Return the condition that a file contains all words, as a statement's starting point; empty without words."""
        return [self.matcher.begins(self.terms)] if self.terms else []

    def names_with(self, count: int, most: int) -> Names:
        """Return the conditions for names with exactly this many of the words, and the number of matching files."""
        if not self.terms:
            return Names(None, 0, ())
        if len(self.terms) > _MOST_COUNTED:
            return Names(None, 0, (self.matcher.relevance(self.terms) == count,))
        exactly = (self.matcher.has_in_name(self.terms, count),)
        if not count:
            return Names(None, 0, exactly)
        choices = tuple(combinations(self.terms, count))
        begin = self.matcher.begins(self.terms, choices)
        return Names(begin, self.matcher.count_up_to(self.matcher.documents(self.terms, choices), most + 1), exactly)


@dataclass(frozen=True)
class Names:
    """Names that contain a search's words.

    Attributes:
        begin: The condition for files whose names contain at least a given number of words; None if not counted.
        files: The number of files that meet `begin`; 0 if they are not counted.
        exactly: The condition that a name contains exactly that number of words; empty for a search without words.
    """

    begin: sa.ColumnElement[bool] | None
    files: int
    exactly: Sequence[sa.ColumnElement[bool]]


def words_of_search(connection: sa.Connection, search: AgentSearch, *, most: int | None) -> Words | None:
    """Return a search's words; None if a word is not in any file and no name contains a similar word."""
    matcher = matcher_of(connection)
    terms = () if search.ranking is Order.MEANING else matcher.terms(search.words)
    if terms is None:
        return None
    if not terms:
        return Words(matcher, (), (), sa.literal(0), (most or 0) + 1)
    files = 0
    if most is not None:
        files = most + 1 if matcher.are_common(terms, most) else matcher.count_up_to(matcher.documents(terms), most + 1)
    return Words(matcher, terms, (matcher.has(terms),), matcher.relevance(terms), files)


def _similar_words(connection: sa.Connection, word: str) -> list[str]:
    """Return the words in names that are most similar to a word, in descending order of similarity."""
    if len(word) not in SIMILAR_LENGTHS:
        return []
    parts = trigrams(word)
    common = sa.func.count().label("common")
    matching = (
        sa.select(word_trigram.c.word, common)
        .where(word_trigram.c.trigram.in_(sorted(parts)))
        .group_by(word_trigram.c.word)
        .having(common >= _SIMILARITY * len(parts))
        .subquery()
    )
    query = sa.select(matching.c.word, matching.c.common, vocabulary.c.trigrams).join(
        vocabulary, vocabulary.c.word == matching.c.word
    )
    rows = connection.execute(query)
    ranked = sorted((-count / (len(parts) + number - count), other) for other, count, number in rows)
    return [other for similarity, other in ranked if -similarity >= _SIMILARITY][:_MAX_SIMILAR]


# Words only contain letters and digits, so quotation marks are sufficient.
def _expression(choices: _Choices) -> str:
    """Return a PostgreSQL expression for texts that contain all terms of at least one choice."""

    def alternatives(term: Term) -> str:
        return " | ".join(f"'{word}'{':*' if term.is_beginning else ''}" for word in term.words)

    return " | ".join(" & ".join(f"({alternatives(term)})" for term in terms) for terms in choices)


def _match(column: str, terms: Sequence[Term]) -> str:
    parts = (" OR ".join(f'"{word}"{"*" if term.is_beginning else ""}' for word in term.words) for term in terms)
    return " AND ".join(f"{column} : ({part})" for part in parts)

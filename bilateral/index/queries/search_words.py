"""The words of a query as conditions on registration files, the same for both engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Integer, case, cast, func, literal, literal_column, select, table
from sqlalchemy.dialects.postgresql import TSQUERY

from bilateral.index.search.schema import registration_words
from bilateral.index.search.vocabulary import similar_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

_SHORTEST_BEGINNING: Final = 2
"""Characters of a word from which on it also stands for the words that begin with it."""

IN_NAME, BEGINS_IN_NAME, ANYWHERE = 4, 2, 1
"""The points of relevance that a file gets for a word of the query."""


@dataclass(frozen=True)
class Term:
    """A word of a query.

    Attributes:
        words: The word; or those that stand in for it, of which one suffices.
        is_beginning: True if it also stands for words that begin with it.
    """

    words: tuple[str, ...]
    is_beginning: bool


class Matcher:
    """Makes the conditions for the engine of a connection.

    Args:
        connection: The connection.

    Attributes:
        is_narrow: True if a search begins with the documents of its words, because they are few.
    """

    def __init__(self, connection: Connection) -> None:
        """See the class."""
        self._connection = connection
        self.is_narrow = False
        self._is_sqlite = connection.dialect.name == "sqlite"

    def terms(self, words: Sequence[str]) -> list[Term] | None:
        """Return the terms of a query. A word that no file has is replaced by the similar words of names.

        Args:
            words: The words.

        Returns:
            The terms; None if a word is neither known nor similar to a known one, so that nothing is found.
        """
        terms = []
        for word in words:
            term = Term((word,), len(word) >= _SHORTEST_BEGINNING)
            if self._connection.execute(self.documents([term]).limit(1)).first() is None:
                similar = similar_words(self._connection, word)
                if not similar:
                    return None
                term = Term(tuple(similar), is_beginning=False)
            terms.append(term)
        return terms

    def documents(self, terms: Sequence[Term]) -> Select[int]:
        """Return the query for the documents that have all of some terms."""
        if self._is_sqlite:
            return self._full_text(_match("words", terms))
        return select(registration_words.c.document_id).where(self._vector("words", terms))

    def has(self, terms: Sequence[Term]) -> ColumnElement[bool]:
        """Return the condition that a row of `registration_words` has all of some terms."""
        if self._is_sqlite:
            document = registration_words.c.document_id
            return (document if self.is_narrow else _without_index(document)).in_(self.documents(terms))
        return self._vector("words", terms)

    def relevance(self, terms: Sequence[Term]) -> ColumnElement[int]:
        """Return the points of a row of `registration_words`: more for words in the name, and for whole words."""
        points: ColumnElement[int] = literal(0, Integer)
        for term in terms:
            whole = Term(term.words, is_beginning=False)
            for column, wanted, number in (
                ("name_words", whole, IN_NAME),
                ("name_words", term, BEGINS_IN_NAME),
                ("words", whole, ANYWHERE),
            ):
                points += case((self._has_in(column, wanted), number), else_=0)
        return points

    def _has_in(self, column: str, term: Term) -> ColumnElement[bool]:
        """Return the condition that one column has a term."""
        if self._is_sqlite:
            documents = self._full_text(_match(column, [term]))
            return _without_index(registration_words.c.document_id).in_(documents)
        return self._vector(column, [term])

    @staticmethod
    def _full_text(expression: str) -> Select[int]:
        """Return the query of the full-text index of SQLite."""
        row: ColumnElement[int] = literal_column("rowid", Integer)
        return (
            select(row).select_from(table("agent_words")).where(literal_column("agent_words").op("MATCH")(expression))
        )

    @staticmethod
    def _vector(column: str, terms: Sequence[Term]) -> ColumnElement[bool]:
        """Return the condition on a column of PostgreSQL."""
        query = " & ".join(
            "(" + " | ".join(f"'{word}'{':*' if term.is_beginning else ''}" for word in term.words) + ")"
            for term in terms
        )
        condition: ColumnElement[bool] = registration_words.c[column].op("@@")(cast(query, TSQUERY))
        return condition


def count_up_to(connection: Connection, query: Select[int], most: int) -> int:
    """Return the number of rows of a query, but no more than a limit.

    Args:
        connection: The connection.
        query: The query.
        most: The limit.
    """
    return connection.execute(select(func.count()).select_from(query.limit(most).subquery())).scalar_one()


def _match(column: str, terms: Sequence[Term]) -> str:
    """Return an expression of FTS5. Words hold letters and digits only, so quotation marks suffice."""
    parts = (" OR ".join(f'"{word}"{"*" if term.is_beginning else ""}' for word in term.words) for term in terms)
    return " AND ".join(f"{column} : ({part})" for part in parts)


def _without_index(column: ColumnElement[int]) -> ColumnElement[int]:
    """Return a column's value for a condition that SQLite checks row by row.

    With its index, SQLite walks the list of the full text once for each agent.
    """
    return column + 0

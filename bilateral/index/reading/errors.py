"""Errors of questions to the index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar

from bilateral.core.errors import FormattedError, InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.errors import NotIndexedError


class ChainNotIndexedError(NotIndexedError):
    """The index does not follow the chain, or knows no identity registry on it.

    Attributes:
        kind: `chain`.
        name: The chain's id, or the name that the caller gave.
    """

    reason = "chain_not_indexed"

    def __init__(self, chain: int | str, known: Iterable[int]) -> None:
        listed = ", ".join(map(str, known)) or "none"
        super().__init__("chain", chain)
        shown = quoted(chain) if isinstance(chain, str) else chain
        self.args = (f"chain {shown} is not indexed: name one of the indexed chains ({listed})",)


class LargeAnswerError(FormattedError, InvalidArgumentError):
    """A query has an answer that is too large."""

    reason = "answer_too_large"
    template = "the answer has more than {most} bytes: ask for fewer entries, or for fewer texts"
    most: InitVar[int]


class QueryTimeoutError(FormattedError):
    """A query took too long, and was ended. The database works as before.

    Attributes:
        seconds: The limit.
    """

    reason = "query_timeout"
    template = "the query took longer than {seconds:g} seconds: ask for less, or filter by more"
    seconds: float


class StarvedError(QueryTimeoutError):
    """A query got too little processor time, because the machine is busy. Try again."""

    reason = "busy"
    template = "the machine is busy: the query was not done within {seconds:g} seconds; try again in a second"


class ReadersBusyError(FormattedError):
    """Every connection to the database is in use. Try again."""

    reason = "busy"
    template = "all connections to the database are in use: try again in a second"

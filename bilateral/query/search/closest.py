"""The agents whose registration files come closest to the meaning of a text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Text, cast, func, literal, select

from bilateral.errors import InvalidArgumentError, MissingExtraError
from bilateral.index.search.meaning import embedder
from bilateral.index.tables.dialects import dialect_of
from bilateral.index.tables.schema import agent
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.search.statements import REAL, Parts, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row, Subquery


def find_closest(parts: Parts, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
    """Return the keys and ranks of the first agents of a search, in the order of meaning.

    Args:
        parts: The search.
        place: The values of the cursor; None for the first page.
        count: The number of agents.

    Raises:
        InvalidArgumentError: The extra `semantic` is not installed.
    """
    try:
        embedder()
    except MissingExtraError as problem:
        raise InvalidArgumentError(f"the order meaning is not available here: {problem}") from None
    from bilateral.query.search.meanings import meanings_of  # noqa: PLC0415  # needs the extra

    search = parts.search
    ranks = meanings_of(parts.connection).ranks(parts.connection, parts.matcher, search.text or "", search.words)
    if not ranks:
        return []
    closest = _listed(parts.connection, ranks)
    # The engines begin with these few files, and not with all agents of the chains.
    of_chains = unindexed(agent.c.chain_id).in_(parts.chains)
    return Statement(replace(parts, closest=closest), are_few=True).rows(place, count, [of_chains])


def _listed(connection: Connection, ranks: Mapping[int, int]) -> Subquery:
    """Return the table of vectors and their ranks. They are one parameter: SQLAlchemy would word 800 in 20 ms."""
    listed = literal(json.dumps(ranks), Text)
    # Both functions return a row for each key of an object.
    each = func.json_each_text(cast(listed, JSON)) if dialect_of(connection).has_server else func.json_each(listed)
    rows = each.table_valued("key", "value")
    columns = cast(rows.c.key, BigInteger).label("vector_id"), cast(rows.c.value, REAL).label("rank")
    return select(*columns).subquery("closest")

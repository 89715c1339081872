"""The files that come closest to the meaning of a text."""

from __future__ import annotations

import json

from sqlalchemy import JSON, BigInteger, Connection, Float, Subquery, Text, cast, func, literal, select

from bilateral.core.errors import InvalidArgumentError, MissingExtraError
from bilateral.index.log.dialects import dialect_of
from bilateral.index.search.filters import AgentSearch
from bilateral.index.search.matching import Matcher
from bilateral.index.search.meaning import embedder


def closest_of(connection: Connection, matcher: Matcher, search: AgentSearch) -> Subquery | None:
    """Return the table of the files that come closest to the text of a search, and their ranks; None if none does.

    Args:
        matcher: Makes the conditions on words.

    Raises:
        InvalidArgumentError: The extra `semantic` is not installed.
    """
    try:
        embedder()
    except MissingExtraError as problem:
        raise InvalidArgumentError(f"the order meaning is not available here: {problem}") from None
    from bilateral.index.search.nearest import meanings_of  # noqa: PLC0415  # needs the extra

    ranks = meanings_of(connection).ranks(connection, matcher, search.text or "", search.words)
    if not ranks:
        return None
    # The ranks are one parameter: SQLAlchemy would word 800 in 20 ms.
    listed = literal(json.dumps(ranks), Text)
    # Both functions return a row for each key of an object.
    entries = func.json_each_text(cast(listed, JSON)) if dialect_of(connection).has_server else func.json_each(listed)
    rows = entries.table_valued("key", "value")
    columns = cast(rows.c.key, BigInteger).label("vector_id"), cast(rows.c.value, Float(53)).label("rank")
    return select(*columns).subquery("closest")

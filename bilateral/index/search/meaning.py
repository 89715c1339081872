"""Meanings of registration files as vectors: the texts that count, and the rows that hold them.

The vectors need the extra `semantic`. Without it, an index has none, and works as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import JSON, BigInteger, Connection, Float, Subquery, Text, cast, func, literal, select

from bilateral.core.errors import InvalidArgumentError, MissingExtraError
from bilateral.index.log.dialects import dialect_of
from bilateral.index.search.filters import AgentSearch
from bilateral.index.search.matching import Matcher

if TYPE_CHECKING:
    from bilateral.index.search.embedding import Embedder


MODEL: Final = "wordllama l2_supercat 256, sections 1"
"""The model and the choice of texts. Vectors of another one are not compared, and are computed again."""

MAX_SECTION: Final = 1_000
"""Characters of a section of a file that its vector means. A longer text has no clearer meaning, only more words."""

_NAME, _DESCRIPTION, _CAPABILITIES = 2.0, 1.0, 2.0
"""The weights of the sections. Descriptions are the longest and the vaguest. Without their own weight, they would
drown what the agent does; `make bench-semantic` measures it."""

_PARTED: Final = str.maketrans("_/-.:", "     ")
"""Signs that join the words of a capability, such as get_weather."""


@cache
def embedder() -> Embedder:
    """Return the model, which is read once.

    Raises:
        MissingExtraError: The extra `semantic` is not installed.
    """
    try:
        from bilateral.index.search.embedding import Embedder  # noqa: PLC0415  # needs the extra

        return Embedder()
    except ModuleNotFoundError as problem:
        raise MissingExtraError("semantic", [problem.name or "wordllama"]) from None


@cache
def has_model() -> bool:
    """Return True if the extra `semantic` is installed."""
    try:
        embedder()
    except MissingExtraError:
        return False
    return True


def vector_row(
    content_hash: bytes, name: str | None, description: str | None, capabilities: Iterable[str], words: Sequence[str]
) -> dict[str, Any]:
    """Return the row of `registration_vector` for a registration file.

    Args:
        capabilities: The values of its capabilities.

    Raises:
        MissingExtraError: The extra `semantic` is not installed.
    """
    sections = (
        ((name or "")[:MAX_SECTION], _NAME),
        ((description or "")[:MAX_SECTION], _DESCRIPTION),
        (" ".join(capabilities)[:MAX_SECTION].translate(_PARTED), _CAPABILITIES),
    )
    vector = embedder().vector(sections)
    return {"content_hash": content_hash, "model": MODEL, "words": len(words), "vector": vector}


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

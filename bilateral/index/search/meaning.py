"""Meanings of registration files as vectors: the texts that count, and the rows that hold them.

The vectors need the extra `semantic`. Without it, an index has none, and works as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from bilateral.core.errors import MissingExtraError

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
    """Return the model, which is read once."""
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
    """Return the row of `registration_vector` for a registration file."""
    sections = (
        ((name or "")[:MAX_SECTION], _NAME),
        ((description or "")[:MAX_SECTION], _DESCRIPTION),
        (" ".join(capabilities)[:MAX_SECTION].translate(_PARTED), _CAPABILITIES),
    )
    vector = embedder().vector(sections)
    return {"content_hash": content_hash, "model": MODEL, "words": len(words), "vector": vector}

"""Extract search data from registration files: their words, the words in names, and vectors for meanings.

Words are added together with the file that contains them. They remain after the last such file is removed, which does
no harm, because a word that is not in any file matches nothing. Vectors require the `semantic` extra. Without it, an
index has no vectors but works normally otherwise.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, delete, or_, select

from bilateral.core.errors import MissingExtraError
from bilateral.documents import RegistrationFile
from bilateral.index.files import tables as files
from bilateral.index.files.reading import Reader, ReadRows
from bilateral.index.log.dialects import insert_new
from bilateral.index.search import tables as schema
from bilateral.index.search.filters import SIMILAR_LENGTHS, trigrams, words_of
from bilateral.index.search.tables import MODEL, registration_vector, registration_words, vocabulary, word_trigram

if TYPE_CHECKING:
    from bilateral.index.search.nearest import Embedder

_AT_ONCE: Final = 500
"""The number of files per transaction. It takes a tenth of a second, during which SQLite blocks other writers."""

MAX_SECTION: Final = 1_000
"""The maximum number of characters per section in a vector. Longer texts have more words, but no clearer meaning."""

_NAME, _DESCRIPTION, _CAPABILITIES = 2.0, 1.0, 2.0
"""The weights of the sections. Descriptions are the longest and vaguest sections. With equal weights, they would drown
out what the agent does; `make bench-semantic` measures the effect."""

_PARTED: Final = str.maketrans("_/-.:", "     ")
"""The characters that separate the words in a capability's name, such as get_weather."""


@cache
def embedder() -> Embedder:
    """Return the model, which is loaded only once."""
    try:
        from bilateral.index.search.nearest import Embedder  # noqa: PLC0415  # needs the extra

        return Embedder()
    except ModuleNotFoundError as problem:
        raise MissingExtraError("semantic", [problem.name or "wordllama"]) from None


@cache
def has_model() -> bool:
    """Return True if the `semantic` extra is installed."""
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
    return {"content_hash": content_hash, "model": MODEL, "words": len(words), "vector": embedder().vector(sections)}


class SearchReader(Reader):
    """Stores the words of registration files and, if the `semantic` extra is installed, the files' vectors."""

    tables = tuple(schema.metadata.tables.values())

    def read(self, content_hash: bytes, rows: ReadRows, file: RegistrationFile) -> ReadRows:  # noqa: ARG002
        (row,) = rows[files.registration_file]
        name, description = row["name"], row["description"]
        services = (service["name"] for service in rows[files.registration_service])
        capabilities = [entry["value"] for entry in rows[files.registration_capability]]
        words = words_of([name, *services, description, *capabilities])
        return {registration_words: [{"content_hash": content_hash, "name_words": words_of([name]), "words": words}]}

    def stored(self, connection: Connection, rows: ReadRows) -> None:
        words_rows = rows.get(registration_words, ())
        _store_words(connection, (word for row in words_rows for word in row["name_words"]))
        if words_rows and has_model():
            # Here, not in `read`: between other work, the model's tables would leave the processor's cache.
            values_of: dict[bytes, dict[int, str]] = defaultdict(dict)
            for row in rows[files.registration_capability]:  # two files may have the same content
                values_of[row["content_hash"]][row["position"]] = row["value"]
            vectors = []
            for row, words_row in zip(rows[files.registration_file], words_rows, strict=True):
                sections = row["name"], row["description"], values_of[row["content_hash"]].values()
                vectors.append(vector_row(row["content_hash"], *sections, words_row["words"]))
            insert_new(connection, registration_vector, vectors)

    def catch_up(self, engine: Engine, stop: threading.Event) -> int:
        return fill_vectors(engine, stop)


def _store_words(connection: Connection, words: Iterable[str]) -> None:
    requested = sorted({word for word in words if len(word) in SIMILAR_LENGTHS})
    if not requested:
        return
    existing = set(connection.execute(select(vocabulary.c.word).where(vocabulary.c.word.in_(requested))).scalars())
    parts = {word: trigrams(word) for word in requested if word not in existing}
    trigram_rows = [{"word": word, "trigram": trigram} for word, of_word in parts.items() for trigram in of_word]
    insert_new(connection, vocabulary, [{"word": word, "trigrams": len(of_word)} for word, of_word in parts.items()])
    # Use a fixed order, so that two transactions cannot deadlock.
    insert_new(connection, word_trigram, sorted(trigram_rows, key=itemgetter("trigram", "word")))


def fill_vectors(engine: Engine, stop: threading.Event | None = None) -> int:
    """Compute the vectors that are missing or were computed by another model."""
    count, filled = 0, _AT_ONCE
    while filled == _AT_ONCE and has_model() and not (stop is not None and stop.is_set()):
        with engine.begin() as connection:
            filled = _fill(connection)
        count += filled
    return count


def _fill(connection: Connection) -> int:
    read, words, vector = files.registration_file.c, registration_words.c, registration_vector.c
    tables = files.registration_file.join(registration_words, words.content_hash == read.content_hash).outerjoin(
        registration_vector, vector.content_hash == read.content_hash
    )
    missing = (
        select(read.content_hash, read.name, read.description, words.words)
        .select_from(tables)
        .where(or_(vector.vector_id.is_(None), vector.model != MODEL))
        .limit(_AT_ONCE)
    )
    rows = {bytes(row.content_hash): row for row in connection.execute(missing)}
    # The lock makes deletions of the content wait. Locks are taken in the order of `store_contents`.
    content = files.file_content.c.content_hash
    locked = select(content).where(content.in_(sorted(rows))).order_by(content).with_for_update()
    retained = [bytes(content_hash) for content_hash in connection.execute(locked).scalars()]
    capability, values_of = files.registration_capability.c, defaultdict(list)
    listed = select(capability.content_hash, capability.value).where(capability.content_hash.in_(retained))
    for content_hash, value in connection.execute(listed.order_by(capability.content_hash, capability.position)):
        values_of[bytes(content_hash)].append(value)
    connection.execute(delete(registration_vector).where(vector.content_hash.in_(retained), vector.model != MODEL))
    vectors = (
        vector_row(key, rows[key].name, rows[key].description, values_of[key], rows[key].words) for key in retained
    )
    insert_new(connection, registration_vector, list(vectors))
    return len(rows)

"""Searches read registration files: words, the vocabulary of names, and vectors by meaning.

Words are learnt with their file and stay, although their last file may go: a word that no file has finds nothing.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, Engine, delete, or_, select

from bilateral.index.files import tables as files
from bilateral.index.files.reading import Reader, ReadRows
from bilateral.index.log.dialects import insert_new
from bilateral.index.search.meaning import MODEL, has_model, vector_row
from bilateral.index.search.tables import known_word, registration_vector, registration_words, word_trigram
from bilateral.index.search.words import LEARNT_LENGTHS, trigrams, words_of

_AT_ONCE: Final = 500
"""Files of one transaction: it takes a tenth of a second, in which others wait for SQLite."""


class SearchReader(Reader):
    """Stores the words of registration files, and their vectors if the extra `semantic` is installed."""

    def read(self, content_hash: bytes, rows: ReadRows) -> ReadRows:
        (file,) = rows[files.registration_file]
        services = (row["name"] for row in rows[files.registration_service])
        capabilities = [row["value"] for row in rows[files.registration_capability]]
        words = words_of([file["name"], *services, file["description"], *capabilities])
        row = {"content_hash": content_hash, "name_words": words_of([file["name"]]), "words": words}
        if not has_model():
            return {registration_words: [row]}
        vector = vector_row(content_hash, file["name"], file["description"], capabilities, words)
        return {registration_words: [row], registration_vector: [vector]}

    def stored(self, connection: Connection, rows: ReadRows) -> None:
        _store_words(connection, (word for row in rows.get(registration_words, ()) for word in row["name_words"]))

    def catch_up(self, engine: Engine, stop: threading.Event) -> int:
        return fill_vectors(engine, stop)


def _store_words(connection: Connection, words: Iterable[str]) -> None:
    requested = sorted({word for word in words if len(word) in LEARNT_LENGTHS})
    if not requested:
        return
    existing = set(connection.execute(select(known_word.c.word).where(known_word.c.word.in_(requested))).scalars())
    parts = {word: trigrams(word) for word in requested if word not in existing}
    trigram_rows = [{"word": word, "trigram": trigram} for word, of_word in parts.items() for trigram in of_word]
    for table, rows in (
        (known_word, [{"word": word, "trigrams": len(of_word)} for word, of_word in parts.items()]),
        # In one order, so that two transactions do not wait for each other in a circle.
        (word_trigram, sorted(trigram_rows, key=itemgetter("trigram", "word"))),
    ):
        insert_new(connection, table, rows)


def fill_vectors(engine: Engine, stop: threading.Event | None = None) -> int:
    """Compute the vectors that are missing or of another model."""
    count = 0
    while has_model() and not (stop is not None and stop.is_set()):
        with engine.begin() as connection:
            filled = _fill(connection)
        count += filled
        if filled < _AT_ONCE:
            break
    return count


def _fill(connection: Connection) -> int:
    """Compute the next vectors, and return their number."""
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
    # The lock makes the deletion of a content wait. It is taken in the order of `store_content`.
    content = files.file_content.c.content_hash
    locked = select(content).where(content.in_(sorted(rows))).order_by(content).with_for_update()
    retained = [bytes(content_hash) for content_hash in connection.execute(locked).scalars()]
    capability, named = files.registration_capability.c, defaultdict(list)
    listed = select(capability.content_hash, capability.value).where(capability.content_hash.in_(retained))
    for content_hash, value in connection.execute(listed.order_by(capability.content_hash, capability.position)):
        named[bytes(content_hash)].append(value)
    connection.execute(delete(registration_vector).where(vector.content_hash.in_(retained), vector.model != MODEL))
    insert_new(
        connection,
        registration_vector,
        [vector_row(key, rows[key].name, rows[key].description, named[key], rows[key].words) for key in retained],
    )
    return len(rows)

"""Vectors of the registration files that were stored without the extra `semantic`, or with another model."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Final

from sqlalchemy import Connection, Engine, delete, or_, select

from bilateral.index.files import tables as files
from bilateral.index.log.inserts import insert_new
from bilateral.index.search.meaning import MODEL, has_model, vector_row
from bilateral.index.search.tables import registration_vector, registration_words

_AT_ONCE: Final = 500
"""Files of one transaction: it takes a tenth of a second, in which others wait for SQLite."""


def fill_vectors(engine: Engine, stop: threading.Event | None = None) -> int:
    """Compute the vectors that are missing or of another model.

    Args:
        stop: Set to end before all are computed.

    Returns:
        The number of files; 0 without the extra `semantic`.
    """
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
    kept = [bytes(content_hash) for content_hash in connection.execute(locked).scalars()]
    capability, named = files.registration_capability.c, defaultdict(list)
    listed = select(capability.content_hash, capability.value).where(capability.content_hash.in_(kept))
    for content_hash, value in connection.execute(listed.order_by(capability.content_hash, capability.position)):
        named[bytes(content_hash)].append(value)
    connection.execute(delete(registration_vector).where(vector.content_hash.in_(kept), vector.model != MODEL))
    insert_new(
        connection,
        registration_vector,
        [vector_row(key, rows[key].name, rows[key].description, named[key], rows[key].words) for key in kept],
    )
    return len(rows)

"""Filling of the tables of searches from the files that an index had before it had these tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select

from bilateral.index.files.reading import search_words
from bilateral.index.search.current import find_files
from bilateral.index.search.payments import find_payments_of_chain
from bilateral.index.search.vocabulary import learn_words
from bilateral.index.tables import files, schema
from bilateral.index.tables.search import registration_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_AT_ONCE: Final = 500


def fill(connection: Connection) -> None:
    """Fill the tables of searches, which are empty.

    Args:
        connection: The connection, in the transaction of a migration.
    """
    hashes = connection.execute(select(files.registration_file.c.content_hash)).scalars().all()
    for start in range(0, len(hashes), _AT_ONCE):
        _fill_words(connection, hashes[start : start + _AT_ONCE])
    for chain_id in connection.execute(select(schema.chain.c.chain_id)).scalars().all():
        find_files(connection, chain_id)
        find_payments_of_chain(connection, chain_id)


def _fill_words(connection: Connection, hashes: Sequence[bytes]) -> None:
    """Store the words of some registration files."""
    read = (files.registration_file, files.registration_service, files.registration_capability)
    of_content: dict[bytes, dict[Any, list[dict[str, Any]]]] = {
        content_hash: {table: [] for table in read} for content_hash in hashes
    }
    for table in read:
        # In the order of the file: the words are stored in the order in which they first appear, and only so many.
        place = (table.c[name] for name in ("content_hash", "position") if name in table.c)
        stored = select(table).where(table.c.content_hash.in_(hashes)).order_by(*place)
        for row in connection.execute(stored).mappings():
            of_content[row["content_hash"]][table].append(dict(row))
    filled = [{"content_hash": content, **search_words(rows)} for content, rows in of_content.items()]
    connection.execute(insert(registration_words), filled)
    learn_words(connection, (word for rows in of_content.values() for word in search_words(rows)["name_words"]))

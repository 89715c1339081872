"""Files as the index had seen them by a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from bilateral.index.files import tables as schema
from bilateral.index.files.tables import State
from bilateral.index.log.lists import in_parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment


@dataclass(frozen=True)
class Sight:
    """A file as the index had seen it by a block.

    Attributes:
        sight_id: The number of the sight; 0 if the index had not fetched the file.
        uri: The file's URI.
        content_hash: The hash of its content; None without one.
        integrity: The proof that its author published it; None if there is only the server's word.
        reason: The reason of the last failure; None without one.
    """

    sight_id: int
    uri: str
    state: State
    content_hash: bytes | None
    integrity: str | None
    reason: str | None


def sights(connection: Connection, moment: Moment, file_ids: Collection[bytes]) -> dict[bytes, Sight]:
    """Return files as they were by a block, by id. A file that was not fetched by then is `waiting`."""
    seen, table = schema.file_sight, schema.file
    sights_of: dict[bytes, Sight] = {}
    for part in in_parts(sorted(file_ids)):
        is_of_chain = seen.c.chain_id == moment.chain_id
        newest = (
            select(func.max(seen.c.sight_id))
            .where(seen.c.file_id.in_(part), is_of_chain, seen.c.seen_block <= moment.block)
            .group_by(seen.c.file_id)
        )
        if moment.files is not None:
            newest = newest.where(seen.c.sight_id <= moment.files)
        query = (
            select(table.c.file_id, table.c.uri, seen.c.sight_id, seen.c.state, seen.c.content_hash)
            .add_columns(seen.c.integrity, seen.c.reason)
            .outerjoin(seen, (seen.c.file_id == table.c.file_id) & is_of_chain & seen.c.sight_id.in_(newest))
            .where(table.c.file_id.in_(part))
        )
        for row in connection.execute(query):
            sights_of[bytes(row.file_id)] = sight_of(row)
    return sights_of


def sight_of(row: Any) -> Sight:
    """Return the sight of a row; its columns are NULL if there is none."""
    if row.sight_id is None:
        return Sight(0, row.uri, State.WAITING, None, None, None)
    content_hash = None if row.content_hash is None else bytes(row.content_hash)
    return Sight(row.sight_id, row.uri, State(row.state), content_hash, row.integrity, row.reason)

"""Changes of files for the change feed, from the sights that a transaction noted."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from sqlalchemy import Connection, func, select

from bilateral.index.changes.notes import Note, add_notes
from bilateral.index.changes.tables import MOST_TEXT, ChangeKind
from bilateral.index.files import tables as schema

MOST_AGENTS: Final = 1_000
"""The agents of one file that learn of its change. A stranger may name one file for any number of agents."""


def tell_sights(connection: Connection, former: int) -> None:
    """Add the changes of files to the feed: one for each agent whose events, or registration file, name the file.

    Args:
        connection: The connection, in the transaction that noted the sights. It is about to end.
        former: The last sight before them.
    """
    seen, file = schema.file_sight.c, schema.file.c
    query = (
        select(seen.chain_id, seen.file_id, seen.seen_block, seen.state, seen.content_hash, seen.integrity, seen.reason)
        .add_columns(file.kind, func.substr(file.uri, 1, MOST_TEXT + 1).label("uri"))
        .join(schema.file, file.file_id == seen.file_id)
        .where(seen.sight_id > former)
        .order_by(seen.sight_id)
    )
    notes: dict[tuple[int, int], list[Note]] = defaultdict(list)
    for row in connection.execute(query).all():
        details = {
            "file": row.kind,
            "uri": row.uri,
            "state": row.state,
            "content_hash": None if row.content_hash is None else f"0x{row.content_hash.hex()}",
            "integrity": row.integrity,
            "reason": row.reason,
        }
        agents = _agents(connection, row.chain_id, row.file_id, row.kind)
        notes[row.chain_id, row.seen_block] += [
            Note(ChangeKind.FILE, registry, agent_id, None, details) for registry, agent_id in agents
        ]
    for (chain_id, block), of_chain in sorted(notes.items()):
        add_notes(connection, chain_id, block, of_chain)


def _agents(connection: Connection, chain_id: int, file_id: bytes, kind: str) -> list[tuple[str, int]]:
    """Return the registry and the id of the agents of a file."""
    named = schema.file_reference.c
    query = select(named.registry, named.agent_id).distinct().order_by(named.registry, named.agent_id)
    agents = query.where(named.chain_id == chain_id, named.file_id == file_id).limit(MOST_AGENTS)
    rows = connection.execute(agents).all()
    if kind == schema.Kind.DOMAIN and not rows:
        domain, parent = schema.registration_domain.c, schema.file.c
        by_registration = (
            query.join(schema.file, parent.file_id == named.file_id)
            .join(schema.registration_domain, domain.content_hash == parent.content_hash)
            .where(domain.file_id == file_id, named.chain_id == chain_id)
            .limit(MOST_AGENTS)
        )
        rows = connection.execute(by_registration).all()
    return [(registry, int(agent_id)) for registry, agent_id in rows]

"""Sights: the states in which the index saw files, each with the block that it had reached by then.

A file can change without a trace on the chain. So that an answer about an earlier block can be given again, each change
of a file's state is kept beside the block at which the index stood. Contents are not kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection, and_, case, exists, func, insert, literal_column, or_, select, update

from bilateral.index.changes.notes import Note, add_notes
from bilateral.index.changes.tables import MOST_TEXT, ChangeKind
from bilateral.index.files import tables as schema
from bilateral.index.files.tables import State
from bilateral.index.log.lists import in_parts
from bilateral.index.log.locks import hold_cursors, number_observations
from bilateral.index.log.tables import chain
from bilateral.index.log.unindexed import unindexed

MOST_AGENTS: Final = 1_000
"""The agents of one file that learn of its change. A stranger may name one file for any number of agents."""


def tell_sights(connection: Connection, former: int) -> None:
    """Add the changes of files to the feed: one for each agent whose events, or registration file, name the file."""
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


_STATE: Final = ("state", "content_hash", "integrity", "reason")
_COLUMNS: Final = ("chain_id", "file_id", "seen_block", *_STATE)


def note_sights(connection: Connection, file_ids: Collection[bytes]) -> None:
    """Note the states of files, and of the domains' files that belong to them, where they changed."""
    previous = None
    for part in in_parts(sorted(file_ids)):
        named, existing = schema.registration_domain, schema.file
        domains = (
            select(named.c.file_id)
            .join(existing, existing.c.content_hash == named.c.content_hash)
            .where(existing.c.file_id.in_(part))
        )
        ids = {*part, *(bytes(content_hash) for content_hash in connection.execute(domains).scalars())}
        changes = _changes(sorted(ids))
        if connection.execute(changes.limit(1)).first() is None:
            continue  # most refreshes find what is known: they need not wait for each other
        if previous is None:
            number_observations(connection)
            hold_cursors(connection)
            previous = connection.execute(select(func.coalesce(func.max(schema.file_sight.c.sight_id), 0))).scalar_one()
        connection.execute(insert(schema.file_sight).from_select(_COLUMNS, changes))
    if previous is not None:
        tell_sights(connection, previous)


def move_sights(connection: Connection, chain_id: int, block: int) -> None:
    """Bring the sights at removed blocks back to the block after the last one that stays.

    The index saw the files, after all, but an answer at the last block that stays did not know them.
    """
    table = schema.file_sight
    later = (table.c.chain_id == chain_id) & (table.c.seen_block > block)
    connection.execute(update(table).where(later).values(seen_block=block + 1))


def _changes(file_ids: Collection[bytes]) -> Any:
    """Return the statement that selects the states of files which differ from their last sights, for their chains."""
    seen, table, all_ = schema.file_sight, schema.file, schema.file_sight.alias("all_sights")
    last = (
        select(func.max(all_.c.sight_id))
        .where(all_.c.file_id == table.c.file_id, all_.c.chain_id == chain.c.chain_id)
        .correlate(table, chain)
        .scalar_subquery()
    )
    is_same = exists().where(
        seen.c.sight_id == last, *(seen.c[name].is_not_distinct_from(table.c[name]) for name in _STATE)
    )
    return (
        select(chain.c.chain_id, table.c.file_id, chain.c.block_number, *(table.c[name] for name in _STATE))
        .select_from(table)
        .join(chain, literal_column("1") == literal_column("1"))
        .where(table.c.file_id.in_(file_ids), table.c.state != State.WAITING, _is_of_chain(), ~is_same)
        .order_by(table.c.file_id, chain.c.chain_id)
    )


def _is_of_chain() -> Any:
    """Return the condition that an event of the chain names the file, or the registration file that leads to it."""
    table, named, domain = schema.file, schema.file_reference, schema.registration_domain
    parent = schema.file.alias("parent")
    # By the chain alone, SQLite would read all of its references for each file.
    directly = exists().where(named.c.file_id == table.c.file_id, unindexed(named.c.chain_id) == chain.c.chain_id)
    other = schema.file_reference.alias("other")
    by_domain = exists().where(
        and_(
            domain.c.file_id == table.c.file_id,
            parent.c.content_hash == domain.c.content_hash,
            other.c.file_id == parent.c.file_id,
            unindexed(other.c.chain_id) == chain.c.chain_id,
        )
    )
    return or_(directly, case((table.c.kind == schema.Kind.DOMAIN, by_domain), else_=literal_column("false")))

"""Observations: the states of files as seen by the index, each with the last block indexed at that time.

A file can change without leaving a trace on the chain. To make responses about earlier blocks reproducible, each change
of a file's state is stored with the last block indexed at that time. Contents are not stored.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, bindparam, case, exists, func, insert, literal_column, or_, select, update

from bilateral.index.changes.projection import Note, add_notes
from bilateral.index.changes.tables import MOST_TEXT, ChangeKind
from bilateral.index.files import tables as schema
from bilateral.index.files.tables import State
from bilateral.index.log.dialects import hold_cursors, in_parts, number_observations, unindexed
from bilateral.index.log.tables import chain
from bilateral.index.reading.prepared import CHAIN, Prepared, at_most
from bilateral.index.reading.registries import hexadecimal

_MOST_AGENTS: Final = 1_000
"""The maximum number of agents for which a file's change is reported. Any number can point to one file."""

_STATE: Final = ("state", "content_hash", "integrity", "reason")
_COLUMNS: Final = ("chain_id", "file_id", "seen_block", *_STATE)


def note_observations(connection: Connection, file_ids: Collection[bytes]) -> None:
    """Record the states of the given files, and of the files at the domains that they list, if these states changed."""
    domain, parent = schema.registration_domain.c, schema.file.c
    previous = None
    for part in in_parts(sorted(file_ids)):
        domains = select(domain.file_id).where(parent.content_hash == domain.content_hash, parent.file_id.in_(part))
        changes = _changes(sorted({*part, *map(bytes, connection.execute(domains).scalars())}))
        if connection.execute(changes.limit(1)).first() is None:
            continue  # most refreshes find no change, so they need not wait for each other
        if previous is None:
            previous = last_observation(connection, schema.file_sight.c.sight_id)
        connection.execute(insert(schema.file_sight).from_select(_COLUMNS, changes))
    if previous is not None:
        _add_to_feed(connection, previous)


def last_observation(connection: Connection, number: Any) -> int:
    """Return the last number in a column, after which this transaction may add observations at the current blocks."""
    number_observations(connection)
    hold_cursors(connection)
    return int(connection.execute(select(func.coalesce(func.max(number), 0))).scalar_one())


def _add_to_feed(connection: Connection, previous: int) -> None:
    """Add observations to the feed, one for each agent whose events or registration file refer to the file."""
    file, observation = schema.file.c, schema.file_sight.c
    query = (
        select(*observation[_COLUMNS], file.kind, func.substr(file.uri, 1, MOST_TEXT + 1).label("uri"))
        .join(schema.file, file.file_id == observation.file_id)
        .where(observation.sight_id > previous)
        .order_by(observation.sight_id)
    )
    notes: dict[tuple[int, int], list[Note]] = defaultdict(list)
    for row in connection.execute(query).all():
        details = {"file": row.kind, "uri": row.uri, "state": row.state, "content_hash": hexadecimal(row.content_hash)}
        details |= {"integrity": row.integrity, "reason": row.reason}
        notes[row.chain_id, row.seen_block] += [
            Note(ChangeKind.FILE, registry, int(agent_id), None, details)
            for registry, agent_id in _agents(connection, row.chain_id, row.file_id, row.kind)
        ]
    for (chain_id, block), of_chain in sorted(notes.items()):
        add_notes(connection, chain_id, block, of_chain)


def _agents_of(*conditions: Any) -> Prepared:
    """Return the statement for the agents on a chain that refer to a file."""
    # If it searched by chain only, SQLite would read all references of the chain for each file.
    query = select(*_AGENT).where(unindexed(_REFERENCE.chain_id) == CHAIN, *conditions).distinct()
    return Prepared(query.order_by(*_AGENT).limit(at_most(_MOST_AGENTS)))


_REFERENCE, _DOMAIN, _PARENT = schema.file_reference.c, schema.registration_domain.c, schema.file.c
_AGENT: Final = (_REFERENCE.registry, _REFERENCE.agent_id)
_FILE: Final = bindparam("file", type_=_PARENT.file_id.type)
_IS_PARENT: Final = _PARENT.file_id == _REFERENCE.file_id, _DOMAIN.content_hash == _PARENT.content_hash
_DIRECTLY: Final = _agents_of(_REFERENCE.file_id == _FILE)
_BY_DOMAIN: Final = _agents_of(*_IS_PARENT, _DOMAIN.file_id == _FILE)


def _agents(connection: Connection, chain_id: int, file_id: bytes, kind: str) -> Sequence[Any]:
    values = {"chain": chain_id, "file": file_id}
    agents = _DIRECTLY.all(connection, values)
    return agents or (_BY_DOMAIN.all(connection, values) if kind == schema.Kind.DOMAIN else [])


def move_observations(connection: Connection, table: Table, chain_id: int, block: int) -> None:
    """Move a table's observations at removed blocks to the block after the last remaining block.

    The observations remain true, but no response at the last remaining block included them.
    """
    later = (table.c.chain_id == chain_id) & (table.c.seen_block > block)
    connection.execute(update(table).where(later).values(seen_block=block + 1))


def _changes(file_ids: Collection[bytes]) -> Any:
    """Return the statement that selects the file states that differ from the last recorded ones on each chain."""
    observation, table, all_ = schema.file_sight.c, schema.file, schema.file_sight.alias("all_sights").c
    last = (
        select(func.max(all_.sight_id))
        .where(all_.file_id == table.c.file_id, all_.chain_id == chain.c.chain_id)
        .correlate(table, chain)
        .scalar_subquery()
    )
    is_same = (observation[name].is_not_distinct_from(table.c[name]) for name in _STATE)
    return (
        select(chain.c.chain_id, table.c.file_id, chain.c.block_number, *table.c[_STATE])
        .select_from(table)
        .join(chain, literal_column("1") == literal_column("1"))
        .where(table.c.file_id.in_(file_ids), table.c.state != State.WAITING, _is_of_chain())
        .where(~exists().where(observation.sight_id == last, *is_same))
        .order_by(table.c.file_id, chain.c.chain_id)
    )


def _is_of_chain() -> Any:
    """Return the condition that an event of the chain refers to the file, directly or through a registration file."""
    file, reference, domain = schema.file.c, schema.file_reference.c, schema.registration_domain.c
    parent, other = schema.file.alias("parent").c, schema.file_reference.alias("other").c
    directly = exists().where(reference.file_id == file.file_id, unindexed(reference.chain_id) == chain.c.chain_id)
    by_domain = exists().where(
        domain.file_id == file.file_id,
        parent.content_hash == domain.content_hash,
        other.file_id == parent.file_id,
        unindexed(other.chain_id) == chain.c.chain_id,
    )
    return or_(directly, case((file.kind == schema.Kind.DOMAIN, by_domain), else_=literal_column("false")))

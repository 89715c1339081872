"""Recording of what a watchtower measured, for the readers of the index and for the change feed."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, Table, func, select

from bilateral.index.changes.projection import Note, add_notes
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.files.tables import READ_FILES, agent_file, registration_file
from bilateral.index.log.dialects import insert_into, insert_new
from bilateral.index.log.lists import in_parts
from bilateral.index.log.locks import hold_cursors, number_observations
from bilateral.index.log.tables import chain
from bilateral.index.measurements.tables import endpoint_change, endpoint_day, endpoint_state, registration_endpoint
from bilateral.index.measurements.values import REACHABLE, Change, Current, Day, Outcome

_Chains: TypeAlias = Mapping[bytes, Sequence[int]]
_Listed: TypeAlias = tuple[int, Change]
"""A change, with a chain whose agents list the endpoint."""

PROBED: Final = "probed"
"""The kind of the rows by which a vantage says that it still measures, and that no state but the noted ones changed."""

_PROBED_EVERY: Final = 3_600
"""Seconds between two such rows."""

_MOST_AGENTS: Final = 1_000
"""The agents of one endpoint that learn of its change. Any number of files may list it."""


def record(
    engine: Engine, *, changes: Iterable[Change] = (), currents: Iterable[Current] = (), days: Iterable[Day] = ()
) -> None:
    """Store measurements for the chains whose agents list the endpoints. What is stored already changes nothing.

    Args:
        changes: Confirmed changes, in the order in which they happened.
        currents: The present states of the endpoints that were probed since the last call.
        days: The days of endpoints as they are now, complete or not.
    """
    changes, currents, days = list(changes), list(currents), list(days)
    with engine.begin() as connection:
        chains = _chains_of(connection, {*_ids(changes), *_ids(currents), *_ids(days)})
        _store_days(connection, chains, days)
        listed = [(chain_id, change) for change in changes for chain_id in chains[change.endpoint_id]]
        told = {(chain_id, change.endpoint_id) for chain_id, change in listed if change.kind == "state"}
        states = _store_states(connection, chains, currents)
        first = [entry for entry in states if (entry[0], entry[1].endpoint_id) not in told]
        _store_changes(connection, [*first, *listed, *_marks(connection, chains, currents)])


def vantage_id(vantage: str) -> bytes:
    """Return what stands in place of an endpoint in the rows of a vantage."""
    return sha256(f"vantage\n{vantage}".encode()).digest()


def _ids(entries: Iterable[Change | Current | Day]) -> set[bytes]:
    return {entry.endpoint_id for entry in entries}


def _chains_of(connection: Connection, endpoints: Collection[bytes]) -> _Chains:
    """Return the chains whose agents list each endpoint now."""
    listed, chains = registration_endpoint.c, defaultdict[bytes, list[int]](list)
    query = (
        select(listed.endpoint_id, agent_file.c.chain_id)
        .select_from(READ_FILES.join(registration_endpoint, listed.content_hash == registration_file.c.content_hash))
        .distinct()
    )
    for part in in_parts(sorted(endpoints)):
        for key, chain_id in connection.execute(query.where(listed.endpoint_id.in_(part))):
            chains[bytes(key)].append(chain_id)
    return chains


def _store_days(connection: Connection, chains: _Chains, days: Sequence[Day]) -> None:
    rows = [
        {
            **{name: value for name, value in vars(day).items() if name != "counts"},
            **{outcome.value: day.counts.get(outcome, 0) for outcome in Outcome},
            "chain_id": chain_id,
        }
        for day in days
        for chain_id in chains[day.endpoint_id]
    ]
    _upsert(connection, endpoint_day, rows)


def _store_states(connection: Connection, chains: _Chains, currents: Sequence[Current]) -> list[_Listed]:
    """Store present states, and return those of endpoints that had none, as changes."""
    table = endpoint_state.c
    measured = {
        (chain_id, bytes(key))
        for part in in_parts(sorted({current.endpoint_id for current in currents}))
        for chain_id, key in connection.execute(
            select(table.chain_id, table.endpoint_id).where(table.endpoint_id.in_(part), table.state.is_not(None))
        )
    }
    rows: list[dict[str, Any]] = []
    first: list[_Listed] = []
    for current in currents:
        alive_at = current.probed_at if current.state in REACHABLE else None
        for chain_id in chains[current.endpoint_id]:
            rows.append({**vars(current), "chain_id": chain_id, "alive_at": alive_at})
            if current.state is not None and (chain_id, current.endpoint_id) not in measured:
                at = current.since or current.probed_at or 0
                first.append((chain_id, Change(current.endpoint_id, at, "state", None, current.state, current.code)))
    _upsert(connection, endpoint_state, rows, retained="alive_at")
    return first


def _upsert(connection: Connection, table: Table, rows: list[dict[str, Any]], *, retained: str | None = None) -> None:
    """Insert or replace rows. Of one column NULL does not replace another value."""
    if not rows:
        return
    key = [column.name for column in table.primary_key]
    statement = insert_into(connection, table)
    values = {name: statement.excluded[name] for name in rows[0] if name not in key}
    if retained is not None:
        values[retained] = func.coalesce(statement.excluded[retained], table.c[retained])
    # In one order, so that two transactions do not wait for each other in a circle.
    rows.sort(key=lambda row: tuple(row[name] for name in key))
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=values), rows)


def _marks(connection: Connection, chains: _Chains, currents: Sequence[Current]) -> Iterator[_Listed]:
    """Yield what says that vantages still measure, if nothing said so in the last hour."""
    newest: dict[tuple[int, str], int] = {}
    for current in currents:
        for chain_id in chains[current.endpoint_id] if current.probed_at is not None else ():
            place = (chain_id, current.vantage)
            newest[place] = max(current.probed_at or 0, newest.get(place, 0))
    for (chain_id, vantage), at in newest.items():
        last = select(func.max(endpoint_change.c.at)).where(
            endpoint_change.c.chain_id == chain_id, endpoint_change.c.endpoint_id == vantage_id(vantage)
        )
        if (connection.execute(last).scalar_one() or 0) <= at - _PROBED_EVERY:
            yield chain_id, Change(vantage_id(vantage), at, PROBED, None, vantage)


def _store_changes(connection: Connection, listed: Sequence[_Listed]) -> None:
    """Store changes at the blocks that the index has reached, and tell the feed those that are new."""
    if not listed:
        return
    number_observations(connection)
    hold_cursors(connection)
    blocks: dict[int, int] = dict(map(tuple, connection.execute(select(chain.c.chain_id, chain.c.block_number))))
    previous = connection.execute(select(func.coalesce(func.max(endpoint_change.c.change_id), 0))).scalar_one()
    rows = [
        {**vars(change), **_json(change), "chain_id": chain_id, "seen_block": blocks[chain_id]}
        for chain_id, change in listed
    ]
    insert_new(connection, endpoint_change, rows)
    _add_to_feed(connection, previous)


def _json(change: Change) -> dict[str, str | None]:
    values = {"old": change.old, "new": change.new}
    return {name: None if value is None else json.dumps(value, sort_keys=True) for name, value in values.items()}


def _add_to_feed(connection: Connection, previous: int) -> None:
    """Add changes to the feed: one for each agent that lists the endpoint. A first state is none."""
    change, listed, current = endpoint_change.c, registration_endpoint.c, agent_file.c
    is_new = (change.change_id > previous) & (change.kind != PROBED) & change.old.is_not(None)
    tables = READ_FILES.join(registration_endpoint, listed.content_hash == registration_file.c.content_hash)
    notes: dict[tuple[int, int], list[Note]] = defaultdict(list)
    for row in connection.execute(select(endpoint_change).where(is_new).order_by(change.change_id)).all():
        agents = (
            select(current.identity_registry, current.agent_id, listed.protocol, listed.url)
            .select_from(tables)
            .where(current.chain_id == row.chain_id, listed.endpoint_id == row.endpoint_id)
            .order_by(current.identity_registry, current.agent_id)
            .limit(_MOST_AGENTS)
        )
        values = {"old": json.loads(row.old), "new": None if row.new is None else json.loads(row.new)}
        details = {"change": row.kind, **values, "code": row.code, "at": row.at}
        notes[row.chain_id, row.seen_block] += [
            Note(ChangeKind.ENDPOINT, registry, int(agent_id), None, {"protocol": protocol, "url": url, **details})
            for registry, agent_id, protocol, url in connection.execute(agents)
        ]
    for (chain_id, block), of_chain in sorted(notes.items()):
        add_notes(connection, chain_id, block, of_chain)

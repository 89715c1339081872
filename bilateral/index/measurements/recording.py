"""Record a watchtower's measurements, for the index's readers and the change feed."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, func, select, update

from bilateral.index.changes.projection import Note, add_notes
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.files.observations import last_observation
from bilateral.index.files.tables import agent_file
from bilateral.index.log.dialects import in_parts, insert_new, upsert
from bilateral.index.log.tables import chain
from bilateral.index.measurements import tables as schema
from bilateral.index.measurements.queries import renew_alive
from bilateral.index.measurements.values import DAY, REACHABLE, Change, Outcome

_Row: TypeAlias = dict[str, Any]
_Listed: TypeAlias = tuple[int, Change]
"""A change, and a chain whose agents list the endpoint."""

_MARKED_EVERY: Final = 3_600
"""Seconds between two rows recording that a watchtower is still measuring."""

_STALE_SECONDS: Final = 2 * DAY
"""The age at which a state becomes unknown while others are measured. Endpoints are probed at least daily."""

_MOST_AGENTS: Final = 1_000
"""The maximum number of an endpoint's agents for which its change is reported. Any number of files may list it."""


def record(
    engine: Engine, *, changes: Sequence[Change] = (), currents: Sequence[_Row] = (), days: Sequence[_Row] = ()
) -> None:
    """Store measurements for the chains whose agents list the endpoints. Doing this again changes nothing.

    Args:
        changes: Confirmed changes, in the order in which they happened.
        currents: Rows of `endpoint_state` without chain and `alive_at`, for the endpoints that were probed since the
            last call.
        days: Rows of `endpoint_day` without chain, for complete and incomplete days.
    """
    with engine.begin() as connection:
        keys = {row["endpoint_id"] for row in (*currents, *days, *map(vars, changes))}
        chains = _chains_of(connection, keys)
        upsert(connection, schema.endpoint_day, _for_chains(days, chains))
        listed = [(chain_id, change) for change in changes for chain_id in chains[change.endpoint_id]]
        reported = {(chain_id, change.endpoint_id) for chain_id, change in listed if change.kind == "state"}
        currents = _for_chains(currents, chains)
        states = list(_store_states(connection, currents))
        first = [entry for entry in states if (entry[0], entry[1].endpoint_id) not in reported]
        marks = list(_marks(connection, currents))
        renew_alive(connection, {row["endpoint_id"] for row in (*currents, *(vars(change) for _, change in marks))})
        _store_changes(connection, [*first, *listed, *marks])


def _for_chains(rows: Iterable[_Row], chains: Mapping[bytes, Sequence[int]]) -> list[_Row]:
    return [{**row, "chain_id": chain_id} for row in rows for chain_id in chains[row["endpoint_id"]]]


def _chains_of(connection: Connection, endpoints: Collection[bytes]) -> Mapping[bytes, Sequence[int]]:
    """Return the chains whose agents currently list each endpoint."""
    listed, chains = schema.registration_endpoint.c, defaultdict[bytes, list[int]](list)
    query = select(listed.endpoint_id, agent_file.c.chain_id).select_from(schema.LISTINGS).distinct()
    for part in in_parts(sorted(endpoints)):
        for key, chain_id in connection.execute(query.where(listed.endpoint_id.in_(part))):
            chains[bytes(key)].append(chain_id)
    return chains


def _store_states(connection: Connection, currents: Sequence[_Row]) -> Iterator[_Listed]:
    """Store current states, and yield those of endpoints that had none, or a stale one, as changes."""
    states, stored = schema.endpoint_state, dict[tuple[int, bytes], str | None]()
    keys = states.c.chain_id, states.c.endpoint_id
    for part in in_parts(sorted({row["endpoint_id"] for row in currents})):
        query = select(*keys, func.max(states.c.state)).where(states.c.endpoint_id.in_(part)).group_by(*keys)
        stored |= {(chain_id, bytes(key)): state for chain_id, key, state in connection.execute(query)}
    rows = [{**row, "alive_at": row["probed_at"] if row["state"] in REACHABLE else None} for row in currents]
    upsert(connection, states, rows, values=lambda new: {"alive_at": func.coalesce(new.alive_at, states.c.alive_at)})
    for row in currents:
        place = row["chain_id"], row["endpoint_id"]
        if row["state"] is not None and stored.get(place) is None:
            at = (row["probed_at"] if place in stored else row["since"]) or row["probed_at"] or 0
            yield place[0], Change(place[1], at, "state", None, row["state"], row["code"])


def _marks(connection: Connection, currents: Sequence[_Row]) -> Iterator[_Listed]:
    """Once an hour, yield a mark that a watchtower is still measuring, and the states that have become stale."""
    newest: dict[int, int] = {}
    for row in currents:
        newest[row["chain_id"]] = max(row["probed_at"] or 0, newest.get(row["chain_id"], 0))
    marks, state = schema.endpoint_change.c, schema.endpoint_state.c
    for chain_id, at in newest.items():
        last = select(func.max(marks.at)).where(marks.chain_id == chain_id, marks.endpoint_id == schema.NO_ENDPOINT)
        if (connection.execute(last).scalar_one() or 0) > at - _MARKED_EVERY:
            continue
        yield chain_id, Change(schema.NO_ENDPOINT, at, schema.PROBED, None, None)
        of_chain = state.chain_id == chain_id
        is_stale = func.max(func.coalesce(state.probed_at, 0)) < at - _STALE_SECONDS
        stale = select(state.endpoint_id).where(of_chain).group_by(state.endpoint_id)
        is_key = state.endpoint_id.in_(stale.having(is_stale, func.max(state.state).is_not(None)))
        forget = update(schema.endpoint_state).where(of_chain, is_key).values(state=None, code="stale")
        for key in sorted({*map(bytes, connection.execute(forget.returning(state.endpoint_id)).scalars())}):
            yield chain_id, Change(key, at, "state", None, Outcome.UNKNOWN, "stale")


def _store_changes(connection: Connection, listed: Sequence[_Listed]) -> None:
    """Store changes at the last indexed blocks, and add the new ones to the feed."""
    if not listed:
        return
    previous = last_observation(connection, schema.endpoint_change.c.change_id)
    blocks: dict[int, int] = dict(map(tuple, connection.execute(select(chain.c.chain_id, chain.c.block_number))))
    rows = [{**vars(change), "chain_id": chain_id, "seen_block": blocks[chain_id]} for chain_id, change in listed]
    for row in rows:
        row |= {name: None if row[name] is None else json.dumps(row[name], sort_keys=True) for name in ("old", "new")}
    insert_new(connection, schema.endpoint_change, rows)
    _add_to_feed(connection, previous)


def _text(value: str | None) -> str | None:
    """Return a stored value as the feed reports it: text without quotation marks, other JSON unchanged."""
    return value if value is None or value[:1] != '"' else str(json.loads(value))


def _add_to_feed(connection: Connection, previous: int) -> None:
    """Add changes from one value to another to the feed: one for each agent that lists the endpoint."""
    change, listed, current = schema.endpoint_change.c, schema.registration_endpoint.c, agent_file.c
    is_new = (change.change_id > previous) & change.old.is_not(None)
    notes: dict[tuple[int, int], list[Note]] = defaultdict(list)
    for row in connection.execute(select(schema.endpoint_change).where(is_new).order_by(change.change_id)).all():
        agents = (
            select(current.identity_registry, current.agent_id, listed.protocol, listed.url)
            .select_from(schema.LISTINGS)
            .where(current.chain_id == row.chain_id, listed.endpoint_id == row.endpoint_id)
            .order_by(current.identity_registry, current.agent_id)
            .limit(_MOST_AGENTS)
        )
        details = {"change": row.kind, "old": _text(row.old), "new": _text(row.new), "code": row.code, "at": row.at}
        notes[row.chain_id, row.seen_block] += [
            Note(ChangeKind.ENDPOINT, registry, int(agent_id), None, {"protocol": protocol, "url": url, **details})
            for registry, agent_id, protocol, url in connection.execute(agents)
        ]
    for (chain_id, block), of_chain in sorted(notes.items()):
        add_notes(connection, chain_id, block, of_chain)

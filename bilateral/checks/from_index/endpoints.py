"""What watchtowers measured of an agent's endpoints as of a block."""

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import and_, bindparam, exists, literal_column, select

from bilateral.checks.endpoint_facts import REACHABLE, Drift, EndpointFacts, MeasurementFacts, Signal
from bilateral.checks.facts import RegistrationFacts
from bilateral.checks.from_index.as_of_block import OPEN_REGISTRIES, AsOfBlock, covering, evidence_of, place_of
from bilateral.checks.from_index.subjects import Subject
from bilateral.checks.verdicts import DAY
from bilateral.core.events import FeedbackRevoked, NewFeedback
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.log.unindexed import newest_first, unindexed
from bilateral.index.measurements.tables import NO_ENDPOINT, endpoint_change, registration_endpoint
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

_MOST_CHANGES: Final = 1_000
"""The newest changes of an agent's endpoints that are read: five endpoints that flap have fewer in a year."""

_MOST_SIGNALS: Final = 200

_SIGNAL_SECONDS: Final = 98 * DAY
"""The age up to which a signal counts. A watchtower that publishes changes alone repeats each after 13 weeks."""

_CHANGE: Final = endpoint_change.c
_ENDPOINT: Final = registration_endpoint.c
_IS_OF_ANSWER: Final = and_(
    _CHANGE.chain_id == bindparam("chain_id"),
    _CHANGE.seen_block <= bindparam("block"),
    unindexed(_CHANGE.change_id) <= bindparam("measurements"),
)
_MARK: Final = Prepared(
    select(_CHANGE.at, _CHANGE.change_id)
    .where(_IS_OF_ANSWER, _CHANGE.endpoint_id == bindparam("endpoint_id"))
    .order_by(_CHANGE.change_id.desc())
    .limit(at_most(1))
)
_CHANGES: Final = Prepared(
    select(_ENDPOINT.position, _ENDPOINT.protocol, _ENDPOINT.is_probed, *_CHANGE["change_id", "at", "kind"])
    .add_columns(*_CHANGE["old", "new", "code"])
    .select_from(
        registration_endpoint.outerjoin(
            endpoint_change, and_(_CHANGE.endpoint_id == _ENDPOINT.endpoint_id, _IS_OF_ANSWER)
        )
    )
    .where(_ENDPOINT.content_hash == bindparam("content_hash"))
    .order_by(_CHANGE.change_id.desc())
    .limit(at_most(_MOST_CHANGES))
)
_FEEDBACK, _REVOKED = EVENT_TABLES[NewFeedback], EVENT_TABLES[FeedbackRevoked]


def measurements_of(
    subject: Subject, registration: RegistrationFacts | None, watchtowers: Collection[str]
) -> MeasurementFacts | None:
    """Return what was measured of an agent's endpoints; None if no watchtower tells this index anything."""
    as_of = subject.as_of
    bounds = {**as_of.bounds, "measurements": as_of.newest_measurement}
    mark = _MARK.first(as_of.connection, {**bounds, "endpoint_id": NO_ENDPOINT})
    if mark is None and not watchtowers:
        return None
    at, newest = mark or (None, 0)
    content = None if registration is None else registration.file.content_hash
    rows = _CHANGES.records(as_of.connection, {**bounds, "content_hash": content}) if content else []
    return MeasurementFacts(
        measured_at=at,
        age_seconds=None if at is None else max(0, as_of.seconds_since(at)),
        endpoints=tuple(
            _endpoint(as_of, [row for row in rows if row.position == position])
            for position in sorted({row.position for row in rows})
        ),
        signals=_signals(subject, sorted(watchtowers)) if watchtowers else (),
        newest=max(newest, *(row.change_id or 0 for row in rows), 0),
    )


def _endpoint(as_of: AsOfBlock, rows: Sequence[Any]) -> EndpointFacts:
    """Return an endpoint by its changes, the newest first."""
    states = [(json.loads(row.new), row) for row in rows if row.kind == "state"]
    drifts: dict[str, Drift] = {}
    for row in rows:
        if row.kind not in {"state", None} and row.kind not in drifts:
            old, new = (None if text is None else json.loads(text) for text in (row.old, row.new))
            age = as_of.seconds_since(row.at)
            drifts[row.kind] = Drift(row.kind, row.at, age, old, new, rotates=row.code == "rotates")
    state, newest = states[0] if states else (None, None)
    return EndpointFacts(
        protocol=rows[0].protocol,
        state=state,
        code=None if newest is None else newest.code,
        since=None if newest is None else newest.at,
        first_at=states[-1][1].at if states else None,
        was_alive=any(state in REACHABLE for state, _ in states),
        is_probed=rows[0].is_probed,
        drifts=tuple(drifts.values()),
    )


def _signals(subject: Subject, watchtowers: Sequence[str]) -> tuple[Signal, ...]:
    """Return the newest `reachable` of each endpoint by each watchtower."""
    addresses = [address for address, kind in subject.kinds.items() if kind in OPEN_REGISTRIES]
    size = size_for(watchtowers)
    values = {**subject.parameters, **spread("registry", addresses, len(addresses))}
    statement = _reachable(len(addresses), size)
    newest: dict[tuple[str, str], Any] = {}
    for row in statement.records(subject.as_of.connection, {**values, **spread("watchtower", watchtowers, size)}):
        if subject.as_of.seconds_since(row.block_time) <= _SIGNAL_SECONDS:
            newest.setdefault((row.client_address, row.endpoint), row)
    return tuple(Signal(int(row.value) > 0, evidence_of("NewFeedback", row)) for row in newest.values())


@lru_cache
def _reachable(registries: int, watchtowers: int) -> Prepared:
    given, revoked = _FEEDBACK.c, _REVOKED.c
    key = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    is_revoked = exists().where(covering(_REVOKED), *(revoked[name] == given[name] for name in key))
    return Prepared(
        select(*place_of(_FEEDBACK), given.client_address, given.endpoint, given.value)
        .where(covering(_FEEDBACK), one_of("registry", given.registry, registries))
        .where(given.agent_id == bindparam("agent_id"), given.tag1 == literal_column("'reachable'"), ~is_revoked)
        .where(one_of("watchtower", given.client_address, watchtowers))
        .order_by(*newest_first(given))
        .limit(at_most(_MOST_SIGNALS))
    )

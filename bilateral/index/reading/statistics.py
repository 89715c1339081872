"""The number of events per day on each chain."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, func, select

from bilateral.core import events
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log import tables as schema

MAX_DAYS: Final = 366
"""The maximum number of days in one response, which is the length of a leap year."""

_DAY: Final = 86_400  # seconds; Unix time ignores leap seconds

_COUNTED: Final = {
    "agents": events.Registered,
    "feedback": events.NewFeedback,
    "revocations": events.FeedbackRevoked,
    "responses": events.ResponseAppended,
    "authorized_feedback": events.NewAuthorizedFeedback,
    "client_ratings": events.ClientRated,
    "validator_ratings": events.ValidatorRated,
    "validation_requests": events.ValidationRequest,
    "validation_responses": events.ValidationResponse,
}
"""The kind of event that each field of `DayStatistics` counts."""


@dataclass(frozen=True, slots=True)
class DayStatistics:
    """The number of events on one chain in one day.

    Attributes:
        day: The day in UTC.
        agents: The number of registrations.
        feedback: The number of open feedback entries.
        revocations: The number of feedback revocations.
        responses: The number of responses to feedback.
        authorized_feedback: The number of feedback entries that agents' owners authorised.
        validation_responses: The number of responses to validation requests.
    """

    chain_id: int
    day: date
    agents: int
    feedback: int
    revocations: int
    responses: int
    authorized_feedback: int
    client_ratings: int
    validator_ratings: int
    validation_requests: int
    validation_responses: int


def statistics(
    connection: Connection, chain_ids: tuple[int, ...], first: date, last: date
) -> tuple[DayStatistics, ...]:
    """Return the chains' statistics for each day with at least one event.

    The cost grows with the number of events on the requested days, not with the chain's total number of events.
    """
    if not 0 <= (last - first).days < MAX_DAYS:
        raise InvalidArgumentError(f"the period {first} to {last} must cover 1 to {MAX_DAYS} days")
    begin = int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp())
    end = begin + ((last - first).days + 1) * _DAY
    counts: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for chain_id in chain_ids:
        for name, event in _COUNTED.items():
            for day, count in _days(connection, schema.EVENT_TABLES[event], chain_id, begin, end):
                counts[chain_id, day][name] = count
    epoch = date(1970, 1, 1)
    return tuple(
        DayStatistics(chain_id, epoch + timedelta(days=day), *(row.get(name, 0) for name in _COUNTED))
        for (chain_id, day), row in sorted(counts.items(), key=lambda count: (count[0][0], -count[0][1]))
    )


def _days(connection: Connection, table: Table, chain_id: int, begin: int, end: int) -> list[tuple[int, int]]:
    first = _block_at(connection, table, chain_id, begin)
    if first is None:
        return []
    after = _block_at(connection, table, chain_id, end)
    within = [table.c.block_number >= first, *([] if after is None else [table.c.block_number < after])]
    rows = connection.execute(count_by_day(table, chain_id).where(*within))
    return [(int(number), count) for number, count in rows]


def count_by_day(table: Table, chain_id: int) -> Select[Any]:
    """Return the statement that counts a table's events per day. It lets each chain's server do the counting.

    A coordinator delegates grouping to a server only for a whole partition, so the chain must be part of the grouping
    key. PostgreSQL drops a key that equals a constant, but keeps a key that is in a list, and still uses indexes.
    """
    day = (table.c.block_time // _DAY).label("day")
    return select(day, func.count()).where(table.c.chain_id.in_([chain_id, chain_id])).group_by(table.c.chain_id, day)


def _block_at(connection: Connection, table: Table, chain_id: int, as_of: int) -> int | None:
    """Return the first block of a table's events at or after a time; None if all are earlier."""
    # Times increase with blocks, and the primary key finds the event next to any block, which suffices for bisection.
    columns = table.c
    of_chain = columns.chain_id == chain_id
    ends = (select(find(columns.block_number)).where(of_chain).scalar_subquery() for find in (func.min, func.max))
    bounds = connection.execute(select(*ends)).one()
    if bounds[0] is None:
        return None
    low, high = int(bounds[0]), int(bounds[1]) + 1
    nearest = select(columns.block_number, columns.block_time).where(of_chain).order_by(columns.block_number).limit(1)
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(nearest.where(columns.block_number >= middle)).first()
        if row is None or row.block_time >= as_of:
            high = middle
        else:
            low = row.block_number + 1
    return low if low <= int(bounds[1]) else None

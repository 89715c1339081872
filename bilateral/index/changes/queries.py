"""Read the change feed from a cursor.

Every read of a step returns the same changes: the step's events are still in the event tables, or a rollback has copied
them. All readers of one index therefore get the same changes with the same ids, whenever they read.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, Text, func, select, tuple_

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events.agents import WALLET_KEY
from bilateral.core.identifiers import checksummed
from bilateral.core.text import quoted
from bilateral.index.changes import tables as schema
from bilateral.index.changes.answers import FeedChange, RawChange, displayed_agent, raw_change, raw_note
from bilateral.index.log.journal import unpacked
from bilateral.index.reading.registries import AgentKey, Registries, agent_key, read_registries

AT_ONCE: Final = 1_000
"""The number of changes after which one read stops, even if none of them matches the filter."""

_STEPS: Final = 200
"""The maximum number of steps that one read examines. Most steps cover a single block with few changes."""

_CURSOR: Final = re.compile(r"(\d{1,18})(?:\.(\d{1,18})\.(\d{1,9}))?", re.ASCII)

_REMOVED: Final = schema.removed_change.c
_PLACE: Final = (_REMOVED.block_number, _REMOVED.log_index)

_Place = tuple[int, int]


class FeedCursorError(InvalidArgumentError):
    """A cursor does not belong to this feed."""

    reason = "invalid_cursor"

    def __init__(self, cursor: str, detail: str) -> None:
        super().__init__(f"the cursor {cursor[:60]!r} {detail}")


class FeedPrunedError(FeedCursorError):
    """Some changes after the cursor were pruned, so the reader would miss them.

    Attributes:
        oldest: The cursor from which all remaining changes can be read.
    """

    reason = "cursor_pruned"

    def __init__(self, cursor: str, oldest: str) -> None:
        detail = f"is too old: the changes after it were pruned. Read the agents again, and continue at {oldest}"
        super().__init__(cursor, detail)
        self.oldest = oldest


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """A filter for changes. A change must match every field of the filter; an empty field matches all changes.

    Attributes:
        accounts: The accounts, in checksum form.
        tags: The tags, matched exactly.
    """

    agents: tuple[AgentKey, ...] = ()
    accounts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[schema.ChangeKind, ...] = ()

    def lets_pass(self, chain_id: int, identity_registry: str, change: RawChange) -> bool:
        """Return True if a change matches the filter."""
        agents = {(key.chain_id, key.identity_registry, key.agent_id) for key in self.agents}
        parts: Iterable[tuple[Collection[Any], Iterable[Any]]] = (
            (self.kinds, (change.kind,)),
            (self.accounts, change.accounts),
            (self.tags, change.tags),
            (agents, ((chain_id, identity_registry, agent_id) for agent_id in change.agents)),
        )
        return all(not requested or not set(requested).isdisjoint(values) for requested, values in parts)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A part of the feed.

    Attributes:
        items: The changes, in order.
        cursor: The cursor for later changes.
        is_end: True if the feed had no more changes when it was read.
    """

    items: tuple[FeedChange, ...]
    cursor: str
    is_end: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    """A change with its position in the feed, before it is formatted."""

    step: int
    place: _Place
    chain_id: int
    registry: str
    time: int
    block: int
    change: RawChange
    event: str | None = None
    transaction: bytes | None = None
    retracts: int | None = None


def last_cursor(connection: Connection) -> str:
    """Return the cursor at the end of the feed, for readers that only need new changes."""
    return str(last_step(connection))


def last_step(connection: Connection) -> int:
    """Return the number of the last step; 0 if there are no steps yet."""
    return int(connection.execute(select(func.coalesce(func.max(schema.change_step.c.step), 0))).scalar_one())


def oldest_cursor(connection: Connection) -> str:
    """Return the cursor from which a reader gets all changes that have not been pruned."""
    return str(connection.execute(select(func.coalesce(func.min(schema.change_step.c.step), 1))).scalar_one() - 1)


def read_feed(connection: Connection, since: str, chosen: FeedFilter, limit: int = AT_ONCE) -> FeedPage:
    """Return the changes after a cursor."""
    step, place = _parsed(since)
    if step > (last := last_step(connection)):
        raise FeedCursorError(
            since, f"is past the end of the feed ({last}): the index was rebuilt, so start again at 0"
        )
    if step < int(oldest := oldest_cursor(connection)) or (place is not None and step == int(oldest) > 0):
        raise FeedPrunedError(since, oldest)
    columns = schema.change_step.c
    is_later = columns.step > step if place is None else columns.step >= step
    listed = connection.execute(select(schema.change_step).where(is_later).order_by(columns.step).limit(_STEPS)).all()
    steps = _first_steps(listed)
    if not steps:
        return FeedPage((), str(step), is_end=True)
    start = place if place is not None and steps[0].step == step else None
    reported = _entries(connection, steps, start, chosen)
    is_whole = len(reported) <= AT_ONCE  # a larger step is on a page of its own
    reported = reported[:AT_ONCE]
    registries = read_registries(connection)
    identities = {
        (registry.chain_id, registry.address): registry.identity_registry
        for existing in registries.by_chain.values()
        for registry in existing
    }
    items: list[FeedChange] = []
    for entry in reported:
        identity = identities.get((entry.chain_id, entry.registry), entry.registry)
        if chosen.lets_pass(entry.chain_id, identity, entry.change):
            if len(items) == limit:
                return FeedPage(tuple(items), items[-1].id, is_end=False)
            items.append(_feed_change(entry, registries, identity))
    if not is_whole:
        return FeedPage(tuple(items), _id(reported[-1].step, reported[-1].place), is_end=False)
    return FeedPage(tuple(items), str(steps[-1].step), is_end=steps[-1].step == last)


def _parsed(cursor: str) -> tuple[int, _Place | None]:
    """Return a cursor's step and position. The position is None if the whole step has been read."""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise FeedCursorError(cursor, "is malformed: pass a change's id, the cursor from a response, or 0")
    step, block, index = match.groups()
    return int(step), None if block is None else (int(block), int(index))


def _id(step: int, place: _Place) -> str:
    return f"{step}.{place[0]}.{place[1]}"


def _first_steps(steps: Sequence[Any]) -> Sequence[Any]:
    """Return as many of the first steps as one read can examine, but at least one, even if it is large."""
    total = 0
    for number, step in enumerate(steps):
        total += step.changes
        if total > AT_ONCE:
            return steps[: max(number, 1)]
    return steps


def _entries(connection: Connection, steps: Sequence[Any], start: _Place | None, chosen: FeedFilter) -> list[_Entry]:
    """Return the changes in the given steps, in order. For a large step, return one more than a read examines."""
    reported: list[_Entry] = []
    tables = [
        (event, table)
        for event, table in schema.TABLES_BY_NAME.values()
        if not chosen.kinds or schema.EVENT_KINDS[event] in chosen.kinds
    ]
    names = {table.name for _, table in tables}
    blocks: dict[int, list[Any]] = defaultdict(list)
    for step in steps:
        if step.kind == schema.StepKind.BLOCKS:
            blocks[step.chain_id].append(step)
        elif step.kind == schema.StepKind.ROLLBACK:
            is_of_step = (_REMOVED.chain_id == step.chain_id) & (_REMOVED.removal == step.removal)
            if start is not None and step is steps[0]:
                is_of_step &= tuple_(*_PLACE) < tuple_(*start)
            removed = _removed(connection, is_of_step, names, *(part.desc() for part in _PLACE))  # newest first
            reported += [_event(step.step, event, cells, number) for number, event, cells in removed]
    for chain_id, of_chain in blocks.items():
        before = start if of_chain[0] is steps[0] else None
        retained = [step for step in of_chain if step.kept_block >= step.first_block]  # in block order
        for event, table in tables if retained else ():
            place = before if retained[0] is of_chain[0] else None
            reported += _stored(connection, chain_id, retained, place, (event, table))
        is_of_steps: Any = _REMOVED.step.in_([step.step for step in of_chain])
        if before is not None:
            is_of_steps &= (_REMOVED.step > steps[0].step) | (tuple_(*_PLACE) > tuple_(*before))
        removed = _removed(connection, is_of_steps, names, _REMOVED.step, *_PLACE)
        reported += [_event(number, event, cells) for number, event, cells in removed]
    reported += _noted(connection, [step for step in steps if step.kind == schema.StepKind.NOTES], start, steps[0].step)
    signs = {step.step: -1 if step.kind == schema.StepKind.ROLLBACK else 1 for step in steps}
    return sorted(reported, key=lambda entry: (entry.step, *(signs[entry.step] * part for part in entry.place)))


def _stored(
    connection: Connection, chain_id: int, steps: Sequence[Any], start: _Place | None, kind: tuple[Any, Table]
) -> Iterator[_Entry]:
    """Yield the events from a table that block steps reported and that are still stored."""
    event, table = kind
    columns, firsts = table.c, [step.first_block for step in steps]
    query = (
        select(*_columns(table))
        .where(columns.chain_id == chain_id, columns.block_number.between(firsts[0], steps[-1].kept_block))
        .order_by(columns.block_number, columns.log_index)
        .limit(AT_ONCE + 1)
    )
    if "metadata_key" in columns:
        query = query.where(columns.metadata_key == WALLET_KEY)
    if start is not None:  # a later step may have stored the same blocks again
        is_later = tuple_(columns.block_number, columns.log_index) > tuple_(*start)
        query = query.where((columns.block_number > steps[0].kept_block) | is_later)
    for row in connection.execute(query).mappings():
        yield _event(steps[bisect_right(firsts, row["block_number"]) - 1].step, event, row)


def _columns(table: Table) -> list[Any]:
    """Return the columns that a change needs. Untrusted texts are truncated to the displayed length."""
    return [
        func.substr(column, 1, schema.MOST_TEXT + 1).label(column.name) if isinstance(column.type, Text) else column
        for column in table.c
        if column.name not in ("raw_data", "block_hash")
    ]


def _event(step: int, event: Any, row: Any, retracts: int | None = None) -> _Entry:
    change = raw_change(event, row)
    place = (row["block_number"], row["log_index"])
    where = (row["chain_id"], row["registry"], row["block_time"])
    return _Entry(step, place, *where, row["block_number"], change, event.abi_name, row["transaction_hash"], retracts)


def _removed(connection: Connection, condition: Any, names: Collection[str], *order: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the events that rollbacks removed, each with the step that reported it, its kind and its row."""
    query = select(schema.removed_change).where(condition, _REMOVED.table_name.in_(names)).order_by(*order)
    for row in connection.execute(query.limit(AT_ONCE + 1)):
        event, table = schema.TABLES_BY_NAME[row.table_name]
        yield row.step, event, dict(zip(table.c.keys(), unpacked(table, row.packed_row), strict=True))


def _noted(connection: Connection, steps: Sequence[Any], start: _Place | None, first: int) -> Iterator[_Entry]:
    if not steps:
        return
    columns, by_number = schema.change_note.c, {step.step: step for step in steps}
    query = select(schema.change_note).where(columns.step.in_(list(by_number)))
    if start is not None:
        query = query.where((columns.step > first) | (columns.position > start[0]))
    for row in connection.execute(query.order_by(columns.step, columns.position).limit(AT_ONCE + 1)):
        step = by_number[row.step]
        where = (step.chain_id, row.registry, step.made_at, step.last_block)
        yield _Entry(row.step, (row.position, 0), *where, raw_note(row))


def _feed_change(entry: _Entry, registries: Registries, identity: str) -> FeedChange:
    change, is_event = entry.change, entry.event is not None
    return FeedChange(
        id=_id(entry.step, entry.place),
        kind=change.kind,
        retracts=None if entry.retracts is None else _id(entry.retracts, entry.place),
        chain=entry.chain_id,
        event=entry.event,
        block=entry.block,
        log_index=entry.place[1] if is_event else None,
        time=entry.time,
        transaction=None if entry.transaction is None else f"0x{entry.transaction.hex()}",
        registry=entry.registry,
        agents=tuple(
            displayed_agent(registries, entry.chain_id, identity, agent_id) for agent_id in dict.fromkeys(change.agents)
        ),
        accounts=change.accounts,
        tags=tuple(tag for tag in change.tags if tag),
        details=change.details,
    )


def parse_filter(
    registries: Registries,
    agents: Iterable[str] = (),
    accounts: Iterable[str] = (),
    tags: Iterable[str] = (),
    kinds: Iterable[str] = (),
) -> FeedFilter:
    """Parse a filter for changes from strings."""
    kinds = tuple(kinds)
    for kind in kinds:
        if kind not in list(schema.ChangeKind):
            raise InvalidArgumentError(f"kind {quoted(kind)} is unknown: choose one of {', '.join(schema.ChangeKind)}")
    return FeedFilter(
        tuple(agent_key(registries, text) for text in agents),
        tuple(checksummed(text) for text in accounts),
        tuple(tags),
        tuple(map(schema.ChangeKind, kinds)),
    )

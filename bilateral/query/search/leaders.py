"""Leaderboards: the agents with the greatest lower bounds for a tag, straight from the index of summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, and_, exists, func, literal, or_, select, tuple_

from bilateral.bounds import scale_of_tag
from bilateral.errors import InvalidArgumentError
from bilateral.index.store.text import key_text
from bilateral.index.tables import files
from bilateral.index.tables.files import State
from bilateral.index.tables.schema import agent, chain, registry, summary
from bilateral.index.tables.search import agent_file
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.pages import DEFAULT_LIMIT, Page, Wide, decode_cursor, encode_cursor, require_limit
from bilateral.query.search.filters import Side, storable
from bilateral.query.search.gates import has_better
from bilateral.query.search.plans import among
from bilateral.query.values import Wide as WideValue
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

_REAL: Final = Float(53)
_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True, slots=True)
class Leader:
    """An agent of a leaderboard. Its name is the word of a stranger.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id among all registries.
        chain_id: Its chain.
        identity_registry: The address of its identity registry.
        agent_id: The id of its token.
        owner: The owner's address.
        name: Its name; None without a file.
        registry: The registry of the ratings.
        count: The number of ratings.
        counterparts: The number of distinct clients, or of servers, that gave them.
        mean: Their mean.
        lower_bound: The value that the agent has at least, with a confidence of 95 %.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: WideValue
    owner: str
    name: str | None
    registry: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float


def leaderboard(  # noqa: PLR0913  # one a filter
    connection: Connection,
    tag: str,
    side: Side = Side.SERVER,
    *,
    chains: Sequence[int] = (),
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[Leader]:
    """Return the agents with the greatest lower bounds for a tag. An agent counts by its best registry of ratings.

    Args:
        connection: The database.
        tag: The tag; `""` for ratings by servers.
        side: The side.
        chains: Only on these chains; on all if empty.
        limit: The largest number of agents.
        cursor: The cursor of the former page.

    Raises:
        InvalidArgumentError: The tag has no scale, so it has no lower bound; or the limit is out of range.
        InvalidCursorError: The cursor is of another leaderboard.
    """
    require_limit(limit)
    stored = key_text(storable(tag))
    if scale_of_tag(stored) is None:
        raise InvalidArgumentError(f"the tag {quoted(tag)} has no greatest value, and so no lower bound to rank by")
    kind = f"leaders {sorted(chains)} {side} {stored}"[:300]
    place = None if cursor is None else decode_cursor(kind, cursor, float, int, str, Wide)
    wanted = chains or tuple(connection.execute(select(chain.c.chain_id)).scalars())
    # Each chain has an index of its own in order of the bound, so its best are found without sorting all.
    parts = [_best_of_chain(chain_id, stored, side, place, limit + 1) for chain_id in wanted]
    rows = sorted((row for part in parts for row in connection.execute(part)), key=_order)[: limit + 1]
    names = _names(connection, rows[:limit])
    items = tuple(_leader(row, *names[tuple(row[:3])]) for row in rows[:limit])
    if len(rows) <= limit:
        return Page(items, None)
    last = rows[limit - 1]
    key = (last.chain_id, last.identity_registry, int(last.agent_id))
    return Page(items, encode_cursor(kind, float(last.lower_bound), *key))


def _best_of_chain(chain_id: int, tag: str, side: Side, place: tuple[Any, ...] | None, limit: int) -> Select[Any]:
    """Return the query for the best agents of one chain behind a place."""
    columns, of_registry = summary.c, registry.c
    key: list[ColumnElement[Any]] = [columns.chain_id, of_registry.identity_registry, columns.agent_id]
    same_agent = and_(
        agent.c.chain_id == columns.chain_id,
        agent.c.identity_registry == of_registry.identity_registry,
        agent.c.agent_id == columns.agent_id,
    )
    query = select(*key, columns.registry, columns["count"], columns.counterparts, columns.mean, columns.lower_bound)
    query = query.where(
        columns.chain_id == chain_id,
        columns.side == side.value,
        columns.tag == tag,
        columns.lower_bound.is_not(None),
        of_registry.chain_id == columns.chain_id,
        of_registry.address == unindexed(columns.registry),
        exists().where(same_agent).correlate(summary, registry),
        ~has_better(),
    )
    if place is not None:
        bound, *last = place
        bound = literal(bound, _REAL)
        behind = tuple_(*key) > tuple_(*last, types=[column.type for column in key])
        # The first part repeats what the second says, in a form that finds its place in the index.
        query = query.where(
            columns.lower_bound <= bound, or_(columns.lower_bound < bound, and_(columns.lower_bound == bound, behind))
        )
    return query.order_by(columns.lower_bound.desc(), of_registry.identity_registry, columns.agent_id).limit(limit)


def _order(row: Row[Any]) -> tuple[Any, ...]:
    """Return the key by which the best of all chains are sorted."""
    return -row.lower_bound, row.chain_id, row.identity_registry, row.agent_id


def _names(connection: Connection, rows: Sequence[Row[Any]]) -> dict[tuple[Any, ...], tuple[str, str | None]]:
    """Return the owners and names of the agents of some rows."""
    if not rows:
        return {}
    current = and_(*(agent_file.c[name] == agent.c[name] for name in _KEY))
    file, read = files.file, files.registration_file
    is_loaded = and_(file.c.file_id == agent_file.c.file_id, file.c.state == State.LOADED)
    tables = (
        agent.outerjoin(agent_file, current)
        .outerjoin(file, is_loaded)
        .outerjoin(read, read.c.content_hash == file.c.content_hash)
    )
    key = [agent.c[name] for name in _KEY]
    query = select(*key, agent.c.owner, func.substr(read.c.name, 1, 200)).select_from(tables)
    shown = connection.execute(query.where(*among(agent, [tuple(row)[:3] for row in rows])))
    return {(row[0], row[1], row[2]): (row[3], row[4]) for row in shown}


def _leader(row: Row[Any], owner: str, name: str | None) -> Leader:
    """Return a row of a leaderboard."""
    values: Sequence[Any] = tuple(row)
    chain_id, identity, number = values[0], values[1], int(values[2])
    ids = (f"{chain_id}:{number}", f"eip155:{chain_id}:{identity}#{number}")
    return Leader(*ids, chain_id, identity, number, owner, name, *values[3:])

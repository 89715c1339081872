"""Leaderboards: the best agents for a tag, by standing or by the lower bound of their ratings."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Float, Select, and_, exists, func, literal, or_, select, tuple_

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import global_agent_id
from bilateral.core.text import quoted
from bilateral.core.values.bounds import scale_of_tag
from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.log.dialects import unindexed
from bilateral.index.log.tables import chain, registry
from bilateral.index.log.text import key_text
from bilateral.index.ratings.tables import summary
from bilateral.index.reading.pages import DEFAULT_LIMIT, Page, Wide, decode_cursor, encode_cursor, require_limit
from bilateral.index.reading.registries import Wide as WideValue
from bilateral.index.search.filters import Side, storable
from bilateral.index.search.gates import figures, has_better
from bilateral.index.search.results import is_listed, rows_about
from bilateral.index.search.tables import KEY, WITH_FILES
from bilateral.index.standing.queries import analysed_chains, first_code
from bilateral.index.standing.tables import standing

_COMMON: Final = 2000
"""The number of summaries at which a tag counts as common. Looking up and sorting this many takes about 10 ms."""


@dataclass(frozen=True, slots=True)
class Leader:
    """An agent on a leaderboard. Its name is untrusted text.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id that is unique across registries.
        identity_registry: The address of the agent's identity registry.
        agent_id: The agent's token id.
        owner: The owner's address.
        name: The agent's name; None if the agent has no file.
        registry: The registry that contains the ratings.
        count: The number of ratings.
        counterparts: The number of distinct clients (or servers) that gave the ratings.
        mean: The mean value.
        lower_bound: The lower bound of the agent's value at 95 % confidence.
        status: The status of the agent's standing: `ok`, `thin`, `contested` or `held_back`; None for validators, and
            for agents that no analysis has included yet.
        standing: The lower bound of the agent's standing, which determines the rank in the default order.
        reason: The code of the main reason for the agent's standing.
        standing_rating: The standing as a rating from 0 to 100, as displayed on pages; None if there is none.
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
    status: str | None = None
    standing: float | None = None
    reason: str | None = None
    standing_rating: float | None = None


class Board(StrEnum):
    """The sort orders of leaderboards."""

    STANDING = "standing"
    """By standing, without withheld agents. This order is not available for validators, which have no standings."""

    LOWER_BOUND = "lower_bound"
    """By the lower bound of all ratings. Withheld agents are marked but not excluded."""

    HELD_BACK = "held_back"
    """Withheld agents, by lower bound."""


def leaderboard(  # noqa: PLR0913  # one a filter
    connection: Connection,
    tag: str,
    side: Side = Side.SERVER,
    *,
    board: Board | None = None,
    chains: Sequence[int] = (),
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[Leader]:
    """Return the best agents for a tag. An agent rated in several registries is ranked by its best ratings.

    A chain that has not been analysed yet has no leaders, because false ratings would lead in any other order.
    """
    require_limit(limit)
    stored = key_text(storable(tag))
    if scale_of_tag(stored) is None:
        raise InvalidArgumentError(f"the tag {quoted(tag)} has no maximum value, so it cannot be ranked by lower bound")
    order = board or (Board.LOWER_BOUND if side is Side.VALIDATOR else Board.STANDING)
    if side is Side.VALIDATOR and order is not Board.LOWER_BOUND:
        raise InvalidArgumentError(f"validators have no standing: use board=lower_bound, not {order}")
    kind = f"leaders {order} {sorted(chains)} {side} {stored}"[:300]
    place = None if cursor is None else decode_cursor(kind, cursor, float, int, str, Wide)
    requested = analysed_chains(connection, chains or tuple(connection.execute(select(chain.c.chain_id)).scalars()))
    # Each chain has its own index in the order of bounds, so its best agents are found without sorting all of them.
    parts = []
    for chain_id in requested:
        walks_ranks = order is Board.STANDING and _is_common(connection, chain_id, side, stored)
        parts.append(_best_of_chain(chain_id, stored, side, order, place, limit + 1, walks_ranks=walks_ranks))
    rows: list[Any] = sorted(
        (row for part in parts for row in connection.execute(part)), key=lambda row: (-row.place, *row[:3])
    )
    leaders = _leaders(connection, rows[:limit])
    if len(rows) <= limit:
        return Page(leaders, None)
    chain_id, identity, agent_id, *_, rank = rows[limit - 1]
    return Page(leaders, encode_cursor(kind, float(rank), chain_id, identity, int(agent_id)))


def _is_common(connection: Connection, chain_id: int, side: Side, tag: str) -> bool:
    """Check whether a tag is so common that reading all agents in order of rank quickly finds those with the tag."""
    columns = summary.c
    rated = select(columns.agent_id).where(columns.chain_id == chain_id, columns.side == side.value, columns.tag == tag)
    some = rated.where(columns.lower_bound.is_not(None)).limit(_COMMON).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one() == _COMMON


def _best_of_chain(  # noqa: PLR0913, PLR0917  # parts of one query
    chain_id: int, tag: str, side: Side, board: Board, place: tuple[Any, ...] | None, limit: int, *, walks_ranks: bool
) -> Select[Any]:
    # There are three ways: walk down the index on summaries by bound, sort a rare tag's summaries by rank, or walk down
    # the index on standings by rank and look up each summary by its whole key. If SQLite knew a summary's chain and
    # side before joining a standing and a registry, it would always walk the tag's summaries, so these values are
    # expressions there.
    columns, of_registry = summary.c, registry.c
    by_rank = board is Board.STANDING
    same_agent = and_(
        agent.c.chain_id == columns.chain_id,
        agent.c.identity_registry == of_registry.identity_registry,
        agent.c.agent_id == columns.agent_id,
    )
    same_standing = and_(
        of_registry.identity_registry == standing.c.identity_registry,
        columns.chain_id == (unindexed(of_registry.chain_id) if walks_ranks else standing.c.chain_id),
        columns.side == (unindexed(standing.c.side) if walks_ranks else standing.c.side),
        columns.agent_id == standing.c.agent_id,
    )
    ordered = standing.c if by_rank else columns
    ranked = standing.c.rank if by_rank else columns.lower_bound
    identity = standing.c.identity_registry if by_rank else of_registry.identity_registry
    key: list[ColumnElement[Any]] = [ordered.chain_id, identity, ordered.agent_id]
    stood = standing.c.status, standing.c.lower_bound.label("standing"), standing.c.reasons, standing.c.rating
    query = select(*key, columns.registry, *figures(columns), *stood, ranked.label("place"))
    if board is Board.LOWER_BOUND:
        of_summary = and_(of_registry.chain_id == columns.chain_id, of_registry.address == unindexed(columns.registry))
        query = query.select_from(summary.join(registry, of_summary).outerjoin(standing, same_standing))
    else:
        is_withheld = standing.c.rank.is_(None)
        query = query.where(same_standing, is_withheld if board is Board.HELD_BACK else ~is_withheld)
    query = query.where(
        ordered.chain_id == chain_id,
        ordered.side == side.value,
        columns.tag == tag,
        (unindexed(columns.lower_bound) if walks_ranks else columns.lower_bound).is_not(None),
        of_registry.chain_id == ordered.chain_id,
        columns.registry == of_registry.address if by_rank else of_registry.address == unindexed(columns.registry),
        exists().where(same_agent).correlate(summary, registry),
        ~has_better(),
    )
    if place is not None:
        bound = literal(place[0], Float(53))
        is_after = tuple_(*key) > tuple_(*place[1:], types=[column.type for column in key])
        # The first part repeats the second in a form that lets the database seek in the index.
        query = query.where(ranked <= bound, or_(ranked < bound, and_(ranked == bound, is_after)))
    return query.order_by(ranked.desc(), *key[1:]).limit(limit)


def _leaders(connection: Connection, rows: Sequence[Any]) -> tuple[Leader, ...]:
    """Convert rows to leaders, with their owners and names."""
    if not rows:
        return ()
    keys = [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows]
    names = {(row[0], row[1], int(row[2])): row[3:] for row in rows_about(connection, _NAMES, keys)}
    leaders = []
    for key, (_, _, _, *ratings, status, lower, reasons, rating, _) in zip(keys, rows, strict=True):
        ids = f"{key[0]}:{key[2]}", global_agent_id(*key)
        values: Any = *ids, *key, *names[key], *ratings, status, lower, first_code(reasons), rating
        leaders.append(Leader(*values))
    return tuple(leaders)


_NAMES: Final = (
    select(*(agent.c[name] for name in KEY), agent.c.owner, func.substr(files.registration_file.c.name, 1, 200))
    .select_from(WITH_FILES)
    .where(*is_listed(agent.c, *KEY))
)

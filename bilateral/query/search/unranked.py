"""The agents that standings do not rank: those that have none yet, and those that are held back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import or_, select

from bilateral.index.tables.schema import agent
from bilateral.index.tables.standings import standing, standing_refresh
from bilateral.query.search.filters import Side
from bilateral.query.search.statements import Statement
from bilateral.query.search.walks import Walks, has_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from bilateral.query.search.statements import Parts

_MOST_NEW: Final = 500
"""Agents that were registered since the last refresh up to which they are listed. A refresh takes seconds, and as many
registrations take longer on any chain."""


def with_standings(connection: Connection, chains: Sequence[int], side: Side) -> set[int]:
    """Return the chains on which agents have standings on a side.

    Args:
        connection: The database.
        chains: The chains.
        side: The side. Validators have no standings.
    """
    columns = standing.c
    queries = {
        chain_id: select(columns.side).where(columns.chain_id == chain_id, columns.side == side.value).limit(1)
        for chain_id in chains
    }
    return {chain_id for chain_id, query in queries.items() if connection.execute(query).first()}


def is_not_held_back() -> ColumnElement[bool]:
    """Return the condition that the standing of an agent ranks, or that it has none."""
    return or_(standing.c.rank.is_not(None), standing.c.agent_id.is_(None))


class Unranked:
    """The agents of a search that standings do not rank.

    Args:
        parts: The search.
    """

    def __init__(self, parts: Parts) -> None:
        """See the class."""
        self._parts = parts

    def find(
        self, place: tuple[Any, ...] | None, count: int, relevance: int, *, has_bounds: bool
    ) -> Sequence[Row[Any]]:
        """Find agents without a standing.

        Every server has a standing from the first refresh after its registration, so those of chains with standings are
        few. Clients have one if they are rated.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have.
            has_bounds: True to walk down the lower bounds, False to walk down the agents.
        """
        rows: list[Row[Any]] = []
        walked = list(self._parts.chains)
        if self._parts.search.rated_side is Side.SERVER:
            for chain_id in with_standings(self._parts.connection, self._parts.chains, Side.SERVER):
                new = self._new(chain_id)
                if len(new) <= _MOST_NEW:
                    walked.remove(chain_id)
                    rows += self._among(chain_id, new, place, count, relevance)
        if walked:
            walks = Walks(replace(self._parts, chains=walked))
            rows += (walks.by_bound if has_bounds else walks.by_agents)(place, count, relevance)
        rows.sort(key=lambda row: (-row.first_rank, -row.second_rank, *row[:3]))
        return rows[:count]

    def held_back(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Find agents that are held back. They are few, and the index of ranks has them together.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
        """
        columns, statement = standing.c, Statement(self._parts, are_few=True, stands=True)
        is_held_back = [columns.chain_id.in_(self._parts.chains), columns.rank.is_(None)]
        of_agent = statement.has_standing(looks_up_agents=True)
        return statement.rows(place, count, [*is_held_back, *of_agent, *statement.has_words()])

    def _new(self, chain_id: int) -> list[int]:
        """Return the agents of a chain that were registered since its last refresh, up to one more than are listed."""
        made = standing_refresh.c
        refreshed = self._parts.connection.execute(select(made.block_number).where(made.chain_id == chain_id)).scalars()
        last = min((number for number in refreshed if number is not None), default=-1)
        columns, new = agent.c, []
        newest = select(columns.agent_id, columns.registered_block).where(columns.chain_id == chain_id)
        for limit in (1, _MOST_NEW + 1):  # often the newest agent is older than the refresh
            rows = self._parts.connection.execute(newest.order_by(columns.registered_at.desc()).limit(limit))
            new = [int(agent_id) for agent_id, block in rows if block > last]
            if len(new) < limit:
                break
        return new

    def _among(
        self, chain_id: int, new: Sequence[int], place: tuple[Any, ...] | None, count: int, relevance: int
    ) -> Sequence[Row[Any]]:
        """Find agents without a standing among some."""
        if not new:
            return []
        statement = Statement(self._parts, are_few=True)
        where = [agent.c.chain_id == chain_id, agent.c.agent_id.in_(new), standing.c.agent_id.is_(None)]
        if self._parts.terms:
            where.append(has_named(self._parts, relevance))
        return statement.rows(place, count, [*where, *statement.has_words()])

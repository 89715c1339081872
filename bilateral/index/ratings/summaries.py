"""Summaries of the values for an agent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, bindparam, select

from bilateral.index.agents import tables as agent_tables
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.blind import is_plain
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.registries import AgentKey

MAX_ENTRIES: Final = 500
"""The largest number of metadata entries, and of summaries, of an agent in one answer. Strangers can make more."""
_KEY: Final = ("chain_id", "identity_registry", "agent_id")
_SUMMARY: Final = rating_tables.summary.c
_SUMMARY_COLUMNS: Final = ("registry", "side", "tag", "count", "counterparts", "mean", "lower_bound")


def summaries(connection: Connection, key: AgentKey) -> tuple[RatingSummary, ...]:
    """Return the summaries of the values for an agent, those with the most counterparts first."""
    registries = {f"registry_{place}": address for place, address in enumerate(key.registries)}
    rows = _summaries(len(registries)).all(connection, {**_parameters(key), **registries})
    return tuple(RatingSummary(*row) for row in rows)


def _parameters(key: AgentKey) -> dict[str, Any]:
    """Return an agent as the parameters of the statements here. They are made once, which takes as long as to run."""
    return dict(zip(_KEY, (key.chain_id, key.identity_registry, key.agent_id), strict=True))


def _is(columns: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that a row is of the agent of `_parameters`."""
    return [columns[name] == bindparam(name, type_=agent_tables.agent.c[name].type) for name in _KEY]


@cache
def _summaries(registries: int) -> Prepared:
    """Return the statement for the summaries of an agent in a number of registries."""
    listed = [bindparam(f"registry_{place}", type_=_SUMMARY.registry.type) for place in range(registries)]
    return Prepared(
        select(*(_SUMMARY[name] for name in _SUMMARY_COLUMNS))
        .where(
            _SUMMARY.chain_id == bindparam("chain_id", type_=_SUMMARY.chain_id.type),
            _SUMMARY.registry.in_(listed),
            _SUMMARY.agent_id == bindparam("agent_id", type_=_SUMMARY.agent_id.type),
            is_plain(_SUMMARY.side),
        )
        .order_by(_SUMMARY.counterparts.desc(), _SUMMARY.registry, _SUMMARY.side, _SUMMARY.tag)
        .limit(MAX_ENTRIES)
    )


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """The summary of the values for an agent, of one side and tag. Values of different tags are never mixed.

    Attributes:
        side: `server` for feedback, `client` and `validator` for ratings by servers.
        tag: The tag; a rating has none.
        count: The number of entries that count.
        counterparts: The number of different accounts, or agents, that gave them.
        mean: Their mean.
        lower_bound: The value that the agent has at least, with a confidence of 95 %; None for a tag without a scale.
    """

    registry: str
    side: str
    tag: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float | None

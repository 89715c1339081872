"""The agents that the reviewers of a gate rated, by the events that they gave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import TableClause, column, select, union
from sqlalchemy.ext.compiler import compiles

from bilateral.events import ClientRated, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.index.tables.schema import EVENT_TABLES, counterpart, registry
from bilateral.query.search.filters import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.sql.compiler import SQLCompiler

    from bilateral.query.search.filters import Gate

_GIVEN: Final = {
    Side.SERVER: tuple((event, "agent_id", "client_address") for event in (NewFeedback, NewAuthorizedFeedback)),
    Side.CLIENT: ((ClientRated, "client_id", "server_id"),),
    Side.VALIDATOR: ((ValidatorRated, "validator_id", "server_id"),),
}
"""The events of each side, with the columns of the rated agent and of the reviewer."""

_AGENT: Final = re.compile(r"agent (0|[1-9][0-9]{0,77})")
"""The form in which `counterpart` names an agent."""


class _Indexed(TableClause):
    """A table of events that SQLite reads by the index of raters. It has no statistics, and would read the chain."""

    inherit_cache = True


@compiles(_Indexed, "sqlite")
def _compile(element: _Indexed, compiler: SQLCompiler, **options: Any) -> str:
    """Write the table with its index."""
    text: str = compiler.visit_table(element, **options)  # type: ignore[no-untyped-call]  # SQLAlchemy has no types here
    index = "by_client" if "client_address" in element.c else "by_server"
    return f"{text} INDEXED BY {element.name}_{index}" if options.get("asfrom") else text


def are_rated_by_reviewers(gate: Gate, chains: Sequence[int]) -> list[ColumnElement[bool]]:
    """Return the conditions that counterparts are of agents that a reviewer of the gate ever rated.

    The key of counterparts begins with the agent. The events have indexes by which the reviewers' agents are found.

    Args:
        gate: The gate.
        chains: The chains.
    """
    reviewers = accounts(gate)
    raters = reviewers if gate.side is Side.SERVER else [int(reviewer.removeprefix("agent ")) for reviewer in reviewers]
    queries = []
    for event, subject, rater in _GIVEN[gate.side]:
        columns = EVENT_TABLES[event].c
        names = ("chain_id", "registry", subject, rater)
        events = _Indexed(EVENT_TABLES[event].name, *(column(name, columns[name].type) for name in names)).c
        wanted = [events.chain_id.in_(chains), events[rater].in_(raters)]
        if gate.side is not Side.SERVER:  # their index has the registry before the rater
            wanted.append(events.registry.in_(select(registry.c.address).where(registry.c.chain_id.in_(chains))))
        queries.append(
            select(events.chain_id, events.registry, events[subject].label("agent_id")).where(*wanted).distinct()
        )
    rated = union(*queries).subquery()
    return [counterpart.c[name] == rated.c[name] for name in ("chain_id", "registry", "agent_id")]


def accounts(gate: Gate) -> list[str]:
    """Return the reviewers of a gate that `counterpart` can name: other texts are of nobody.

    Args:
        gate: The gate.
    """
    return [reviewer for reviewer in gate.reviewers if gate.side is Side.SERVER or _AGENT.fullmatch(reviewer)]

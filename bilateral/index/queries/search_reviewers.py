"""The agents that the reviewers of a gate rated, by the events that they gave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlalchemy import select, union

from bilateral.events import ClientRated, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.index.queries.search_filters import Side
from bilateral.index.schema import EVENT_TABLES, counterpart, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from bilateral.index.queries.search_filters import Gate

_GIVEN: Final = {
    Side.SERVER: tuple((it, "agent_id", "client_address", "by_client") for it in (NewFeedback, NewAuthorizedFeedback)),
    Side.CLIENT: ((ClientRated, "client_id", "server_id", "by_server"),),
    Side.VALIDATOR: ((ValidatorRated, "validator_id", "server_id", "by_server"),),
}
"""The events of each side, with the columns of the rated agent and of the reviewer, and the index of the reviewers."""

_AGENT: Final = re.compile(r"agent (0|[1-9][0-9]{0,77})")
"""The form in which `counterpart` names an agent."""


def are_rated_by_reviewers(gate: Gate, chains: Sequence[int]) -> list[ColumnElement[bool]]:
    """Return the conditions that counterparts are of agents that a reviewer of the gate ever rated.

    The key of counterparts begins with the agent. The events have indexes by which the reviewers' agents are found.

    Args:
        gate: The gate.
        chains: The chains.
    """
    names = accounts(gate)
    raters = names if gate.side is Side.SERVER else [int(it.removeprefix("agent ")) for it in names]
    found = []
    for event, subject, rater, index in _GIVEN[gate.side]:
        events = EVENT_TABLES[event]
        it = events.c
        wanted = [it.chain_id.in_(chains), it[rater].in_(raters)]
        if gate.side is not Side.SERVER:  # their index has the registry before the rater
            wanted.append(it.registry.in_(select(registry.c.address).where(registry.c.chain_id.in_(chains))))
        query = select(it.chain_id, it.registry, it[subject].label("agent_id")).select_from(events)
        found.append(query.where(*wanted).distinct().with_hint(events, f"INDEXED BY {events.name}_{index}", "sqlite"))
    rated = union(*found).subquery()
    return [counterpart.c[name] == rated.c[name] for name in ("chain_id", "registry", "agent_id")]


def accounts(gate: Gate) -> list[str]:
    """Return the reviewers of a gate that `counterpart` can name: other texts are of nobody.

    Args:
        gate: The gate.
    """
    return [it for it in gate.reviewers if gate.side is Side.SERVER or _AGENT.fullmatch(it)]

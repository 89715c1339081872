"""The counterparts of an agent, each once, as the page's picture and table show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bilateral.explorer.networks import account_path, agent_path
from bilateral.explorer.text import short
from bilateral.index.ratings.neighbourhood import Edge


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A counterpart of an agent.

    Attributes:
        name: Its name, the word of a stranger; without one its id, or its shortened address.
        url: The path of its page.
        count: The number of its values.
        mean: Their mean as percents of each tag's scale; None if no tag has a scale.
    """

    name: str
    url: str
    count: int
    mean: float | None


def neighbours(edges: Iterable[Edge], side: str, limit: int, names: Mapping[str, str]) -> list[Neighbour]:
    """Return the counterparts that rated an agent on one side, those with the most values first.

    Args:
        edges: The edges of the agent's neighbourhood.
        side: The side of the agent, `server` or `client`.
        limit: The largest number of counterparts.
        names: The names of agents, by short id.
    """
    values: dict[tuple[str | None, str | None], list[tuple[int, float | None]]] = defaultdict(list)
    for edge in edges:
        if edge.direction == "received" and edge.side == side:
            values[edge.agent, edge.account].append((edge.count, edge.share))
    near = [_neighbour(agent, account, of, names) for (agent, account), of in values.items()]
    return sorted(near, key=lambda tally: (-tally.count, tally.name))[:limit]


def _neighbour(
    agent: str | None, account: str | None, values: list[tuple[int, float | None]], names: Mapping[str, str]
) -> Neighbour:
    scaled = [(count, share) for count, share in values if share is not None]
    weight = sum(count for count, _ in scaled)
    mean = 100 * sum(count * share for count, share in scaled) / weight if weight else None
    name, url = (short(account or ""), account_path(account or ""))
    if agent is not None:
        name, url = names.get(agent, agent), agent_path(agent)
    return Neighbour(name, url, sum(count for count, _ in values), mean)

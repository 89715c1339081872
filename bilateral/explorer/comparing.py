"""The page that compares two agents on both sides."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from bilateral.core.values.standing import Standing
from bilateral.explorer.views import SideView, side_view
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.profiles.queries import Agent
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.reading.registries import AgentKey, Registries
from bilateral.index.standing.queries import Doubt, doubts_of, standings_of


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the two agents.

    Attributes:
        as_server: The agent as a server.
        as_client: The agent as a client.
        standings: The agent's standings, as a server and, if it has one, as a client.
    """

    agent: Agent
    as_server: SideView
    as_client: SideView
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class TagRow:
    """The two agents' means under one tag.

    Attributes:
        means: Each agent's mean; None for an agent without such ratings.
        counts: The number of each agent's ratings.
        registries: The registry of each agent's ratings.
    """

    side: str
    tag: str
    means: tuple[float | None, ...]
    counts: tuple[int, ...]
    registries: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ComparePage:
    """The page's content.

    Attributes:
        wanted: The requested agent ids.
        compared: The agents; fewer than two if the form is not filled in.
        tags: The agents' means by side and tag.
        doubts: Why agents are held back or contested, by short id.
        problem: A sentence that explains why the form is invalid; None if it is valid.
    """

    wanted: tuple[str, str]
    compared: tuple[Compared, ...]
    tags: tuple[TagRow, ...]
    doubts: dict[str, Doubt]
    problem: str | None
    chains: tuple[ChainProgress, ...]


def compare_page(
    connection: Connection, registries: Registries, ids: tuple[str, str], keys: Sequence[AgentKey], problem: str | None
) -> ComparePage:
    """Read the page's content."""
    compared = []
    for key in keys:
        details = read_agent(connection, key)
        if details is None:
            problem = f"the index has no agent {key.id}"
        else:
            as_server, as_client = (side_view(connection, key, details, side) for side in ("server", "client"))
            compared.append(Compared(details, as_server, as_client, standings_of(connection, key)))
    caveats = doubts_of(connection, registries, [compared_agent.agent.id for compared_agent in compared])
    return ComparePage(ids, tuple(compared), _tags(compared), caveats, problem, chains(connection))


def _tags(compared: Sequence[Compared]) -> tuple[TagRow, ...]:
    """Return the means by side and tag. The summary with the most counterparts represents each tag."""
    best = []
    for agent in compared:
        best_of = {}
        for summary in reversed(agent.agent.ratings):
            best_of[summary.side, summary.tag] = summary
        best.append(best_of)
    rows = sorted({name for rows_of in best for name in rows_of}, key=lambda name: (name[0] != "server", name))
    return tuple(
        TagRow(
            *name,
            tuple(rows_of[name].mean if name in rows_of else None for rows_of in best),
            tuple(rows_of[name].count if name in rows_of else 0 for rows_of in best),
            tuple(rows_of[name].registry if name in rows_of else None for rows_of in best),
        )
        for name in rows
    )

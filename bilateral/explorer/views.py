"""The content of each page, read from the index: the same as HTML and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bilateral.bounds import scale_of_tag
from bilateral.index.queries.accounts import Account
from bilateral.index.queries.accounts import account as read_account
from bilateral.index.queries.agents import Agent, RatingSummary
from bilateral.index.queries.agents import agent as read_agent
from bilateral.index.queries.chains import ChainProgress, chains
from bilateral.index.queries.distribution import TENTHS, distribution
from bilateral.index.queries.feedback import Feedback, FeedbackFilter, feedback_by, feedback_of
from bilateral.index.queries.latest import LatestRating, latest_ratings
from bilateral.index.queries.neighbourhood import Edge, neighbourhood
from bilateral.index.queries.ratings import Direction, Rating, ratings_of
from bilateral.index.queries.validations import Validation, validations_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.index.queries.registries import AgentKey

_ROWS: Final = 20
_EDGES: Final = 100


@dataclass(frozen=True, slots=True)
class HomePage:
    """The content of the first page.

    Attributes:
        chains: The indexed chains.
        latest: The latest feedback and ratings of all chains, the newest first.
    """

    chains: tuple[ChainProgress, ...]
    latest: tuple[LatestRating, ...]


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of an agent: the summary that stands for it, and the histogram behind it.

    Attributes:
        summary: The summary with the most counterparts among those with a scale; None if nobody rated this side.
        distribution: The number of counterparts in each tenth of the tag's scale.
    """

    summary: RatingSummary | None
    distribution: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AgentPage:
    """The content of an agent's page.

    Attributes:
        agent: The agent.
        as_server: The agent as a server.
        as_client: The agent as a client.
        edges: The edges of its neighbourhood.
        feedback: Its newest feedback, revoked ones too.
        received: The newest ratings by servers that it received.
        given: The newest ratings that it gave as a server.
        validations: Its newest validations.
        progress: The chain's progress: all figures are as of its block.
    """

    agent: Agent
    as_server: SideView
    as_client: SideView
    edges: tuple[Edge, ...]
    feedback: tuple[Feedback, ...]
    received: tuple[Rating, ...]
    given: tuple[Rating, ...]
    validations: tuple[Validation, ...]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class AccountPage:
    """The content of an account's page.

    Attributes:
        account: The account and its agents.
        given: The newest feedback that it gave on each chain.
        chains: The indexed chains.
    """

    account: Account
    given: tuple[Feedback, ...]
    chains: tuple[ChainProgress, ...]


def home_page(connection: Connection) -> HomePage:
    """Read the first page."""
    found = chains(connection)
    latest = [it for chain in found for it in latest_ratings(connection, chain.chain_id)]
    latest.sort(key=lambda it: (it.time, it.block), reverse=True)
    return HomePage(found, tuple(latest[:_ROWS]))


def agent_page(connection: Connection, key: AgentKey) -> AgentPage | None:
    """Read the page of an agent.

    Args:
        connection: The database.
        key: The agent.

    Returns:
        The content; None if the index has no such agent.
    """
    agent = read_agent(connection, key)
    if agent is None:
        return None
    return AgentPage(
        agent=agent,
        as_server=_side(connection, key, agent, "server"),
        as_client=_side(connection, key, agent, "client"),
        edges=neighbourhood(connection, key, limit=_EDGES).edges,
        feedback=feedback_of(connection, key, FeedbackFilter(include_revoked=True), limit=_ROWS).items,
        received=ratings_of(connection, key, Direction.RECEIVED, limit=_ROWS).items,
        given=ratings_of(connection, key, Direction.GIVEN, limit=_ROWS).items,
        validations=validations_of(connection, key, limit=_ROWS).items,
        progress=next(it for it in chains(connection) if it.chain_id == key.chain_id),
    )


def account_page(connection: Connection, address: str, chain_ids: tuple[int, ...]) -> AccountPage:
    """Read the page of an account.

    Args:
        connection: The database.
        address: The account, in checksum form.
        chain_ids: The indexed chains.
    """
    wanted = FeedbackFilter(include_revoked=True)
    given = [it for chain in chain_ids for it in feedback_by(connection, chain, address, wanted, limit=_ROWS).items]
    return AccountPage(read_account(connection, address, chain_ids), tuple(given), chains(connection))


def _side(connection: Connection, key: AgentKey, agent: Agent, side: str) -> SideView:
    """Return one side of an agent."""
    found = [it for it in agent.ratings if it.side == side and scale_of_tag(it.tag) is not None]
    if not found:
        return SideView(None, (0,) * TENTHS)
    summary = max(found, key=lambda it: (it.counterparts, it.count, it.tag, it.registry))
    return SideView(summary, distribution(connection, key, summary))

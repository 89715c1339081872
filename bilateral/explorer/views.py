"""The content of each page, read from the index. It is the same in HTML and in JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.standing import Standing, Status
from bilateral.explorer import agent_figures
from bilateral.explorer.accounts import BuyerRecord, buyer_records
from bilateral.explorer.agent_figures import activity, shares
from bilateral.explorer.listing import authorizing
from bilateral.explorer.named import FindingRow, findings_of
from bilateral.explorer.records import Evidence, evidence_of
from bilateral.index.agents.queries import Change, changes_of
from bilateral.index.files.queries import ForeignIdentity, OtherIdentity, foreign_identities, names_of, other_identities
from bilateral.index.measurements.queries import AliveCount, MeasuredEndpoint, count_alive, endpoints_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.payments.queries import MeteredSales, Payment, metered_sales, payment_states, payments_of
from bilateral.index.profiles.queries import Agent
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_feedback_of
from bilateral.index.ratings.feedback import Feedback, FeedbackFilter, feedback_of
from bilateral.index.ratings.neighbourhood import TENTHS, Edge, distribution, neighbourhood
from bilateral.index.ratings.queries import (
    Direction,
    FileEvidence,
    Rating,
    RatingSummary,
    ratings_of,
    registration_evidence,
)
from bilateral.index.ratings.recent import LatestRating, latest_ratings, rating_times, recent_feedback
from bilateral.index.ratings.sealed import SealedPair, sealed_pairs_of
from bilateral.index.ratings.validations import Validation, validations_of
from bilateral.index.reading.registries import AgentKey, Registries, read_registries
from bilateral.index.search.filters import Side
from bilateral.index.search.leaders import Board, Leader, leaderboard
from bilateral.index.standing.findings import TrustScore, trust_scores
from bilateral.index.standing.queries import Doubt, doubts_of, flagged_accounts, standings_of
from bilateral.index.standing.words import LEAST_RATING

_ROWS: Final = 12  # rows per list; a link leads to the rest
_EDGES: Final = 100  # relations; the page draws eight per side and summarises the others
_PAYMENTS: Final = 300
"""The maximum number of payments per account and direction in the money chart. The newest ones are used."""

_LEADERS: Final = 5  # agents per side, so that both sides fit on the first screen
_OF_ONE_RATER: Final = 3
"""The maximum number of rows per rater in the latest ratings, so that one active account cannot fill the home page."""

_READS: Final = 8
"""The number of ratings to read per rating shown, because those beyond a rater's maximum are dropped."""

_LEAST: Final = {Side.SERVER: 50.0, Side.CLIENT: float(LEAST_RATING)}
"""The minimum standing of leaders, at which most raters are satisfied with a server and policies accept a client."""

_BOARDS: Final = ((Side.SERVER, "starred"), (Side.CLIENT, ""))
"""The leaderboards on the home page, by side and tag. A standing covers all tags, so one board per side is enough."""


@dataclass(frozen=True, slots=True)
class HomePage:
    """The home page's content.

    Attributes:
        latest: The latest feedback and ratings from all chains, newest first.
        leaders: The agents with the highest standings, by side and tag.
        held_back: The servers that are held back.
        names: The names of agents in the latest ratings, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
        side: The side of the rated agents in the latest ratings; `""` for both.
        alive: The agents that currently respond; None if no watchtower writes to the index.
    """

    chains: tuple[ChainProgress, ...]
    latest: tuple[LatestRating, ...]
    leaders: tuple[Leaders, ...]
    held_back: tuple[Leader, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    side: str
    alive: AliveCount | None


@dataclass(frozen=True, slots=True)
class Leaders:
    """The agents with the highest standings on one side and for one tag, except those with little evidence.

    Attributes:
        tag: The tag; `""` for ratings by servers.
        leaders: The agents, best first.
    """

    side: str
    tag: str
    leaders: tuple[Leader, ...]


@dataclass(frozen=True, slots=True)
class SideView:
    """One of an agent's sides: the summary that represents the side, and the histogram behind that summary.

    Attributes:
        summary: The summary with the most counterparts among those of tags with a scale; None if nobody rated this
            side.
        distribution: The number of counterparts in each tenth of the tag's scale.
    """

    summary: RatingSummary | None
    distribution: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AgentPage:
    """An agent page's content.

    Attributes:
        as_server: The agent as a server.
        as_client: The agent as a client.
        file: The registration file, and how it was checked; None if the agent has none.
        feedback: The agent's newest feedback, including revoked entries.
        evidence: The payment proof and main response for each feedback entry, by its page path.
        authorized: The newest feedback that the agent's owner authorised.
        received: The newest ratings that the agent received from servers.
        given: The newest ratings that the agent gave as a server.
        sealed: The newest pairs of ratings that the agent and its counterparts sealed but have not both opened yet.
        validations: The agent's newest validations.
        shares: Shares of the agent's ratings that indicate how credible the ratings are.
        authorizing: The registries for feedback that the agent's owner authorises.
        tags: The agent's newest values by tag, on the tags' own scales.
        activity: The agent's ratings by day.
        over_time: The agent's server rating over time, from its newest feedback.
        raters: The groups of raters behind the server rating, starting with the greatest weight.
        money: The amounts that the agent received and its accounts paid per day, in cents; None without payments.
        metered: The share of the maximum amounts signed by buyers that the agent charged for metered use; None without
            such sales.
        endpoints: The endpoints in the agent's file, as measured by watchtowers.
        changes: The agent's history: transfers, wallets and files.
        others: The agents that the file declares to be the same agent.
        on_solana: The agents on Solana that the file declares to be the same agent, each proven or claimed.
        findings: The trust analysis findings that involve the agent's accounts.
        scores: The agent's scores computed without false ratings.
        buyers: The buyer records of the agent's owner and wallet.
        standings: The agent's standings, as a server and, if it has one, as a client.
        names: The names of agents on the page, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
        progress: The chain's progress. All figures are as of the chain's last block.
    """

    agent: Agent
    as_server: SideView
    as_client: SideView
    edges: tuple[Edge, ...]
    file: FileEvidence | None
    feedback: tuple[Feedback, ...]
    evidence: dict[str, Evidence]
    authorized: tuple[AuthorizedFeedback, ...]
    received: tuple[Rating, ...]
    given: tuple[Rating, ...]
    sealed: tuple[SealedPair, ...]
    validations: tuple[Validation, ...]
    shares: tuple[agent_figures.Share, ...]
    authorizing: tuple[str, ...]
    tags: tuple[agent_figures.TagValues, ...]
    activity: agent_figures.Activity
    over_time: tuple[agent_figures.Point, ...]
    raters: tuple[agent_figures.RaterGroup, ...]
    money: agent_figures.Activity | None
    metered: MeteredSales | None
    endpoints: tuple[MeasuredEndpoint, ...]
    changes: tuple[Change, ...]
    others: tuple[OtherIdentity, ...]
    on_solana: tuple[ForeignIdentity, ...]
    findings: tuple[FindingRow, ...]
    scores: tuple[TrustScore, ...]
    buyers: tuple[BuyerRecord, ...]
    standings: tuple[Standing, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


def agent_standings(connection: Connection, key: AgentKey) -> tuple[Agent, tuple[Standing, ...]] | None:
    """Read an agent with its standings, without the rest of its page."""
    agent = read_agent(connection, key)
    return None if agent is None else (agent, standings_of(connection, key))


def home_page(connection: Connection, side: str | None = None) -> HomePage:
    """Read the content of the home page."""
    progresses, registries = chains(connection), read_registries(connection)  # as of the same moment
    boards = tuple(Leaders(side, tag, _best(connection, side, tag)) for side, tag in _BOARDS)
    latest = latest_of_all(connection, progresses, side)
    ids = {agent for row in latest for agent in (row.agent, row.by_agent)}
    withheld = leaderboard(connection, _BOARDS[0][1], board=Board.HELD_BACK, limit=_LEADERS).items
    listed = {leader.id for leaders in (withheld, *(board.leaders for board in boards)) for leader in leaders}
    caveats = doubts_of(connection, registries, ids | listed)
    names, alive = names_of(connection, registries, ids), count_alive(connection)
    return HomePage(progresses, latest, boards, withheld, names, caveats, side or "", alive)


def _best(connection: Connection, side: Side, tag: str) -> tuple[Leader, ...]:
    """Return the leading agents, except those with too little evidence."""
    leaders = leaderboard(connection, tag, side, limit=_LEADERS).items
    return tuple(
        leader for leader in leaders if leader.status == Status.OK and (leader.standing or 0.0) >= _LEAST[side]
    )


def latest_of_all(
    connection: Connection, indexed: tuple[ChainProgress, ...], side: str | None = None
) -> tuple[LatestRating, ...]:
    """Return the latest feedback and ratings from all chains, newest first, at most three per rater."""
    latest = [
        rating for chain in indexed for rating in latest_ratings(connection, chain.chain_id, _ROWS * _READS, side)
    ]
    latest.sort(key=lambda rating: (rating.time, rating.block, rating.log_index), reverse=True)
    of_rater: Counter[str | None] = Counter()
    displayed = []
    for rating in latest:
        rater = rating.by_agent or rating.by_account
        of_rater[rater] += 1
        if of_rater[rater] <= _OF_ONE_RATER:
            displayed.append(rating)
    return tuple(displayed[:_ROWS])


def agent_page(connection: Connection, registries: Registries, key: AgentKey) -> AgentPage | None:
    """Read the content of an agent's page."""
    agent = read_agent(connection, key)
    if agent is None:
        return None
    (progress,) = chains(connection, key.chain_id)
    received = ratings_of(connection, key, Direction.RECEIVED, limit=_ROWS).items
    outgoing = ratings_of(connection, key, Direction.GIVEN, limit=_ROWS).items
    sealed = tuple(pair for pair in sealed_pairs_of(connection, key, limit=_ROWS).items if pair.missing)
    edges = _with_servers(neighbourhood(connection, key, limit=_EDGES).edges, received)
    feedback = feedback_of(connection, key, FeedbackFilter(include_revoked=True), limit=_ROWS).items
    recent = recent_feedback(connection, key)
    accounts = {account for account in (agent.owner, agent.wallet) if account is not None}
    place = (connection, key.chain_id, key.identity_registry)
    scores = trust_scores(*place, {str(key.agent_id), *accounts})
    owned = authorizing(registries, key)
    ids = {edge.agent for edge in edges} | {edge.server for edge in received} | {edge.agent for edge in outgoing}
    ids |= {side for pair in sealed for side in (pair.client, pair.server)}
    findings = findings_of(*place, accounts)
    ids |= {about for finding in findings for about in finding.agents}
    as_server = side_view(connection, key, agent, "server")
    payments = payment_states(connection, key, recent)
    flagged = flagged_accounts(*place, {row.client for row in recent})
    return AgentPage(
        agent=agent,
        as_server=as_server,
        as_client=side_view(connection, key, agent, "client"),
        edges=edges,
        file=registration_evidence(connection, key),
        feedback=feedback,
        evidence=evidence_of(connection, registries, feedback),
        authorized=authorized_feedback_of(connection, key, limit=_ROWS).items,
        received=received,
        given=outgoing,
        sealed=sealed,
        validations=validations_of(connection, key, limit=_ROWS).items,
        shares=shares(recent, payments, edges, agent.ratings, scores),
        authorizing=owned,
        tags=agent_figures.values_by_tag(agent.ratings, recent, owned),
        activity=activity(recent, rating_times(connection, key), progress.block_time),
        over_time=agent_figures.rating_over_time(recent, as_server.summary),
        raters=agent_figures.rater_groups(recent, payments, flagged, as_server.summary),
        money=_money(connection, key, accounts),
        metered=metered_sales(connection, key, accounts),
        endpoints=endpoints_of(connection, key),
        changes=changes_of(connection, key),
        others=other_identities(connection, key, agent.owner),
        on_solana=foreign_identities(connection, key),
        findings=findings,
        scores=scores,
        buyers=buyer_records(connection, (progress,), accounts),
        standings=standings_of(connection, key),
        names=names_of(connection, registries, ids),
        doubts=doubts_of(connection, registries, {key.id, *ids}),
        progress=progress,
    )


def _money(connection: Connection, key: AgentKey, accounts: Iterable[str]) -> agent_figures.Activity | None:
    def of(side: str) -> list[Payment]:
        newest = (payments_of(connection, key.chain_id, account, side, _PAYMENTS) for account in accounts)
        return [payment for payments in newest for payment in payments]

    return agent_figures.money_by_day([payment for payment in of("payee") if payment.agent == key.id], of("payer"))


def _with_servers(edges: tuple[Edge, ...], received: tuple[Rating, ...]) -> tuple[Edge, ...]:
    rated = {(edge.side, edge.agent) for edge in edges if edge.direction == Direction.RECEIVED}
    missing = (rating for rating in received if (rating.side, rating.server) not in rated)
    return (
        *edges,
        *(Edge("received", rating.side, rating.server, None, "", 1, rating.rating / 100) for rating in missing),
    )


def side_view(connection: Connection, key: AgentKey, agent: Agent, side: str) -> SideView:
    """Return one of an agent's sides."""
    ratings = [rating for rating in agent.ratings if rating.side == side and scale_of_tag(rating.tag) is not None]
    if not ratings:
        return SideView(None, (0,) * TENTHS)
    summary = max(ratings, key=lambda rating: (rating.counterparts, rating.count, rating.tag, rating.registry))
    return SideView(summary, distribution(connection, key, summary))

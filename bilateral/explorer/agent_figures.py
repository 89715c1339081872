"""Figures on an agent's page: shares of its newest ratings, values by tag on the tags' scales, and daily activity."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bilateral.core.values.bounds import SHARES, lower_bound, scale_of_tag
from bilateral.explorer.networks import account_path, agent_path
from bilateral.explorer.text import short
from bilateral.index.payments.queries import CLAIMED, PROVEN, Payment
from bilateral.index.ratings.neighbourhood import Edge
from bilateral.index.ratings.queries import RatingSummary
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.standing.findings import TrustScore

DAYS: Final = 84
"""The number of days in the activity chart: twelve weeks."""

_DAY: Final = 86_400  # seconds; Unix time ignores leap seconds
_TOP: Final = 5  # fewer may be chance, and more may include every rater of a young agent
_MOST_TAGS: Final = 12  # rows of a chart that fits on a screen
_MOST_TICKS: Final = 120  # this many ticks cover half of the strip


@dataclass(frozen=True, slots=True)
class Share:
    """A share of an agent's ratings on each side.

    Attributes:
        name: The share's name.
        server: The share for the agent as a server, 0 to 1; None if it is unknown or not meaningful.
        client: The same share for the agent as a client.
    """

    name: str
    server: float | None
    client: float | None


@dataclass(frozen=True, slots=True)
class TagValues:
    """The newest values of one tag, on the tag's own scale.

    Attributes:
        summary: The summary of all values.
        least: The lowest value on the scale.
        greatest: The highest value on the scale.
        places: The positions of the newest values on the scale, 0 to 1.
    """

    summary: RatingSummary
    least: float
    greatest: float
    places: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """The number of an agent's ratings per day, up to the chain's last day.

    Attributes:
        last_day: The last day, in days since the Unix epoch.
        server: The number of ratings as a server on each day, oldest first.
        client: The number of ratings as a client on each day, oldest first.
    """

    last_day: int
    server: tuple[int, ...]
    client: tuple[int, ...]


def shares(
    recent: Sequence[RecentFeedback],
    payments: Sequence[str],
    edges: Sequence[Edge],
    summaries: Sequence[RatingSummary],
    scores: Sequence[TrustScore],
) -> tuple[Share, ...]:
    """Return the shares that show how much an agent's ratings are worth."""

    def of(condition: Callable[[RecentFeedback], bool]) -> float | None:
        return sum(map(condition, recent)) / len(recent) if recent else None

    independent = {score.side: min(1.0, score.effective / score.raters) for score in scores if score.raters}
    return (
        Share("Payment proven", payments.count(PROVEN) / len(recent) if recent else None, None),
        Share("Payment claimed", payments.count(CLAIMED) / len(recent) if recent else None, None),
        Share("Independent raters", independent.get("server"), independent.get("client")),
        Share("Not revoked", of(lambda feedback: not feedback.is_revoked), _never_revoked(summaries)),
        Share("Answered", of(lambda feedback: feedback.is_answered), None),
        Share(f"Beyond the top {_TOP}", *(_outside(edges, summaries, side) for side in ("server", "client"))),
    )


def _never_revoked(summaries: Sequence[RatingSummary]) -> float | None:
    """Return the share of servers' ratings that are not revoked: always 1, because these ratings are final."""
    return 1.0 if any(summary.side == "client" for summary in summaries) else None


def _outside(edges: Sequence[Edge], summaries: Sequence[RatingSummary], side: str) -> float | None:
    total = sum(summary.count for summary in summaries if summary.side == side)
    by_rater: Counter[str | None] = Counter()
    for edge in edges:
        if edge.direction == "received" and edge.side == side:
            by_rater[edge.agent or edge.account] += edge.count
    top = sum(count for _, count in by_rater.most_common(_TOP))
    return max(0.0, 1 - top / total) if total else None


def values_by_tag(
    summaries: Sequence[RatingSummary], recent: Sequence[RecentFeedback], authorizing: Sequence[str] = ()
) -> tuple[TagValues, ...]:
    """Return each tag's newest values, on its own scale."""
    values: dict[str, list[float]] = defaultdict(list)
    for feedback in recent:
        if not feedback.is_revoked:
            values[feedback.tag].append(float(feedback.value))
    return tuple(
        _of_tag(
            summary,
            values[summary.tag][:_MOST_TICKS]
            if summary.side == "server" and summary.registry not in authorizing
            else [],
        )
        for summary in summaries[:_MOST_TAGS]
    )


def _of_tag(summary: RatingSummary, values: list[float]) -> TagValues:
    """Return one tag's values. If the tag has no scale, the range of its values serves as the scale."""
    scale = scale_of_tag(summary.tag)
    least, greatest = scale if scale is not None else (min([0.0, *values]), max([summary.mean, *values]))
    width = (greatest - least) or 1
    places = tuple(min(1.0, max(0.0, (figure - least) / width)) for figure in values)
    return TagValues(summary, float(least), float(greatest), places)


def activity(recent: Sequence[RecentFeedback], rated: Sequence[int], now: int) -> Activity:
    """Return the number of ratings on each of the last `DAYS` days."""
    last = now // _DAY
    counts = [[0] * DAYS, [0] * DAYS]
    for side, times in enumerate(([recent_one.time for recent_one in recent], rated)):
        for time in times:
            day = DAYS - 1 - (last - time // _DAY)
            if 0 <= day < DAYS:
                counts[side][day] += 1
    return Activity(last, tuple(counts[0]), tuple(counts[1]))


PAID: Final = "paid it"
UNPAID: Final = "without a proven payment"
FLAGGED: Final = "flagged by the analysis"
_ORDER: Final = (PAID, UNPAID, FLAGGED)


@dataclass(frozen=True, slots=True)
class RaterGroup:
    """Raters of one kind, such as those who paid.

    Attributes:
        name: The kind of raters: those who paid the agent, those who did not, or those flagged by the analysis.
        raters: The number of raters.
        share: The group's share of all raters, 0 to 1.
        mean: The mean of the raters' means, in the tag's unit.
    """

    name: str
    raters: int
    share: float
    mean: float


def rater_groups(
    recent: Sequence[RecentFeedback], payments: Sequence[str], flagged: Collection[str], summary: RatingSummary | None
) -> tuple[RaterGroup, ...]:
    """Return the groups of raters for an agent's representative tag. The most credible group comes first."""
    if summary is None or scale_of_tag(summary.tag) is None:
        return ()
    values: dict[str, list[float]] = defaultdict(list)
    paid = set()
    for row, state in zip(recent, payments, strict=True):
        if row.tag == summary.tag and not row.is_revoked:
            values[row.client].append(float(row.value))
            if state == PROVEN:
                paid.add(row.client)
    means: dict[str, list[float]] = defaultdict(list)
    for client, of_client in values.items():
        group = FLAGGED if client in flagged else PAID if client in paid else UNPAID
        means[group].append(sum(of_client) / len(of_client))
    return tuple(
        RaterGroup(name, len(means[name]), len(means[name]) / len(values), sum(means[name]) / len(means[name]))
        for name in _ORDER
        if name in means
    )


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An agent's counterpart.

    Attributes:
        name: The counterpart's name (untrusted text), or else its id or shortened address.
        url: The path of the counterpart's page.
        count: The number of ratings given.
        mean: The mean of these ratings, each as a percentage of its tag's scale; None if no tag has a scale.
    """

    name: str
    url: str
    count: int
    mean: float | None


def neighbours(edges: Iterable[Edge], side: str, limit: int, names: Mapping[str, str]) -> list[Neighbour]:
    """Return the counterparts that rated an agent on one side. Those that gave the most values come first."""
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


_POINTS: Final = 24
"""The maximum number of points on the curve. More would be indistinguishable."""

_CENTS: Final = 100  # in a dollar


@dataclass(frozen=True, slots=True)
class Point:
    """The rating at a given time, computed from the unrevoked feedback up to that time.

    Attributes:
        time: The time, in Unix seconds.
        lower: The lower bound at 95 % confidence.
        mean: The mean of the raters' means.
        upper: The upper bound at 95 % confidence.
        raters: The number of raters.
    """

    time: int
    lower: float
    mean: float
    upper: float
    raters: int


def rating_over_time(recent: Sequence[RecentFeedback], summary: RatingSummary | None) -> tuple[Point, ...]:
    """Return the rating over time for an agent's representative tag, from the agent's newest feedback.

    Each rater counts once, with the mean of its values.
    """
    scale = None if summary is None else scale_of_tag(summary.tag)
    counted = [row for row in reversed(recent) if summary and row.tag == summary.tag and not row.is_revoked]
    if scale is None or not counted:
        return ()
    least, greatest = scale
    values: dict[str, list[float]] = defaultdict(list)
    step, points = max(1, len(counted) // _POINTS), []
    for number, row in enumerate(counted, 1):
        values[row.client].append(min(1.0, max(0.0, (float(row.value) - least) / (greatest - least))))
        if number % step and number != len(counted):
            continue
        total = sum(sum(shares) / len(shares) for shares in values.values())
        share_sum, raters = round(total * SHARES), len(values)
        upper = least + greatest - lower_bound(raters * SHARES - share_sum, raters, scale)
        mean = least + total / raters * (greatest - least)
        points.append(Point(row.time, lower_bound(share_sum, raters, scale), mean, upper, raters))
    return tuple(points)


def money_by_day(received: Sequence[Payment], paid: Sequence[Payment]) -> Activity | None:
    """Return the cents that an account received and paid on each of the 84 days up to its last payment."""
    if not received and not paid:
        return None
    last = max(payment.time for payment in (*received, *paid)) // _DAY
    cents = [[0] * DAYS, [0] * DAYS]
    for side, payments in enumerate((received, paid)):
        for payment in payments:
            place = DAYS - 1 - (last - payment.time // _DAY)
            if place >= 0:
                cents[side][place] += round(payment.dollars * _CENTS)
    return Activity(last, tuple(cents[0]), tuple(cents[1]))

"""Figures of an agent's page: shares of its newest ratings, values by tag on their scales, and activity by day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bilateral.core.values.bounds import scale_of_tag
from bilateral.index.payments.queries import CLAIMED, PROVEN
from bilateral.index.ratings.neighbourhood import Edge
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.ratings.summaries import RatingSummary
from bilateral.index.standing.findings import TrustScore

DAYS: Final = 84
"""The days of the chart of activity: twelve weeks."""

_DAY: Final = 86_400  # seconds; Unix time has no leap seconds
_TOP: Final = 5  # fewer are chance, and more are all raters of a young agent
_MOST_TAGS: Final = 12  # rows of a chart that fits a screen
_MOST_TICKS: Final = 120  # so many ticks cover half of the strip


@dataclass(frozen=True, slots=True)
class Share:
    """A share of an agent's ratings on each side.

    Attributes:
        name: The share's name.
        server: The share as a server, 0 to 1; None if it is unknown or makes no sense.
        client: The same as a client.
    """

    name: str
    server: float | None
    client: float | None


@dataclass(frozen=True, slots=True)
class TagValues:
    """The newest values of one tag, on the tag's own scale.

    Attributes:
        summary: The summary of all values.
        least: The least value of the scale.
        greatest: The greatest one.
        places: The places of the newest values on the scale, 0 to 1.
    """

    summary: RatingSummary
    least: float
    greatest: float
    places: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """The number of ratings of an agent on each day, the last day is the chain's.

    Attributes:
        last_day: The last day, in days since 1970.
        server: The numbers as a server, the oldest day first.
        client: The numbers as a client.
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
    """Return the shares that say what a rating is worth.

    Args:
        recent: The agent's newest feedback.
        payments: The state of the payment of each feedback, such as `proven`.
        edges: The edges of its neighbourhood.
        summaries: The summaries of its ratings.
        scores: Its scores by trust analysis.
    """

    def of(condition: Callable[[RecentFeedback], bool]) -> float | None:
        return sum(map(condition, recent)) / len(recent) if recent else None

    independent = {score.side: min(1.0, score.effective / score.raters) for score in scores if score.raters}
    return (
        Share("Payment proven", payments.count(PROVEN) / len(recent) if recent else None, None),
        Share("Payment claimed", payments.count(CLAIMED) / len(recent) if recent else None, None),
        Share("Independent raters", independent.get("server"), independent.get("client")),
        Share("Not revoked", of(lambda feedback: not feedback.is_revoked), _never_revoked(summaries)),
        Share("Answered", of(lambda feedback: feedback.is_answered), None),
        Share(f"Beyond the top {_TOP}", *(_beyond(edges, summaries, side) for side in ("server", "client"))),
    )


def _never_revoked(summaries: Sequence[RatingSummary]) -> float | None:
    """Return the share of ratings by servers that stand: all of them, for they are final."""
    return 1.0 if any(summary.side == "client" for summary in summaries) else None


def _beyond(edges: Sequence[Edge], summaries: Sequence[RatingSummary], side: str) -> float | None:
    """Return the share of ratings that come from others than the raters with the most."""
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
    """Return the newest values of each tag, on its own scale.

    Args:
        summaries: The summaries of the agent's ratings.
        recent: Its newest feedback.
        authorizing: The registries of authorised feedback, which is not among the newest one.
    """
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
    """Return the values of one tag. Without a scale, the values themselves are the scale."""
    scale = scale_of_tag(summary.tag)
    least, greatest = scale if scale is not None else (min([0.0, *values]), max([summary.mean, *values]))
    width = (greatest - least) or 1
    places = tuple(min(1.0, max(0.0, (figure - least) / width)) for figure in values)
    return TagValues(summary, float(least), float(greatest), places)


def activity(recent: Sequence[RecentFeedback], rated: Sequence[int], now: int) -> Activity:
    """Return the number of ratings on each of the last days.

    Args:
        recent: The agent's newest feedback.
        rated: The times at which servers rated it.
        now: The time of the chain's last block.
    """
    last = now // _DAY
    counts = [[0] * DAYS, [0] * DAYS]
    for side, times in enumerate(([recent_one.time for recent_one in recent], rated)):
        for time in times:
            day = DAYS - 1 - (last - time // _DAY)
            if 0 <= day < DAYS:
                counts[side][day] += 1
    return Activity(last, tuple(counts[0]), tuple(counts[1]))

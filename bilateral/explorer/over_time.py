"""The rating of an agent over time with its uncertainty, and the money of an account by day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bilateral.core.values.bounds import SHARES, lower_bound, scale_of_tag
from bilateral.explorer.agent_figures import DAYS, Activity
from bilateral.index.payments.queries import Payment
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.ratings.summaries import RatingSummary

_POINTS: Final = 24
"""The points of the curve: more would stand closer than a reader can tell apart."""

_DAY: Final = 86_400  # seconds; Unix time has no leap seconds
_CENTS: Final = 100  # in a dollar


@dataclass(frozen=True, slots=True)
class Moment:
    """The rating at a time, of all counted feedback up to then.

    Attributes:
        time: The time, in Unix seconds.
        lower: The value that holds at least, with 95 %.
        mean: The mean of the raters' means.
        upper: The value that holds at most, with 95 %.
        raters: The number of raters.
    """

    time: int
    lower: float
    mean: float
    upper: float
    raters: int


def rating_over_time(recent: Sequence[RecentFeedback], summary: RatingSummary | None) -> tuple[Moment, ...]:
    """Return the rating under the tag that represents an agent, as its newest feedback made it.

    Each rater counts once, by the mean of its values.

    Args:
        recent: The agent's newest feedback, the newest first.
        summary: The summary that represents the agent as a server; None if nobody rated it.
    """
    scale = None if summary is None else scale_of_tag(summary.tag)
    counted = [row for row in reversed(recent) if summary and row.tag == summary.tag and not row.is_revoked]
    if scale is None or not counted:
        return ()
    least, greatest = scale
    values: dict[str, list[float]] = defaultdict(list)
    step, moments = max(1, len(counted) // _POINTS), []
    for number, row in enumerate(counted, 1):
        values[row.client].append(min(1.0, max(0.0, (float(row.value) - least) / (greatest - least))))
        if number % step and number != len(counted):
            continue
        total = sum(sum(shares) / len(shares) for shares in values.values())
        share_sum, raters = round(total * SHARES), len(values)
        upper = least + greatest - lower_bound(raters * SHARES - share_sum, raters, scale)
        mean = least + total / raters * (greatest - least)
        moments.append(Moment(row.time, lower_bound(share_sum, raters, scale), mean, upper, raters))
    return tuple(moments)


def money_by_day(received: Sequence[Payment], paid: Sequence[Payment]) -> Activity | None:
    """Return the cents that an account received and paid on each of 84 days, up to its last payment.

    Args:
        received: The newest payments to it.
        paid: The newest payments by it.

    Returns:
        Received cents as `server`, paid ones as `client`; None without a payment.
    """
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

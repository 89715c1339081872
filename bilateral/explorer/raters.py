"""The raters of an agent by their weight: those who paid it, those who did not, and those whom the analysis flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bilateral.core.values.bounds import scale_of_tag
from bilateral.index.payments.queries import PROVEN
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.ratings.summaries import RatingSummary

PAID: Final = "paid it"
UNPAID: Final = "without a proven payment"
FLAGGED: Final = "flagged by the analysis"
_ORDER: Final = (PAID, UNPAID, FLAGGED)


@dataclass(frozen=True, slots=True)
class RaterGroup:
    """Raters of the same weight.

    Attributes:
        name: Their kind: they paid the agent, they did not, or the analysis flags them.
        raters: The number of raters.
        share: Their share of all, 0 to 1.
        mean: The mean of their means, in the tag's unit.
    """

    name: str
    raters: int
    share: float
    mean: float


def rater_groups(
    recent: Sequence[RecentFeedback], payments: Sequence[str], flagged: Collection[str], summary: RatingSummary | None
) -> tuple[RaterGroup, ...]:
    """Return the raters under the tag that represents an agent, those who weigh most first.

    Args:
        recent: The agent's newest feedback.
        payments: The state of the payment of each, such as `proven`.
        flagged: The accounts that the analysis flags.
        summary: The summary that represents the agent as a server; None if nobody rated it.
    """
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

"""The context of each opinion: payment, age and activity of its rater, and distance to what grounded raters say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from bilateral.trust.arrays import Flags, Floats, Ints, first_of, group_sums, pairs, percentiles
from bilateral.trust.kinship import Kinship, kinship
from bilateral.trust.ledger import Kind

if TYPE_CHECKING:
    from bilateral.trust.ledger import Ledger

DAY: Final = 86400.0
_TIMES: Final = 20
"""Stretches of time within which ages are compared. Early on, everybody is young."""

THIN: Final = 2
"""An account that judges at most this many subjects is thin."""


@dataclass(frozen=True)
class Context:
    """All that detectors share.

    Attributes:
        ledger: The coded tables.
        kin: The groupings of accounts.
        pair: The positions of the first opinion of each pair of rater and subject.
        judged: The number of distinct raters of each subject.
        activity: The number of distinct subjects that each account judges.
        paid: Marks the opinions whose rater paid the agent a usual amount before.
        age: The age of the rater at each opinion, in seconds.
        freshness: The share of opinions of the same time by raters of at most that age.
        grounded: The mean rating of each subject by active raters; nan without such raters.
        mean: The mean percentage over all feedback.
        risk: The share of opinions whose rater risks at most as little: a young account, with few other opinions, that
            did not pay, and gives an extreme value. 1 for an opinion that is not the first of its pair.
        youth: The same by age and number of opinions alone.
    """

    ledger: Ledger
    kin: Kinship
    pair: Ints
    judged: Ints
    activity: Ints
    paid: Flags
    age: Floats
    freshness: Floats
    grounded: Floats
    mean: float
    risk: Floats
    youth: Floats

    @classmethod
    def of(cls, ledger: Ledger) -> Context:
        """Work out the context of a ledger's opinions.

        Args:
            ledger: The coded tables.
        """
        opinions = ledger.opinions
        kin = kinship(ledger)
        keys = pairs(opinions.subject, opinions.rater, ledger.accounts)
        _, first = np.unique(keys, return_index=True)
        judged = np.bincount(opinions.subject[first], minlength=ledger.subjects)
        ordinary = opinions.kind[first] != Kind.CONSTANT_TAG
        activity = np.bincount(opinions.rater[first][ordinary], minlength=ledger.accounts)
        age = np.maximum(opinions.ts - kin.born[opinions.rater], 0.0) if len(opinions) else np.zeros(0)
        feedback = opinions.kind == Kind.FEEDBACK
        known = feedback & np.isfinite(opinions.percent)
        freshness, paid = _freshness(opinions.ts, age), _paid(ledger)
        rows = first[ordinary]
        risk, youth = np.ones(len(opinions)), np.ones(len(opinions))
        young = _youngness(ledger, rows, activity, freshness)
        youth[rows] = percentiles(-young)
        risk[rows] = percentiles(-(young + _cheapness(ledger, rows, paid)))
        return cls(
            ledger=ledger,
            kin=kin,
            pair=first,
            judged=judged,
            activity=activity,
            paid=paid,
            age=age,
            freshness=freshness,
            grounded=_grounded(ledger, activity),
            mean=float(opinions.percent[known].mean()) if known.any() else 50.0,
            risk=risk,
            youth=youth,
        )


def _paid(ledger: Ledger) -> Flags:
    """Mark the opinions that follow a payment of a usual amount from the rater to the agent."""
    opinions = ledger.opinions
    agent = ledger.subject_agent[opinions.subject] if len(opinions) else np.zeros(0, np.int64)
    usable = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0)
    if not usable.any() or not len(opinions):
        return np.zeros(len(opinions), bool)
    logs = np.log(ledger.amount[usable])
    middle = np.median(logs)
    spread = 1.4826 * np.median(np.abs(logs - middle)) + 1e-9
    usable[usable] = logs > middle - 4 * spread  # less is dust, which buys a proof and nothing else
    keys = pairs(ledger.payer[usable], ledger.paid_agent[usable], ledger.agents)
    order = np.lexsort((ledger.paid_at[usable], keys))
    keys, times = keys[order], ledger.paid_at[usable][order]
    start = first_of(keys)
    keys, times = keys[start], times[start]
    wanted = pairs(opinions.rater, np.maximum(agent, 0), ledger.agents)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    paid: Flags = (
        (agent >= 0)
        & (opinions.kind != Kind.CLIENT_RATING)
        & (keys[places] == wanted)
        & (times[places] <= opinions.ts + DAY)
    )
    return paid


def _grounded(ledger: Ledger, activity: Ints) -> Floats:
    """Return the mean rating of each subject by active raters."""
    opinions = ledger.opinions
    rows = np.isfinite(opinions.percent) & (activity[opinions.rater] > THIN)
    subject = opinions.subject[rows]
    count = np.bincount(subject, minlength=ledger.subjects)
    total = group_sums(opinions.percent[rows].astype(np.float64), subject, ledger.subjects)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _freshness(times: Floats, age: Floats) -> Floats:
    """Return the share of opinions of the same time by raters of at most the same age."""
    out = np.ones(len(times))
    for part in np.array_split(np.argsort(times, kind="stable"), max(1, min(_TIMES, len(times) // 200))):
        out[part] = percentiles(age[part])
    return out


def _youngness(ledger: Ledger, rows: Ints, activity: Ints, freshness: Floats) -> Floats:
    """Return how improbable it is that an ordinary rater is so young and judges so few, in natural digits."""
    thin = activity[ledger.opinions.rater[rows]] <= THIN
    usual = max(float(thin.mean()), 1e-3) if len(rows) else 1.0
    return np.asarray(np.where(thin, -np.log(usual), 0.0) - np.log(np.maximum(freshness[rows], 1e-6)))


def _cheapness(ledger: Ledger, rows: Ints, paid: Flags) -> Floats:
    """Return how improbable it is that an opinion costs its rater so little and moves so much, in natural digits."""
    opinions = ledger.opinions
    out = np.zeros(len(rows))
    if not len(rows):
        return out
    feedback = opinions.kind[rows] == Kind.FEEDBACK
    if paid[rows][feedback].any():
        unpaid = ~paid[rows] & feedback
        out += np.where(unpaid, -np.log(max(unpaid[feedback].mean(), 1e-3)), 0.0)
    percent = opinions.percent[rows]
    extreme = (percent >= 94) | (percent <= 8)  # noqa: PLR2004  # what moves an average most
    out += np.where(extreme, -np.log(max(extreme.mean(), 1e-3)), 0.0)
    return out


def unpaid_odds(context: Context, rows: Ints) -> float:
    """Return the probability that so few of some opinions are paid, if they were ordinary.

    Args:
        context: The context.
        rows: Positions of opinions.
    """
    feedback = context.ledger.opinions.kind == Kind.FEEDBACK
    base = float(context.paid[feedback].mean()) if feedback.any() else 0.0
    chosen = rows[feedback[rows]]
    if not len(chosen) or base < 0.05:  # noqa: PLR2004  # payments are not recorded here
        return 1.0
    return float(stats.binom.cdf(context.paid[chosen].sum(), len(chosen), base))


def inflation_odds(context: Context, rows: Ints) -> float:
    """Return the probability that some opinions lie so far from those of others by chance.

    Each pair is compared with the grounded mean of its subject where others judged it, and with all opinions of its
    kind else. Pairs count once, and pairs of one subject count as one on the average, so that a group of friends who
    all rate one good agent well does not look odd.

    Args:
        context: The context.
        rows: Positions of opinions.
    """
    opinions = context.ledger.opinions
    rows = rows[np.isfinite(opinions.percent[rows]) & (opinions.kind[rows] == Kind.FEEDBACK)]
    if not len(rows):
        return 1.0
    subjects, inverse = np.unique(opinions.subject[rows], return_inverse=True)
    average = group_sums(opinions.percent[rows].astype(np.float64), inverse, len(subjects)) / np.bincount(inverse)
    deviation = 15.0 + 8.0 / np.sqrt(np.bincount(inverse))
    score = float(((average - context.mean) / deviation).sum() / np.sqrt(len(subjects)))
    return float(2 * stats.norm.sf(abs(score)))

"""Scores of subjects: a robust mean of opinions that are not false, its interval and lower bound, and a status.

Each score comes with the number of raters, the effective number of opinions, the share of raters removed, and a lower
bound. `abstain` is set if there is too little evidence for a score worth acting on.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from bilateral.core.values.bounds import QUANTILE
from bilateral.core.values.decision import LEAST_RATING
from bilateral.trust.features.context import RECORDED, THIN, Context
from bilateral.trust.features.signs import MOST
from bilateral.trust.scores.backing import backing
from bilateral.trust.scores.change_points import Voices, persistence
from bilateral.trust.scores.suspicion import Suspicion
from bilateral.trust.tables.arrays import Flags, Floats, Groups, Ints, contained, distinct_keys, group_counts, pairs
from bilateral.trust.tables.opinions import Kind

_HUBER: Final = 14.0
"""The residual, in points, above which a value has less weight: about the standard deviation of an ordinary value."""

_CONSTANT: Final = 3
"""The number of equal values after which a rater counts as constant."""


class BiasModel:
    """An additive model of subjects' quality and raters' bias, fitted by weighted alternating means.

    Attributes:
        quality_: The quality of each subject, from 0 to 100; without evidence, the prior's mean.
        bias_: The bias of each rater.
        information_: The evidence about each subject, measured in opinions by ordinary raters.
        weight_: The weight of each value.
        spread_: The standard deviation of an ordinary value.
    """

    def __init__(self, iterations: int = 12, prior_subject: float = 0.6, prior_rater: float = 2.0) -> None:
        self.iterations = iterations
        self.prior_subject = prior_subject
        self.prior_rater = prior_rater

    def fit(self, rater: Ints, subject: Ints, values: Floats, trust: Floats, raters: int, subjects: int) -> Self:  # noqa: PLR0913, PLR0917
        """Fit the model."""
        values = np.asarray(values, np.float32)  # rows in single precision, sums in double
        rater, subject = rater.astype(np.intp, copy=False), subject.astype(np.intp, copy=False)  # once for all rounds
        by_rater, by_subject = Groups.by(rater, raters), Groups.by(subject, subjects)
        trust = np.asarray(trust * _informative(by_rater, values), np.float32)
        mean = float(np.average(values, weights=trust)) if trust.sum() > 0 else 50.0
        bias, quality = np.zeros(raters), np.full(subjects, mean)
        weight = trust.copy()
        shift, rest, scratch = (np.zeros_like(values) for _ in range(3))  # reused, because they may be large
        # Positions are valid, so clipping changes nothing. It avoids the copy that `numpy.take` makes to raise errors.
        for _ in range(self.iterations):
            np.multiply(weight, np.subtract(values, shift, out=rest), out=rest)
            total = by_subject.sums(weight) + self.prior_subject
            quality = (by_subject.sums(rest) + self.prior_subject * mean) / total
            np.subtract(values, np.take(quality.astype(np.float32), subject, out=scratch, mode="clip"), out=rest)
            summed = by_rater.sums(np.multiply(weight, rest, out=scratch))
            bias = summed / (by_rater.sums(weight) + self.prior_rater)
            np.subtract(rest, np.take(bias.astype(np.float32), rater, out=shift, mode="clip"), out=rest)
            np.divide(_HUBER, np.maximum(np.abs(rest, out=rest), 1e-9, out=scratch), out=scratch)
            np.multiply(trust, np.minimum(1.0, scratch, out=scratch), out=weight)
            np.multiply(weight, np.sqrt(scratch, out=scratch), out=weight)
        squares = np.multiply(weight, np.square(rest, out=scratch), out=scratch).sum(dtype=np.float64)
        self.spread_ = (
            max(float(np.sqrt(squares / max(weight.sum(dtype=np.float64), 1e-9))), 5.0) if len(rest) else 15.0
        )
        self.quality_, self.bias_, self.weight_ = np.clip(quality, 0, 100), bias, weight
        self.information_ = by_subject.sums(weight)
        return self


def _informative(by_rater: Groups, values: Floats) -> Floats:
    """Return a weight for each value, which is low for raters whose values never differ."""
    count = by_rater.count
    usual, squares = np.maximum(count, 1), by_rater.sums(values.astype(np.float64) ** 2)
    variance = squares / usual - (by_rater.sums(values) / usual) ** 2
    constant = (count >= _CONSTANT) & (variance < 1.0)
    full = (count < _CONSTANT)[by_rater.of] & (values >= 100.0)  # noqa: PLR2004  # a full mark, of which we see no other
    return np.where(constant[by_rater.of], 0.05, np.where(full, 0.4, 1.0))


_PRIOR: Final = 3.0
_DOUBTFUL: Final = 50.0
"""The number and the value of the doubtful opinions that are added for the lower bound, so that a high bound requires
several raters who bought from other sellers. With half as many doubtful opinions, attackers in `make market` lost ten
cents less per dollar."""

_NARROW: Final = 0.25
"""The part of the interval's width to subtract. The doubtful opinions already make the bounds cautious."""

_NEUTRAL: Final = 50.0
"""The minimum value at which an opinion is favourable."""


class Status(StrEnum):
    """How far a score can be relied on."""

    OK = "ok"
    THIN = "thin evidence"
    CONTESTED = "contested"
    FLAGGED = "flagged"


_LEAST: Final = 0.2
"""The minimum weight of an opinion whose rater shows only weak signs, which other accounts can cause.

The weight is lower if the subject's owner is also odd, so that many odd raters do not lift an odd owner.
"""

_WHOLLY: Final = 0.5
"""The share of paid feedback at which unpaid opinions count only to the extent that purchases back their raters. In
`make market`, at least 82 % is paid: to make unpaid praise count, an attacker would have to write as many opinions as
all other raters combined."""

_TELLING: Final = 0.25
"""The minimum rater weight at which opinions can show that a subject changed: more than the oddest raters have."""

PROVEN: Final = 10.0
"""The number of raters with purchases elsewhere who must call an agent bad for it to be rejected. With fewer, the agent
can still be tried, but comes last in every list. A rival who spends sixty dollars, including these purchases, gets
fewer raters (`tests/trust/test_slander.py`).
"""

_ALIKE: Final = 0.5
"""The minimum size of payments, relative to the complainers' payments, for other opinions to count against the
complaints. An agent may serve small purchases well and cheat on large ones."""

_CONTESTED: Final = 0.3
"""The share of raters, removed as false and tied to the subject by its own action, that makes its score contested."""

_STATUSES: Final = np.array(
    [str(status) for status in (Status.FLAGGED, Status.CONTESTED, Status.THIN, Status.OK)], object
)


@dataclass(frozen=True)
class Scores:
    """Scores of all subjects, 0 to 100.

    Attributes:
        score: The score; without evidence, the mean of all subjects.
        low, high: The 90 % interval.
        lower: The lower bound; 0 for a flagged subject.
        raters: The number of distinct raters.
        effective: The evidence, measured in opinions by ordinary raters.
        removed: The share of raters whose opinions were removed as false.
        status: The `Status` of each subject, as text.
        abstain: Marks the scores that should not be acted on.
    """

    score: Floats
    low: Floats
    high: Floats
    lower: Floats
    raters: Ints
    effective: Floats
    removed: Floats
    status: npt.NDArray[np.object_]
    abstain: Flags


@dataclass(frozen=True)
class Credence:
    """The credence given to raters, by opinion, from 0 to 1.

    Attributes:
        weight: The weight in ratings: how usual the rater is, or how much the rater bought from other sellers.
        backed: How much the rater bought from other sellers.
        reliance: The extent to which purchases alone decide how much the opinion counts. It grows gradually with the
            share of payments that are recorded, so that the first few paid opinions do not void all others.
    """

    weight: Floats
    backed: Floats
    reliance: Floats

    @classmethod
    def of(cls, context: Context, suspicion: Suspicion, rows: Ints) -> Self:
        """Return the credence of some opinions."""
        opinions, usual, backed = context.ledger.opinions, _usual(suspicion), backing(context, rows)
        owner = context.ledger.subject_account[opinions.subject[rows]]
        weight = np.maximum(np.maximum(usual[opinions.rater[rows]] ** 2, _LEAST * usual[owner]), backed)
        recorded = _recorded(context.payer_share)
        return cls(weight, backed, np.where(opinions.kind[rows] == Kind.FEEDBACK, recorded, 0.0))

    def solid(self, unrecorded: Floats | float = 1.0) -> Floats:
        """Return the part of the weight that counts for lower bounds and turns: purchases, if payments are recorded."""
        # Others can make a rater look odd by what they send it or rate, but cannot undo what it bought. Paying one's
        # own agent costs a fee, and would otherwise lift the agent above all agents without ratings.
        return self.reliance * self.backed / np.maximum(self.weight, 1e-9) + (1 - self.reliance) * unrecorded


def scores(context: Context, suspicion: Suspicion, minimum: float = 1.5) -> Scores:
    """Score all subjects."""
    opinions = context.ledger.opinions
    valid = np.isfinite(opinions.percent) & (opinions.kind != Kind.CONSTANT_TAG)
    return _scored(context, suspicion, np.flatnonzero(valid).astype(np.int32), context.judged, minimum)


def buyer_scores(context: Context, suspicion: Suspicion, returned: Flags, minimum: float = 1.5) -> Scores:
    """Score accounts as buyers, based on ratings from servers that they paid, except payments that came back."""
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = np.flatnonzero((opinions.kind == Kind.CLIENT_RATING) & np.isfinite(opinions.percent))
    real = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & ~returned
    seller = ledger.owner[ledger.paid_agent[real]] if real.any() else np.zeros(0, np.int64)
    bought = distinct_keys(pairs(ledger.payer[real], seller, ledger.accounts))
    client = ledger.subject_account[opinions.subject[rows]]
    rows = rows[contained(pairs(client, opinions.rater[rows], ledger.accounts), bought)]
    distinct = distinct_keys(pairs(opinions.subject[rows], opinions.rater[rows], ledger.accounts))
    raters = np.bincount(distinct // max(ledger.accounts, 1), minlength=ledger.subjects)
    return _scored(context, suspicion, rows, raters, minimum)


def _scored(context: Context, suspicion: Suspicion, rows: Ints, raters: Ints, minimum: float) -> Scores:
    ledger, opinions = context.ledger, context.ledger.opinions
    size = ledger.subjects
    rater, subject = opinions.rater[rows], opinions.subject[rows]
    percent = opinions.percent[rows]
    credence = Credence.of(context, suspicion, rows)
    trust, removed, contested = weights(context, suspicion, rows, credence)
    bias = BiasModel(iterations=4).fit(rater, subject, percent, trust, ledger.accounts, size).bias_
    telling = np.flatnonzero((trust > 0) & (_usual(suspicion) ** 2 >= _TELLING)[rater] & ~suspicion.flagged[rater])
    values = percent[telling] - 0.7 * bias[rater[telling]]
    solid = credence.solid()
    voices = _voices(context, rows[telling], values, (trust * solid)[telling])
    trust *= _persistence(voices, subject, telling, percent, minimum, float(opinions.ts.max(initial=0.0)))
    proof = Groups.by(subject, size).sums(trust * solid * (percent < LEAST_RATING))
    del telling, voices, values, solid
    model = BiasModel().fit(rater, subject, percent, trust, ledger.accounts, size)
    effective = model.information_
    spread = _spread(model, rater, subject, percent, size)
    error = spread / np.sqrt(effective + model.prior_subject)
    flagged = suspicion.withheld
    unproven = (
        (model.quality_ < LEAST_RATING)
        & (proof < PROVEN * _recorded(context.payer_share))
        & (ledger.subject_agent >= 0)
    )
    abstain = (effective < minimum) | unproven
    # Without independent raters, the prior alone would rank a contested subject above others with poor evidence.
    alone = np.where(contested, np.minimum(effective / minimum, 1.0), 1.0)
    lower = np.where(flagged, 0.0, alone * _lower(context, credence, trust, rows))
    code = np.select([flagged, contested, abstain], [0, 1, 2], 3)
    return Scores(
        score=model.quality_,
        low=np.clip(model.quality_ - QUANTILE * error, 0, 100),
        high=np.clip(model.quality_ + QUANTILE * error, 0, 100),
        lower=lower,
        raters=raters,
        effective=effective,
        removed=removed,
        status=_STATUSES[code],
        abstain=abstain,
    )


def weights(context: Context, suspicion: Suspicion, rows: Ints, credence: Credence) -> tuple[Floats, Floats, Flags]:
    """Return the trust in some opinions, each subject's share of removed raters, and which subjects are contested."""
    # Each rater of a subject counts once, however many opinions it writes. Because anyone can write false opinions
    # about a rival, only opinions that a subject wrote itself or tied to itself by its own action make it contested.
    ledger, size = context.ledger, context.ledger.subjects
    rater, subject = context.ledger.opinions.rater[rows], context.ledger.opinions.subject[rows]
    pair = context.pair_of[rows]
    repeats = group_counts(pair, len(context.pair))[pair]
    own = rater == ledger.subject_account[subject]
    false = suspicion.row[rows]
    false = np.where(suspicion.flagged[rater], false, (1 - credence.reliance) * false)
    trust = np.where((false > 0.5) | own, 0.0, 1 - false) * np.where(suspicion.flagged[rater], 0.05, 1.0)  # noqa: PLR2004
    by_subject = Groups.by(subject, size)
    every = np.maximum(by_subject.sums(1 / repeats), 1e-9)
    doubted = trust <= 0.05  # noqa: PLR2004
    removed, by_itself = (
        by_subject.sums(marked / repeats) / every for marked in (doubted, doubted & (own | suspicion.own[rows]))
    )
    trust /= np.sqrt(repeats)
    trust *= credence.weight
    return trust, removed, by_itself >= _CONTESTED


def _usual(suspicion: Suspicion) -> Floats:
    """Return how usual each account is, according to weak signs, from 0 to 1."""
    return np.asarray(1 - suspicion.odd / MOST, np.float32)


def _last_weights(pair: Ints, trust: Floats, count: int) -> Floats:
    """Return each rater's weight at the rater's last opinion about a subject; 0 at the rater's other opinions."""
    # A sum from any position on then counts each rater once. Otherwise, a rater could create a turn by repetition.
    last, out = np.zeros(count, np.int64), np.zeros(len(pair), np.float32)
    last[pair] = np.arange(len(pair))
    last = last[pair] == np.arange(len(pair))
    out[last] = trust[last] * np.sqrt(group_counts(pair, count)[pair[last]])
    return out


def _voices(context: Context, rows: Ints, values: Floats, weight: Floats) -> Voices:
    """Return the opinions from which quality changes and slander are inferred."""
    opinions, pair = context.ledger.opinions, context.pair_of[rows]
    subject, paid = opinions.subject[rows], context.gave[pair]
    by_subject, bad = Groups.by(subject, context.ledger.subjects), (values < LEAST_RATING).astype(np.float64)
    usual = by_subject.sums(paid * bad) / np.maximum(by_subject.sums(bad), 1.0)
    weight = weight / max(float(np.average(weight, weights=weight)), 1e-9) if weight.any() else weight
    last_weight = _last_weights(pair, weight, len(context.pair))
    return Voices(subject, values, opinions.ts[rows], weight, last_weight, paid >= _ALIKE * usual[subject])


def _persistence(  # noqa: PLR0913, PLR0917
    voices: Voices, subject: Ints, telling: Ints, percent: Floats, minimum: float, now: float
) -> Floats:
    """Return the probability that each opinion is up to date and not slander, inferred from informative opinions."""
    current, genuine = persistence(voices, minimum, now)
    out, count = np.ones(len(subject), np.float32), len(telling)
    if not count:
        return out
    before = np.searchsorted(telling, np.arange(len(subject)), side="right") - 1
    for place in (np.minimum(before + 1, count - 1), np.maximum(before, 0)):  # the earlier one overwrites the later one
        same = subject[telling[place]] == subject
        out[same] = np.where(
            percent[same] < LEAST_RATING, np.minimum(current, genuine)[place[same]], current[place[same]]
        )
    return out


def _recorded(payer_share: float) -> float:
    """Return to what extent payments are recorded, from 0 to 1."""
    return min(max((payer_share - RECORDED) / (_WHOLLY - RECORDED), 0.0), 1.0)


def _lower(context: Context, credence: Credence, trust: Floats, rows: Ints) -> Floats:
    """Return the lower bounds, for which opinions count only to the extent that they cost their raters something."""
    # A doubtful opinion is added to each subject, so that a high bound requires several raters who bought from other
    # sellers or, where payments are not recorded, judge other subjects. The bounds have their own model, because raters
    # who bought nothing can make buyers' opinions look like outliers in the model of ratings.
    opinions, size = context.ledger.opinions, context.ledger.subjects
    rater, subject, percent = opinions.rater[rows], opinions.subject[rows], opinions.percent[rows]
    unrecorded = np.where(context.activity[rater] > THIN, 0.5, 0.2)
    solid = credence.solid(np.where(opinions.kind[rows] == Kind.FEEDBACK, unrecorded, 1.0))
    model = BiasModel(iterations=6).fit(rater, subject, percent, trust * solid, context.ledger.accounts, size)
    # A severe rater's favourable opinion says more than its value suggests; a bad opinion never raises the bound.
    values = percent - model.bias_[rater]
    values = np.where(percent < _NEUTRAL, np.minimum(values, percent), values)
    by_subject = Groups.by(subject, size)
    count, favourable = by_subject.sums(model.weight_), by_subject.sums(model.weight_ * (values >= _NEUTRAL))
    mean = (by_subject.sums(model.weight_ * values) + _PRIOR * _DOUBTFUL) / (count + _PRIOR)
    # Only favourable opinions narrow the interval. Otherwise, a bad opinion could raise the bound.
    spread = _spread(model, rater, subject, percent, size)
    bound: Floats = np.clip(mean - _NARROW * QUANTILE * spread / np.sqrt(favourable + 1), 0, 100)
    return bound


def _spread(model: BiasModel, rater: Ints, subject: Ints, percent: Floats, size: int) -> Floats:
    """Return the standard deviation of the values about each subject, shrunk towards that of all values."""
    rest = percent - model.quality_[subject] - model.bias_[rater]
    squares = Groups.by(subject, size).sums(model.weight_ * rest**2)
    prior = 4.0
    spread: Floats = np.sqrt((squares + prior * model.spread_**2) / (model.information_ + prior))
    return spread

"""The context of each opinion: the rater's payment, age and activity, and the distance to other raters' opinions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import stats

from bilateral.trust.features.money import Money
from bilateral.trust.features.purchases import DAY, Purchases
from bilateral.trust.features.sharing import Sharing, sharing
from bilateral.trust.features.spending import Spending
from bilateral.trust.features.ties import Ties, ties_of
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Groups,
    Ints,
    first_of,
    group_sums,
    lexical_order,
    pairs,
    percentiles,
    segments,
)
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import KINDS, Kind

_TIMES: Final = 20
"""The number of time segments; ages are compared within one, because all accounts are young when a market starts."""

MOSTLY: Final = 0.5
"""If at least this share of a client's money comes back, its payments prove nothing. Cashback and refunds to repeat
clients are smaller shares.
"""

RECORDED: Final = 0.05
"""The share of paid feedback below which the market is assumed not to record payments."""

RARE: Final = 60
"""The maximum number of raters of a rare subject. Sharing a more common subject means nothing."""

_ALIKE: Final = 0.5
"""The minimum spread of log amounts: even if most clients pay the same price, paying it twice a day is usual."""

_ROUNDING: Final = 1e-6
"""The share of a usual amount by which a sum may fall short because of floating-point rounding."""

_SUBJECTS: Final = 10
"""The maximum number of subjects that count when opinions are compared with other raters' opinions. All agents on a
platform may be slightly better than usual, which is not inflation, however many agents there are."""

THIN: Final = 2
"""The maximum number of subjects that a thin (hardly active) account rates."""


@dataclass(frozen=True)
class Context:
    """The data that all detectors share.

    Attributes:
        ledger: The coded tables.
        ties: The groupings of accounts.
        pair: The position of each rater-subject pair's first opinion, in ascending order of subject and rater.
        pair_of: The pair to which each opinion belongs, as a position in `pair`.
        judged: The number of distinct raters of each subject.
        activity: The number of distinct subjects that each account judges.
        money: The money between accounts.
        spending: What accounts paid to sellers that early buyers trust.
        gave, got: The money that each pair's client gave its server, and the money that came back without a service in
            return.
        paid: Marks the opinions whose rater had paid the agent a usual amount and did not get most of it back.
        freshness: For each opinion, the share of opinions from the same time whose raters are no older than its rater.
        paid_share: The share of feedback whose rater paid.
        payer_share: The mean, over raters, of the share of their feedback that is paid. Because feedback is cheap, a
            flood from a few accounts must not make a market's payments look unrecorded.
        mean: The mean percentage of each kind of opinion.
        supported: Marks the first opinions of pairs whose rater paid, or judges several subjects.
        supported_count, supported_sum: The number of supported opinions and the sum of their percentages, by subject.
        risk: For each opinion, the share of opinions whose rater risks no more than its rater. A rater risks the least
            if its account is young, has few other opinions, did not pay, and gives an extreme value. It is 1 for all
            but the first opinion of a pair.
        youth: Like `risk`, but based only on the age of the rater's account and on its number of opinions.
    """

    ledger: Ledger
    ties: Ties
    pair: Ints
    pair_of: Ints
    judged: Ints
    activity: Ints
    money: Money
    spending: Spending
    purchases: Purchases
    gave: Floats
    got: Floats
    paid: Flags
    freshness: Floats
    paid_share: float
    payer_share: float
    mean: Floats
    supported: Flags
    supported_count: Floats
    supported_sum: Floats
    risk: Floats
    youth: Floats

    @cached_property
    def sharing(self) -> Sharing:
        """The pairs of raters that share several rare subjects. A rare subject has at most `RARE` raters."""
        ledger, opinions = self.ledger, self.ledger.opinions
        rows = self.pair[opinions.kind[self.pair] != Kind.CONSTANT_TAG]
        return sharing(opinions.rater[rows], opinions.subject[rows], (ledger.accounts, ledger.subjects), RARE)

    @classmethod
    def of(cls, ledger: Ledger) -> Context:
        """Compute the context for a ledger's opinions."""
        opinions = ledger.opinions
        ties = ties_of(ledger)
        first, pair_of = _pairs(ledger)
        rows = first[opinions.kind[first] != Kind.CONSTANT_TAG]
        judged = np.bincount(opinions.subject[first], minlength=ledger.subjects)
        activity = np.bincount(opinions.rater[rows], minlength=ledger.accounts)
        feedback = opinions.kind == Kind.FEEDBACK
        money = Money.of(ledger, ties.is_hub)
        hand = np.where(ties.acknowledged, ties.root, np.arange(ledger.accounts))
        spending = Spending.of(ledger, money, hand)
        freshness, purchases = _freshness(ledger, ties), Purchases.of(ledger)
        bought_at = _bought_at(ledger, purchases, spending.is_early, first)
        gave, got = _exchanged(ledger, money, first)
        bought_at[got >= MOSTLY * gave] = np.inf
        paid = bought_at[pair_of] <= opinions.ts + DAY
        risk, youth = np.ones(len(opinions), np.float32), np.ones(len(opinions), np.float32)
        supported = np.zeros(len(opinions), bool)
        supported[rows] = np.isfinite(opinions.percent[rows]) & (paid[rows] | (activity[opinions.rater[rows]] > THIN))
        young = _youngness(ledger, rows, activity, freshness)
        youth[rows] = percentiles(-young)
        by_subject = Groups.by(opinions.subject, ledger.subjects)
        risk[rows] = percentiles(-(young + _cheapness(ledger, rows, paid)))
        return cls(
            ledger=ledger,
            ties=ties,
            pair=first,
            pair_of=pair_of,
            judged=judged,
            activity=activity,
            money=money,
            spending=spending,
            purchases=purchases,
            gave=gave,
            got=got,
            paid=paid,
            freshness=freshness,
            paid_share=float(paid[feedback].mean()) if feedback.any() else 0.0,
            payer_share=_mean_of_raters(opinions.rater[feedback], paid[feedback], ledger.accounts),
            mean=_means(ledger),
            supported=supported,
            supported_count=by_subject.sums(supported),
            supported_sum=by_subject.sums(np.where(supported, opinions.percent, np.float32(0))),
            risk=risk,
            youth=youth,
        )


def _means(ledger: Ledger) -> Floats:
    valid = np.isfinite(ledger.opinions.percent)
    kind = ledger.opinions.kind[valid]
    count = np.bincount(kind, minlength=KINDS)
    return np.where(count > 0, group_sums(ledger.opinions.percent[valid], kind, KINDS) / np.maximum(count, 1), 50.0)


def _pairs(ledger: Ledger) -> tuple[Ints, Ints]:
    """Return the position of each rater-subject pair's first opinion, and each opinion's pair."""
    opinions = ledger.opinions
    parts, pair_of, count = [np.zeros(0, np.int32)], np.empty(len(opinions), np.int32), 0
    for segment in segments(opinions.subject):
        keys = pairs(opinions.subject[segment], opinions.rater[segment], ledger.accounts)
        order = lexical_order(keys)
        first = first_of(keys[order])
        parts.append((order[first] + segment.start).astype(np.int32))
        pair_of[segment.start + order] = count + np.cumsum(first) - 1
        count += len(parts[-1])
    return np.concatenate(parts), pair_of


def _bought_at(ledger: Ledger, purchases: Purchases, is_early: Flags, first: Ints) -> Floats:
    """For each pair, return the time from which the rater had paid the agent a usual amount; infinity if never."""
    subject, out = ledger.opinions.subject[first], np.full(len(first), np.inf)
    usable = np.flatnonzero(purchases.amount > 0)
    if not len(usable) or not len(first):
        return out
    logs = np.log(purchases.amount[usable])
    usual = logs[is_early[purchases.client[usable]]]  # later accounts cannot make dust usual
    usual = usual if len(usual) else logs
    middle = np.median(usual)
    spread = max(1.4826 * float(np.median(np.abs(usual - middle))), _ALIKE)
    # The agent is the left code, because pairs are sorted by subject: each search starts near the previous one.
    keys = pairs(purchases.agent[usable], purchases.client[usable], ledger.accounts)
    # Smaller sums are dust, which buys only a proof of payment. Purchases on several days add up.
    part = np.exp(np.minimum(logs - middle + 4 * spread, 0.0))
    starts, total = np.flatnonzero(first_of(keys)), np.cumsum(part)
    total -= np.repeat((total - part)[starts], np.diff(starts, append=len(keys)))
    enough = np.flatnonzero(total >= 1 - _ROUNDING)
    enough = enough[first_of(keys[enough])]
    keys, times = keys[enough], purchases.paid_at[usable[enough]]
    sold = (ledger.subject_agent >= 0) & (ledger.subject_kind != Kind.CLIENT_RATING)
    for segment in segments(subject):
        rows = segment.start + np.flatnonzero(sold[subject[segment]])
        queries = pairs(ledger.subject_agent[subject[rows]], ledger.opinions.rater[first[rows]], ledger.accounts)
        places = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
        bought = np.flatnonzero(np.take(keys, places) == queries)
        out[rows[bought]] = times[places[bought]]
    return out


def _exchanged(ledger: Ledger, money: Money, first: Ints) -> tuple[Floats, Floats]:
    """Return the money that each pair's client gave its server, and what came back without a service in return."""
    rater, subject = ledger.opinions.rater[first], ledger.opinions.subject[first]
    rated, answers = ledger.subject_account[subject], ledger.subject_kind[subject] == Kind.CLIENT_RATING
    client, server = np.where(answers, rated, rater), np.where(answers, rater, rated)
    return money.between(client, server), money.between(server, client, gifts=True)


def _freshness(ledger: Ledger, ties: Ties) -> Floats:
    """For each opinion, return the share of opinions from the same time whose raters are no older than its rater."""
    times, rater = ledger.opinions.ts, ledger.opinions.rater
    out = np.ones(len(times), np.float32)
    for part in np.array_split(lexical_order(times), max(1, min(_TIMES, len(times) // 200))):
        if len(part):
            out[part] = percentiles(np.maximum(times[part] - ties.born[rater[part]], 0.0))
    return out


def _youngness(ledger: Ledger, rows: Ints, activity: Ints, freshness: Floats) -> Floats:
    """Return how improbable, in nats, it is that an ordinary rater is so young and judges so few subjects."""
    thin = activity[ledger.opinions.rater[rows]] <= THIN
    usual = max(float(thin.mean()), 1e-3) if len(rows) else 1.0
    return np.asarray(thin * -np.log(usual) - np.log(np.maximum(freshness[rows], 1e-6)))


def _cheapness(ledger: Ledger, rows: Ints, paid: Flags) -> Floats:
    """Return how improbable, in nats, it is that an opinion costs its rater so little and moves the mean so much."""
    opinions = ledger.opinions
    out = np.zeros(len(rows))
    if not len(rows):
        return out
    feedback = opinions.kind[rows] == Kind.FEEDBACK
    if paid[rows][feedback].any():
        unpaid = ~paid[rows] & feedback
        out += unpaid * -np.log(max(unpaid[feedback].mean(), 1e-3))
    percent = opinions.percent[rows]
    extreme = (percent >= 94) | (percent <= 8)  # noqa: PLR2004  # what moves an average most
    out += extreme * -np.log(max(extreme.mean(), 1e-3))
    return out


def _mean_of_raters(rater: Ints, paid: Flags, size: int) -> float:
    by_rater = Groups.by(rater, size)
    return float(by_rater.mean(paid)[by_rater.count > 0].mean()) if len(rater) else 0.0


def unpaid_odds(context: Context, rows: Ints) -> float:
    """Return the probability that, by chance, no more of the opinions would be paid."""
    base = context.paid_share
    chosen = rows[context.ledger.opinions.kind[rows] == Kind.FEEDBACK]
    if not len(chosen) or base < RECORDED:
        return 1.0
    return float(stats.binom.cdf(context.paid[chosen].sum(), len(chosen), base))


def inflation_odds(context: Context, rows: Ints) -> float:
    """Return the probability that the opinions would differ as much from other accounts' opinions by chance.

    For each subject, the mean of the opinions is compared with the mean of other raters' opinions, shrunk
    towards the mean of all opinions of that kind. Opinions about one subject count as one, so that friends who all
    praise the same good agent do not look odd. Two tests are run, one of deviations in a single direction and one of
    squared deviations, because praise of one subject does not make up for slander of another. Other raters count only
    if they paid or judge several subjects, so that nobody can frame a rater by contradicting it from new accounts.
    """
    opinions = context.ledger.opinions
    rows = rows[np.isfinite(opinions.percent[rows]) & (opinions.kind[rows] != Kind.CONSTANT_TAG)]
    if not len(rows):
        return 1.0
    subjects, inverse = np.unique(opinions.subject[rows], return_inverse=True)
    count, percent = np.bincount(inverse), opinions.percent[rows].astype(np.float64)
    average = group_sums(percent, inverse, len(subjects)) / count
    counts = context.supported[rows].astype(np.float64)
    rest = context.supported_count[subjects] - group_sums(counts, inverse, len(subjects))
    sums = context.supported_sum[subjects] - group_sums(percent * counts, inverse, len(subjects))
    usual = (sums + context.mean[context.ledger.subject_kind[subjects]]) / (rest + 1)
    deviation = 15.0 + 8.0 / np.sqrt(count)
    far = (average - usual) / deviation
    alike = 2 * stats.norm.sf(abs(far.mean()) * np.sqrt(min(len(subjects), _SUBJECTS)))
    apart = stats.chi2.sf((far**2).sum(), len(subjects))
    return float(min(1.0, 2 * min(alike, apart)))

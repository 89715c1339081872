"""Features of the accounts around an account: those it judges, is judged with, moves money with, and is kin of."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.features.judgements import Judgements
from bilateral.trust.tables.arrays import Floats, Groups, Ints, segments

_ODD: Final = -1.0
"""The first score from which an opinion counts less than half."""


def around(context: Context, judgements: Judgements, score: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield the features of all accounts, one by one; nan where one is unknown."""
    ledger = context.ledger
    size = ledger.accounts
    base = float(score[judgements.rater].mean()) if len(judgements.rater) else 0.0
    yield "itself", score
    for name, chosen in (("praise", judgements.praised), ("other", np.flatnonzero(~judgements.praise))):
        rater, rated = (Groups.by(side[chosen], size) for side in (judgements.rater, judgements.rated))
        of_rater, of_rated = score[rater.of], score[rated.of]
        beside = Groups.by(judgements.subject[chosen], ledger.subjects).except_own(of_rater, base)
        yield f"raters beside, {name}, mean", rater.mean(beside)
        yield f"raters beside, {name}, top", rater.top(beside)
        yield f"raters, {name}, mean", rated.mean(of_rater)
        yield f"raters, {name}, sum", rated.sums(of_rater - base)
        yield f"rated, {name}, mean", rater.mean(of_rated)
        yield f"rated, {name}, top", rater.top(of_rated)
    yield from _weighted_distance(context.mean, judgements, score)
    for name, left, right in _ties(context, judgements):
        yield f"{name}, mean", left.mean(score[right.of])
        yield f"{name}, top", left.top(score[right.of])
    for grouping in context.ties.groupings:
        inside = grouping.group >= 0
        out = np.full(size, np.nan)
        out[inside] = Groups.by(grouping.group[inside], max(grouping.size, 1)).except_own(score[inside], base)
        yield f"kin by {grouping.name}", out
    owner, wallet = ledger.owner[ledger.wallet >= 0], ledger.wallet[ledger.wallet >= 0]
    beside = Groups.by(wallet, size).except_own(score[owner], base)
    yield "owners of one wallet, mean", Groups.by(owner, size).top(beside)


def _weighted_distance(mean: Floats, judgements: Judgements, score: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield how far opinions lie above what others say about the subject, who count the less the more they are odd."""
    credence = 1 / (1 + np.exp(np.asarray(score, np.float64) - _ODD))
    distance = np.empty(len(judgements.rater), np.float32)
    for segment in segments(judgements.subject):
        subject, kind = judgements.subject[segment], judgements.kind[segment]
        subject = subject - subject[0]  # ascending: sums of all subjects would take longer than those of the segment
        usual, weight = mean[kind], credence[judgements.rater[segment]]
        percent = judgements.height[segment] + usual
        by_subject, weighed = Groups.by(subject, int(subject[-1]) + 1), weight * percent
        total = by_subject.sums(weighed)[subject] - weighed
        count = by_subject.sums(weight)[subject] - weight
        distance[segment] = percent - (total + usual) / (count + 1)
    yield "believed distance, mean as rater", judgements.by_rater.mean(distance)
    yield "believed distance, top as rater", judgements.by_rater.top(distance)
    yield "believed distance, least as rater", judgements.by_rater.least(distance)
    yield "believed distance, mean of praise", judgements.by_praised.mean(distance[judgements.praised])
    percent = judgements.height + mean[judgements.kind]
    means = []
    for share in (1 - credence, credence):
        weight = share[judgements.rater]
        count = np.maximum(judgements.by_rated.sums(weight), 0.5)
        means.append(judgements.by_rated.sums(np.multiply(weight, percent, out=weight)) / count)
    suspect, ordinary = means
    yield "gap of odd raters", np.where(judgements.by_rated.count > 1, suspect - ordinary, np.nan)


def _ties(context: Context, judgements: Judgements) -> Iterator[tuple[str, Groups, Groups]]:
    """Yield the ties of money, each as the accounts of one end and of the other."""
    size = context.ledger.accounts
    sender, receiver = (Groups.by(side, size) for side in _senders_and_receivers(context))
    yield "receivers of its money", sender, receiver
    yield "senders of its money", receiver, sender
    yield "whom it pays", judgements.by_payer, judgements.by_seller
    yield "who pays it", judgements.by_seller, judgements.by_payer


def _senders_and_receivers(context: Context) -> tuple[Ints, Ints]:
    """Return the sender and the receiver of each transfer in which no hub takes part."""
    ledger, hub = context.ledger, context.ties.is_hub
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    inside &= ~hub[np.maximum(ledger.src, 0)] & ~hub[np.maximum(ledger.dst, 0)]
    return ledger.src[inside], ledger.dst[inside]

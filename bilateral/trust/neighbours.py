"""Features of the accounts around an account: those it judges, is judged with, moves money with, and is kin of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Floats, Ints, group_counts, group_sums, stretches
from bilateral.trust.judgements import clients_and_servers, except_own, mean_by, senders_and_receivers, top_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilateral.trust.context import Context
    from bilateral.trust.judgements import Judgements


_ODD: Final = -1.0
"""The first score from which an opinion counts less than half."""


def around(context: Context, judgements: Judgements, score: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield the features of all accounts, one by one; nan where one is unknown.

    Args:
        context: The ledger and what detectors share.
        judgements: The judgements.
        score: A first score of each account.
    """
    ledger = context.ledger
    size = ledger.accounts
    base = float(score[judgements.rater].mean()) if len(judgements.rater) else 0.0
    yield "itself", score
    for name, chosen in (("praise", judgements.praise), ("other", ~judgements.praise)):
        rater, rated, subject = judgements.rater[chosen], judgements.rated[chosen], judgements.subject[chosen]
        beside = except_own(score[rater], subject, ledger.subjects, base)
        yield f"raters beside, {name}, mean", mean_by(beside, rater, size)
        yield f"raters beside, {name}, top", top_by(beside, rater, size)
        yield f"raters, {name}, mean", mean_by(score[rater], rated, size)
        yield f"raters, {name}, sum", group_sums(score[rater] - base, rated, size)
        yield f"rated, {name}, mean", mean_by(score[rated], rater, size)
        yield f"rated, {name}, top", top_by(score[rated], rater, size)
    yield from _believed(context, judgements, score)
    for name, left, right in _ties(context):
        yield f"{name}, mean", mean_by(score[right], left, size)
        yield f"{name}, top", top_by(score[right], left, size)
    for grouping in context.kin.groupings:
        inside = grouping.group >= 0
        out = np.full(size, np.nan)
        out[inside] = except_own(score[inside], grouping.group[inside], max(grouping.size, 1), base)
        yield f"kin by {grouping.name}", out
    owner, wallet = ledger.owner[ledger.wallet >= 0], ledger.wallet[ledger.wallet >= 0]
    yield "owners of one wallet, mean", top_by(except_own(score[owner], wallet, size, base), owner, size)


def _believed(context: Context, judgements: Judgements, score: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield how far opinions lie above what others say about the subject, who count the less the more they are odd."""
    size, subjects = context.ledger.accounts, context.ledger.subjects
    believed = 1 / (1 + np.exp(np.asarray(score, np.float64) - _ODD))
    distance = np.empty(len(judgements.rater), np.float32)
    for stretch in stretches(judgements.subject):
        subject, kind = judgements.subject[stretch], judgements.kind[stretch]
        usual, weight = context.mean[kind], believed[judgements.rater[stretch]]
        percent = judgements.height[stretch] + usual
        total = group_sums(weight * percent, subject, subjects)[subject] - weight * percent
        count = group_sums(weight, subject, subjects)[subject] - weight
        distance[stretch] = percent - (total + usual) / (count + 1)
    yield "believed distance, mean as rater", mean_by(distance, judgements.rater, size)
    yield "believed distance, top as rater", top_by(distance, judgements.rater, size)
    yield "believed distance, least as rater", -top_by(-distance, judgements.rater, size)
    yield (
        "believed distance, mean of praise",
        mean_by(distance[judgements.praise], judgements.rated[judgements.praise], size),
    )
    percent = judgements.height + context.mean[judgements.kind]
    means = []
    for share in (1 - believed, believed):
        weight = share[judgements.rater]
        count = np.maximum(group_sums(weight, judgements.rated, size), 0.5)
        means.append(group_sums(np.multiply(weight, percent, out=weight), judgements.rated, size) / count)
    suspect, ordinary = means
    yield "gap of odd raters", np.where(group_counts(judgements.rated, size) > 1, suspect - ordinary, np.nan)


def _ties(context: Context) -> Iterator[tuple[str, Ints, Ints]]:
    """Yield the ties of money, each as the accounts of one end and of the other."""
    sender, receiver = senders_and_receivers(context)
    yield "receivers of its money", sender, receiver
    yield "senders of its money", receiver, sender
    client, server = clients_and_servers(context.ledger)
    yield "whom it pays", client, server
    yield "who pays it", server, client

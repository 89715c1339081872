"""Weak signs: what is odd about an account besides detectors' findings. They rank the accounts that have no findings.

Each feature of an account says little. Three models weigh all features together: the first sees only the account; the
others also see its neighbours, with their scores from the previous model. `python -m bench.trust.train` trained them on
simulated markets with randomly composed attacks. Each sign may be due to chance or caused by other accounts, so the
models flag nobody.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.features.features import features
from bilateral.trust.features.judgements import Judgements, validated_distance
from bilateral.trust.tables.arrays import Floats, Groups, Ints, lexical_order, segments

_ODD: Final = -1.0
"""The rater's score from the previous model above which an opinion counts less than half."""


def around(context: Context, judgements: Judgements, score: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield each feature for all accounts; nan where the value is unknown."""
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
    yield from _weighted_distance(context.mean, ledger.subject_agent, judgements, score)
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


def _weighted_distance(
    mean: Floats, agent: Ints, judgements: Judgements, score: Floats
) -> Iterator[tuple[str, Floats]]:
    """Yield how far opinions are above other opinions about the subject. Odd opinions count less."""
    credence = 1 / (1 + np.exp(np.asarray(score, np.float64) - _ODD))
    distance = np.empty(len(judgements.rater), np.float32)
    for segment in segments(judgements.subject):
        subject, kind = judgements.subject[segment], judgements.kind[segment]
        subject = subject - subject[0]  # subjects are ascending, so sums cover only this segment, not all subjects
        usual, weight = mean[kind], credence[judgements.rater[segment]]
        percent = judgements.height[segment] + usual
        by_subject, weighed = Groups.by(subject, int(subject[-1]) + 1), weight * percent
        total = by_subject.sums(weighed)[subject] - weighed
        count = by_subject.sums(weight)[subject] - weight
        distance[segment] = percent - (total + usual) / (count + 1)
    distance[judgements.validated] = validated_distance(
        agent, judgements.subject, judgements.validated, judgements.height, credence[judgements.rater]
    )
    yield "believed distance, mean as rater", judgements.by_rater.mean(distance)
    yield "believed distance, top as rater", judgements.by_rater.top(distance)
    percent = judgements.height + mean[judgements.kind]
    means = []
    for share in (1 - credence, credence):
        weight = share[judgements.rater]
        count = np.maximum(judgements.by_rated.sums(weight), 0.5)
        means.append(judgements.by_rated.sums(np.multiply(weight, percent, out=weight)) / count)
    suspect, ordinary = means
    yield "gap of odd raters", np.where(judgements.by_rated.count > 1, suspect - ordinary, np.nan)


def _ties(context: Context, judgements: Judgements) -> Iterator[tuple[str, Groups, Groups]]:
    """Yield each kind of money tie (transfers, purchases), with the accounts at its two ends."""
    size = context.ledger.accounts
    sender, receiver = (Groups.by(side, size) for side in _senders_and_receivers(context))
    yield "receivers of its money", sender, receiver
    yield "senders of its money", receiver, sender
    yield "whom it pays", judgements.by_payer, judgements.by_seller
    yield "who pays it", judgements.by_seller, judgements.by_payer


def _senders_and_receivers(context: Context) -> tuple[Ints, Ints]:
    """Return the sender and receiver of each transfer that does not involve an exchange."""
    ledger, hub = context.ledger, context.ties.is_hub
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    inside &= ~hub[np.maximum(ledger.src, 0)] & ~hub[np.maximum(ledger.dst, 0)]
    return ledger.src[inside], ledger.dst[inside]


MOST: Final = 1.9
"""The suspicion of an account if all weak signs point to an attacker, which is below the threshold."""

LARGEST: Final = 8.0
"""The limit for neighbours' scores, above and below zero."""

UNKNOWN: Final = -1e6
"""The value that represents an unknown feature."""

MODEL: Final = Path(__file__).with_name("signs.json")

_USUAL: Final = 0.8
_USUAL_SCORE: Final = -2.0
"""Four in five accounts should score at most -2. If fewer do, all scores are lowered equally until they do."""

_CERTAIN: Final = 30.0
"""The limit for log odds, above and below zero."""

_EXPLAINED: Final = 200
"""The number of highest-ranked accounts whose features are explained."""

_SAMPLE: Final = 4_096
"""The minimum number of accounts, if available, from which usual codes are computed to explain ranks."""

_ROWS: Final = 16_384
"""The number of accounts scored per batch: the codes of all their features fit into a 2.5 MB cache."""


@dataclass(frozen=True)
class Trees:
    """A sum of binary trees over feature codes, all of the same depth.

    Attributes:
        base: The score before all trees.
        feature: The feature that each inner node of each tree tests.
        above: The largest code that goes left at each inner node.
        value: The value of each leaf of each tree.
    """

    base: float
    feature: Ints
    above: Ints
    value: Floats

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Create trees from JSON data."""
        feature, above = np.array(data["feature"], np.int32), np.array(data["above"], np.uint8)
        return cls(float(data["base"]), feature, above, np.array(data["value"], np.float32))

    def score(self, codes: Ints) -> Floats:
        """Return the score of each account."""
        out = np.empty(codes.shape[1], np.float32)
        for start in range(0, codes.shape[1], _ROWS):
            part = np.ascontiguousarray(codes[:, start : start + _ROWS])
            total = np.full(part.shape[1], self.base, np.float32)
            for feature, above, value in zip(self.feature, self.above, self.value, strict=True):
                total += value[_leaves((part[feature] > above[:, None]).view(np.uint8))]
            out[start : start + _ROWS] = total
        return out


def _leaves(right: Ints) -> Ints:
    """Return the tree leaf that each account reaches, by evaluating all nodes from the leaves upwards."""
    # Comparing bytes sequentially is faster than following each account from node to node.
    leaf, size = right[len(right) // 2 :], 2
    while (nodes := len(leaf) // 2) > 0:
        left, other = leaf[::2], leaf[1::2]
        leaf = left + right[nodes - 1 : 2 * nodes - 1] * (other - left + size)
        size *= 2
    reached: Ints = leaf[0]
    return reached


@dataclass(frozen=True)
class Model:
    """All models.

    Attributes:
        edges: The boundaries between each feature's codes, by name.
        alone: The trees that see only the account.
        among: The trees that also see the scores that `alone` assigns to the account's neighbours.
        again: The trees that instead see the scores that `among` assigns to the account's neighbours.
    """

    edges: dict[str, Floats]
    alone: Trees
    among: Trees
    again: Trees

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Create models from JSON data."""
        edges = {name: np.array(values, np.float32) for name, values in data["edges"].items()}
        return cls(edges, *(Trees.of(data[name]) for name in ("alone", "among", "again")))

    def scores(self, context: Context, chosen: Ints) -> tuple[Floats, Ints]:
        """Return the log odds that accounts are attackers, learned from training worlds, and the accounts' codes."""
        judgements = Judgements.of(context)
        codes = np.zeros((len(self.edges), len(chosen)), np.uint8)
        rows = self.coded(features(context, judgements), chosen, codes, 0)
        score, before = self.alone.score(codes[:rows]), np.zeros(context.ledger.accounts, np.float32)
        for trees in (self.among, self.again):
            before[chosen] = np.clip(score, -LARGEST, LARGEST)
            self.coded(around(context, judgements, before), chosen, codes, rows)
            score = trees.score(codes)
        return score, codes

    def coded(self, features: Iterable[tuple[str, Floats]], chosen: Ints, codes: Ints, row: int) -> int:
        """Write one row of codes per feature, and return the number of the next free row."""
        for name, column in features:
            _write_codes(np.asarray(column[chosen], np.float32), self.edges[name], codes[row])
            row += 1
        return row


def _write_codes(values: Floats, edges: Floats, codes: Ints) -> None:
    """Write the number of edges below each value. With so few edges, a binary search takes five times as long."""
    # As with `UNKNOWN`, no edge is below nan.
    for start in range(0, len(values), _ROWS):
        part, own = np.minimum(values[start : start + _ROWS], -UNKNOWN), codes[start : start + _ROWS]
        above = np.empty(len(part), bool)
        own[:] = 0
        for edge in edges:
            np.add(own, np.greater(part, edge, out=above).view(np.uint8), out=own)


@dataclass(frozen=True)
class RankReasons:
    """The feature codes of the accounts that weak signs rank highest, which explain their rank.

    Attributes:
        codes: The codes of these accounts, one row per feature.
        usual: The median code of each feature over all accounts.
    """

    accounts: Ints
    codes: Ints
    usual: Ints

    def moved(self, number: int = 3) -> list[tuple[int, str, float]]:
        """Return the account, feature and weight for the features that raise each account's rank most.

        The weight is the amount by which the account's log odds would fall if the feature had its usual value.
        """
        trees, names = model().again, list(model().edges)
        diagonal, width = np.arange(len(names)), len(names) + 1
        changed = np.repeat(self.codes, width, axis=1).reshape(len(names), -1, width)
        changed[diagonal, :, diagonal] = self.usual[:, None]
        scores = trees.score(changed.reshape(len(names), -1)).reshape(-1, width)
        out = []
        for account, score in zip(self.accounts.tolist(), scores, strict=True):
            lost = score[-1] - score[:-1]
            out += [(account, names[n], float(lost[n])) for n in np.argsort(-lost)[:number] if lost[n] > 0]
        return out


def finite(column: Floats) -> Floats:
    """Return a feature without nan and infinity, as the models require."""
    single = np.asarray(column, np.float32)
    return np.nan_to_num(single, nan=UNKNOWN, posinf=-UNKNOWN, neginf=UNKNOWN)


@cache
def model() -> Model:
    """Return the models of this version."""
    return Model.of(json.loads(MODEL.read_text()))


def weak_signs(context: Context, by_findings: Floats) -> tuple[Floats, Floats, RankReasons | None]:
    """Return each account's suspicion according to weak signs, and its oddness, both from 0 to `MOST`.

    The third result contains the reasons for the highest ranks.

    In a market that is odd as a whole, suspicion and oddness are lowered for all accounts. Oddness is lowered only to
    the extent that raters who paid or judge several subjects are odd, so a flood of odd accounts does not make an
    attacker's raters look usual.
    """
    ledger = context.ledger
    acts = ledger.acting
    acts[ledger.subject_account[ledger.opinions.subject]] = True
    chosen, out, odd = np.flatnonzero(acts), np.zeros(ledger.accounts), np.zeros(ledger.accounts)
    reasons = None
    if len(ledger.opinions):
        score, codes = model().scores(context, chosen)
        score = score.astype(np.float64)
        costly = np.zeros(ledger.accounts, bool)
        costly[ledger.opinions.rater[context.supported]] = True
        lowered = _excess(score)
        out[chosen] = _share_of_most(score - lowered + by_findings[chosen])
        odd[chosen] = _share_of_most(score - min(lowered, _excess(score[costly[chosen]])) + by_findings[chosen])
        highest = lexical_order(-score)[:_EXPLAINED]
        usual = np.median(codes[:, :: max(1, len(chosen) // _SAMPLE)], axis=1).astype(np.uint8)
        reasons = RankReasons(chosen[highest], codes[:, highest], usual)
    return out, odd, reasons


def _excess(score: Floats) -> float:
    """Return by how much scores exceed those in a usual market."""
    return max(0.0, float(np.quantile(score, _USUAL)) - _USUAL_SCORE) if len(score) else 0.0


def _share_of_most(score: Floats) -> Floats:
    return np.asarray(MOST / (1 + np.exp(-np.minimum(score, _CERTAIN))))

"""Real data: Bitcoin-OTC, with formulas chosen on Bitcoin-Alpha, and the airdrop of Hop."""

import csv
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from bilateral.trust.detectors.cases import CaseModel, conduct
from bilateral.trust.tables.arrays import Flags, Floats, Ints, group_sums
from bilateral.trust.tables.propagation import EigenTrust

_FOUNDERS: Final = 20
"""The traders who take the place of user 1 in forecasts."""

_TRUSTED: Final = 0.2
_GOOD: Final = 0.5
_BAD: Final = -0.3
"""The ratings from which a founder trusts, and from which those that it trusts call a trader good or bad. The rule of
the true labels trusts from 0.5 on, which leaves most founders nobody."""


@dataclass(frozen=True)
class Otc:
    """The ratings that are left, and the labels.

    Attributes:
        rater, rated: The ends of each rating, numbered from 0.
        value: The rating, from -1 to 1.
        ts: Its time.
        removed: The number of label edges that were removed.
        nodes: The labelled traders.
        label: 1 for fraud.
        size: The number of traders.
    """

    rater: Ints
    rated: Ints
    value: Floats
    ts: Floats
    removed: int
    nodes: Ints
    label: Ints
    size: int

    @classmethod
    def read(cls, folder: Path) -> "Otc":
        """Read the data without the label edges.

        Args:
            folder: The folder `bitcoin` of the data.
        """
        table = np.loadtxt(folder / "soc-sign-bitcoinotc.csv", delimiter=",")
        truth = np.loadtxt(folder / "otc_gt.csv", delimiter=",", dtype=np.int64)
        source, target, value = table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
        core = np.append(target[(source == 1) & (value >= 5)], 1)  # noqa: PLR2004
        leaking = np.isin(source, core) & np.isin(target, truth[:, 0])
        return cls.without(leaking, table, truth[:, 0], (truth[:, 1] < 0).astype(np.int64))

    @classmethod
    def without(cls, leaking: Flags, table: Floats, nodes: Ints, label: Ints) -> "Otc":
        """Return the data without the edges that the labels follow from.

        Args:
            leaking: Marks these edges.
            table: The ratings: source, target, value and time.
            nodes: The labelled traders.
            label: 1 for fraud.
        """
        source, target, kept = table[:, 0].astype(int), table[:, 1].astype(int), ~leaking
        names = np.unique(np.concatenate([source, target]))
        ends = (np.searchsorted(names, source[kept]), np.searchsorted(names, target[kept]))
        removed, places = int(leaking.sum()), np.searchsorted(names, nodes)
        return cls(*ends, table[kept, 2] / 10, table[kept, 3], removed, places, label, len(names))


def fairness(otc: Otc, rounds: int = 20) -> tuple[Floats, Floats]:
    """Return the goodness of each rated and the fairness of each rater (as REV2, Kumar and others 2018).

    Args:
        otc: The ratings.
        rounds: The number of rounds.
    """
    fair = np.ones(otc.size)
    good = np.zeros(otc.size)
    count = np.bincount(otc.rater, minlength=otc.size)
    for _ in range(rounds):
        weight = fair[otc.rater]
        good = (group_sums(weight * otc.value, otc.rated, otc.size) + 0.05) / (
            group_sums(weight, otc.rated, otc.size) + 1
        )
        distance = group_sums(np.abs(otc.value - good[otc.rated]), otc.rater, otc.size)
        fair = np.clip(1 - (distance + 0.3) / (count + 1) / 2, 0, 1)
    return good, fair


def standing(otc: Otc) -> Floats:
    """Return the trust of each trader if everybody is trusted alike at first."""
    weight = np.maximum(otc.value, 0.0)
    fit = EigenTrust(iterations=60).fit(otc.rater, otc.rated, weight, np.arange(otc.size), otc.size)
    return fit.trust_


def balance(otc: Otc, trust: Floats) -> Floats:
    """Return complaints less praise of each trader, weighted by the standing of who says it."""
    bad = group_sums(np.maximum(-otc.value, 0) * trust[otc.rater], otc.rated, otc.size)
    praise = group_sums(np.maximum(otc.value, 0) * trust[otc.rater], otc.rated, otc.size)
    return np.asarray((bad - praise) / (bad + praise + 1 / otc.size))


def span(otc: Otc) -> Floats:
    """Return the time between the first and the last rating that each trader gave."""
    first, last = np.full(otc.size, np.inf), np.full(otc.size, -np.inf)
    np.minimum.at(first, otc.rater, otc.ts)
    np.maximum.at(last, otc.rater, otc.ts)
    return np.where(np.isfinite(first), last - first, 0.0)


def features(otc: Otc, *, received: bool) -> Floats:
    """Return what each trader does, and with `received` also what others say of it.

    Args:
        otc: The ratings.
        received: True to look at received ratings too.
    """
    good, fair = fairness(otc)
    trust = standing(otc)
    columns = [fair, good, np.log(trust + 1e-9)] if received else [fair]
    sides = [(otc.rater, otc.rated, good, fair)] + ([(otc.rated, otc.rater, fair, good)] if received else [])
    for own, other, first, second in sides:
        count = np.bincount(own, minlength=otc.size)
        usual = np.maximum(count, 1)

        def mean(values: Floats | Flags, own: Ints = own, usual: Ints = usual) -> Floats:
            return np.asarray(group_sums(np.asarray(values, np.float64), own, otc.size) / usual)

        total = mean(otc.value) * count
        first_at, last_at = np.full(otc.size, otc.ts.max()), np.full(otc.size, otc.ts.min())
        np.minimum.at(first_at, own, otc.ts)
        np.maximum.at(last_at, own, otc.ts)
        columns += [
            np.log1p(count),
            total / (count + 1),
            np.sign(total) * np.log1p(np.abs(total)),
            mean(otc.value < 0) * count,
            mean(otc.value < 0),
            mean(otc.value <= -0.9),  # noqa: PLR2004
            mean(otc.value >= 0.5),  # noqa: PLR2004
            mean(np.abs(otc.value - 0.1) < 0.01),  # noqa: PLR2004
            mean(first[other]),
            mean(second[other]),
            mean(np.log(trust[other] + 1e-9)),
            mean(good[otc.rated] - otc.value),
            mean(np.abs(good[otc.rated] - otc.value)),
            np.log1p(np.maximum(last_at - first_at, 0)),
            first_at,
            last_at,
        ]
        if own is otc.rated:
            columns.append(balance(otc, trust))
    return np.asarray(np.nan_to_num(np.column_stack(columns)), np.float64)


def supervised(otc: Otc, *, received: bool) -> tuple[list[Floats], Ints]:
    """Return scores and labels of a cross-validation in ten parts, for five divisions.

    The features and the models were chosen on Bitcoin-Alpha. Neighbours count by the labels of the other nine parts.
    With `received`, a forecast that saw no label is one more feature and one more model.

    Args:
        otc: The ratings.
        received: True to look at received ratings too; without it, only traders who rate are judged.
    """
    active = np.bincount(otc.rater, minlength=otc.size)[otc.nodes] > 0
    chosen = np.ones(len(otc.nodes), bool) if received else active
    nodes, label = otc.nodes[chosen], otc.label[chosen]
    own, ties = features(otc, received=received)[nodes], _ties(otc, received=received)
    guess = forecast(otc)[nodes] if received else np.zeros(len(nodes))
    if received:
        own = np.column_stack([own, np.log((guess + 0.01) / (1.01 - guess))])
    scores = []
    for seed in range(5):
        score = guess.copy()
        for fit, held in StratifiedKFold(10, shuffle=True, random_state=seed).split(own, label):
            table = np.column_stack([own, _around(ties, nodes, fit, label[fit])])
            for model in _models(seed, received=received):
                score[held] += model.fit(table[fit], label[fit]).predict_proba(table[held])[:, 1]
        scores.append(score)
    return scores, label


def forecast(otc: Otc) -> Floats:
    """Return the chance of fraud by labels that follow from the ratings that are left.

    The most trusted traders take the place of user 1, one by one. A rule like that of the labels is applied to their
    ratings, and the edges that it uses are removed, as for the true labels. Only these labels train the model. User 1
    may be among the founders, without the edges of the true labels.

    Args:
        otc: The ratings.
    """
    rows, labels = [], []
    gave = np.bincount(otc.rater, minlength=otc.size) > 0
    for founder in np.argsort(-standing(otc) * gave, kind="stable")[:_FOUNDERS]:
        core = np.append(otc.rated[(otc.rater == founder) & (otc.value >= _TRUSTED)], founder)
        by_core = np.isin(otc.rater, core)
        good = np.unique(otc.rated[by_core & (otc.value >= _GOOD)])
        bad = np.setdiff1d(otc.rated[by_core & (otc.value <= _BAD)], core)
        nodes = np.setxor1d(good, bad)
        kept = ~(by_core & np.isin(otc.rated, nodes))
        left = replace(otc, rater=otc.rater[kept], rated=otc.rated[kept], value=otc.value[kept], ts=otc.ts[kept])
        rows.append(features(left, received=True)[nodes])
        labels.append(np.isin(nodes, bad))
    model = ExtraTreesClassifier(500, min_samples_leaf=5, max_features=0.3, random_state=0)
    model.fit(np.vstack(rows), np.concatenate(labels))
    return np.asarray(model.predict_proba(features(otc, received=True))[:, 1])


def _models(seed: int, *, received: bool) -> list[Any]:
    """Return the models whose probabilities are added up: for each side, those that are best on Bitcoin-Alpha."""
    linear = make_pipeline(
        QuantileTransformer(n_quantiles=100, output_distribution="normal"), LogisticRegression(C=0.05, max_iter=3000)
    )
    trees = ExtraTreesClassifier(300, min_samples_leaf=2, random_state=seed)
    if received:
        return [trees, linear]
    return [trees, linear, RandomForestClassifier(300, min_samples_leaf=2, max_features=0.3, random_state=seed)]


def _ties(otc: Otc, *, received: bool) -> list[Any]:
    """Return who praises whom, who complains about whom, and who does either about the same traders."""
    shape = (otc.size, otc.size)
    good = otc.value > 0
    praise = sparse.csr_matrix((otc.value[good], (otc.rater[good], otc.rated[good])), shape)
    blame = sparse.csr_matrix((-otc.value[~good], (otc.rater[~good], otc.rated[~good])), shape)
    popular = np.asarray((praise != 0).sum(axis=0)).ravel()
    rare = praise @ sparse.diags(1 / np.log1p(popular + 2))
    ties = [praise, blame, rare @ praise.T, blame @ blame.T]
    if received:
        ties += [praise.T, blame.T, praise.T @ praise, blame.T @ blame]
    return [tie.tocsr() for tie in ties]


def _around(ties: list[Any], nodes: Ints, fit: Ints, label: Ints) -> Floats:
    """Return the share of fraud among the known neighbours of each trader, without its own label."""
    usual = label.mean()
    fraud, known = np.zeros(ties[0].shape[0]), np.zeros(ties[0].shape[0])
    fraud[nodes[fit]], known[nodes[fit]] = np.where(label == 1, 1 - usual, -usual), 1.0
    columns: list[Floats] = []
    for tie in ties:
        own = np.asarray(tie[nodes, nodes]).ravel()
        excess = np.asarray(tie[nodes] @ fraud).ravel() - own * fraud[nodes]
        weight = np.asarray(tie[nodes] @ known).ravel() - own * known[nodes]
        columns += [excess / (weight + 0.5 * max(float(weight.mean()), 1e-9)), np.log1p(np.maximum(weight, 0))]
    return np.column_stack(columns)


def baselines(otc: Otc) -> dict[str, Floats]:
    """Return the scores of simple and of known methods, higher for fraud.

    Args:
        otc: The ratings.
    """
    good, _ = fairness(otc)
    received = np.bincount(otc.rated, minlength=otc.size)
    total = group_sums(otc.value, otc.rated, otc.size)
    mutual = sparse.csr_matrix((np.ones(len(otc.rater)), (otc.rater, otc.rated)), (otc.size, otc.size))
    both = np.asarray((mutual.multiply(mutual.T) > 0).sum(axis=1)).ravel()
    last = np.full(otc.size, -np.inf)
    np.maximum.at(last, otc.rated, otc.ts)
    return {
        "plain mean of received ratings": -total / np.maximum(received, 1),
        "REV2 (goodness)": -good,
        "EigenTrust": -standing(otc),
        "reciprocity": -both / np.maximum(received, 1),
        "degree (popularity only)": -received.astype(np.float64),
        "time only": np.where(np.isfinite(last), last, 0.0),
    }


_ALPHA_TRUSTED: Final = 2
_ALPHA_GOOD: Final = 5
_ALPHA_BAD: Final = -3


def alpha(folder: Path) -> Otc:
    """Return the ratings of Bitcoin-Alpha without the edges that its labels follow from.

    Args:
        folder: The folder `bitcoin` of the data.
    """
    table = np.loadtxt(folder / "soc-sign-bitcoinalpha.csv", delimiter=",")
    source, target, value = table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
    trusted = np.append(target[(source == 1) & (value >= _ALPHA_TRUSTED)], 1)
    by_trusted = np.isin(source, trusted)
    good = np.unique(target[by_trusted & (value >= _ALPHA_GOOD)])
    bad = np.setdiff1d(target[by_trusted & (value <= _ALPHA_BAD)], trusted)
    nodes = np.setxor1d(good, bad)
    leaking = by_trusted & np.isin(target, nodes)
    return Otc.without(leaking, table, nodes, np.isin(nodes, bad).astype(np.int64))


def formulas(otc: Otc, *, received: bool) -> dict[str, Floats]:
    """Return formulas without labels, higher for fraud: figures, and pairs of figures by the sum of their ranks.

    Args:
        otc: The ratings.
        received: True to look at received ratings too; without it, only at given ones.
    """
    good, fair = fairness(otc)
    trust = standing(otc)
    maximum = np.maximum(np.bincount(otc.rater, minlength=otc.size), 1)
    taken = np.maximum(np.bincount(otc.rated, minlength=otc.size), 1)

    def mean(values: Floats | Flags, *, out: bool) -> Floats:
        side, count = (otc.rater, maximum) if out else (otc.rated, taken)
        return np.asarray(group_sums(np.asarray(values, np.float64), side, otc.size) / count)

    single: dict[str, Floats] = {"unfairness": -fair, "short activity": -span(otc)}
    if received:
        single |= {
            "goodness": -good,
            "balance": balance(otc, trust),
            "mean": -mean(otc.value, out=False),
            "total": -mean(otc.value, out=False) * taken,
            "standing": -trust,
            "complaints by standing": group_sums(np.maximum(-otc.value, 0) * trust[otc.rater], otc.rated, otc.size),
            "share of complaints": mean(otc.value < 0, out=False),
        }
    else:
        single |= {
            "few ratings": -maximum.astype(np.float64),
            "share of low ratings": mean(otc.value < 0, out=True),
            "goodness of the rated": -mean(good[otc.rated], out=True),
            "standing of the rated": -mean(np.log(trust[otc.rated] + 1e-9), out=True),
        }
    both = {
        f"{first} and {second}": np.asarray(rankdata(single[first]) + rankdata(single[second]))
        for first, second in combinations(single, 2)
    }
    return single | both


def chosen(tuned: Otc, reported: Otc, *, received: bool) -> tuple[str, Floats]:
    """Return the formula that is best on other data, and its scores.

    Args:
        tuned: The data on which it is chosen.
        reported: The data that it is reported on.
        received: As for `formulas`.
    """
    active = np.bincount(tuned.rater, minlength=tuned.size)[tuned.nodes] > 0
    kept = np.ones(len(tuned.nodes), bool) if received else active
    figures = {
        name: float(roc_auc_score(tuned.label[kept], score[tuned.nodes][kept]))
        for name, score in formulas(tuned, received=received).items()
    }
    best = max(figures, key=lambda name: (figures[name], name))
    return best, formulas(reported, received=received)[best]


@dataclass(frozen=True)
class Hop:
    """The transfers and the labels.

    Attributes:
        source, target: The ends of each transfer.
        sort: The kind and chain of each transfer.
        label: 1 for removed, 0 for eligible, -1 for others.
        component: The connected component of each address.
    """

    source: Ints
    target: Ints
    sort: Ints
    label: Ints
    component: Ints

    @classmethod
    def read(cls, folder: Path) -> "Hop":
        """Read the data.

        Args:
            folder: The folder `hop` of the data.
        """
        table = pq.read_table(folder / "transfers.parquet")
        source, target = pc.utf8_lower(table["from"]), pc.utf8_lower(table["to"])
        addresses = pc.unique(pa.chunked_array([*source.chunks, *target.chunks]))
        left = np.asarray(pc.index_in(source, addresses))
        right = np.asarray(pc.index_in(target, addresses))
        sort = pc.binary_join_element_wise(table["kind"].cast(pa.string()), table["chain"].cast(pa.string()), "/")
        codes = np.asarray(pc.index_in(sort, pc.unique(sort).sort()))
        with (folder / "eliminatedSybilAttackers.csv").open() as file:
            removed = {row["address"].lower() for row in csv.DictReader(file)}
        eligible = {line.strip().lower() for line in (folder / "eligibleAddresses.txt").open()}
        label = np.array([1 if a in removed else 0 if a in eligible else -1 for a in addresses.to_pylist()])
        graph = sparse.csr_matrix((np.ones(len(left)), (left, right)), (len(label), len(label)))
        return cls(left, right, codes, label, connected_components(graph, directed=False)[1])


def by_seeds(hop: Hop, draws: int) -> tuple[list[Floats], Ints]:
    """Return scores and labels where a tenth of the labels is known, for several draws; nan for whose label is known.

    Args:
        hop: The data.
        draws: The number of draws.
    """
    table = conduct(hop.source, hop.target, hop.sort, hop.label >= 0)
    labelled = np.flatnonzero(hop.label >= 0)
    scores = []
    for draw in range(draws):
        known = np.random.default_rng(draw).choice(labelled, len(labelled) // 10, replace=False)
        probability = CaseModel(draw).fit(*_cases(hop, known), table).probability_
        scores.append(np.where(np.isin(labelled, known), np.nan, probability[labelled]))
    return scores, hop.label[labelled]


def by_component(hop: Hop) -> tuple[Floats, Ints]:
    """Return scores and labels where whole components are held out, in five parts.

    Args:
        hop: The data.
    """
    table = conduct(hop.source, hop.target, hop.sort, hop.label >= 0)
    labelled = np.flatnonzero(hop.label >= 0)
    label = hop.label[labelled]
    score = np.zeros(len(labelled))
    for fit, held in GroupKFold(5).split(labelled, label, hop.component[labelled]):
        learned = CaseModel(neighbours=False).fit(*_cases(hop, labelled[fit]), table)
        score[held] = learned.probability_[labelled[held]]
    return score, label


def _cases(hop: Hop, known: Ints) -> tuple[Ints, Ints, Ints, Ints, Flags]:
    """Return what the engine's model learns from, if only some labels are known."""
    label = np.full(len(hop.label), -1, np.int64)
    label[known] = hop.label[known]
    return hop.source, hop.target, hop.sort, label, hop.label >= 0

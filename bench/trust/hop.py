"""Hop: addresses of an airdrop, of which people removed the Sybils. Only who sent to whom is known, without times."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold

from bilateral.trust.propagation import LabelSpreading

if TYPE_CHECKING:
    from pathlib import Path

    from bilateral.trust.arrays import Floats, Ints

_LARGE = 300
"""Counterparts beyond which an address is a contract or an exchange."""


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
    def read(cls, folder: Path) -> Hop:
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


def features(hop: Hop) -> Floats:
    """Return what each address does, without any label.

    Args:
        hop: The data.
    """
    size = len(hop.label)
    columns: list[Floats] = []
    ones = np.ones(len(hop.source))
    forth = sparse.csr_matrix((ones, (hop.source, hop.target)), (size, size))
    for matrix in (forth, forth.T.tocsr()):
        total = np.asarray(matrix.sum(axis=1)).ravel()
        distinct = np.diff(matrix.indptr)
        columns += [np.log1p(total), np.log1p(distinct), total / np.maximum(distinct, 1)]
    for sort in range(int(hop.sort.max()) + 1):
        chosen = hop.sort == sort
        columns += [
            np.log1p(np.bincount(hop.source[chosen], minlength=size)),
            np.log1p(np.bincount(hop.target[chosen], minlength=size)),
        ]
    simple = (forth + forth.T).tocsr()
    simple.data[:] = 1
    degree = np.asarray(simple.sum(axis=1)).ravel()
    member = (hop.label >= 0).astype(float)
    near = sparse.diags((degree <= _LARGE).astype(float))
    rare = sparse.diags(1 / np.maximum(degree, 1))
    members_of = np.asarray(simple @ member).ravel()
    for matrix in (forth, forth.T.tocsr(), simple):
        pattern = matrix.copy()
        pattern.data[:] = 1
        count = np.maximum(np.asarray(pattern.sum(axis=1)).ravel(), 1)
        small = pattern @ near
        columns += [
            np.asarray(pattern @ np.log1p(degree)).ravel() / count,
            np.asarray(pattern @ (degree == 1).astype(float)).ravel() / count,
            np.asarray(small.sum(axis=1)).ravel() / count,
            np.asarray(pattern @ member).ravel(),
            np.asarray(small @ member).ravel() / count,
            np.log1p(np.asarray(small @ members_of).ravel()),
            np.asarray(small @ rare @ members_of).ravel(),
            np.asarray(small @ (members_of / np.maximum(degree, 1))).ravel() / count,
        ]
        largest = np.zeros(size)
        rows = np.repeat(np.arange(size), np.diff(small.indptr))
        np.maximum.at(largest, rows, small.data * members_of[small.indices])
        columns.append(np.log1p(largest))
    mutual = forth.multiply(forth.T)
    columns.append(np.asarray((mutual > 0).sum(axis=1)).ravel())
    within = sparse.diags(member) @ simple @ near @ sparse.diags(member)
    columns.append(np.asarray(within.sum(axis=1)).ravel())
    neighbour = np.column_stack(columns)
    mean = sparse.diags(1 / np.maximum(np.asarray((simple @ near).sum(axis=1)).ravel(), 1)) @ simple @ near
    return np.column_stack([neighbour, np.asarray(mean @ neighbour)])


def spread(hop: Hop, known: Ints, label: Ints) -> Floats:
    """Return how guilty the surroundings of each address are, from known labels.

    Args:
        hop: The data.
        known: The addresses whose labels are known.
        label: Their labels.
    """
    size = len(hop.label)
    degree = np.bincount(hop.source, minlength=size) + np.bincount(hop.target, minlength=size)
    weight = 1 / np.log2(2 + np.maximum(degree[hop.source], degree[hop.target])) ** 3
    labels = np.full(size, -1, np.int64)
    labels[known] = label
    score = LabelSpreading(strength=0.85, iterations=12).fit(hop.source, hop.target, weight, labels).score_
    graph = sparse.csr_matrix((weight, (hop.source, hop.target)), (size, size))
    graph = graph + graph.T
    guilty, innocent = graph @ (labels == 1).astype(float), graph @ (labels == 0).astype(float)
    usual = label.mean()
    return np.column_stack(
        [
            np.sign(score) * np.sqrt(np.abs(score)),
            (guilty + 0.05 * usual) / (guilty + innocent + 0.05),
            guilty,
            innocent,
            _two_steps(graph, labels, usual),
        ]
    )


def _two_steps(graph: Any, labels: Ints, usual: float) -> Floats:
    """Return the share of guilty among known addresses two steps away, without the address itself."""
    degree = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-9)
    near = sparse.diags(1 / degree) @ graph
    own = np.asarray(near.multiply(graph.T).sum(axis=1)).ravel()
    guilty = near @ (graph @ (labels == 1).astype(float)) - (labels == 1) * own
    innocent = near @ (graph @ (labels == 0).astype(float)) - (labels == 0) * own
    return np.asarray((guilty + 0.01 * usual) / (np.abs(guilty + innocent) + 0.01))


def model(seed: int) -> HistGradientBoostingClassifier:
    """Return a fresh model."""
    return HistGradientBoostingClassifier(
        max_iter=150,
        learning_rate=0.07,
        max_leaf_nodes=15,
        min_samples_leaf=20,
        l2_regularization=5.0,
        random_state=seed,
    )


def recall_at(score: Floats, label: Ints, rate: float = 0.01) -> float:
    """Return the recall at a rate of false positives.

    Args:
        score: The scores.
        label: 1 for guilty.
        rate: The rate.
    """
    ordered = np.sort(score[label == 0])[::-1]
    return float((score[label == 1] > ordered[int(rate * len(ordered))]).mean())


def by_seeds(hop: Hop, draws: int, share: float = 0.1) -> list[tuple[float, float]]:
    """Return AUC and recall at 1 % where a share of the labels is known, for several draws.

    Args:
        hop: The data.
        draws: The number of draws.
        share: The share of known labels.
    """
    static = features(hop)
    labelled = np.flatnonzero(hop.label >= 0)
    out = []
    for draw in range(draws):
        random = np.random.default_rng(draw)
        known = random.choice(labelled, int(share * len(labelled)), replace=False)
        hidden = np.setdiff1d(labelled, known)
        label = hop.label[known]
        seen = np.zeros((len(known), 5))
        for fit, held in StratifiedKFold(4, shuffle=True, random_state=draw).split(known, label):
            seen[held] = spread(hop, known[fit], label[fit])[known[held]]
        learned = model(draw).fit(np.column_stack([static[known], seen]), label)
        around = spread(hop, known, label)
        score = learned.predict_proba(np.column_stack([static[hidden], around[hidden]]))[:, 1]
        out.append((float(roc_auc_score(hop.label[hidden], score)), recall_at(score, hop.label[hidden])))
    return out


def by_component(hop: Hop, folds: int = 5) -> tuple[Floats, Ints]:
    """Return scores and labels where whole components are held out.

    Args:
        hop: The data.
        folds: The number of folds.
    """
    static = features(hop)
    labelled = np.flatnonzero(hop.label >= 0)
    label = hop.label[labelled]
    score = np.zeros(len(labelled))
    for fit, held in GroupKFold(folds).split(labelled, label, hop.component[labelled]):
        learned = model(0).fit(static[labelled[fit]], label[fit])
        score[held] = learned.predict_proba(static[labelled[held]])[:, 1]
    return score, label

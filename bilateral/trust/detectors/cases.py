"""Learn from many reviewed cases: find accounts that move money like guilty accounts do, or exchange money with them.

With only a few cases, the only suspects are accounts related to the reviewed ones. From a few hundred cases, a model
can learn which patterns of transfers reviewers consider guilty. Because anyone can send money to anyone, the model only
ranks accounts and flags none.
"""

from typing import Any, Final, Self

import numpy as np
from scipy import sparse

from bilateral.core.errors import require_modules
from bilateral.trust.tables.arrays import Flags, Floats, Ints
from bilateral.trust.tables.propagation import LabelSpreading

_LARGE: Final = 300
"""The number of counterparties above which an account is probably a contract or exchange."""

_PARTS: Final = 4
"""The number of folds. Features of cases in one fold use only the other folds, so no case is its own neighbour."""


class CaseModel:
    """A model of transfers, trained on reviewed cases.

    Attributes:
        probability_: The probability that reviewers would find each account guilty.
    """

    def __init__(self, seed: int = 0, *, neighbours: bool = True) -> None:
        self.seed = seed
        self.neighbours = neighbours

    def fit(  # noqa: PLR0913, PLR0917
        self, source: Ints, target: Ints, sort: Ints, label: Ints, member: Flags, table: Floats | None = None
    ) -> Self:
        """Learn from the cases, and estimate the probability of guilt for all accounts."""
        require_modules("trust", "sklearn")
        from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415  # heavy, and for many cases only

        reviewed = np.flatnonzero(label >= 0)
        table = conduct(source, target, sort, member) if table is None else table
        verdict = label[reviewed]
        if not self.neighbours:
            self.probability_ = self._predicted(table[reviewed], verdict, table)
            return self
        near = np.zeros((len(reviewed), _AROUND))
        parts = StratifiedKFold(_PARTS, shuffle=True, random_state=self.seed)
        for fit, part in parts.split(reviewed, verdict):
            near[part] = surroundings(source, target, reviewed[fit], verdict[fit], len(label))[reviewed[part]]
        around = surroundings(source, target, reviewed, verdict, len(label))
        self.probability_ = self._predicted(
            np.column_stack([table[reviewed], near]), verdict, np.column_stack([table, around])
        )
        return self

    def _predicted(self, cases: Floats, verdict: Ints, every: Floats) -> Floats:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

        model = HistGradientBoostingClassifier(
            max_iter=150,
            learning_rate=0.07,
            max_leaf_nodes=15,
            min_samples_leaf=20,
            l2_regularization=5.0,
            random_state=self.seed,
        )
        return np.asarray(model.fit(cases, verdict).predict_proba(every)[:, 1], np.float64)


def conduct(source: Ints, target: Ints, sort: Ints, member: Flags) -> Floats:
    """Return features that describe how each account moves money, regardless of any verdict."""
    size = len(member)
    columns: list[Floats] = []
    ones = np.ones(len(source))
    forth = sparse.csr_matrix((ones, (source, target)), (size, size))
    for matrix in (forth, forth.T.tocsr()):
        total = np.asarray(matrix.sum(axis=1)).ravel()
        distinct = np.diff(matrix.indptr)
        columns += [np.log1p(total), np.log1p(distinct), total / np.maximum(distinct, 1)]
    for number in range(int(sort.max(initial=-1)) + 1):
        chosen = sort == number
        columns += [
            np.log1p(np.bincount(source[chosen], minlength=size)),
            np.log1p(np.bincount(target[chosen], minlength=size)),
        ]
    simple = (forth + forth.T).tocsr()
    simple.data[:] = 1
    degree = np.asarray(simple.sum(axis=1)).ravel()
    taking = member.astype(float)
    near = sparse.diags((degree <= _LARGE).astype(float))
    rare = sparse.diags(1 / np.maximum(degree, 1))
    members_of = np.asarray(simple @ taking).ravel()
    for matrix in (forth, forth.T.tocsr(), simple):
        pattern = matrix.copy()
        pattern.data[:] = 1
        count = np.maximum(np.asarray(pattern.sum(axis=1)).ravel(), 1)
        small = pattern @ near
        columns += [
            np.asarray(pattern @ np.log1p(degree)).ravel() / count,
            np.asarray(pattern @ (degree == 1).astype(float)).ravel() / count,
            np.asarray(small.sum(axis=1)).ravel() / count,
            np.asarray(pattern @ taking).ravel(),
            np.asarray(small @ taking).ravel() / count,
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
    within = sparse.diags(taking) @ simple @ near @ sparse.diags(taking)
    columns.append(np.asarray(within.sum(axis=1)).ravel())
    neighbour = np.column_stack(columns)
    mean = sparse.diags(1 / np.maximum(np.asarray((simple @ near).sum(axis=1)).ravel(), 1)) @ simple @ near
    return np.column_stack([neighbour, np.asarray(mean @ neighbour)])


_AROUND: Final = 5
"""The number of columns that `surroundings` returns."""


def surroundings(source: Ints, target: Ints, reviewed: Ints, label: Ints, size: int) -> Floats:
    """Return features that describe how guilty each account's counterparties are, according to the reviewed cases."""
    degree = np.bincount(source, minlength=size) + np.bincount(target, minlength=size)
    weight = 1 / np.log2(2 + np.maximum(degree[source], degree[target])) ** 3
    labels = np.full(size, -1, np.int64)
    labels[reviewed] = label
    score = LabelSpreading(strength=0.85, iterations=12).fit(source, target, weight, labels).score_
    graph = sparse.csr_matrix((weight, (source, target)), (size, size))
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
    """Return the share of guilty accounts among the reviewed accounts two steps away, excluding the account itself."""
    degree = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-9)
    near = sparse.diags(1 / degree) @ graph
    own = np.asarray(near.multiply(graph.T).sum(axis=1)).ravel()
    guilty = near @ (graph @ (labels == 1).astype(float)) - (labels == 1) * own
    innocent = near @ (graph @ (labels == 0).astype(float)) - (labels == 0) * own
    return np.asarray((guilty + 0.01 * usual) / (np.abs(guilty + innocent) + 0.01))

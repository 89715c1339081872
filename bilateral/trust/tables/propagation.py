"""Propagation over graphs: trust from a reader's own list, and suspicion from reviewed cases."""

from typing import Self

import numpy as np
from scipy import sparse

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.tables.arrays import Floats, Ints


class EigenTrust:
    """Trust that spreads from a reader's list along favourable opinions (Kamvar et al. 2003, with the reader's list).

    New accounts get trust only from accounts that already have some. However many Sybils there are, they must share the
    trust that honest accounts pass to one of them by mistake.

    Attributes:
        trust_: The trust of each account; the values sum to 1.
        reached_: Marks the accounts that trust reaches.
        iterations_: The number of rounds until convergence.
    """

    def __init__(self, restart: float = 0.15, tolerance: float = 1e-9, iterations: int = 200) -> None:
        self.restart = restart
        self.tolerance = tolerance
        self.iterations = iterations

    def fit(self, source: Ints, target: Ints, weight: Floats, trusted: Ints, size: int) -> Self:
        """Compute trust."""
        if not len(trusted):
            raise InvalidArgumentError(
                "the list of trusted accounts is empty: add at least one account with recorded actions"
            )
        graph = sparse.csr_matrix((weight, (source, target)), (size, size))
        out = np.asarray(graph.sum(axis=1)).ravel()
        flow = (sparse.diags(np.divide(1.0, out, out=np.zeros(size), where=out > 0)) @ graph).T.tocsr()
        ends = out <= 0  # accounts that pass on no trust; their trust returns to the list
        start = np.zeros(size)
        start[trusted] = 1 / len(np.unique(trusted))
        trust = start.copy()
        self.iterations_ = self.iterations
        for number in range(self.iterations):
            following = (1 - self.restart) * (flow @ trust + trust[ends].sum() * start) + self.restart * start
            change = np.abs(following - trust).sum()
            trust = following
            if change < self.tolerance:
                self.iterations_ = number + 1
                break
        self.trust_ = trust
        self.reached_ = trust > 0
        return self


class LabelSpreading:
    """Suspicion that spreads from reviewed accounts to their neighbours in a graph (Zhou et al. 2004).

    Attributes:
        score_: For each account, the excess of guilty over innocent labels among its neighbours, from -1 to 1.
    """

    def __init__(self, strength: float = 0.8, iterations: int = 20) -> None:
        self.strength = strength
        self.iterations = iterations

    def fit(self, left: Ints, right: Ints, weight: Floats, label: Ints) -> Self:
        """Spread labels."""
        size = len(label)
        graph = sparse.csr_matrix((weight, (left, right)), (size, size))
        graph = graph + graph.T
        degree = np.asarray(graph.sum(axis=1)).ravel()
        scale = sparse.diags(np.divide(1.0, np.sqrt(degree), out=np.zeros(size), where=degree > 0))
        matrix = scale @ graph @ scale
        guilty, innocent = (label == 1).astype(float), (label == 0).astype(float)
        start = guilty / max(guilty.sum(), 1) - innocent / max(innocent.sum(), 1)
        score = start.copy()
        for _ in range(self.iterations):
            score = self.strength * (matrix @ score) + (1 - self.strength) * start
        top = np.abs(score).max() if size else 0.0
        self.score_ = score / top if top > 0 else score
        return self

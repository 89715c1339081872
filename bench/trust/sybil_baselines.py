"""Methods of others that know something beforehand: two walks from honest accounts, and trees over plain counts.

SybilRank: Cao and others 2012. SybilSCAR: Wang, Zhang and Gong 2017, in its linear form, with honest seeds alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from bench.market.walks import both_ways, short_walk
from bilateral.trust.tables.arrays import Floats, Ints, group_sums
from bilateral.trust.tables.opinions import Kind

if TYPE_CHECKING:
    from scipy import sparse

    from bilateral.trust.features.context import Context

_PRIOR: Final = 0.1
"""The distance of a seed's prior from one half, as the authors of SybilSCAR chose it."""

_ROUNDS: Final = 10
"""The rounds of SybilSCAR; its authors stop after five to ten."""

_GOOD: Final = 50.0
"""The percentage from which an opinion passes trust on, as in the engine."""

_WORLDS: Final = range(5101, 5111)
"""Drawn worlds that the trees learn from: the first ten of those that train our ranking."""


def sybil_rank(context: Context, honest: Ints) -> Floats:
    """Return low trust after a short walk from known honest accounts, by degree.

    Args:
        context: The ledger and what detectors share.
        honest: Some honest accounts.
    """
    return np.asarray(-short_walk(_graph(context), honest))


def sybil_scar(context: Context, honest: Ints) -> Floats:
    """Return the residual probability that an account is a Sybil, by its neighbours and honest seeds.

    Args:
        context: The ledger and what detectors share.
        honest: Some honest accounts.
    """
    graph = _graph(context)
    prior = np.zeros(graph.shape[0])
    prior[honest] = -_PRIOR
    weight = 0.5 / max(float(graph.sum()) / max(int((graph.getnnz(axis=1) > 0).sum()), 1), 1.0)
    residual = prior.copy()
    for _ in range(_ROUNDS):
        residual = np.clip(prior + 2 * weight * (graph @ residual), -0.5, 0.5)
    return residual


def supervised(context: Context) -> Floats:
    """Return the odds by trees over plain counts, which learned from drawn worlds as our ranking did.

    Args:
        context: The ledger and what detectors share.
    """
    return np.asarray(_trees().decision_function(_counts(context)), np.float64)


@cache
def _trees() -> HistGradientBoostingClassifier:
    from bench.trust.train import analysed  # noqa: PLC0415  # measures import baselines, and training measures

    worlds = [analysed(seed) for seed in _WORLDS]
    rows = np.concatenate([_counts(engine.context_)[truth.judged] for engine, truth in worlds])
    labels = np.concatenate([(truth.attack >= 0)[truth.judged] for _, truth in worlds])
    return HistGradientBoostingClassifier(random_state=0).fit(rows, labels)


def _counts(context: Context) -> Floats:
    """Return plain counts of each account: what it wrote, got and paid, its mean value, and its age when it judged."""
    ledger, opinions = context.ledger, context.ledger.opinions
    size = ledger.accounts
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    rater, account = opinions.rater[rows], ledger.subject_account[opinions.subject[rows]]
    written = np.bincount(rater, minlength=size)
    known = ledger.payer >= 0
    age = np.full(size, np.inf)
    np.minimum.at(age, rater, np.maximum(opinions.ts[rows] - context.kin.born[rater], 0.0))
    mean = group_sums(opinions.percent[rows].astype(np.float64), rater, size) / np.maximum(written, 1)
    return np.column_stack(
        [
            written,
            np.bincount(account, minlength=size),
            np.where(written > 0, mean, np.nan),
            np.bincount(ledger.payer[known], minlength=size),
            np.bincount(ledger.payer[known], weights=ledger.amount[known], minlength=size),
            np.where(np.isfinite(age), age, np.nan),
        ]
    )


def _graph(context: Context) -> sparse.csr_matrix:
    """Return who paid or praised whom, without directions."""
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    rows = rows[opinions.percent[rows] >= _GOOD]
    paid = (ledger.payer >= 0) & (ledger.paid_agent >= 0)
    left = np.concatenate([opinions.rater[rows], ledger.payer[paid]])
    right = np.concatenate([ledger.subject_account[opinions.subject[rows]], ledger.owner[ledger.paid_agent[paid]]])
    return both_ways(left, right, ledger.accounts)

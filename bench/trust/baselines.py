"""Known and simple methods, on the same ledger: each returns a suspicion of each account, higher for worse."""

from functools import cache
from typing import Final

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.ensemble import HistGradientBoostingClassifier

from bench.market.policies import both_ways, short_walk
from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import Floats, Ints, group_sums
from bilateral.trust.tables.opinions import Kind


def baselines(context: Context, honest: Ints) -> dict[str, Floats]:
    """Return the suspicion by each method.

    Args:
        context: The ledger and what detectors share.
        honest: Some accounts that are known to be honest, for the methods that need them.
    """
    rater, account, *_, youngest = _plainly(context)
    return {
        "components of funding": _components(context),
        "reciprocity": _reciprocity(rater, account, context.ledger.accounts),
        "SybilRank": np.asarray(-short_walk(_graph(context), honest)),
        "trees over plain counts": np.asarray(_trees().decision_function(_counts(context)), np.float64),
        "time only": -np.where(np.isfinite(youngest), youngest, 1e12),
    }


def _components(context: Context) -> Floats:
    """Return the size of each account's component of funding, without exchanges."""
    ledger = context.ledger
    known = (ledger.funder >= 0) & ~context.ties.is_hub[np.maximum(ledger.funder, 0)]
    edges = (ledger.funder[known], np.flatnonzero(known))
    graph = sparse.csr_matrix((np.ones(len(edges[0])), edges), (ledger.accounts,) * 2)
    _, label = connected_components(graph, directed=False)
    sizes: Floats = np.bincount(label)[label].astype(np.float64)
    return sizes


def _reciprocity(rater: Ints, account: Ints, size: int) -> Floats:
    """Return the share of each account's opinions that the rated answer."""
    graph = sparse.csr_matrix((np.ones(len(rater)), (rater, account)), (size, size))
    both = np.asarray((graph.multiply(graph.T) > 0).sum(axis=1)).ravel()
    return np.asarray(both / np.maximum(np.diff(graph.indptr), 1))


_GOOD: Final = 50.0
"""The percentage from which an opinion passes trust on, as in the engine."""

_WORLDS: Final = range(5101, 5111)
"""Drawn worlds that the trees learn from: the first ten of those that train our ranking."""


@cache
def _trees() -> HistGradientBoostingClassifier:
    """Return trees over plain counts, which learned from drawn worlds as our ranking did."""
    from bench.trust.train import analysed  # noqa: PLC0415  # measures import baselines, and training measures

    worlds = [analysed(seed) for seed in _WORLDS]
    rows = np.concatenate([_counts(engine.context_)[truth.judged] for engine, truth in worlds])
    labels = np.concatenate([(truth.attack >= 0)[truth.judged] for _, truth in worlds])
    return HistGradientBoostingClassifier(random_state=0).fit(rows, labels)


def _counts(context: Context) -> Floats:
    """Return plain counts of each account: what it wrote, got and paid, its mean value, and its age when it judged."""
    ledger, (*_, written, received, mean, age) = context.ledger, _plainly(context)
    payer, amount = ledger.payer[ledger.payer >= 0], ledger.amount[ledger.payer >= 0]
    paid = [np.bincount(payer, weights, minlength=ledger.accounts) for weights in (None, amount)]
    mean, age = np.where(written > 0, mean, np.nan), np.where(np.isfinite(age), age, np.nan)
    return np.column_stack([written, received, mean, *paid, age])


def _plainly(context: Context) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats]:
    """Return feedback's raters and rated accounts, and by account: written, received, mean given, least age."""
    ledger, opinions, size = context.ledger, context.ledger.opinions, context.ledger.accounts
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    rater = opinions.rater[rows].astype(np.int64)
    account = ledger.subject_account[opinions.subject[rows]].astype(np.int64)
    written, received = (np.bincount(numbers, minlength=size) for numbers in (rater, account))
    mean = group_sums(opinions.percent[rows].astype(np.float64), rater, size) / np.maximum(written, 1)
    youngest = np.full(size, np.inf)
    np.minimum.at(youngest, rater, np.maximum(opinions.ts[rows] - context.ties.born[rater], 0.0))
    return rater, account, written, received, mean, youngest


def _graph(context: Context) -> sparse.csr_matrix:
    """Return who paid or praised whom, without directions."""
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    rows = rows[opinions.percent[rows] >= _GOOD]
    paid = (ledger.payer >= 0) & (ledger.paid_agent >= 0)
    left = np.concatenate([opinions.rater[rows], ledger.payer[paid]])
    right = np.concatenate([ledger.subject_account[opinions.subject[rows]], ledger.owner[ledger.paid_agent[paid]]])
    return both_ways(left, right, ledger.accounts)

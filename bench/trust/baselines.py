"""Known and simple methods, on the same ledger: each returns a suspicion of each account, higher for worse."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from bench.trust.sybil_baselines import supervised, sybil_rank, sybil_scar
from bilateral.trust.tables.arrays import Floats, Ints, group_sums
from bilateral.trust.tables.opinions import Kind
from bilateral.trust.tables.propagation import EigenTrust

if TYPE_CHECKING:
    from bilateral.trust.features.context import Context


def baselines(context: Context, honest: Ints) -> dict[str, Floats]:
    """Return the suspicion by each method.

    Args:
        context: The ledger and what detectors share.
        honest: Some accounts that are known to be honest, for the methods that need them.
    """
    ledger, opinions = context.ledger, context.ledger.opinions
    size = ledger.accounts
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    rater = opinions.rater[rows].astype(np.int64)
    account = ledger.subject_account[opinions.subject[rows]].astype(np.int64)
    percent = opinions.percent[rows].astype(np.float64)
    received = np.bincount(account, minlength=size)
    youngest = np.full(size, np.inf)
    np.minimum.at(youngest, rater, np.maximum(opinions.ts[rows] - context.kin.born[rater], 0.0))
    return {
        "plain mean of given values": group_sums(percent, rater, size)
        / np.maximum(np.bincount(rater, minlength=size), 1),
        "components of funding": _components(context),
        "reciprocity": _reciprocity(rater, account, size),
        "EigenTrust": _eigen_trust(rater, account, percent, size),
        "REV2 (unfairness)": _unfairness(rater, opinions.subject[rows], percent, size, ledger.subjects),
        "FRAUDAR": _fraudar(rater, opinions.subject[rows].astype(np.int64), size, ledger.subjects),
        "degree": -context.activity.astype(np.float64),
        "SybilRank": sybil_rank(context, honest),
        "SybilSCAR": sybil_scar(context, honest),
        "trees over plain counts": supervised(context),
        "time only": -np.where(np.isfinite(youngest), youngest, 1e12),
        "popularity only": -received.astype(np.float64),
    }


def _components(context: Context) -> Floats:
    """Return the size of each account's component of funding, without exchanges."""
    ledger = context.ledger
    known = (ledger.funder >= 0) & ~context.kin.is_hub[np.maximum(ledger.funder, 0)]
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


def _eigen_trust(rater: Ints, account: Ints, percent: Floats, size: int) -> Floats:
    """Return low trust, where every rater is trusted alike at first."""
    fit = EigenTrust(iterations=60).fit(rater, account, percent / 100, np.unique(rater), size)
    return -fit.trust_


def _unfairness(rater: Ints, subject: Ints, percent: Floats, size: int, subjects: int) -> Floats:
    """Return how far each rater is from what the fair say (as REV2)."""
    fair = np.ones(size)
    count = np.bincount(rater, minlength=size)
    for _ in range(20):
        good = (group_sums(fair[rater] * percent, subject, subjects) + 70) / (
            group_sums(fair[rater], subject, subjects) + 1
        )
        fair = 1 - (group_sums(np.abs(percent - good[subject]), rater, size) + 15) / (count + 1) / 100
    return np.where(count > 0, 1 - fair, 0.0)


def _fraudar(rater: Ints, subject: Ints, size: int, subjects: int) -> Floats:
    """Return the densest part after greedy peeling with weights against popular subjects (Hooi and others 2016)."""
    degree = np.bincount(subject, minlength=subjects)
    weight = 1 / np.log(degree[subject] + 5)
    nodes = size + subjects
    left, right = rater, subject + size
    graph = sparse.csr_matrix((weight, (left, right)), (nodes, nodes))
    graph = (graph + graph.T).tocsr()
    load = np.asarray(graph.sum(axis=1)).ravel()
    present = load > 0
    heap = [(load[node], node) for node in np.flatnonzero(present)]
    heapq.heapify(heap)
    total, count = weight.sum(), int(present.sum())
    best, at = -1.0, 0
    order: list[int] = []
    while heap:
        value, node = heapq.heappop(heap)
        if not present[node] or value > load[node] + 1e-12:
            continue
        if total / max(count, 1) > best:
            best, at = total / max(count, 1), len(order)
        present[node] = False
        order.append(int(node))
        total -= load[node]
        count -= 1
        for place in range(graph.indptr[node], graph.indptr[node + 1]):
            other = graph.indices[place]
            if present[other]:
                load[other] -= graph.data[place]
                heapq.heappush(heap, (load[other], other))
    out = np.zeros(nodes)
    out[order] = np.arange(len(order)) / max(len(order), 1)
    out[order[at:]] += 1
    return out[:size]

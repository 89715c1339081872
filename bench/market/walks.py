"""Trust that spreads from early, paying buyers: EigenTrust, and SybilRank's short walk with a cut of least conductance.

Yu and others (SybilGuard, 2006) and Cao and others (SybilRank, 2012) describe the walk: it ends after log2(n) steps, so
little trust crosses the few edges into a region of Sybils. Trust is divided by the degree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from bilateral.trust.tables.propagation import EigenTrust

if TYPE_CHECKING:
    from bench.market.people import Array
    from bench.market.rows import Log

_EARLY = 10.0
"""The days from the first payment on in which a buyer counts as early."""

_SELLERS = 2
"""The distinct sellers that an early buyer must have paid."""


def early_payers(log: Log) -> Array:
    """Return the accounts that paid several sellers in the first days.

    Args:
        log: The rows.
    """
    ts = log.payments["ts"]
    if not len(ts):
        return np.zeros(0, np.int64)
    early = ts <= ts.min() + _EARLY * 86_400
    owner = log.agents["owner"][log.payments["agent"][early]]
    pairs = np.unique(log.payments["payer"][early] * (1 << 32) + owner) >> 32
    return np.flatnonzero(np.bincount(pairs, minlength=log.accounts) >= _SELLERS)


def _edges(log: Log) -> tuple[Array, Array]:
    """Return the distinct pairs of client and owner, by payments and good feedback."""
    good = log.feedback["value"] >= 50  # noqa: PLR2004
    left = np.concatenate([log.payments["payer"], log.feedback["client"][good]])
    agent = np.concatenate([log.payments["agent"], log.feedback["agent"][good]])
    pairs = np.unique(left * (1 << 32) + log.agents["owner"][agent])
    return pairs >> 32, pairs & ((1 << 32) - 1)


def trust_by_flow(log: Log, trusted: Array) -> Array:
    """Return EigenTrust by account, 1 for the mean of those that trust reaches.

    Args:
        log: The rows.
        trusted: The accounts that trust starts from.
    """
    left, right = _edges(log)
    if not len(trusted) or not len(left):
        return np.ones(log.accounts)
    both = (np.concatenate([left, right]), np.concatenate([right, left]))
    trust = EigenTrust(tolerance=1e-6, iterations=60).fit(*both, np.ones(len(both[0])), trusted, log.accounts).trust_
    return np.asarray(trust / max(trust[trust > 0].mean(), 1e-12))


def trust_by_walk(log: Log, trusted: Array) -> Array:
    """Return the trust of a short walk by account, by degree, at most 1; 0 behind the cut of least conductance.

    Args:
        log: The rows.
        trusted: The accounts that trust starts from.
    """
    left, right = _edges(log)
    if not len(trusted) or not len(left):
        return np.ones(log.accounts)
    graph = both_ways(left, right, log.accounts)
    rank = short_walk(graph, trusted)
    kept = rank > _cut(graph, _degree(graph), rank)
    usual = np.median(rank[kept]) if kept.any() else 1.0
    return np.asarray(np.where(kept, np.minimum(rank / max(usual, 1e-18), 1.0), 0.0))


def both_ways(left: Array, right: Array, size: int) -> sparse.csr_matrix:
    """Return a graph without directions, in which each edge counts once.

    Args:
        left: One end of each edge.
        right: The other end.
        size: The number of accounts.
    """
    graph = sparse.csr_matrix((np.ones(len(left)), (left, right)), (size, size))
    return ((graph + graph.T) > 0).astype(np.float64).tocsr()


def short_walk(graph: sparse.csr_matrix, trusted: Array) -> Array:
    """Return the trust of each account after log2(n) steps, divided by its degree.

    Args:
        graph: A graph of `both_ways`.
        trusted: The accounts that trust starts from.
    """
    degree = _degree(graph)
    size = len(degree)
    flow = graph @ sparse.diags(np.divide(1.0, degree, out=np.zeros(size), where=degree > 0))
    trust = np.zeros(size)
    trust[trusted] = degree[trusted] / max(degree[trusted].sum(), 1)
    for _ in range(int(np.ceil(np.log2(size)))):
        trust = flow @ trust
    return np.asarray(np.divide(trust, degree, out=np.zeros(size), where=degree > 0))


def _degree(graph: sparse.csr_matrix) -> Array:
    return np.asarray(graph.sum(axis=1)).ravel()


def _cut(graph: sparse.csr_matrix, degree: Array, rank: Array) -> float:
    """Return the rank at which the cut between trusted and others has the least conductance, in the lower half."""
    order = np.argsort(-rank, kind="stable")
    order = order[degree[order] > 0]
    place = np.full(len(rank), len(rank))
    place[order] = np.arange(len(order))
    edges = graph.tocoo()
    above = place[edges.col] < place[edges.row]
    inward = np.bincount(place[edges.row[above]], minlength=len(order))[: len(order)]
    volume = np.cumsum(degree[order])
    crossing = volume - 2 * np.cumsum(inward)
    least = np.minimum(volume, volume[-1] - volume)
    start, stop = len(order) // 2, len(order) - 1
    if stop <= start:
        return -1.0
    conductance = np.where(least > 0, crossing / np.maximum(least, 1), np.inf)[start:stop]
    best = start + int(np.argmin(conductance))
    return float(rank[order[best + 1]]) if conductance.min() < 0.5 else 0.0  # noqa: PLR2004

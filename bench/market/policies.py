"""Policies that order agents by the same rows: simple and known ones, walks of trust, and this package's analysis."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from scipy import sparse

import bilateral.trust as analysis
from bench.market.play import Answers, Array, Log, Market
from bilateral.core.values import decision
from bilateral.core.values.bounds import QUANTILE
from bilateral.core.values.decision import TRIAL, Ground, limit_of
from bilateral.core.values.standing import Side, Standing, Status
from bilateral.trust.engine import Engine, all_detectors
from bilateral.trust.tables.propagation import EigenTrust

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


_PRIOR, _PRIOR_WEIGHT = 50.0, 3.0
"""The value and the number of opinions that a mean by counts adds, so that few opinions say little."""


def mean(log: Log, weight: Array | None = None, prior: float = 0.0) -> Array:
    """Return the weighted mean of feedback by agent; the usual prior value, or 0, without any.

    Args:
        log: The rows.
        weight: The weight of each feedback; 1 by default.
        prior: The weight of the prior value.
    """
    count = len(log.agents)
    weight = np.ones(len(log.feedback)) if weight is None else weight
    agent = log.feedback["agent"]
    total = np.bincount(agent, weight * log.feedback["value"], count) + prior * _PRIOR
    mass = np.bincount(agent, weight, count) + prior
    return np.asarray(np.divide(total, mass, out=np.zeros(count), where=mass > 0))


def by_counts(log: Log) -> Array:
    """Return the mean of feedback with a prior, so that few opinions say little.

    Args:
        log: The rows.
    """
    return mean(log, prior=_PRIOR_WEIGHT)


def by_distinct_raters(log: Log) -> Array:
    """Return the lower bound of the index: each rater counts once (`bilateral.core.values.bounds`).

    Args:
        log: The rows.
    """
    agent, share = _pair_means(log)
    count = np.bincount(agent, minlength=len(log.agents))
    raters = np.maximum(count, 1)
    centre = np.bincount(agent, share, len(log.agents)) / raters
    squared = QUANTILE**2
    spread = QUANTILE * np.sqrt((centre * (1 - centre) + squared / (4 * raters)) / raters)
    bound = (centre + squared / (2 * raters) - spread) / (1 + squared / raters)
    return np.asarray(np.where(count > 0, 100 * np.maximum(bound, 0.0), 0.0))


def _pair_means(log: Log) -> tuple[Array, Array]:
    """Return the agent and the mean share of each pair of rater and agent."""
    key = log.feedback["agent"] * (1 << 32) + log.feedback["client"]
    pairs, place = np.unique(key, return_inverse=True)
    counts = np.bincount(place, minlength=len(pairs))
    return pairs >> 32, np.bincount(place, log.feedback["value"] / 100, len(pairs)) / np.maximum(counts, 1)


def by_payments(log: Log) -> Array:
    """Return the mean of feedback with a proof of payment, weighted by the root of the amount, with a prior.

    Args:
        log: The rows.
    """
    row = log.feedback["payment"]
    paid = np.zeros(len(row))
    paid[row >= 0] = np.sqrt(log.payments["amount"][row[row >= 0]])
    return mean(log, paid, prior=_PRIOR_WEIGHT)


def by_trust(log: Log, trust: Array) -> Array:
    """Return the mean of feedback, weighted by the trust in each client, with a prior."""
    return mean(log, trust[log.feedback["client"]], prior=_PRIOR_WEIGHT)


def by_flow(log: Log) -> Array:
    """Return the mean of feedback by EigenTrust from early, paying buyers."""
    return by_trust(log, trust_by_flow(log, early_payers(log)))


def by_walk(log: Log) -> Array:
    """Return the mean of feedback by a walk from early, paying buyers, cut at the least conductance (SybilRank)."""
    return by_trust(log, trust_by_walk(log, early_payers(log)))


@dataclass
class Ranking:
    """A policy that orders agents by a figure, and refuses nobody.

    Attributes:
        name: The name in tables.
        figure: Returns the figure of each agent.
        unknown: The figure of an agent without feedback that is registered later.
        every: The number of days between answers.
    """

    name: str
    figure: Callable[[Log], Array]
    unknown: float = _PRIOR
    every: int = 1

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        figure = self.figure(market.log)
        return Answers(figure, np.full(len(figure), np.inf), (self.unknown, np.inf))


@dataclass
class KnownList:
    """A policy of a reader who knows honest reviewers: trust walks from them alone.

    Attributes:
        name: The name in tables.
        size: The number of reviewers. They are the most active honest buyers of the first days.
        every: The number of days between answers.
    """

    name: str = "a list of twenty known honest reviewers"
    size: int = 20
    every: int = 1

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        people = market.people
        present = np.where(people.born <= 0, people.needs, 0.0)
        known = people.buyers[np.argsort(-present)[: self.size]]
        figure = by_trust(market.log, trust_by_walk(market.log, known))
        return Answers(figure, np.full(len(figure), np.inf), (_PRIOR, np.inf))


@dataclass
class Truth:
    """A policy that knows the truth about sellers.

    Attributes:
        raters: The honest buyers who must have rated a seller before its truth is known; 0 for an oracle.
        name: The name in tables.
        every: The number of days between answers.
    """

    raters: int
    name: str
    every: int = 1

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        agents, log = market.agents, market.log
        client = log.feedback["client"]
        honest = (client >= market.people.buyers[0]) & (client <= market.people.buyers[-1])
        pairs = np.unique(log.feedback["agent"][honest] * (1 << 32) + client[honest]) >> 32
        known = np.bincount(pairs, minlength=len(agents.quality)) >= self.raters
        score = np.where(known, 100 * agents.quality, _PRIOR if self.raters else 0.0)
        limit = np.where(known & np.isfinite(agents.cheats), agents.cheats, np.inf)
        # One who knows pays a cheat less than the amount from which it cheats.
        return Answers(score, np.where(np.isfinite(limit), limit - 1e-9, limit), (_PRIOR, np.inf))


def simple() -> list[Ranking | KnownList | Truth]:
    """Return all policies of this module."""
    return [
        Ranking("plain mean", mean, unknown=0.0),
        Ranking("mean by counts", by_counts),
        Ranking("lower bound by distinct raters", by_distinct_raters, unknown=0.0),
        Ranking("payment-backed mean", by_payments),
        Ranking("EigenTrust", by_flow),
        Ranking("SybilRank", by_walk),
        KnownList(),
        Truth(2, "knows sellers that two honest buyers rated"),
        Truth(0, "oracle"),
    ]


PARTS: Final = (*(type(detector).__name__ for detector in all_detectors()), "learned")
"""The parts of the engine that can be left out: each detector, and the learned score."""


_REFUSED: Final = (Ground.HELD_BACK, Ground.SHARED_TRIAL)
"""The grounds on which our standing refuses a sale; all others have their place in the order alone."""

_ELSEWHERE: Final = ("chains", "copies", "decisions", "disk", "numbered", "relational", "runners")
"""The modules that markets do not run: those for several chains, databases and disks, and the command `decide`."""


def state() -> str:
    """Return a digest of the code that markets run, so that figures name their state; without comments.

    It is of the analysis, and of the rule by which a standing decides.
    """
    folder = Path(analysis.__path__[0])
    modules = [path for path in sorted(folder.rglob("*.py")) if path.stem not in _ELSEWHERE]
    code = [_code(path.read_text(encoding="utf-8")) for path in [*modules, Path(decision.__file__)]]
    weights = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.json"))]
    return sha256("".join(code + weights).encode()).hexdigest()[:12]


def _code(source: str) -> str:
    """Return the statements of a module without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return ast.unparse(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def fitted(log: Log, without: str = "") -> Engine:
    """Return a fitted engine.

    Args:
        log: The rows.
        without: One of `PARTS` that is left out; empty for none.
    """
    detectors = [detector for detector in all_detectors() if type(detector).__name__ != without]
    return Engine(detectors=detectors, learned=without != "learned").fit(log.tables())


def held(engine: Engine) -> Array:
    """Mark the agents that are held back.

    Args:
        engine: A fitted engine.
    """
    table = engine.standings()
    servers = np.array(table["side"].to_pylist()) == Side.SERVER
    marked: Array = np.array(table["status"].to_pylist())[servers] == Status.HELD_BACK
    return marked


@dataclass
class Standings:
    """A policy that orders agents by the lower bound of their standing, and refuses those held back or waiting.

    Attributes:
        name: The name in tables.
        without: One of `PARTS` that is left out; empty for none.
        weighs: True to let buyers pay what `bilateral trust decide` accepts, and no more.
        every: The number of days between analyses.
    """

    name: str = "our standing"
    without: str = ""
    weighs: bool = False
    every: int = 2

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        table = fitted(market.log, self.without).standings()
        table = table.filter(np.array(table["side"].to_pylist()) == Side.SERVER)
        lower = table["lower"].to_numpy()
        limits = [limit_of(Standing.of(row)) for row in table.to_pylist()]
        if self.weighs:
            return Answers(lower, np.array([limit.amount for limit in limits]), (0.0, TRIAL))
        refused = [limit.ground in _REFUSED for limit in limits]
        return Answers(lower, np.where(refused, 0.0, np.inf), (0.0, np.inf))

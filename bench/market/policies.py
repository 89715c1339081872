"""Simple and known policies, on the same rows: each orders agents, and most refuse nobody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bench.market.play import Answers
from bench.market.walks import early_payers, trust_by_flow, trust_by_walk
from bilateral.core.values.bounds import QUANTILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.market.people import Array
    from bench.market.play import Market
    from bench.market.rows import Log

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


def by_flow(log: Log) -> Array:
    """Return the mean of feedback by EigenTrust from early, paying buyers.

    Args:
        log: The rows.
    """
    trust = trust_by_flow(log, early_payers(log))
    return mean(log, trust[log.feedback["client"]], prior=_PRIOR_WEIGHT)


def by_walk(log: Log) -> Array:
    """Return the mean of feedback by a trust walk from early, paying buyers, cut at the least conductance (SybilRank).

    Args:
        log: The rows.
    """
    trust = trust_by_walk(log, early_payers(log))
    return mean(log, trust[log.feedback["client"]], prior=_PRIOR_WEIGHT)


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
    _known: Array | None = field(default=None, repr=False)

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        people = market.people
        present = np.where(people.born <= 0, people.needs, 0.0)
        known = people.buyers[np.argsort(-present)[: self.size]]
        trust = trust_by_walk(market.log, known)
        figure = mean(market.log, trust[market.log.feedback["client"]], prior=_PRIOR_WEIGHT)
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

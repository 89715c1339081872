"""Markets without any attack, by size: nobody should be held back, and the share must not grow with the market."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.market.ours import fitted, held
from bench.market.people import GOOD
from bench.market.play import Market
from bench.market.policies import Ranking, by_counts

if TYPE_CHECKING:
    from bench.market.settings import Settings

SIZES: Final = (3_000, 10_000, 40_000, 150_000)
"""The numbers of honest accounts."""

MOST_PAID: Final = 100
"""The number of agents that count as the most paid."""


def free_market(settings: Settings, accounts: int, seed: int) -> Market:
    """Play a market without attackers, whose buyers follow the mean by counts.

    Args:
        settings: The assumptions.
        accounts: The number of honest accounts.
        seed: Decides all draws.
    """
    return Market(replace(settings, accounts=accounts), Ranking("mean by counts", by_counts), seed).run()


def measured(market: Market) -> dict[str, float]:
    """Return who is held back in a market without attackers, and the time of the analysis.

    Args:
        market: The market, which was played.
    """
    started = time.perf_counter()
    engine = fitted(market.log)
    marked = held(engine)
    seconds = time.perf_counter() - started
    payments = market.log.payments
    paid = np.bincount(payments["agent"], payments["amount"], len(marked))
    good = market.agents.honest & (market.agents.quality >= GOOD)
    return {
        "accounts": market.settings.accounts,
        "opinions": len(market.log.feedback) + len(market.log.ratings),
        "held": float(marked.mean()),
        "held of the most paid": int(marked[np.argsort(-paid)[:MOST_PAID]].sum()),
        "held of payments": float(paid[marked].sum() / paid.sum()),
        "held of good": float(marked[good].mean()),
        "flagged accounts": float(engine.suspicion_.flagged[engine.judged()].mean()),
        "seconds": seconds,
    }

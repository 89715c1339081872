"""Several markets as one: their rows, and purchases that cross between them."""

from __future__ import annotations

import numpy as np

from bench.market.measures import joined
from bench.market.play import EXCHANGES


def test_disjoint_markets_share_nothing_but_exchanges(peaceful):
    log, own = joined([peaceful, peaceful]), peaceful.log
    half = own.accounts - EXCHANGES
    assert log.accounts == 2 * half + EXCHANGES
    assert len(log.payments) == 2 * len(own.payments)
    first, second = np.split(log.payments["payer"], 2)
    assert first.max() < EXCHANGES + half <= second.min()
    assert (log.agents["owner"][log.payments["agent"]] >= EXCHANGES).all()
    assert (second - first == half).all()
    log.tables()


def test_a_share_of_purchases_crosses_to_the_next_cluster_with_its_ratings(peaceful):
    log, apart = joined([peaceful, peaceful], 0.1), joined([peaceful, peaceful])
    crossed = log.payments["payer"] != apart.payments["payer"]
    assert 0.05 < crossed.mean() < 0.12
    proven = log.feedback["payment"] >= 0
    assert (log.payments["payer"][log.feedback["payment"][proven]] == log.feedback["client"][proven]).all()

"""Attacks on a market of honest accounts: each act of an attacker has its price, and an analysis answers afterwards."""

from __future__ import annotations

import numpy as np

from bench.market.evidence import SETTINGS, Attack, by_raters, honest_market

__all__ = ["DAY", "SETTINGS", "Attack", "by_raters", "honest_market", "raters_of"]

DAY = 86_400.0


def raters_of(log, agent):
    """Return the distinct accounts that rated an agent."""
    return np.unique(log.feedback["client"][log.feedback["agent"] == agent])

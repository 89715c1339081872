"""Reputation of buyers, which payments prove (Buyer Reputation Protocol)."""

from __future__ import annotations

from bilateral.buyer_terms import BuyerTier
from bilateral.buyers.score import BuyerMetrics, ScoreBreakdown, break_down, score_of, tier_of

__all__ = ["BuyerMetrics", "BuyerTier", "ScoreBreakdown", "break_down", "score_of", "tier_of"]

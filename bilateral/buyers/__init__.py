"""Buyer reputation backed by payments (Buyer Reputation Protocol).

Names are imported on first use (PEP 562), so importing the package's errors does not load the scoring modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bilateral.buyers.score import BuyerMetrics, ScoreBreakdown, break_down, score_of, tier_of
    from bilateral.core.contracts.buyer_terms import BuyerTier

__all__ = ["BuyerMetrics", "BuyerTier", "ScoreBreakdown", "break_down", "score_of", "tier_of"]

_TERMS: Final = ("BuyerTier",)


def __getattr__(name: str) -> Any:
    """Import one of the package's names on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(
        import_module("bilateral.core.contracts.buyer_terms" if name in _TERMS else "bilateral.buyers.score"), name
    )

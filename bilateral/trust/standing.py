"""The columns of tables of standings."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from bilateral.core.values.standing import Side, Standing, Status
from bilateral.core.values.standing import StandingReason as Reason

__all__ = ["SCHEMA", "Reason", "Side", "Standing", "Status"]

SCHEMA: Final = pa.schema(
    [
        ("side", pa.string()),
        ("agent_id", pa.int64()),
        ("status", pa.string()),
        ("rating", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("effective_raters", pa.float64()),
        ("raters", pa.int64()),
        ("payments", pa.int64()),
        ("paid", pa.float64()),
        ("first_at", pa.int64()),
        ("last_at", pa.int64()),
        ("evidence_cost", pa.float64()),
        ("reasons", pa.string()),
    ]
)
"""The columns of a table of standings: those of `Standing`, with the reasons as JSON."""

"""The standing of an agent on one side: its columns in tables, its statuses and its reasons."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = pa.schema(
    [
        ("side", pa.string()),
        ("agent_id", pa.int64()),
        ("basis", pa.string()),
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


class Side(StrEnum):
    """The sides of a standing."""

    SERVER = "server"
    CLIENT = "client"


class Basis(StrEnum):
    """The ground of a standing."""

    ANALYSIS = "analysis"
    """A trust analysis weighed each rater."""

    RATINGS = "ratings"
    """No analysis did: distinct raters count, and those who paid most."""


class Status(StrEnum):
    """The meaning of a standing. `docs/trust.md` says what to do with each."""

    OK = "ok"
    """The evidence suffices to rank the agent."""

    THIN = "thin"
    """Too few raters count. Newcomers are thin: try them for small amounts."""

    CONTESTED = "contested"
    """The agent's own acts tie it to false ratings, and this is not proven. Rely on your own experience."""

    HELD_BACK = "held_back"
    """Its ratings were made up. Do not pay it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a standing.

    Attributes:
        code: Its code: `paid`, `false_raters`, `own_ties`, `few_raters`, `unpaid_raters`, or the name of a detector.
        amount: The money in it, in units of the payment token; None if there is none.
        figures: Its further figures by name.
    """

    code: str
    amount: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of an agent on one side.

    Attributes:
        side: `server` or `client`.
        agent_id: The agent.
        basis: `analysis` or `ratings`.
        status: The `Status`.
        rating: The rating, 0 to 100; None without a rating that counts.
        lower: The value that the rating has at least. Rank by it.
        upper: The value that it has at most.
        effective_raters: The ordinary raters that the evidence is worth.
        raters: The distinct raters.
        payments: The payments for the agent that stayed with it; on the client side, those of the agent.
        paid: Their sum, in units of the payment token.
        first_at: The time of the first rating or payment, in Unix seconds; None without any.
        last_at: The time of the last one.
        evidence_cost: The money that it would have cost to fake this standing, in units of the payment token.
        reasons: The reasons that count most.
    """

    side: str
    agent_id: int
    basis: str
    status: str
    rating: float | None
    lower: float
    upper: float
    effective_raters: float
    raters: int
    payments: int
    paid: float
    first_at: int | None
    last_at: int | None
    evidence_cost: float
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the standing of a row of a table of standings.

        Args:
            row: The row, with the columns of `SCHEMA`.
        """
        reasons = tuple(Reason(**reason) for reason in json.loads(row["reasons"]))
        return cls(**{name: row[name] for name in SCHEMA.names if name != "reasons"}, reasons=reasons)

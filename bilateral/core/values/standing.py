"""The standing of an agent on one side: the figure that everything takes which ranks, gates or decides."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, Self

LEAST: Final = 1.5
"""The effective raters below which a standing is thin: more than one ordinary rater, and less than two."""


SHARED_TRIAL: Final = "shared_trial"
"""The code of the reason that a new agent waits, because another one with the same source of funds is tried first."""

OWNER_CHANGED: Final = "owner_changed"
"""The code of the reason that evidence about an earlier owner of the agent does not count."""


class Side(StrEnum):
    """The sides of a standing."""

    SERVER = "server"
    CLIENT = "client"


class Status(StrEnum):
    """The meaning of a standing. `docs/trust.md` says what to do with each."""

    OK = "ok"
    """The evidence suffices to rank the agent."""

    THIN = "thin"
    """Too few raters count. Newcomers are thin: try them for small amounts."""

    CONTESTED = "contested"
    """The agent is suspected of arranging false ratings, which is unproven. Rely on your own experience."""

    HELD_BACK = "held_back"
    """Its ratings were made up. Do not pay it."""


@dataclass(frozen=True, slots=True)
class StandingReason:
    """A reason for a standing.

    Attributes:
        code: Its code: `paid`, `no_payments`, `false_raters`, `few_raters`, `shared_trial`, `owner_changed`, or the
            name of a detector.
        amount: The money in it, in units of the payment token; None if there is none.
        figures: Its further figures by name.
    """

    code: str
    amount: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of an agent on one side.

    Attributes:
        side: `server` or `client`.
        rating: The rating, 0 to 100; None without a rating that counts.
        lower: The value that the rating has at least. Rank by it.
        upper: The value that it has at most.
        effective_raters: The independent raters that the evidence is worth, at most `raters`.
        raters: The distinct raters of the present owner, without those who only measured and never paid it.
        payments: The payments for the agent that stayed with it; on the client side, those of the agent.
        paid: Their sum, in units of the payment token.
        first_at: The time of the first rating or payment, in Unix seconds; None without any.
        last_at: The time of the last one.
        evidence_cost: The money that those who praise a server spent with other sellers whom early buyers trust, or
            that a client spent with such sellers, in units of the payment token.
        reasons: The reasons that count most.
        block: The last block that it rests on; None if it was not stored.
        made_at: The time at which it was made, in Unix seconds; None if it was not stored.
    """

    side: str
    agent_id: int
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
    reasons: tuple[StandingReason, ...] = ()
    block: int | None = None
    made_at: int | None = None

    @property
    def since(self) -> str:
        """The words ` since it changed hands` if evidence about an earlier owner does not count, for sentences."""
        return " since it changed hands" if any(reason.code == OWNER_CHANGED for reason in self.reasons) else ""

    @classmethod
    def of(cls, row: Mapping[str, Any], block: int | None = None, made_at: int | None = None) -> Self:
        """Return the standing of a row of a table of standings."""
        reasons = {"reasons": tuple(StandingReason(**reason) for reason in json.loads(row["reasons"]))}
        columns = {field_.name: row[field_.name] for field_ in fields(cls) if field_.name in row}
        return cls(**{**columns, **reasons, "block": block, "made_at": made_at})


class Currency(StrEnum):
    """The age of a chain's standings."""

    CURRENT = "current"
    """They have all rows of the index but those of the last minutes."""

    STALE = "stale"
    """The analysis lags its chain by more than ten minutes, or by three refreshes if these take longer."""

    MISSING = "missing"
    """No analysis has succeeded yet."""


@dataclass(frozen=True, slots=True)
class StandingsState:
    """The state of a chain's standings.

    Attributes:
        block: The last block that they rest on; None before the first analysis.
        made_at: The time at which they were made or confirmed, in Unix seconds; None before the first analysis.
        problem: The reason why the last analysis failed or cannot run; None if there is none.
        status: `current`, `stale` or `missing`.
    """

    block: int | None = None
    made_at: int | None = None
    problem: str | None = None
    status: str = Currency.MISSING

    @property
    def is_missing(self) -> bool:
        """True before the first analysis."""
        return self.status == Currency.MISSING

    @property
    def is_stale(self) -> bool:
        """True if the analysis lags its chain."""
        return self.status == Currency.STALE

    @property
    def age(self) -> float | None:
        """The seconds since they were made; None before the first analysis."""
        return None if self.made_at is None else max(0.0, time.time() - self.made_at)

    @property
    def lack(self) -> str | None:
        """Why a chain has no current standings, as the end of a sentence; None if it has."""
        cause = "" if self.problem is None else f": {self.problem}"
        if self.is_missing:
            return f"is not analysed yet{cause}"
        if self.is_stale:
            return f"was analysed {(self.age or 0) / 60:,.0f} minutes ago, up to block {self.block}{cause}"
        return None

"""An agent's standing as a server or as a client: the figures used for ranking, access checks and decisions."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, Self

LEAST: Final = 1.5
"""The number of effective raters below which a standing is `thin`: one ordinary rater is too few, but two are
enough."""


SHARED_TRIAL: Final = "shared_trial"
"""The reason code for a new agent that must wait while another new agent, funded from the same source, is tried."""

OWNER_CHANGED: Final = "owner_changed"
"""The reason code for evidence that is ignored because it is about an earlier owner."""


class Side(StrEnum):
    """The role in which an agent has a standing: server or client."""

    SERVER = "server"
    CLIENT = "client"


class Status(StrEnum):
    """The status of a standing. `docs/trust.md` explains how to treat agents with each status."""

    OK = "ok"
    """There is enough evidence to rank the agent."""

    THIN = "thin"
    """The agent has too few effective raters, as newcomers usually do. Start with small amounts."""

    CONTESTED = "contested"
    """The agent is suspected, without proof, of arranging false ratings. Rely on your own experience."""

    HELD_BACK = "held_back"
    """The agent's ratings were made up. Do not pay it."""


@dataclass(frozen=True, slots=True)
class StandingReason:
    """A reason why an agent has its standing.

    Attributes:
        code: The reason's code: `paid`, `no_payments`, `false_raters`, `few_raters`, `shared_trial`, `owner_changed`,
            or the name of a detector.
        amount: The amount to which the reason refers, in units of the payment token; None if there is none.
        figures: The reason's other figures, keyed by name.
    """

    code: str
    amount: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent's standing as a server or as a client.

    Attributes:
        side: `server` or `client`.
        rating: The rating, 0 to 100; None if the analysis uses none of the agent's ratings.
        lower: The lower bound of the rating. Use it for ranking.
        upper: The upper bound of the rating.
        effective_raters: The number of fully independent raters that would provide as much evidence; at most `raters`.
        raters: The number of distinct raters since the current owner took over, without raters who measured the agent
            but never paid it.
        payments: For a server, the number of payments to the agent that were not returned; for a client, the number of
            payments by the agent.
        paid: The sum of these payments, in units of the payment token.
        first_at: The time of the first rating or payment, in Unix seconds; None if there are none.
        last_at: The time of the last rating or payment, in Unix seconds; None if there are none.
        evidence_cost: For a server, how much the agent's positive raters spent with other sellers that early buyers
            trust; for a client, how much the agent itself spent with such sellers; in units of the payment token.
        reasons: The most important reasons.
        block: The last block on which the standing is based; None if the standing was not stored.
        made_at: When the standing was computed, in Unix seconds; None if the standing was not stored.
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
        """The words ` since it changed hands`, to append to a phrase, if evidence about an earlier owner is ignored."""
        return " since it changed hands" if any(reason.code == OWNER_CHANGED for reason in self.reasons) else ""

    @classmethod
    def of(cls, row: Mapping[str, Any], block: int | None = None, made_at: int | None = None) -> Self:
        """Return the standing from a row in a standings table."""
        reasons = {"reasons": tuple(StandingReason(**reason) for reason in json.loads(row["reasons"]))}
        columns = {field_.name: row[field_.name] for field_ in fields(cls) if field_.name in row}
        return cls(**{**columns, **reasons, "block": block, "made_at": made_at})


class Currency(StrEnum):
    """The freshness of a chain's standings."""

    CURRENT = "current"
    """The standings reflect all rows of the index, except perhaps those of the last few minutes."""

    STALE = "stale"
    """The analysis lags behind its chain by more than ten minutes or three refresh intervals, whichever is longer."""

    MISSING = "missing"
    """No analysis has succeeded yet."""


@dataclass(frozen=True, slots=True)
class StandingsState:
    """The state of a chain's standings.

    Attributes:
        block: The last block on which the standings are based; None before the first analysis.
        made_at: When the standings were computed or confirmed, in Unix seconds; None before the first analysis.
        problem: The reason why the last analysis failed or cannot run; None if there is none.
        status: `current`, `stale` or `missing`.
    """

    block: int | None = None
    made_at: int | None = None
    problem: str | None = None
    status: str = Currency.MISSING

    @property
    def is_missing(self) -> bool:
        """True before the first successful analysis."""
        return self.status == Currency.MISSING

    @property
    def is_stale(self) -> bool:
        """True if the analysis lags behind its chain."""
        return self.status == Currency.STALE

    @property
    def age(self) -> float | None:
        """The number of seconds since the standings were computed or confirmed; None before the first analysis."""
        return None if self.made_at is None else max(0.0, time.time() - self.made_at)

    @property
    def lack(self) -> str | None:
        """The end of a sentence that says why a chain has no current standings; None if its standings are current."""
        cause = "" if self.problem is None else f": {self.problem}"
        if self.is_missing:
            return f"is not analysed yet{cause}"
        if self.is_stale:
            return f"was analysed {(self.age or 0) / 60:,.0f} minutes ago, up to block {self.block}{cause}"
        return None

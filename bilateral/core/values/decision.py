"""The decision whether to buy from an agent, based on its standing, for `check_server` and `bilateral trust decide`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bilateral.core.values.standing import SHARED_TRIAL, Standing, Status

TRIAL: Final = 1.0
"""The maximum amount to pay an agent without evidence: newcomers must be tried before they can earn a reputation. This
is about the price of a typical purchase."""

LEAST_EVIDENCE: Final = 0.075
"""How much an agent's positive raters must have spent with other sellers, as a share of the amount to pay the agent.
This evidence is a lower bound: it excludes payments to the agent itself, payments by buyers who did not rate, and
amounts above a usual purchase. In a simulated market without attackers (`make market`), twice this share would cost
buyers 3 % of the value that they get.
"""

LEAST_RATING: Final = 50.0
"""The minimum rating. Below it, buyers received less than half of what they paid for."""

_UNPROVEN: Final = 5.0
"""How far below the minimum rating the lower bound may be, for an agent without backed ratings or with few good
ones."""


class Ground(StrEnum):
    """The part of an agent's standing that determines the highest amount to pay the agent."""

    HELD_BACK = "held_back"
    """The agent's ratings were made up."""

    BAD = "bad"
    """Even the upper bound of the agent's rating, based on raters who have bought from other sellers, is too low."""

    LOW_RATING = "low_rating"
    """The agent's rating is below the minimum, and is based on enough raters."""

    CONTESTED = "contested"
    """The agent is suspected of arranging false ratings. Trial purchases are allowed, because its owner could register
    a new agent for less than a trial costs. Sellers that send gifts at launch also fall under this ground."""

    SHARED_TRIAL = "shared_trial"
    """The agent is new, and another new agent that is funded from the same source must be tried first."""

    EVIDENCE = "evidence"
    """The limit is the amount that the agent's evidence (`LEAST_EVIDENCE`) supports, but at least the amount of a
    trial."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The highest amount that a standing allows.

    Attributes:
        amount: The amount, in units of the payment token; 0 unless the ground is `CONTESTED` or `EVIDENCE`.
        ground: The part of the standing that limits the amount.
    """

    amount: float
    ground: Ground

    @property
    def refuses(self) -> bool:
        """True if the agent must not be paid at all."""
        return self.ground in (Ground.HELD_BACK, Ground.BAD)


def limit_of(
    standing: Standing, minimum: float = LEAST_RATING, trial: float = TRIAL, share: float = LEAST_EVIDENCE
) -> Limit:
    """Return the highest amount to pay an agent that has a given standing."""
    is_low, is_thin = standing.rating is not None and standing.rating < minimum, standing.status == Status.THIN
    if standing.status == Status.HELD_BACK:
        return Limit(0.0, Ground.HELD_BACK)
    if is_low and not is_thin:
        is_bad = standing.raters > 1 and standing.upper < min(minimum, LEAST_RATING)
        return Limit(0.0, Ground.BAD if is_bad else Ground.LOW_RATING)
    if any(reason.code == SHARED_TRIAL for reason in standing.reasons):
        return Limit(0.0, Ground.SHARED_TRIAL)
    if standing.status == Status.CONTESTED:
        return Limit(trial, Ground.CONTESTED)
    # Raters who bought nothing from other sellers can lower a rating, but not its bounds.
    is_doubtful = is_low and standing.lower < minimum - _UNPROVEN
    return Limit(trial if is_doubtful else max(standing.evidence_cost / share, trial), Ground.EVIDENCE)

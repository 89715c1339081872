"""The stake of a decision: the money asked for, against the money that it would have cost to fake the ratings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.verdicts import Code, Severity
from bilateral.query.standings import stored_standing
from bilateral.values.standing import Basis, Standing, Status

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.policy import Policy
    from bilateral.checks.reasons import Reasons

_CENT: Final = Decimal("0.01")


@dataclass(frozen=True)
class Backing:
    """The standing behind a decision, and the stake.

    Attributes:
        standing: The standing by a trust analysis; None without one that counts at the moment.
        amount: The money asked for, in units of the payment token; None if it is not known.
        policy: The policy.
    """

    standing: Standing | None
    amount: Decimal | None
    policy: Policy

    @property
    def is_first_purchase(self) -> bool:
        """True if the stake is within the bound for newcomers, and nothing speaks against the agent."""
        is_small = self.amount is not None and self.amount <= self.policy.first_purchase
        return is_small and self.standing is not None and self.standing.status in (Status.OK, Status.THIN)

    @property
    def is_vetted(self) -> bool:
        """True if an analysis weighed the raters, and found enough of them."""
        return self.is_first_purchase or (self.standing is not None and self.standing.status == Status.OK)

    def softened(self, code: Code) -> Severity | None:
        """Return the severity of a reason about little evidence; None for that of the policy."""
        is_caution = self.policy.severity_of(code) is Severity.CAUTION
        return Severity.NOTE if is_caution and self.is_first_purchase else None


def backing_of(  # noqa: PLR0913, PLR0917  # parts of one question
    connection: Connection,
    moment: Moment,
    identity: str,
    agent_id: int,
    side: str,
    policy: Policy,
    amount: Decimal | None,
    analysis: int,
) -> Backing:
    """Return the standing behind a decision. It counts only with the analysis that counts at the moment.

    Args:
        connection: A connection of `snapshot`.
        moment: The moment.
        identity: The identity registry.
        agent_id: The agent.
        side: `server` or `client`.
        policy: The policy.
        amount: The money asked for, in units of the payment token.
        analysis: The number of the analysis that counts; 0 without one.
    """
    standing = stored_standing(connection, moment.chain_id, identity, agent_id, side) if analysis else None
    if standing is not None and standing.basis != Basis.ANALYSIS:
        standing = None
    return Backing(standing, amount, policy)


def judge_standing(reasons: Reasons, backing: Backing) -> dict[str, Any] | None:
    """Add the reasons about a standing and the stake, and return its figures.

    Args:
        reasons: The reasons so far.
        backing: The standing and the stake.
    """
    standing, amount = backing.standing, backing.amount
    if standing is None:
        return None
    cost = Decimal(str(round(standing.evidence_cost, 6))).quantize(_CENT)
    if standing.status == Status.HELD_BACK:
        why = ", ".join(reason.code.replace("_", " ") for reason in standing.reasons[:2])
        reasons.add(Code.HELD_BACK, f"The analysis holds the agent back: its ratings were made up ({why}).")
    elif standing.status == Status.CONTESTED:
        reasons.add(Code.CONTESTED, "The agent's own acts tie it to false ratings, which is not proven.")
    elif amount is not None and amount > max(cost, backing.policy.first_purchase):
        reasons.add(
            Code.STAKE_ABOVE_EVIDENCE,
            f"The payment is {amount}, and to fake the agent's ratings would have cost {cost}.",
        )
    return {
        "status": standing.status,
        "rating": standing.rating,
        "lower": standing.lower,
        "upper": standing.upper,
        "effective_raters": standing.effective_raters,
        "payments": standing.payments,
        "paid": standing.paid,
        "evidence_cost": cost,
        "amount": amount,
        "block": standing.block,
        "reasons": [{"code": reason.code, "amount": reason.amount, **reason.figures} for reason in standing.reasons],
    }

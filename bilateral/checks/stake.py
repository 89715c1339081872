"""The stake of a decision: the money asked for, against the money that it would have cost to fake the ratings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.verdicts import Code, Severity
from bilateral.core.values.decision import Ground, limit_of
from bilateral.core.values.standing import Side, Standing, Status
from bilateral.index.standing.queries import stored_standing
from bilateral.index.standing.standings import standings_states

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.policy import Policy
    from bilateral.checks.reasons import Reasons
    from bilateral.core.values.decision import Limit

_CENT: Final = Decimal("0.01")


@dataclass(frozen=True)
class Backing:
    """The standing behind a decision, and the stake.

    Attributes:
        standing: The standing by a trust analysis; None without one that counts at the moment.
        amount: The money asked for, in units of the payment token; None if it is not known.
        lack: Why no current analysis stands behind the decision, in a sentence; None if one does, or none is asked for.
    """

    standing: Standing | None
    amount: Decimal | None
    policy: Policy
    lack: str | None = None

    @property
    def deciding(self) -> Standing | None:
        """The standing, if it decides in place of plain ratings: the policy counts all raters, as an analysis does."""
        return self.standing if self.policy.counts_all else None

    @property
    def limit(self) -> Limit | None:
        """The greatest amount that the standing accepts under the policy; None without a standing."""
        if self.standing is None:
            return None
        minimum = float(self.policy.minimum_rating) if self.policy.counts_all else 0.0
        trial, share = float(self.policy.first_purchase), float(self.policy.minimum_evidence)
        return limit_of(self.standing, minimum, trial, share)

    @property
    def is_vetted(self) -> bool:
        """True if an analysis weighed the raters, and the limit on the amount makes up for those that are few."""
        deciding = self.deciding
        return deciding is not None and (self.amount is not None or deciding.status == Status.OK)

    def softened(self, code: Code) -> Severity | None:
        """Return the severity of a reason that the standing weighs already; None for that of the policy.

        Reasons are not softened if the policy names them, or does not ask for mere caution by them.
        """
        is_caution = self.policy.severity_of(code) is Severity.CAUTION and code not in self.policy.severities
        return Severity.NOTE if is_caution and self.is_vetted else None

    @property
    def of_finding(self) -> Severity | None:
        """The severity of a finding; None for that of the policy.

        Findings rank. Evidence that suffices to act has the agent held back.
        """
        is_named = Code.FINDING in self.policy.severities
        is_weighed = self.standing is not None and self.standing.status != Status.HELD_BACK
        return Severity.NOTE if is_weighed and not is_named else None


def backing_of(  # noqa: PLR0913, PLR0917  # parts of one question
    connection: Connection,
    moment: Moment,
    agent: tuple[str, int] | None,
    side: str,
    policy: Policy,
    amount: Decimal | None,
    analysis: int | None,
) -> Backing:
    """Return the standing behind a decision. It counts only with the analysis that counts at the moment.

    Args:
        connection: A connection of `snapshot`.
        agent: The identity registry and the agent; None for an account without one.
        side: `server` or `client`.
        amount: The money asked for, in units of the payment token; None if it is not known.
        analysis: The number of the analysis that counts; 0 without one, None to leave analyses out.
    """
    if analysis is None:
        return Backing(None, amount, policy)
    standing = stored_standing(connection, moment.chain_id, *agent, side) if agent and analysis else None
    return Backing(standing, amount, policy, _lack(connection, moment, standing, side, analysis))


def _lack(connection: Connection, moment: Moment, standing: Standing | None, side: str, analysis: int) -> str | None:
    """Return why no current analysis stands behind a decision; None if one does. Clients without ratings need none."""
    if not analysis:
        return "No trust analysis has weighed the ratings yet."
    if standing is None and side == Side.SERVER:
        return "No trust analysis has seen the agent yet."
    if moment.is_head and moment.analysis is None:
        state = standings_states(connection, moment.chain_id).get(moment.chain_id)
        if state is not None and state.is_stale:
            return f"The last trust analysis is {(state.age or 0) / 60:.0f} minutes old."
    return None


def judge_standing(reasons: Reasons, backing: Backing) -> dict[str, Any] | None:
    """Add the reasons about a standing and the stake, and return its figures.

    Args:
        reasons: The reasons so far.
        backing: The standing and the stake.
    """
    standing, limit, amount, policy = backing.standing, backing.limit, backing.amount, backing.policy
    if standing is None or limit is None:
        return None
    cost = Decimal(str(round(standing.evidence_cost, 6))).quantize(_CENT)
    is_tried = amount is not None and amount <= limit.amount
    if limit.ground is Ground.HELD_BACK:
        why = ", ".join(reason.code.replace("_", " ") for reason in standing.reasons[:2])
        reasons.add(Code.HELD_BACK, f"The analysis holds the agent back: its ratings were made up ({why}).")
    elif limit.ground is Ground.CONTESTED:
        severity = Severity.NOTE if is_tried and Code.CONTESTED not in policy.severities else None
        sentence = "The agent's own acts tie it to false ratings, which is not proven."
        reasons.add(Code.CONTESTED, sentence, severity=severity)
    elif limit.ground is Ground.SHARED_TRIAL and not is_tried:
        sentence = "The agent is new, and another new agent with the same source of funds is tried first."
        reasons.add(Code.STAKE_ABOVE_EVIDENCE, sentence)
    elif limit.ground is Ground.EVIDENCE and amount is not None and not is_tried:
        reasons.add(
            Code.STAKE_ABOVE_EVIDENCE,
            f"The payment is {amount}. Faking the ratings would have cost {cost}, enough for {limit.amount:.2f}.",
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

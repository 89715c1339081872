"""Standings in plain words: advice for someone who considers dealing with an agent, and the reasons."""

from collections.abc import Iterable
from datetime import UTC, datetime
from math import floor
from typing import Final

from bilateral.core.values.currency import dollars
from bilateral.core.values.decision import TRIAL, limit_of
from bilateral.core.values.standing import OWNER_CHANGED, SHARED_TRIAL, Side, Standing, StandingReason, Status

MARKS: Final = {Status.HELD_BACK: "held back", Status.CONTESTED: "contested"}
"""The words that mark agents in lists, keyed by the agents' status."""

LEAST_RATING: Final = 70
"""The minimum rating for an agent to be accepted, which is the default in policies (`bilateral.checks.policy`)."""

_UNLESS_OK: Final = {
    Status.HELD_BACK: "No. Its ratings were made up.",
    Status.CONTESTED: "Only if you know it yourself. It is suspected of arranging false ratings (unproven).",
    Status.THIN: "Not enough evidence yet. Start with a small amount.",
}
"""The advice on dealing with an agent, for each status other than `ok`."""

_BY_CODE: Final = {
    "links": "{accounts} linked to it by owner, wallet or funding rated it highly",
    "lockstep": "{accounts} rated it highly together, soon after they were created or at the same time",
    "co-targeting": "{accounts} with the same source of funds rated it",
    "blocks": "{accounts} rate each other highly in a circle",
    "wash_payments": "{accounts} got most of their money back",
    "retaliation": "it gave its critics low ratings",
}
"""The wording for findings about an agent, by detector."""

_HARDLY: Final = 0.1
"""The minimum number of independent raters for a figure to be displayed."""

_WITHOUT_CENTS: Final = 100.0
"""The dollar amount at or above which limits are displayed without cents."""

_NOT_AGAINST: Final = ("paid", "no_payments", SHARED_TRIAL, OWNER_CHANGED)
"""The reasons that do not count against an agent's ratings."""

_SAME: Final = {
    SHARED_TRIAL: "another new agent with the same source of funds has to be tried first",
    "no_payments": "no payment is on record",
}
"""The wording for reasons without figures."""

_OTHER: Final = "{accounts} are part of a finding in the analysis"


def sentence_of(reason: StandingReason) -> str:
    """Return a reason as a clause, without a full stop."""
    figures = reason.figures
    if reason.code in _SAME:
        return _SAME[reason.code]
    if reason.code == "false_raters":
        return f"{100 * figures['share']:.0f} % of the weight of its ratings comes from false raters"
    if reason.code == "few_raters":
        return _worth_of(figures["raters"], figures["effective"])
    if reason.code == OWNER_CHANGED:
        earlier = f"{_count(figures['raters'], 'rater')} and {_count(figures['payments'], 'payment')}"
        day = datetime.fromtimestamp(figures["at"], UTC).date()
        return f"it has belonged to its current owner since {day}; {earlier} under earlier owners do not count"
    if reason.code == "paid":
        payments = _count(figures["payments"], "payment")
        return f"{payments} totalling ${dollars(reason.amount or 0)} stayed with the seller"
    text = _BY_CODE.get(reason.code, _OTHER).format(accounts=_count(figures.get("accounts", 0), "account"))
    moved = [f"{amount:,.6g} {coin}" for coin, amount in figures.get("coins", {}).items()]
    if figures.get("moved"):
        moved.insert(0, f"${dollars(figures['moved'])}")
    return f"{text}, and {' and '.join(moved)} moved between them" if moved else text


def why(status: str, reasons: Iterable[StandingReason]) -> str:
    """Return one sentence that states why an agent is held back or contested."""
    is_proven = status != Status.CONTESTED
    claim = "its ratings were made up" if is_proven else "suspected of arranging false ratings (unproven)"
    return claim + next((f": {sentence_of(reason)}" for reason in reasons if reason.code not in _NOT_AGAINST), "")


def verdict_of(standing: Standing) -> str:
    """Return one sentence of advice on whether to deal with an agent."""
    rating, cost = standing.rating or 0.0, standing.evidence_cost
    if not standing.raters and standing.status == Status.THIN:
        return "Nobody whose rating counts has rated it. If you try it, start with a small amount."
    if standing.status != Status.OK:
        return _UNLESS_OK[Status(standing.status)]
    if rating < LEAST_RATING:
        return f"Better not: its rating is {rating:.0f} of 100."
    if standing.side == Side.CLIENT:
        return "Yes. Servers are satisfied with it."
    if (most := limit_of(standing).amount) <= TRIAL:
        return f"Yes, for up to ${dollars(TRIAL)}. Its positive raters have spent little elsewhere."
    return f"Yes, for up to ${_rounded_down(most)}. Its positive raters spent ${dollars(cost)} elsewhere."


def reasons_of(standing: Standing) -> list[str]:
    """Return what speaks for and against an agent, as sentences without full stops, most important first."""
    is_rated = standing.status == Status.OK
    reported = [_worth_of(standing.raters, standing.effective_raters)] if is_rated else []
    first = {reason.code: reason for reason in reversed(standing.reasons)}  # a detector may have several findings
    for reason in [reason for reason in standing.reasons if first[reason.code] is reason]:
        if reason.code == "no_payments" and is_rated and standing.side == Side.SERVER:
            reported.append("no payment to it is on record, so the limit is what its raters spent elsewhere")
        elif reason.code != "no_payments" or is_rated:
            reported.append(sentence_of(reason))
    return reported


def _worth_of(raters: int, independent: float) -> str:
    if not raters:
        return "no rater"
    if independent < _HARDLY:
        return f"{_count(raters, 'rater')}, who hardly count{'s' if raters == 1 else ''} yet"
    if round(independent) >= raters:
        return f"{_count(raters, 'rater')}, {'all independent' if raters > 1 else 'independent'}"
    return f"{_count(raters, 'rater')}, worth {independent:.1f} independent raters"


def _rounded_down(amount: float) -> str:
    """Return a limit in dollars in the form that a check accepts: with cents below $100, otherwise without cents."""
    return f"{floor(amount):,}" if amount >= _WITHOUT_CENTS else dollars(floor(amount * 100) / 100)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

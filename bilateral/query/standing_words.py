"""Standings in words for people: what a status means for somebody who may deal with the agent, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bilateral.values.decision import TRIAL, limit_of
from bilateral.values.standing import SHARED_TRIAL, Side, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bilateral.values.standing import Reason, Standing

MARKS: Final = {Status.HELD_BACK: "held back", Status.CONTESTED: "contested"}
"""The marks of agents that a list does not leave unmarked."""

LEAST_RATING: Final = 70
"""The rating from which an agent is accepted, as policies have it by default (`bilateral.checks.policy`)."""

_UNLESS_OK: Final = {
    Status.HELD_BACK: "No. Its ratings were made up.",
    Status.CONTESTED: "Only by your own experience. Its own acts tie it to false ratings, and this is not proven.",
    Status.THIN: "Not enough evidence yet. Try it for a small amount first.",
}
"""The answer to whether one should deal with an agent of each other status."""

_BY_CODE: Final = {
    "links": "{accounts} tied to it by owner, wallet or funds praised it",
    "lockstep": "{accounts} praised it together, young or at one time",
    "co-targeting": "{accounts} with one source of funds rated it",
    "blocks": "{accounts} praise each other in a circle",
    "wash_payments": "{accounts} got most of their money back",
    "retaliation": "it rated its critics down",
}
"""The words of the findings of each detector about an agent."""

_NOT_AGAINST: Final = ("paid", "no_payments", SHARED_TRIAL)
"""The reasons that tell nothing against an agent's ratings."""

_OTHER: Final = "{accounts} stand in a finding of the analysis"


def sentence_of(reason: Reason) -> str:
    """Return a reason as part of a sentence, without a full stop.

    Args:
        reason: The reason.
    """
    figures = reason.figures
    if reason.code == "false_raters":
        return f"{100 * figures['share']:.0f} % of the weight of its ratings came from false raters"
    if reason.code == "few_raters":
        return f"{_count(figures['raters'], 'rater')}, worth {figures['effective']:.1f} ordinary ones"
    if reason.code == SHARED_TRIAL:
        return "another new agent with the same source of funds is tried first"
    if reason.code == "paid":
        return f"{_count(figures['payments'], 'payment')}, ${reason.amount or 0:,.2f} in all, stayed with the seller"
    if reason.code == "no_payments":
        return "no payment that stayed is known"
    text = _BY_CODE.get(reason.code, _OTHER).format(accounts=_count(figures.get("accounts", 0), "account"))
    moved = figures.get("moved") or 0
    return f"{text}, ${moved:,.2f} moved among them" if moved else text


def why(status: str, reasons: Iterable[Reason]) -> str:
    """Return in one sentence why an agent is held back or contested.

    Args:
        status: Its status.
        reasons: The reasons for its standing.
    """
    parts = [sentence_of(reason) for reason in reasons if reason.code not in _NOT_AGAINST][:1]
    if status == Status.CONTESTED:
        return "its own acts tie it to false ratings, not proven" + "".join(f": {part}" for part in parts)
    return "its ratings were made up" + "".join(f": {part}" for part in parts)


def verdict_of(standing: Standing) -> str:
    """Return the answer to whether one should deal with an agent, in a sentence.

    Args:
        standing: Its standing.
    """
    rating, cost = standing.rating or 0.0, standing.evidence_cost
    if not standing.raters and standing.status == Status.THIN:
        return "Nobody whose word counts has rated it. If you try it, begin with a small amount."
    if standing.status != Status.OK:
        return _UNLESS_OK[Status(standing.status)]
    if rating < LEAST_RATING:
        return f"Better not. Its rating is {rating:.0f} of 100."
    if standing.side == Side.CLIENT:
        return f"Yes. Servers rate it {rating:.0f} of 100."
    if (most := limit_of(standing).amount) <= TRIAL:
        return f"Yes, for small amounts. Its rating is {rating:.0f} of 100, and would have been cheap to fake."
    rated = f"Its rating is {rating:.0f} of 100"
    return f"Yes, for payments up to ${most:,.0f}. {rated}, and to fake it costs ${cost:,.2f}."


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

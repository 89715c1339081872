"""Reasons that servers and clients share: age, ratings, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.checks.as_of_block import DAY
from bilateral.checks.entries import SERVER
from bilateral.checks.verdicts import Code, Severity
from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.decision import Ground
from bilateral.core.values.feedback import PAID_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.checks.agents import AgentFacts
    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.providers import FoundFindings
    from bilateral.checks.raters import Judgement
    from bilateral.checks.ratings import Counted, Line
    from bilateral.checks.reasons import Reasons
    from bilateral.checks.stake import Backing
    from bilateral.checks.verdicts import EventEvidence


def judge_age(reasons: Reasons, moment: Moment, facts: AgentFacts) -> None:
    """Add the reasons about an agent's age, and about recent changes of its wallet and owner."""
    policy, age = reasons.policy, moment.days_since(facts.registered_at)
    if age < policy.minimum_age_days:
        reasons.add(
            Code.TOO_YOUNG,
            f"The agent is {days(age)} old; the policy asks for {days(policy.minimum_age_days)}.",
            facts.registered,
        )
    if facts.wallet_since is not None and facts.wallet is not None and _is_recent(reasons, moment, facts.wallet_since):
        reasons.add(
            Code.WALLET_CHANGED,
            f"The agent's wallet changed {days(moment.days_since(facts.wallet_since))} ago, to {facts.wallet}.",
            facts.wallet_event,
        )
    if facts.owner_since is not None and _is_recent(reasons, moment, facts.owner_since):
        reasons.add(
            Code.OWNER_CHANGED,
            f"The agent was handed over {days(moment.days_since(facts.owner_since))} ago, to {facts.owner}. "
            "Its earlier ratings are those of another owner.",
            facts.owner_event,
        )


def judge_ratings(reasons: Reasons, judgement: Judgement, backing: Backing, lines: Sequence[Line] = ()) -> None:
    """Add the reasons about the ratings that count. Little evidence is a note for a first purchase.

    Args:
        reasons: The reasons so far.
        judgement: The ratings that count.
        backing: The standing and the stake.
        lines: All ratings of a server by tag, to name those under other tags where none counts.
    """
    policy, counted, evidence = reasons.policy, judgement.counted, judgement.evidence
    if counted.own:
        reasons.add(
            Code.OWN_RATINGS,
            f"{_number(counted.own, 'rating')} came from accounts of the agent's own side, and did not count.",
            *judgement.own_evidence,
        )
    rating, bound = counted.rating, counted.lower_bound
    if rating is None or bound is None:
        left_out = f" {_number(counted.left_out, 'rating')} by others did not count." if counted.left_out else ""
        whose = "no rating" if judgement.trusted is None else "no rating by a trusted rater"
        severity = backing.softened(Code.NO_RATINGS)
        under, apart = _under_other_tags(lines, policy.tag) if lines else ("", "")
        reasons.add(Code.NO_RATINGS, f"The agent has {whose}{under}.{left_out}{apart}", severity=severity)
        _judge_standing_rating(reasons, backing, evidence)  # a standing counts ratings under every tag
        return
    raters = _number(counted.raters, "rater")
    if backing.deciding is not None:
        _judge_standing_rating(reasons, backing, evidence)
    elif counted.is_below(policy.minimum_rating):
        reasons.add(
            Code.LOW_RATING,
            f"The rating is {rating} of 100 by {raters}; the policy asks for {policy.minimum_rating}.",
            *evidence,
        )
    elif bound < policy.minimum_rating:
        reasons.add(
            Code.UNCERTAIN_RATING,
            f"The rating is {rating} of 100 by {raters}, but its lower bound is {bound}; the policy asks for "
            f"{policy.minimum_rating}.",
            *evidence,
        )
    if counted.raters < policy.minimum_raters:
        reasons.add(
            Code.FEW_RATERS,
            f"Only {raters} rated the agent; the policy asks for {policy.minimum_raters}.",
            *evidence,
            severity=backing.softened(Code.FEW_RATERS),
        )
    if judgement.trusted is None:
        reasons.add(
            Code.UNVETTED_RATERS,
            "The policy names nobody whose ratings count, and anybody can make any number of raters.",
            *evidence,
            severity=backing.softened(Code.UNVETTED_RATERS),
        )


def _under_other_tags(lines: Sequence[Line], tag: str) -> tuple[str, str]:
    """Return the tag that counts, and a sentence about ratings under others; both empty if there are none.

    Tags in the words of strangers are counted, and not told.
    """
    known, others = split_lines([line for line in lines if line.side == SERVER and line.tag != tag], tag)
    told = [
        f"{_number(line.count, 'rating')} by {_number(line.raters, 'rater')} under {line.tag or 'no tag'}"
        + (f" ({line.rating} of 100)" if line.rating is not None else "")
        for line in known
    ]
    if others:
        told.append(f"{_number(sum(line.count for line in others), 'rating')} under tags of its raters' own")
    if not told:
        return "", ""
    return f" under {tag or 'no tag'}", f" It has {', '.join(told)}: name the tag in the policy to count these."


def _judge_standing_rating(reasons: Reasons, backing: Backing, evidence: Sequence[EventEvidence]) -> None:
    """Add the reasons about the rating of a standing that decides. A decline needs a rating that is bad for sure."""
    standing, limit, policy = backing.deciding, backing.limit, reasons.policy
    if standing is None or limit is None or standing.rating is None:
        return
    told = f"The rating by the analysis is {standing.rating:.0f} of 100"
    if limit.ground in (Ground.BAD, Ground.LOW_RATING):
        is_doubtful = limit.ground is Ground.LOW_RATING and Code.LOW_RATING not in policy.severities
        reasons.add(
            Code.LOW_RATING,
            f"{told}, and at most {standing.upper:.0f}; the policy asks for {policy.minimum_rating}.",
            *evidence,
            severity=Severity.CAUTION if is_doubtful else None,
        )
    elif standing.lower < policy.minimum_rating:
        reasons.add(
            Code.UNCERTAIN_RATING,
            f"{told}, but its lower bound is {standing.lower:.0f}; the policy asks for {policy.minimum_rating}.",
            *evidence,
            severity=backing.softened(Code.UNCERTAIN_RATING),
        )


def judge_findings(reasons: Reasons, stored: FoundFindings, backing: Backing) -> dict[str, Any]:
    """Add the findings of trust analysis, or that there is no current one, and return their figures.

    The suspicion below that of a flag is a rank and no reason, so it is a figure alone.
    """
    if backing.lack is not None:
        reasons.add(Code.NOT_ANALYSED, backing.lack)
    for finding in stored.findings:
        severity = finding.severity or backing.of_finding
        reasons.add(Code.FINDING, finding.sentence, *finding.evidence, severity=severity)
    named = [
        {"finding": finding.finding, "detector": finding.detector, "account": finding.account}
        for finding in stored.findings
    ]
    return {"findings": named, "suspicion": stored.suspicion}


def rating_figures(counted: Counted, tag: str) -> dict[str, Any]:
    """Return the figures of the ratings that count."""
    return {
        "tag": tag,
        "rating": counted.rating,
        "lower_bound": counted.lower_bound,
        "count": counted.count,
        "raters": counted.raters,
        "own": counted.own,
        "left_out": counted.left_out,
    }


def agent_figures(moment: Moment, facts: AgentFacts) -> dict[str, Any]:
    """Return the figures of an agent."""
    return {
        "owner": facts.owner,
        "wallet": facts.wallet,
        "age_days": moment.days_since(facts.registered_at),
        "registered": facts.registered,
        "wallet_since": facts.wallet_event or facts.registered,
        "owner_since": facts.owner_event or facts.registered,
    }


def split_lines(lines: Sequence[Line], tag: str) -> tuple[list[Line], list[Line]]:
    """Return the lines with well-known tags, and those with tags in the words of strangers."""
    known = {"", tag, *STANDARD_TAGS, *PAID_TAGS}
    return [line for line in lines if line.tag in known], [line for line in lines if line.tag not in known]


def _is_recent(reasons: Reasons, moment: Moment, time: int) -> bool:
    """Return True if a time lies within the days that the policy calls recent."""
    return (moment.time or time) - time < reasons.policy.recent_days * DAY


def days(count: int) -> str:
    """Return a number of days in words."""
    return _number(count, "day")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

"""Rules about ratings, trust analysis and validations. Each rule yields the reasons that follow from certain facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from bilateral.checks.facts import Facts, Line, RatingFacts, Unknown
from bilateral.checks.policy import Policy
from bilateral.checks.rules import Draft, Drafts, number_of
from bilateral.checks.verdicts import Code, EventEvidence, Severity
from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.decision import Ground, Limit, limit_of
from bilateral.core.values.feedback import PAID_TAGS
from bilateral.core.values.standing import Side, Standing, Status


@dataclass(frozen=True)
class Stake:
    """The requested amount, which is compared with the money that raters have spent with other sellers.

    Attributes:
        standing: The agent's standing from a trust analysis; None if no standing counts.
        amount: The requested amount, in whole payment tokens; None if unknown.
    """

    standing: Standing | None
    amount: Decimal | None
    policy: Policy

    @property
    def deciding(self) -> Standing | None:
        """The standing, if it replaces plain ratings because the policy counts all raters; otherwise None."""
        return self.standing if self.policy.counts_all else None

    @property
    def limit(self) -> Limit | None:
        """The maximum amount that the standing allows under the policy; None without a standing."""
        if self.standing is None:
            return None
        minimum = float(self.policy.minimum_rating) if self.policy.counts_all else 0.0
        trial, share = float(self.policy.first_purchase), float(self.policy.minimum_evidence)
        return limit_of(self.standing, minimum, trial, share)

    def softened(self, code: Code) -> Severity | None:
        """Return a reduced severity for a reason that the standing already reflects; None to use the policy's severity.

        The analysis has already weighed the raters, and the limit on the amount makes up for a small number of raters.
        Reasons keep their severity if the policy sets it explicitly or if it is not caution.
        """
        deciding = self.deciding
        is_vetted = deciding is not None and (self.amount is not None or deciding.status == Status.OK)
        is_caution = self.policy.severity_of(code) is Severity.CAUTION and code not in self.policy.severities
        return Severity.NOTE if is_caution and is_vetted else None


def findings(facts: Facts, policy: Policy) -> Drafts:
    """Yield trust analysis findings, or the lack of a current analysis.

    Suspicion below the flagging threshold only ranks accounts, so it is shown as a figure rather than as a reason.
    Evidence that is strong enough to act on results in the standing `held_back`.
    """
    if facts.analysis_lack is not None:
        yield Draft(Code.NOT_ANALYSED, facts.analysis_lack)
    if isinstance(facts.findings, Unknown):
        return
    is_weighed = facts.standing is not None and facts.standing.status != Status.HELD_BACK
    weight = Severity.NOTE if is_weighed and Code.FINDING not in policy.severities else None
    for finding in facts.findings.findings:
        yield Draft(Code.FINDING, finding.sentence, finding.evidence, finding.severity or weight)


def ratings(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the ratings that count. If a first purchase is allowed, a lack of evidence is only noted."""
    if facts.agent is None:
        return
    if isinstance(facts.ratings, Unknown):
        yield Draft(Code.NO_RATINGS, facts.ratings.reason)
        return
    counted, evidence = facts.ratings.counted, facts.ratings.evidence
    stake = Stake(facts.standing, facts.amount, policy)
    if counted.own:
        sentence = f"{number_of(counted.own, 'rating')} came from accounts on the agent's own side and did not count."
        yield Draft(Code.OWN_RATINGS, sentence, facts.ratings.own_evidence)
    rating, bound = counted.rating, counted.lower_bound
    if rating is None or bound is None:
        yield _no_ratings(facts.ratings, facts.side, stake)
        yield from _rating_of_standing(stake, evidence)  # a standing includes ratings under every tag
        return
    raters = number_of(counted.raters, "rater")
    if stake.deciding is not None:
        yield from _rating_of_standing(stake, evidence)
    elif counted.is_below(policy.minimum_rating):
        sentence = f"The rating is {rating} of 100 by {raters}; the policy requires {policy.minimum_rating}."
        yield Draft(Code.LOW_RATING, sentence, evidence)
    elif bound < policy.minimum_rating:
        sentence = f"The rating is {rating} of 100 by {raters}, but its lower bound is {bound}; the policy requires "
        yield Draft(Code.UNCERTAIN_RATING, f"{sentence}{policy.minimum_rating}.", evidence)
    if counted.raters < policy.minimum_raters:
        sentence = f"Only {raters} rated the agent; the policy requires {policy.minimum_raters}."
        yield Draft(Code.FEW_RATERS, sentence, evidence, stake.softened(Code.FEW_RATERS))
    if not facts.ratings.is_vetted:
        sentence = "The policy does not specify whose ratings count, and anyone can create any number of raters."
        yield Draft(Code.UNVETTED_RATERS, sentence, evidence, stake.softened(Code.UNVETTED_RATERS))


def _no_ratings(rated: RatingFacts, side: Side, stake: Stake) -> Draft:
    left_out = rated.counted.left_out
    ignored = f" {number_of(left_out, 'rating')} by other raters did not count." if left_out else ""
    whose = "no rating by a trusted rater" if rated.is_vetted else "no rating"
    tag, under, hint = stake.policy.tag, "", ""
    if side is Side.SERVER and (other_tags := _under_other_tags(rated.lines, tag)):
        under = f" under {tag or 'no tag'}"
        hint = f" It has {', '.join(other_tags)}. To count them, set their tag in the policy."
    sentence = f"The agent has {whose}{under}.{ignored}{hint}"
    return Draft(Code.NO_RATINGS, sentence, severity=stake.softened(Code.NO_RATINGS))


def _under_other_tags(lines: Sequence[Line], tag: str) -> list[str]:
    """Describe a server's ratings under other tags. Non-standard tags are only counted."""
    standard, free = split_lines([line for line in lines if line.side == Side.SERVER and line.tag != tag], tag)
    words = [
        f"{number_of(line.count, 'rating')} by {number_of(line.raters, 'rater')} under {line.tag or 'no tag'}"
        + (f" ({line.rating} of 100)" if line.rating is not None else "")
        for line in standard
    ]
    if free:
        words.append(f"{number_of(sum(line.count for line in free), 'rating')} under non-standard tags")
    return words


def split_lines(lines: Sequence[Line], tag: str) -> tuple[list[Line], list[Line]]:
    """Return the lines for standard tags, and the lines for other, untrusted tags."""
    standard = {"", tag, *STANDARD_TAGS, *PAID_TAGS}
    return [line for line in lines if line.tag in standard], [line for line in lines if line.tag not in standard]


def _rating_of_standing(stake: Stake, evidence: tuple[EventEvidence, ...]) -> Drafts:
    """Yield reasons from the rating in a standing. Only a reliably bad rating leads to the verdict `decline`."""
    standing, limit, policy = stake.deciding, stake.limit, stake.policy
    if standing is None or limit is None or standing.rating is None:
        return
    sentence = f"The rating from the analysis is {standing.rating:.0f} of 100"
    if limit.ground in (Ground.BAD, Ground.LOW_RATING):
        is_doubtful = limit.ground is Ground.LOW_RATING and Code.LOW_RATING not in policy.severities
        sentence = f"{sentence}, and at most {standing.upper:.0f}; the policy requires {policy.minimum_rating}."
        yield Draft(Code.LOW_RATING, sentence, evidence, Severity.CAUTION if is_doubtful else None)
    elif standing.lower < policy.minimum_rating:
        bound = f"{standing.lower:.0f}; the policy requires {policy.minimum_rating}."
        sentence = f"{sentence}, but its lower bound is {bound}"
        yield Draft(Code.UNCERTAIN_RATING, sentence, evidence, stake.softened(Code.UNCERTAIN_RATING))


def standing(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the standing in a trust analysis and from the stake."""
    limit, amount = Stake(facts.standing, facts.amount, policy).limit, facts.amount
    if facts.standing is None or limit is None:
        return
    is_tried = amount is not None and amount <= limit.amount
    if limit.ground is Ground.HELD_BACK:
        why = ", ".join(reason.code.replace("_", " ") for reason in facts.standing.reasons[:2])
        yield Draft(Code.HELD_BACK, f"The agent is held back because its ratings were made up ({why}).")
    elif limit.ground is Ground.CONTESTED:
        severity = Severity.NOTE if is_tried and Code.CONTESTED not in policy.severities else None
        sentence = "The agent is suspected of arranging false ratings, but this is unproven."
        yield Draft(Code.CONTESTED, sentence, severity=severity)
    elif limit.ground is Ground.SHARED_TRIAL and not is_tried:
        sentence = "The agent is new, and another new agent with the same source of funds has to be tried first."
        yield Draft(Code.STAKE_ABOVE_EVIDENCE, sentence)
    elif limit.ground is Ground.EVIDENCE and amount is not None and not is_tried:
        cost = cents(facts.standing.evidence_cost)
        since, enough = facts.standing.since, f"{cost}, which supports payments of up to {limit.amount:.2f}"
        sentence = f"The payment is {amount}. Creating the evidence{since} cost its raters {enough}."
        yield Draft(Code.STAKE_ABOVE_EVIDENCE, sentence)


def cents(amount: float) -> Decimal:
    """Return an amount of money with two decimals."""
    return Decimal(str(round(amount, 6))).quantize(Decimal("0.01"))


def validations(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the validations of a server's work."""
    answers, least = facts.validations, policy.minimum_validations
    if isinstance(answers, Unknown):
        return
    if answers.count < least:
        sentence = f"{answers.count} validations count; the policy requires {least}."
        yield Draft(Code.TOO_FEW_VALIDATIONS, sentence, answers.evidence)
    if answers.mean is not None and (policy.validators or least) and answers.mean < policy.minimum_validation:
        minimum = f"the policy requires {policy.minimum_validation}."
        sentence = f"Validators responded with {answers.mean} of 100 on average; {minimum}"
        yield Draft(Code.LOW_VALIDATION, sentence, answers.evidence)

"""The decision by a standing: the greatest amount that each status accepts, and the reasons that follow."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic import ValidationError

from bilateral.checks import Code, Policy, Severity, Trust, Verdict
from bilateral.checks.facts import (
    AgentFacts,
    Counted,
    Facts,
    FileState,
    Observation,
    RatingFacts,
    RegistrationFacts,
    Source,
)
from bilateral.checks.judge import judge
from bilateral.checks.verdicts import AsOf, Finding, FoundFindings
from bilateral.core.values.decision import Ground, Limit, limit_of
from bilateral.core.values.standing import SHARED_TRIAL, Side, Standing, StandingReason, Status
from tests.checks.ledger import account

SOLID = Standing(
    side=Side.SERVER, agent_id=1, status=Status.OK, rating=85.0, lower=75.0, upper=92.0,
    effective_raters=8.0, raters=10, payments=20, paid=30.0, first_at=0, last_at=1, evidence_cost=3.75,
)  # fmt: skip
HELD = replace(SOLID, status=Status.HELD_BACK)
THIN = replace(SOLID, status=Status.THIN, rating=None, lower=0.0, upper=100.0, raters=0, evidence_cost=0.0)
CONTESTED = replace(SOLID, status=Status.CONTESTED)
WAITS = replace(THIN, reasons=(StandingReason(SHARED_TRIAL, None, {}),))
PRAISE = Counted(count=2, raters=2, share_sum=1_900_000)
FILE = Observation(1, "data:,", FileState.LOADED, integrity="inline")
FINDING = Finding("links-1", account(1), "links", "Its owner funded two raters.")


@pytest.mark.parametrize(
    ("standing", "limit"),
    [
        (SOLID, Limit(50.0, Ground.EVIDENCE)),
        (replace(SOLID, evidence_cost=0.05), Limit(1.0, Ground.EVIDENCE)),
        (THIN, Limit(1.0, Ground.EVIDENCE)),
        (replace(THIN, rating=30.0, raters=1, evidence_cost=9.0), Limit(1.0, Ground.EVIDENCE)),
        (replace(SOLID, status=Status.THIN, rating=30.0, lower=44.9), Limit(1.0, Ground.EVIDENCE)),
        (replace(SOLID, status=Status.THIN, rating=30.0, lower=45.0), Limit(50.0, Ground.EVIDENCE)),
        (CONTESTED, Limit(1.0, Ground.CONTESTED)),
        (replace(SOLID, rating=49.9), Limit(0.0, Ground.LOW_RATING)),
        (replace(SOLID, rating=40.0, upper=49.9), Limit(0.0, Ground.BAD)),
        (replace(SOLID, rating=40.0, upper=49.9, raters=1), Limit(0.0, Ground.LOW_RATING)),
        (HELD, Limit(0.0, Ground.HELD_BACK)),
        (WAITS, Limit(0.0, Ground.SHARED_TRIAL)),
        (replace(WAITS, status=Status.CONTESTED), Limit(0.0, Ground.SHARED_TRIAL)),
        (replace(WAITS, status=Status.HELD_BACK), Limit(0.0, Ground.HELD_BACK)),
    ],
)
def test_standing_limits_the_amount(standing, limit):
    assert limit_of(standing) == limit
    assert limit.refuses is (limit.ground in {Ground.HELD_BACK, Ground.BAD})


def judged(standing, amount, policy=None, findings=(FINDING,)):
    """Judge an agent of two good ratings, one finding and a standing."""
    policy = policy or Policy()
    facts = Facts(
        source=Source.INDEX,
        side=Side.SERVER,
        as_of=AsOf(31337, 1),
        agent=AgentFacts(account(2), account(2), age_days=30),
        registration=RegistrationFacts(
            Observation(1, "data:,", FileState.LOADED, integrity="inline"), is_confirmed=True
        ),
        amount=None if amount is None else Decimal(amount),
        ratings=RatingFacts(PRAISE, is_vetted=policy.trust.is_set),
        findings=FoundFindings(findings),
        standing=standing,
    )
    return judge(facts, policy)


@pytest.mark.parametrize(
    ("standing", "amount", "verdict"),
    [
        (SOLID, "50", Verdict.ACCEPT),
        (SOLID, "50.01", Verdict.CAUTION),
        (SOLID, None, Verdict.ACCEPT),
        (THIN, "1", Verdict.ACCEPT),
        (THIN, "1.01", Verdict.CAUTION),
        (THIN, None, Verdict.CAUTION),
        (CONTESTED, "1", Verdict.ACCEPT),
        (CONTESTED, "1.01", Verdict.CAUTION),
        (CONTESTED, None, Verdict.CAUTION),
        (replace(SOLID, rating=69.0), "0.1", Verdict.CAUTION),
        (replace(SOLID, rating=40.0, upper=49.0), "0.1", Verdict.DECLINE),
        (HELD, "0", Verdict.DECLINE),
        (WAITS, "0.01", Verdict.CAUTION),
        (None, "0.1", Verdict.CAUTION),
    ],
)
def test_default_policy_decides_by_standing_and_amount(standing, amount, verdict):
    assert judged(standing, amount).verdict is verdict


@pytest.mark.parametrize(
    ("standing", "verdict"),
    [
        (SOLID, Verdict.DECLINE),  # two raters count
        (THIN, Verdict.DECLINE),
        (CONTESTED, Verdict.DECLINE),
        (replace(SOLID, lower=69.0), Verdict.DECLINE),
        (replace(SOLID, rating=69.0), Verdict.DECLINE),
    ],
)
def test_strict_policy_declines_what_is_uncertain(standing, verdict):
    assert judged(standing, "0.5", Policy(name="strict")).verdict is verdict


def test_strict_policy_accepts_a_rating_that_is_high_for_sure():
    assert judged(SOLID, "3.75", Policy(name="strict", minimum_raters=2)).verdict is Verdict.ACCEPT
    assert judged(SOLID, "3.76", Policy(name="strict", minimum_raters=2)).verdict is Verdict.DECLINE


@pytest.mark.parametrize(("share", "most"), [("0.01", "375"), ("1", "3.75"), ("100", "1")])
def test_share_of_the_stake_that_evidence_must_have_cost_is_the_policys(share, most):
    policy = Policy(minimum_evidence=Decimal(share))
    assert judged(SOLID, most, policy).verdict is Verdict.ACCEPT
    reasons = judged(SOLID, str(Decimal(most) + Decimal("0.01")), policy)
    assert {reason.code for reason in reasons.reasons if reason.severity is Severity.CAUTION} == {
        Code.STAKE_ABOVE_EVIDENCE
    }


@pytest.mark.parametrize("share", ["0", "0.0099", "100.01", "-1", "NaN"])
def test_share_beyond_its_limits_is_refused(share):
    with pytest.raises(ValidationError, match="minimum_evidence"):
        Policy(minimum_evidence=Decimal(share))


def test_severity_that_a_policy_names_is_not_softened():
    named = Policy(severities={Code.FINDING: Severity.CAUTION})
    assert (judged(SOLID, "1").verdict, judged(SOLID, "1", named).verdict) == (Verdict.ACCEPT, Verdict.CAUTION)


def test_finding_about_a_held_back_agent_asks_for_caution():
    severities = {reason.code: reason.severity for reason in judged(HELD, "1").reasons}
    assert (severities[Code.HELD_BACK], severities[Code.FINDING]) == (Severity.DECLINE, Severity.CAUTION)


def test_own_list_accepts_on_the_word_of_two_reviewers_unless_the_agent_is_held_back():
    policy = Policy(name="own-list", trust=Trust(accounts=(account(1),)))
    assert judged(SOLID, "50", policy).verdict is Verdict.ACCEPT
    assert judged(replace(SOLID, rating=20.0, upper=30.0), "0.5", policy).verdict is Verdict.ACCEPT
    assert judged(HELD, "0.5", policy).verdict is Verdict.DECLINE

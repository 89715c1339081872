"""Policies: files, limits, and the verdict that follows."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from bilateral.checks import Code, Policy, Severity, Trust, Verdict, read_policy
from bilateral.checks.policy import PRESETS, PolicyName, policy_of, with_reviewers
from bilateral.checks.verdicts import Reason, sorted_reasons, verdict_of
from bilateral.core.errors import InvalidArgumentError
from tests.checks.ledger import account

PAGE = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()


def test_policy_is_read_from_a_file(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        'minimum_rating = 82.5\nnewcomers = "decline"\nvalidators = ["0x' + "aa" * 20 + '"]\n'
        "[trust]\nagents = [1, 2]\nminimum_lower_bound = 60\n[severities]\ninactive = 'decline'\n"
    )
    policy = read_policy(path)
    assert (policy.minimum_rating, policy.newcomers) == (Decimal("82.5"), "decline")
    assert policy.validators == ("0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa",)
    assert policy.trust == Trust(agents=(1, 2), minimum_lower_bound=Decimal(60))
    assert policy.severity_of(Code.INACTIVE) is Severity.DECLINE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minimum_rating = 101", "policy: minimum_rating: "),
        ("minimum_rating = -1", "policy: minimum_rating: "),
        ("unknown = 1", "policy: unknown: "),
        ("[trust]\nunknown = 1", "policy: trust.unknown: "),
        ('[trust]\naccounts = ["0x12"]', 'policy: trust.accounts.0: "0x12" is not an EVM address: '),
        ("[trust]\nagents = [-1]", "policy: trust.agents.0: "),
        ('[trust]\nagents = ["8453:x"]', 'policy: trust.agents.0: "8453:x" is not an agent id: '),
        ("[trust]\nagents = [true]", "policy: trust.agents.0: agent must be an integer or an id such as '8453:247'"),
        (
            "[trust]\nagents = [1.5]",
            "policy: trust.agents.0: agent must be an integer or an id such as '8453:247'",
        ),
        ('tag = "revenues"', 'policy: tag: the tag "revenues" has no scale from 0 to 100'),
        ("minimum_raters = 0", "policy: minimum_raters: "),
        ("[severities]\nnothing = 'note'", "policy: severities.nothing"),
        ("[severities]\ninactive = 'fatal'", "policy: severities.inactive: "),
        ("minimum_rating =", "is not TOML"),
    ],
)
def test_invalid_field_is_named(tmp_path, text, message):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        read_policy(path)


TRUST = {"trust": {"accounts": [account(1)]}}


@pytest.mark.parametrize("name", list(PolicyName))
def test_policy_with_a_name_is_the_same_everywhere(tmp_path, name):
    path = tmp_path / "policy.toml"
    path.write_text(f'name = "{name}"\n[trust]\naccounts = ["{account(1)}"]\n')
    policy = read_policy(path)
    assert policy == policy_of({"name": name.value, **TRUST}) == Policy(name=name, trust=Trust(accounts=(account(1),)))
    assert policy == policy_of(with_reviewers(name.value, [account(1)])) == policy_of(policy.model_dump())
    assert PRESETS[name].items() <= policy.model_dump().items()


def test_balanced_policy_is_the_default():
    assert policy_of("balanced") == Policy() == policy_of({})


def test_strict_policy_takes_every_reason_at_least_as_gravely():
    ranks = [Severity.NOTE, Severity.CAUTION, Severity.DECLINE]
    strict, balanced = policy_of("strict"), Policy()
    assert all(ranks.index(strict.severity_of(code)) >= ranks.index(balanced.severity_of(code)) for code in Code)
    assert strict.severity_of(Code.NO_RATINGS) is strict.severity_of(Code.UNCERTAIN_RATING) is Severity.DECLINE
    assert (strict.minimum_raters, strict.first_purchase) == (5, 0)


def test_own_fields_count_more_than_those_of_a_name():
    fields = {"name": "strict", "minimum_raters": 2, "newcomers": "accept", "severities": {"related": "note"}}
    policy = policy_of(fields)
    assert (policy.minimum_raters, policy.newcomers, policy.first_purchase) == (2, "accept", 0)
    assert policy.severity_of(Code.RELATED) is Severity.NOTE
    assert policy.severity_of(Code.CONTESTED) is Severity.DECLINE


@pytest.mark.parametrize("fields", ["own-list", {"name": "own-list"}, {"name": "own-list", "trust": {}}])
def test_policy_by_an_own_list_needs_the_list(fields):
    with pytest.raises(InvalidArgumentError, match=r"own-list counts only your own reviewers: list them in trust\.acc"):
        policy_of(fields)


@pytest.mark.parametrize(
    "fields", ["lenient", {"name": "lenient"}, {"name": ["strict"]}, {"name": 1}, ["strict"], None]
)
def test_policy_with_an_unknown_name_is_refused(fields):
    with pytest.raises(InvalidArgumentError, match=r"^policy: "):
        policy_of(fields)
    with pytest.raises(InvalidArgumentError, match=r"^policy: "):
        policy_of(with_reviewers(fields, [account(1)]))


def test_page_describes_the_fields_of_each_name():
    for name in PolicyName:
        (row,) = re.findall(rf"^\| `{name}` \| .+$", PAGE, re.MULTILINE)
        changed = {*PRESETS[name]} - {"severities"} | {code.value for code in PRESETS[name].get("severities", {})}
        assert changed <= set(re.findall(r"`(\w+)`", row)) - {name.value}


def test_unreadable_file_is_named(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"nothing\.toml\" cannot be read: No such file"):
        read_policy(tmp_path / "nothing.toml")


@pytest.mark.parametrize(("count", "is_valid"), [(1_000, True), (1_001, False)])
def test_list_of_trusted_accounts_has_a_limit(count, is_valid):
    fields = {"trust": {"accounts": [account(number) for number in range(count)]}}
    if is_valid:
        assert len(policy_of(fields).trust.accounts) == count
        return
    with pytest.raises(InvalidArgumentError, match=r"trust\.accounts"):
        policy_of(fields)


def test_policy_cannot_be_changed():
    with pytest.raises(ValidationError):
        Policy().minimum_rating = Decimal(1)


@pytest.mark.parametrize(
    ("severities", "verdict"),
    [
        ([], Verdict.ACCEPT),
        ([Severity.NOTE], Verdict.ACCEPT),
        ([Severity.NOTE, Severity.CAUTION], Verdict.CAUTION),
        ([Severity.CAUTION, Severity.DECLINE, Severity.NOTE], Verdict.DECLINE),
    ],
    ids=["none", "note", "caution", "decline"],
)
def test_gravest_reason_decides(severities, verdict):
    reasons = [Reason(Code.INACTIVE, severity, "") for severity in severities]
    assert verdict_of(reasons) is verdict
    assert [reason.severity for reason in sorted_reasons(reasons)] == sorted(
        severities, key=[Severity.DECLINE, Severity.CAUTION, Severity.NOTE].index
    )


def test_page_lists_every_reason_with_its_severity():
    rows = re.findall(r"^\| `(\w+)` \| (note|caution|decline) \| .+ \|$", PAGE, re.MULTILINE)
    assert [(code, severity) for code, severity in rows] == [(code_.value, code_.severity.value) for code_ in Code]


def test_page_lists_every_field_of_a_policy():
    rows = re.findall(r"^\| `([\w.]+)` \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    fields = [name for name in Policy.model_fields if name != "trust"]
    assert [row for row in rows if row in Policy.model_fields or row.startswith("trust.")] == [
        *fields,
        *(f"trust.{name}" for name in Trust.model_fields),
    ]

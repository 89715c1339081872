"""Policies: files, limits, and the verdict that follows."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from bilateral.checks import Code, Policy, Severity, Trust, Verdict, read_policy
from bilateral.checks.policy import policy_of
from bilateral.checks.verdicts import SEVERITIES, Reason, sorted_reasons, verdict_of
from bilateral.errors import InvalidArgumentError
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
        ("[trust]\nagents = [true]", "policy: trust.agents.0: an agent is its number, or its id as text"),
        (
            "[trust]\nagents = [1.5]",
            "policy: trust.agents.0: an agent is its number, or its id as text",
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
    assert [it.severity for it in sorted_reasons(reasons)] == sorted(
        severities, key=[Severity.DECLINE, Severity.CAUTION, Severity.NOTE].index
    )


def test_page_lists_every_reason_with_its_severity():
    rows = re.findall(r"^\| `(\w+)` \| (note|caution|decline) \| .+ \|$", PAGE, re.MULTILINE)
    assert [(code, severity) for code, severity in rows] == [(it.value, SEVERITIES[it].value) for it in Code]


def test_page_lists_every_field_of_a_policy():
    rows = re.findall(r"^\| `([\w.]+)` \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    fields = [name for name in Policy.model_fields if name != "trust"]
    assert [it for it in rows if it in Policy.model_fields or it.startswith("trust.")] == [
        *fields,
        *(f"trust.{name}" for name in Trust.model_fields),
    ]

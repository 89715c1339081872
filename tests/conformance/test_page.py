"""The checker of docs/conformance.md finds rows without tests, tests without rows, and unknown ids."""

from __future__ import annotations

import pytest

from tests.conformance.page import gaps

PAGE = """
## FeedbackAuth

| clause | shown by |
| --- | --- |
| FR-001: registers | `tests/identity/test_register.py::test_registers` |
| FR-002, SC-001 | not on chain: somebody else does it |

## Best practices

| tag | value | shown by |
| --- | --- | --- |
| `uptime` | 9977 | `tests/a.py::test_b`, `tests/a.py::test_c` |
"""
REQUIREMENTS = {"FeedbackAuth": ["FR-001", "FR-002", "SC-001"], "Best practices": ["uptime"]}
OUTCOMES = {
    "tests/identity/test_register.py::test_registers": {"passed"},
    "tests/a.py::test_b": {"passed"},
    "tests/a.py::test_c": {"passed"},
}


def test_page_that_keeps_its_word_has_no_gaps():
    assert gaps(PAGE, REQUIREMENTS, OUTCOMES) == []


def test_test_that_does_not_exist_is_a_gap():
    outcomes = {name: outcome for name, outcome in OUTCOMES.items() if name != "tests/a.py::test_c"}
    assert gaps(PAGE, REQUIREMENTS, outcomes) == ["line 13: there is no test tests/a.py::test_c"]


@pytest.mark.parametrize("outcome", [{"failed"}, {"skipped"}, {"passed", "failed"}])
def test_test_that_did_not_pass_with_all_its_parameters_is_a_gap(outcome):
    assert gaps(PAGE, REQUIREMENTS, OUTCOMES | {"tests/a.py::test_b": outcome}) == [
        "line 13: tests/a.py::test_b did not pass"
    ]


@pytest.mark.parametrize("required", ["FR-003", "FR-00", "R-001"])
def test_requirement_without_a_row_is_a_gap(required):
    requirements = REQUIREMENTS | {"FeedbackAuth": [*REQUIREMENTS["FeedbackAuth"], required]}
    assert gaps(PAGE, requirements, OUTCOMES) == [f'no row for {required} under "FeedbackAuth"']


def test_requirement_in_another_section_does_not_count():
    requirements = REQUIREMENTS | {"Best practices": ["FR-001"]}
    assert gaps(PAGE, requirements, OUTCOMES) == ['no row for FR-001 under "Best practices"']


def test_id_that_the_specification_does_not_have_is_a_gap():
    page = "## FeedbackAuth\n\n| clause | shown by |\n| --- | --- |\n| FA-U1.2, FA-E1: story | nobody |\n"
    assert gaps(page, {"FeedbackAuth": ["FA-U1.2", "FA-E1"]}, {}) == []
    assert gaps(page, {"FeedbackAuth": ["FA-U1.2"]}, {}) == ['line 5: FA-E1 is not a requirement of "FeedbackAuth"']


def test_row_with_neither_test_nor_reason_is_a_gap():
    page = "| clause | shown by |\n| --- | --- |\n| FR-009 | |\n"
    assert gaps(page, {}, {}) == ['line 3: "FR-009" has neither a test nor a reason']


@pytest.mark.parametrize(
    "line",
    [
        "- As deployed. `tests/a.py::test_b`",
        "| `tests/a.py::test_b` | as deployed |",
        "| as deployed | tests/a.py::test_b |",
        "| as deployed | `tests/a.py::test_b`, tests/a.py::test_b |",
        "| as deployed | `tests/a::test_b` |",
    ],
)
def test_test_that_is_named_where_it_is_not_checked_is_a_gap(line):
    name = "tests/a::test_b" if "a::" in line else "tests/a.py::test_b"
    assert gaps(f"{PAGE}{line}\n", REQUIREMENTS, OUTCOMES) == [f"line 14: {name} is named where it is not checked"]

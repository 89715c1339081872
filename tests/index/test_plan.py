"""The plan of an index: arithmetic on figures with sources, which the pages quote."""

from __future__ import annotations

import json

import pytest

from bench.scale import exponent
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.plan import CONSTANTS, Size, plan
from scripts._build import ROOT
from tests.index.test_commands import bilateral

TARGET = Size(agents=10**8, ratings=10**10, chains=20)


def row(line):
    return f"| {line.part} | {line.question} | {line.arithmetic} | {line.answer} |"


def answers(size):
    return {(line.part, line.question): line.answer for line in plan(size)}


def test_pages_quote_the_plan_for_a_hundred_million_agents():
    rows = [row(line) for line in plan(TARGET)]
    page = (ROOT / "docs" / "scale.md").read_text()
    assert [entry for entry in page.splitlines() if entry.startswith(("| index |", "| api |", "| analysis | "))] == [
        *rows,
        *[entry for entry in page.splitlines() if entry.startswith("| analysis | arrays in memory")],
    ]
    manual = (ROOT / "docs" / "operating.md").read_text()
    quoted = [entry for entry in manual.splitlines() if entry.startswith(("| index | ", "| api | ", "| analysis | "))]
    assert len(quoted) >= 6
    assert set(quoted) <= set(rows)
    assert len(page.split()) <= 1_500


def test_each_figure_has_its_source_on_the_page():
    page = (ROOT / "docs" / "scale.md").read_text()
    for constant in CONSTANTS:
        assert constant.source
        unit = f" {constant.unit}" if constant.unit else ""
        assert f"| {constant.name} | {constant.value:g}{unit} | {constant.source} |" in page


def test_command_prints_the_plan_and_its_sources():
    code, output, _ = bilateral("plan", "--agents", "100000000", "--ratings", "10000000000", "--chains", "20", "--json")
    assert code == 0
    told = json.loads(output)
    assert [line["answer"] for line in told["lines"]] == [line.answer for line in plan(TARGET)]
    assert [constant["source"] for constant in told["constants"]] == [constant.source for constant in CONSTANTS]


def test_small_index_takes_one_machine_and_no_engine():
    small = answers(Size(agents=1_000, ratings=1_000_000, chains=1))
    assert small["index", "servers (shards)"] == "1"
    assert small["analysis", "by arrays: time"] == "14.8 s"
    assert ("analysis", "largest shuffle") not in small


def test_ten_times_the_ratings_take_ten_times_the_disk():
    tenfold, single = (answers(Size(agents=1, ratings=count, chains=20)) for count in (10**10, 10**9))
    larger, smaller = (float(of["index", "disk of ratings"].split()[0]) for of in (tenfold, single))
    assert larger == pytest.approx(10 * smaller, rel=0.01)  # both are rounded


@pytest.mark.parametrize("name", ["agents", "ratings", "chains", "answers"])
@pytest.mark.parametrize("value", [0, 10**13 + 1])
def test_size_out_of_range_is_named(name, value):
    with pytest.raises(InvalidArgumentError, match=rf"{name} {value} is out of range 1\.\.10,000,000,000,000"):
        Size(**{"agents": 1, "ratings": 1, "chains": 1, name: value})


def test_exponent_of_a_cost_that_stays_is_nought_and_of_one_that_grows_as_the_rows_is_one():
    assert exponent(7.0, 7.0, 10) == 0
    assert exponent(7.0, 70.0, 10) == pytest.approx(1)

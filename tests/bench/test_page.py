"""The pages about gas show the measured figures, and every floor is below its figure."""

from __future__ import annotations

import re

import pytest

from bench.gas import CASES, PAGE, floors, recorded_figures, with_code, written_page

FIGURES = {call: gas for figures in recorded_figures().values() for call, gas in figures.items()}
OFFICIAL = {case.call: case.official for cases in CASES.values() for case in cases}
GUIDE = (PAGE.parent / "gas.md").read_text()
TEXT = " ".join(GUIDE.split())


def test_generated_page_shows_the_recorded_figures():
    assert PAGE.read_text() == written_page()


@pytest.mark.parametrize("call", floors())
def test_floor_is_at_most_the_figure_of_its_call(call):
    assert 0 < floors()[call] <= FIGURES[call]


@pytest.mark.parametrize(
    "call",
    [
        "register(uri), fresh account",
        "giveFeedback, full, second",
        "giveFeedbackBySig, full, second",
        "getSummary, 1 client with 1,000, execution",
        "rateClient, a neighbour",
        "rateClients, 32 new neighbours, each",
        "getClientRating, execution",
        "exchange, a second feedback and a neighbour",
        "seal, a neighbour",
        "open, a second feedback",
        "openRating",
        "openFeedback, a client's first",
        "settle, later",
        "recordPayment, later",
    ],
)
def test_figure_of_a_call_that_is_used_most_stands_beside_its_floor(call):
    lowest = floors()[call]
    assert (
        f"| {with_code(call)} | {FIGURES[call]:,} | {lowest:,} | {FIGURES[call] / lowest - 1:.1%} |" in PAGE.read_text()
    )


def test_guide_shows_the_recorded_figures_of_usual_calls():
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \| ?([\d,]*) \|$", GUIDE.replace("`", ""), re.MULTILINE)
    assert len(rows) > 10
    for call, gas, official in rows:
        assert gas == f"{FIGURES[call]:,}"
        assert official == (f"{OFFICIAL[call]:,}" if OFFICIAL[call] else "")


@pytest.mark.parametrize(
    ("convenience", "dearer", "cheaper"),
    [
        ("`giveFeedbackBySig`", "giveFeedbackBySig, full, second", "giveFeedback, full, second"),
        ("`rateClientAs`", "rateClientAs, a neighbour", "rateClient, a neighbour"),
        ("Ratings through a", "rateClient by a companion, a neighbour", "rateClient, a neighbour"),
    ],
)
def test_guide_shows_the_recorded_cost_of_conveniences(convenience, dearer, cheaper):
    (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| {convenience}")]
    assert row.endswith(f"| {FIGURES[dearer] - FIGURES[cheaper]:,} |")


def test_readings_of_the_eips_figure_are_those_of_the_recorded_ones():
    first, neighbour = FIGURES["rateClient, first in a word"], FIGURES["rateClient, a neighbour"]
    three, many = (FIGURES[f"rateClients, {count} new neighbours, each"] for count in (3, 32))
    assert f"Any contract needs at least {floors()['rateClient, first in a word']:,}" in TEXT
    assert f"This project's calls take {first:,} and {neighbour:,}." in TEXT
    assert f"project's calls take {first - 21_344:,} and {neighbour - 21_344:,}." in TEXT
    assert f"takes {three:,} gas per rating for three clients with adjacent ids, and {many:,} for 32." in TEXT


def test_page_about_the_companion_shows_recorded_figures():
    text = " ".join((PAGE.parent / "CompanionDirectory.md").read_text().split())
    difference = FIGURES["rateClient by a companion, a neighbour"] - FIGURES["rateClient, a neighbour"]
    assert f"a rating takes {difference:,} gas more than on `IdentityRegistry`" in text
    assert f"raised by anybody for {FIGURES['proveAgent, a later one']:,} gas" in text

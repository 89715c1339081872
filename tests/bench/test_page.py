"""The page about gas shows the measured figures, and its floors are the sums of their parts."""

from __future__ import annotations

import pytest

from bench.gas import CASES, PAGE, columns, floors, recorded_figures, written_page
from scripts._build import build

FIGURES = {call: gas for figures in recorded_figures().values() for call, gas in figures.items()}
PROMISES = {case.call: case.at_most for cases in CASES.values() for case in cases}


COLUMNS = list(columns(PAGE.read_text()))
FLOORS = [pytest.param(*column, id=" ".join(column[:2])) for column in COLUMNS if "floor" in column[2]]
COMPARED = [floor for floor in FLOORS if "ours" in floor.values[2]]


def test_page_about_gas_shows_the_recorded_figures():
    assert PAGE.read_text() == written_page()


@pytest.mark.parametrize(("subject", "name", "column"), FLOORS)
def test_floor_is_the_sum_of_its_parts(subject, name, column):
    parts = list(column)[: list(column).index("floor")]
    refunds = sum(column[part] for part in parts if part.startswith("refund"))
    assert column["floor"] == sum(column[part] for part in parts) - 2 * refunds


@pytest.mark.parametrize(("subject", "name", "column"), COMPARED)
def test_floor_is_compared_with_the_recorded_figure(subject, name, column):
    if name == "rateClients, 32 new neighbours":
        assert column["ours"] // 32 == FIGURES[f"{name}, each"]
    else:
        assert column["ours"] in [FIGURES.get(call) for call in (name, f"{subject}, {name}", f"{name}, execution")]
    assert column["above the floor"] == column["ours"] - column["floor"] >= 0


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
    lowest = floors(PAGE.read_text())[call]
    assert f"| {call} | {FIGURES[call]:,} | {lowest:,} | {FIGURES[call] / lowest - 1:.1%} |" in PAGE.read_text()


def test_chosen_settings_are_shown_with_what_they_give():
    settings = {name: column for _, name, column in COLUMNS if "runtime code, bytes" in column}
    chosen, promised = settings["IR, 1,000,000"], settings["promised"]
    assert chosen.pop("runtime code, bytes") == len(build("IdentityRegistry").runtime_code)
    assert chosen == {call: FIGURES[call] for call in chosen}
    assert {call: promised[call] for call in chosen} == {call: PROMISES[call] for call in chosen}


def test_readings_of_the_eips_figure_are_those_of_the_recorded_ones():
    text = " ".join(PAGE.read_text().split())
    first, neighbour = FIGURES["rateClient, first in a word"], FIGURES["rateClient, a neighbour"]
    three, many = (FIGURES[f"rateClients, {count} new neighbours, each"] for count in (3, 32))
    assert f"Ours take {first:,} and {neighbour:,}." in text
    assert f"ours take {first - 21_344:,} and {neighbour - 21_344:,}:" in text
    assert f"takes {three:,} for each of three neighbours, and {many:,} for each of 32." in text


def test_page_about_the_companion_shows_recorded_figures():
    text = " ".join((PAGE.parent / "CompanionDirectory.md").read_text().split())
    difference = FIGURES["rateClient by a companion, a neighbour"] - FIGURES["rateClient, a neighbour"]
    assert f"a rating takes {difference:,} gas more than on `IdentityRegistry`" in text
    assert f"raised by anybody for {FIGURES['proveAgent, a later one']:,} gas" in text

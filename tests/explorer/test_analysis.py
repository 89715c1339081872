"""The words and figures of the page of trust analysis are those of the documentation."""

from __future__ import annotations

from bilateral.explorer.analysis import DETECTORS, MEASURED
from scripts._build import ROOT

PAGES = [(ROOT / "docs" / name).read_text() for name in ("trust.md", "trust-figures.md")]


def rows(columns):
    """Return the rows of the page's tables with a number of columns."""
    lines = [line for page in PAGES for line in page.splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if len(row) == columns]


def test_each_detector_says_what_the_documentation_says():
    documented = set(map(tuple, rows(3)))
    assert {(detector.name, detector.finds, detector.evades) for detector in DETECTORS} <= documented


def test_measured_figures_are_those_of_the_documentation():
    documented = {(name, measured) for name, _, measured, _ in rows(4)}
    assert {(item.name, item.measured) for item in MEASURED} <= documented


def test_measured_figures_name_their_families_and_are_of_the_ranking_and_of_flags():
    families = {item.name.partition(": ")[0] for item in MEASURED}
    unseen = {f"unseen families of {name}" for name in ("a second author", "a third author", "our own")}
    unseen |= {"unseen families and look-alikes of a first author"}
    assert families == {*unseen, "families known while the engine was built"}
    for name in unseen:
        told = {item.name.partition(": ")[2] for item in MEASURED if item.name.startswith(name)}
        assert told == {"AUC", "recall at 1 %", "recall at the own threshold"}

"""The page of trust figures claims only measured figures."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from math import isnan, nan
from types import SimpleNamespace

import numpy as np
import pytest

from bench.trust import page
from bench.trust.measures import Truth, scoring, threshold
from bench.trust.page import of_flagged, precise
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import Settings
from bilateral.trust.engine import Engine

OURS = "unseen families of our own"


@pytest.fixture
def figures():
    return deepcopy(page.recorded())


def cells(lines, test):
    """Return the other cells of a test's row."""
    (line,) = [line for line in lines if line.startswith(f"| {test} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_a_threshold_that_flags_nothing_has_no_precision():
    engine = SimpleNamespace(suspicion_=SimpleNamespace(flagged=np.zeros(3, bool)))
    truth = SimpleNamespace(judged=np.ones(3, bool), attack=np.array([-1, 0, 0]), group=["", "", ""])
    measured = threshold(engine, truth)
    assert isnan(measured["precision"])
    assert (measured["recall"], measured["false positives"]) == (0, 0)


def test_evidence_against_nobody_has_no_precision():
    tables, truth = honest_world(3, Settings(clients=250, owners=120, platforms=1, communities=2)).tables()
    engine = Engine().fit(tables)
    engine.suspicion_ = replace(engine.suspicion_, flagged=np.zeros_like(engine.suspicion_.flagged))
    assert isnan(scoring(engine, Truth.of(engine, truth))["precision of evidence"])


@pytest.mark.parametrize("empty", [nan, 1.0])
def test_worlds_in_which_nothing_is_flagged_show_no_verdict(figures, empty):
    ours = figures["worlds"]["fourth run"]["set"]["Bilateral"]
    ours["precision"] = [empty] * 3
    ours["recall"] = ours["false positives"] = [0.0] * 3
    lines = page.section(figures).splitlines()
    assert cells(lines, f"{OURS}: precision at the own threshold") == ["0.9", "nothing flagged", ""]
    assert cells(lines, f"{OURS}: recall at the own threshold") == ["", "0.000", ""]


def test_precision_is_of_the_worlds_in_which_something_is_flagged():
    ours = {"precision": [1.0, 1.0, 0.0], "recall": [0.0, 0.0, 0.0], "false positives": [0.0, 0.0, 0.013]}
    assert precise(of_flagged(ours, "precision")) == "0.000 (1 of 3 worlds)"
    assert precise([1.0, 0.5]) == "0.750 [0.000, 1.000]"


def test_a_first_run_shows_whom_it_flagged(figures):
    ours = figures["worlds"]["fourth run"]["set"]["Bilateral"]
    ours["recall"] = [0.0] * 3
    ours["precision"] = [1.0, 1.0, 0.0]  # first runs recorded 1 where nothing was flagged
    ours["false positives"] = [0.0, 0.0, 0.013]
    lines = page.section(figures).splitlines()
    assert cells(lines, f"{OURS}: precision at the own threshold") == ["0.9", "0.000 (1 of 3 worlds)", "**no**"]
    assert cells(lines, f"{OURS}: recall at the own threshold") == ["", "0.000", ""]


def test_the_page_names_the_weakest_families_and_the_worst_group_of_each_kind(figures):
    rows = figures["worlds"]["sets"]["fresh"]
    rows["family booster"]["recall at 1 %"] = [0.0, 0.1, 0.2]
    rows["Bilateral"]["false positives: club"] = [0.015, 0.0, 0.0]
    text = page.section(figures)
    assert "| booster 0.10, " in text
    assert "| 0.005, club |" in text


def test_the_page_names_the_worlds_without_late_honest_newcomers(figures):
    text = " ".join(page.section(figures).split())
    assert 'The first runs of "latest" and "newest" are too good, because their worlds had no ordinary honest' in text

"""The registries promise their gas: every measured call is pinned."""

from __future__ import annotations

import re

import pytest

from bench.gas import CASES, measure, recorded_figures
from bench.measurement import World

MARGIN = 1.002
"""The factor above the recorded figure from which a call counts as a regression."""

MANY = re.compile(r"1,000|^the same with tag1 starred$")
"""Nightly: summaries of 1,000 entries. One of 100 does the same, and takes a tenth of the time."""


def named_cases():
    return [
        pytest.param(
            registry, case, id=f"{registry}-{case.call}", marks=[pytest.mark.nightly] * bool(MANY.search(case.call))
        )
        for registry, cases in CASES.items()
        for case in cases
    ]


@pytest.fixture(scope="module")
def world(chain):
    """Registries that are deployed once: each measurement leaves them as new."""
    world = World()
    assert all((world.identity, world.authorized, world.validation, world.reputation))
    return world


@pytest.mark.parametrize(("registry", "case"), named_cases())
def test_call_takes_no_more_gas_than_promised_and_recorded(registry, case, world):
    gas = measure(case, world)
    assert gas <= case.at_most
    assert gas <= recorded_figures()[registry][case.call] * MARGIN


def test_every_recorded_figure_belongs_to_a_case():
    recorded = {registry: set(calls) for registry, calls in recorded_figures().items()}
    assert recorded == {registry: {case.call for case in cases} for registry, cases in CASES.items()}


def test_companion_adds_no_more_to_authorised_feedback_than_promised():
    figures = recorded_figures()
    by_companion = figures["CompanionDirectory"]["authorised giveFeedback by a companion, first"]
    assert by_companion - figures["AuthorizedReputationRegistry"]["giveFeedback, a client's first"] <= 12_000

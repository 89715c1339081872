"""Runs the system-wide machine, and judges whether it has seen enough."""

from __future__ import annotations

from collections import Counter

from tests.sequences import play
from tests.system.chain import running_chain
from tests.system.functions import FUNCTIONS
from tests.system.machine import SystemMachine

STEPS = 50
"""The steps of an example."""


def run(examples, after_example=None):
    """Play examples on a chain of their own, the same ones each time.

    Args:
        examples: How many.
        after_example: Called after each, if given, with the tally so far.

    Returns:
        How many whole `"examples"` and how many `"steps"` there were, and how often each function was accepted and
        refused, as `(registry, signature, "accepted")`.
    """
    tally = Counter()

    def teardown(machine):
        SystemMachine.teardown(machine)
        # Hypothesis throws away an example that draws too much, and counts it for nothing.
        tally["examples"] += machine.steps == STEPS
        if after_example:
            after_example(tally)

    with running_chain() as chain:
        members = {"chain": chain, "tally": tally, "teardown": teardown}
        play(type("BoundSystemMachine", (SystemMachine,), members), examples, STEPS)
    return tally


def calls(tally, outcome=None):
    """How many calls there were with this outcome, `"accepted"` or `"refused"`, or with any."""
    return sum(times for key, times in tally.items() if isinstance(key, tuple) and outcome in (None, key[2]))


def shortcomings(tally):
    """What a run has not seen, although it should have: a sentence for each."""
    accepted, total = calls(tally, "accepted"), calls(tally)
    found = [] if accepted >= total / 4 else [f"only {accepted} of {total} calls were accepted"]
    return found + [
        f"{registry}.{signature} was never {outcome}"
        for registry, functions in FUNCTIONS.items()
        for signature in functions
        for outcome in ("accepted", "refused")
        if not tally[registry, signature, outcome]
    ]

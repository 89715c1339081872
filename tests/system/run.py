"""Runs the system-wide machine, and judges its coverage."""

from __future__ import annotations

from collections import Counter

from tests.sequences import play
from tests.system.functions import FUNCTIONS
from tests.system.machine import SystemMachine
from tests.system.model import ETHER
from tests.system.rpc_chain import running_chain

STEPS = 50
"""The steps of an example."""


def run(examples, after_example=None):
    """Play examples on a chain of their own, the same ones each time.

    Args:
        examples: The number of examples.
        after_example: Called after each, if given, with the tally so far.

    Returns:
        How many whole `"examples"` and how many `"steps"` there were, and what a `World` counts.
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
    """Count the calls with an outcome, `"accepted"` or the broken rule, or all calls."""
    return sum(times for key, times in tally.items() if isinstance(key, tuple) and outcome in (None, key[2]))


def shortcomings(tally, examples):
    """Return a sentence for each outcome that a run of this length should have seen and has not.

    Reverts because of ether do not count, because every function has them.
    """
    accepted, total, whole = calls(tally, "accepted"), calls(tally), tally["examples"]
    texts = [] if whole >= examples else [f"only {whole} of {examples} examples were whole"]
    texts += [] if accepted >= total / 4 else [f"only {accepted} of {total} calls were accepted"]
    for registry, signature, refusals in _functions():
        if not tally[registry, signature, "accepted"]:
            texts.append(f"{registry}.{signature} was never accepted")
        if refusals and not any(tally[registry, signature, rule] for rule in refusals):
            texts.append(f"{registry}.{signature} was never refused but for ether")
    return texts


def unseen_refusals(tally):
    """The refusals, of every function by every rule, that a long run should have seen and has not."""
    return [
        f"{registry}.{signature} was never refused: {rule}"
        for registry, signature, rule in sorted(REFUSALS - tally.keys())
    ]


def _functions():
    for registry, functions in FUNCTIONS.items():
        for signature, (_, refusals) in functions.items():
            yield registry, signature, refusals


REFUSALS = {
    (registry, signature, rule) for registry, signature, refusals in _functions() for rule in (*refusals, ETHER)
}
"""All that can be refused, and by which rule."""

"""Runs of stateful tests: the same independent sequences each time."""

from __future__ import annotations

from typing import Final

from hypothesis import Phase, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import run_state_machine_as_test

INDEPENDENT: Final = "independent examples"
"""A backend of Hypothesis that draws like the default one. With the default backend, five of six examples repeat a part
of an earlier example. With any other backend each example is new."""

AVAILABLE_PROVIDERS[INDEPENDENT] = HypothesisProvider


def play(machine, examples, steps):
    """Run a state machine.

    Args:
        machine: The class of the state machine.
        examples: The number of sequences.
        steps: The number of rules in each sequence.
    """
    run_state_machine_as_test(
        machine,
        # Hypothesis would need minutes to shorten a failing sequence, and the sequences are short.
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            backend=INDEPENDENT,
        ),
        _min_steps=steps - 1,  # otherwise one example in some thousand ends early
    )

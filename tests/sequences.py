"""How the stateful tests are played: the same sequences each time, none a variation of another."""

from __future__ import annotations

from typing import Final

from hypothesis import Phase, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import run_state_machine_as_test

INDEPENDENT: Final = "independent examples"
"""A backend of Hypothesis that draws as the usual one does. But with any backend that is not the usual one itself each
example is new, while otherwise five of six are an earlier one with a part repeated."""

AVAILABLE_PROVIDERS[INDEPENDENT] = HypothesisProvider


def play(machine, examples, steps):
    """Run a state machine.

    Args:
        machine: Its class.
        examples: How many sequences to play.
        steps: How many rules each has.
    """
    run_state_machine_as_test(
        machine,
        # Hypothesis would take minutes to shorten a failing sequence; the rules that it prints are few enough.
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

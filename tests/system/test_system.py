"""All registries together, called in whatever order, answer like the model in plain Python."""

from __future__ import annotations

from tests.system.run import run, shortcomings

EXAMPLES = 50


def test_registries_answer_like_the_model_after_any_sequence_of_calls():
    assert shortcomings(run(EXAMPLES), EXAMPLES) == []

"""The growth of costs that `python -m bench.scale` prints."""

from __future__ import annotations

import pytest

from bench.scale import exponent


def test_exponent_of_a_cost_that_stays_is_nought_and_of_one_that_grows_as_the_rows_is_one():
    assert exponent(7.0, 7.0, 10) == 0
    assert exponent(7.0, 70.0, 10) == pytest.approx(1)

"""An analysis after new rows of all kinds equals a whole one."""

from __future__ import annotations

import numpy as np
import pytest

from bench.trust import updates
from bench.trust.speed import tables
from bilateral.trust.engine import Engine


def test_rows_of_all_kinds_after_an_analysis_give_what_a_whole_one_gives():
    rows = updates.later(2000)
    assert sum(getattr(rows, name).num_rows for name in ("feedback", "ratings", "payments", "transfers")) == 60
    assert all(seconds > 0 for seconds in updates.measured(2000))


def test_rows_that_a_reorganisation_removes_leave_the_results_of_before():
    before = tables(2000)
    engine = Engine().fit(before).update(updates.later(2000))
    assert not updates.is_equal(engine.renew(before.appended(updates.later(2000))), whole := Engine().fit(before))
    assert updates.is_equal(engine.renew(before), whole)


@pytest.mark.parametrize("part", ["score", "lower"])
def test_a_difference_of_one_score_is_told(part):
    left, right = (Engine().fit(tables(1000)) for _ in range(2))
    assert updates.is_equal(left, right)
    column = getattr(right.scores_, part)
    column[0] = np.nextafter(column[0], np.inf)
    assert not updates.is_equal(left, right)

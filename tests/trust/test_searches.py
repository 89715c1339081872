"""Searches find what a look at every row finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.trust.tables.searches import Keyed, first_equal, first_reaching

small = st.integers(-1, 3)
numbers = st.floats(-5, 5)


def keyed(rows):
    """Rows of group, key and value, in columns."""
    group, key, value = ([row[column] for row in rows] for column in range(3))
    return Keyed(np.array(group, np.int64), np.array(key, np.float64), np.array(value, np.float64))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(small, numbers, numbers), max_size=40), st.lists(st.tuples(small, numbers, numbers)))
def test_the_first_row_that_reaches_a_key_and_a_value_is_found(rows, searches):
    rows = sorted(rows, key=lambda row: row[:2])
    wanted = [
        next((place for place, row in enumerate(rows) if row[0] == group and row[1] >= key and row[2] >= value), -1)
        for group, key, value in searches
    ]
    assert first_reaching(keyed(rows), keyed(searches)).tolist() == wanted


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(small, small), max_size=20), st.lists(st.tuples(small, small), max_size=20))
def test_the_first_row_that_equals_a_search_is_found(rows, searches):
    columns = [[np.array([row[column] for row in part], np.int64) for column in range(2)] for part in (rows, searches)]
    wanted = [rows.index(search) if search in rows else -1 for search in searches]
    assert first_equal(*columns).tolist() == wanted

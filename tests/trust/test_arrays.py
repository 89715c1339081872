"""The fast forms of array operations give what the plain forms of numpy give, to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bilateral.trust.tables.arrays import (
    Groups,
    contained_pairs,
    dense,
    distinct_keys,
    group_counts,
    group_sums,
    lexical_order,
    look_up,
    pairs,
    percentiles,
)
from bilateral.trust.tables.columns import coded_together
from bilateral.trust.tables.schema import Tables
from tests.trust.conftest import addressed

SIZE = 300


@pytest.fixture(params=[0, 1, 5000], ids=["none", "one", "many"])
def rows(request, monkeypatch):
    """Groups and values, in more segments than one."""
    monkeypatch.setattr("bilateral.trust.tables.arrays._SEGMENT", 700)
    monkeypatch.setattr("bilateral.trust.tables.arrays._PIECE", 300)
    draw = np.random.default_rng(request.param)
    return draw.integers(0, SIZE, request.param).astype(np.int32), draw.normal(50, 20, request.param)


def test_sums_and_counts_by_group_are_those_of_numpy(rows):
    group, values = rows
    assert np.array_equal(group_sums(values, group, SIZE), np.bincount(group, values, SIZE))
    assert np.array_equal(group_counts(group, SIZE), np.bincount(group, minlength=SIZE))


@pytest.mark.parametrize("is_sorted", [False, True], ids=["mixed", "sorted"])
def test_groups_gather_what_the_rows_of_each_hold(rows, is_sorted):
    group, values = (np.sort(rows[0]), rows[1]) if is_sorted else rows
    groups, single = Groups.by(group, SIZE), values.astype(np.float32)
    held = [values[group == number] for number in range(SIZE)]
    assert groups.count.tolist() == [len(part) for part in held]
    assert groups.mean(values) == pytest.approx([part.mean() if len(part) else np.nan for part in held], nan_ok=True)
    for gathered, end in ((groups.top(single), np.max), (groups.least(single), np.min)):
        wanted = [end(part.astype(np.float32)) if len(part) else np.nan for part in held]
        assert gathered.dtype == np.float32
        assert np.array_equal(gathered, wanted, equal_nan=True)


@pytest.mark.parametrize("highest", [0, 3, 10**6], ids=["equal", "repeated", "distinct"])
@pytest.mark.parametrize("is_sorted", [False, True], ids=["mixed", "sorted"])
def test_order_by_several_keys_is_that_of_numpy(rows, highest, is_sorted):
    draw, count = np.random.default_rng(5), len(rows[0])
    keys = [draw.integers(0, highest + 1, count), draw.integers(0, highest + 1, count).astype(np.float64), rows[0]]
    if is_sorted:
        keys = [np.sort(key) for key in keys]
    for number in (1, 2, 3):
        assert np.array_equal(lexical_order(*keys[:number]), np.lexsort(keys[:number]))


@pytest.mark.parametrize(
    "values",
    [
        [0.0, -0.0, 5e-324, -5e-324, np.inf, -np.inf],
        [1.0, np.nextafter(1, 2), np.nextafter(1, 0), 1.7e308, -1.7e308],
        np.array([-1.5, 0.0, -0.0, 3.5], np.float32),
        [-(2**63), 2**63 - 1, 0, 1],
        [True, False],
    ],
    ids=["smallest", "nearest", "single", "largest", "flags"],
)
@pytest.mark.parametrize("count", [1, 2, 3000])
def test_order_keeps_the_places_of_equal_keys(values, count):
    key = np.random.default_rng(count).choice(np.asarray(values), count)
    assert np.array_equal(lexical_order(key), np.argsort(key, kind="stable"))


def test_rare_keys_are_not_renumbered():
    numbers, count = dense(np.array([7, -1, 3, 7, 9, 9, 5]), 2)
    assert (numbers.tolist(), count) == ([0, -1, -1, 0, 1, 1, -1], 2)
    assert dense(np.array([7, -3, 3]))[0].tolist() == [1, -1, 0]


def test_value_of_a_key_is_looked_up_and_zero_without_one():
    keys, values = np.array([3, 5, 9]), np.array([1.0, 2.0, 3.0])
    assert look_up(np.array([9, 4, 3, 10, 0]), keys, values).tolist() == [3.0, 0.0, 1.0, 0.0, 0.0]
    assert look_up(np.array([9, 4]), keys[:0], values[:0]).tolist() == [0.0, 0.0]


def test_value_is_left_out_of_the_mean_of_its_own_group():
    groups = Groups.by(np.array([0, 0, 0, 2]), 3)
    assert groups.except_own(np.array([10.0, 20.0, 60.0, 5.0]), 40.0).tolist() == [40.0, 110 / 3, 70 / 3, 40.0]


@pytest.mark.parametrize("digits", [0, 9], ids=["repeated", "distinct"])
def test_percentiles_are_the_shares_of_values_up_to_each(rows, digits):
    values = np.round(rows[1], digits)
    ranks = percentiles(values)
    assert ranks.tolist() == [float((values <= value).sum() / len(values)) for value in values]


def test_percentiles_of_weighted_values_are_the_shares_of_weight(rows):
    values, weights = np.round(rows[1], 1), np.arange(len(rows[1])) % 7 + 1.0
    wanted = [float(weights[values <= value].sum() / weights.sum()) for value in values]
    assert percentiles(values, weights).tolist() == pytest.approx(wanted)


def test_distinct_keys_are_those_of_numpy(rows):
    assert np.array_equal(distinct_keys(rows[0]), np.unique(rows[0]))


def test_pairs_are_found_among_others(rows):
    left = rows[0]
    right = np.roll(left, 1)
    among = np.unique(pairs(left[::3] // 2, right[::3], SIZE))
    assert np.array_equal(contained_pairs(left, right, among, SIZE), np.isin(pairs(left, right, SIZE), among))


def test_tables_that_are_read_hold_each_address_once(tables, tmp_path):
    tables = addressed(tables)
    tables.write(tmp_path)
    read = Tables.read(tmp_path)
    columns = [read.feedback["client"], read.ratings["client"], read.payments["payer"], read.transfers["dst"]]
    held = {chunk.dictionary.buffers()[2].address for column in columns for chunk in column.chunks}
    assert len(held) == 1
    for column, written in zip(columns, (tables.feedback["client"], tables.ratings["client"]), strict=False):
        assert column.to_pylist() == written.to_pylist()
    plain = [pa.chunked_array([column.to_pylist()], pa.string()) for column in columns]
    (texts, codes), (same, others) = coded_together(columns), coded_together(plain)
    assert texts.to_pylist() == sorted(set(texts.to_pylist()))
    assert set(same.to_pylist()) <= set(texts.to_pylist())
    for code, other in zip(codes, others, strict=True):
        assert [texts[int(entry)].as_py() if entry >= 0 else None for entry in code] == [
            same[int(entry)].as_py() if entry >= 0 else None for entry in other
        ]


@pytest.mark.parametrize(
    ("texts", "codes"), [([""], [0, 0, None]), ([], [None, None])], ids=["an empty text", "null alone"]
)
def test_columns_of_one_dictionary_without_a_letter_are_coded(texts, codes):
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts, pa.string()))
    code, (first, second) = coded_together([pa.chunked_array([coded])] * 2)
    assert code.to_pylist() == texts
    assert first.tolist() == second.tolist() == [-1 if code is None else code for code in codes]


@pytest.fixture
def tables(market):
    """A market whose tables have addresses in common, and null."""
    market.transfer("boss", "client1", 5.0, 6000.0)
    market.transfer(None, "client2", 5.0, 1.0)
    market.rating("client1", 3, 80, 8000.0)
    return market.tables()

"""Hostile tables neither crash the engine nor exhaust its memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.engine import Engine
from bilateral.trust.features import sharing as shared
from bilateral.trust.results import Results
from bilateral.trust.tables.columns import coded_together, positions
from bilateral.trust.tables.schema import COLUMNS, Tables
from tests.trust.conftest import Scene


def analysed(tables):
    results = Results.of(Engine().fit(tables))
    assert np.isfinite(results.addresses["suspicion"].to_numpy()).all()
    assert np.isfinite(results.agents["score"].to_numpy()).all()
    return results


def test_empty_tables_give_empty_results():
    assert analysed(Tables.of()).addresses.num_rows == 0


def test_agents_without_opinions_are_abstained_from(scene):
    scene.agent(1, "owner")
    assert analysed(scene.tables()).agents["abstain"].to_pylist() == [True]


def test_extreme_values_move_no_score_out_of_range(market):
    for number in range(50):
        market.feedback(f"client{number}", 1, 1e38 if number % 2 else -1e38)
    scores = analysed(market.tables()).agents["score"].to_numpy()
    assert ((scores >= 0) & (scores <= 100)).all()


def test_ten_thousand_tags_are_coded(market):
    for number in range(10_000):
        market.feedback(f"client{number % 200}", number % 20 + 1, number % 100, tag=f"tag{number}")
    assert analysed(market.tables()).agents.num_rows == 20


def with_feedback(tables, rows):
    """Return tables with further rows of feedback."""
    rows = rows.cast(pa.schema(COLUMNS["feedback"]))
    return replace(tables, feedback=pa.concat_tables([tables.feedback, rows]))


@pytest.mark.nightly
def test_a_client_with_a_million_entries_counts_as_one(market):
    before = analysed(market.tables()).agents["score"].to_numpy()
    tables = market.tables()
    count = 1_000_000
    columns = {
        "id": np.arange(count) + 10_000,
        "client": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["flood"])),
        "agent_id": np.ones(count, np.int64),
        "value": np.zeros(count),
        "tag": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["starred"])),
        "ts": np.linspace(2000, 30000, count),
        "payment_tx": pa.nulls(count, pa.string()),
    }
    after = analysed(with_feedback(tables, pa.table(columns))).agents["score"].to_numpy()
    assert abs(after[0] - before[0]) < 15
    assert np.abs(after[1:] - before[1:]).max() < 3


def test_accounts_that_fund_themselves_and_each_other_end_the_chain(market):
    market.transfer("client0", "client0", 1.0, 1.0)
    market.transfer("loop0", "loop1", 1.0, 1.0)
    market.transfer("loop1", "loop0", 1.0, 1.0)
    market.feedback("loop0", 1, 90)
    market.feedback("loop1", 1, 90)
    analysed(market.tables())


def test_missing_texts_and_times_are_taken(market):
    tables = market.tables()
    holes = pa.table({name: pa.nulls(3, kind) for name, kind in COLUMNS["feedback"].items()})
    analysed(with_feedback(tables, holes))


def without_owner(kind):
    """Two agents, the second without an owner, with owners of a type."""
    kinds = COLUMNS["agents"]
    agents = pa.table({name: pa.array([1, 2] if name == "agent_id" else [None] * 2, kinds[name]) for name in kinds})
    owner = pa.array(["owner", None])
    if kind == "codes":
        owner = owner.dictionary_encode()
    if kind == "codes of null":
        owner = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), owner)
    return agents.set_column(1, "owner", owner)


@pytest.mark.parametrize("kind", ["texts", "codes", "codes of null"])
def test_an_agent_without_an_owner_is_refused(kind):
    with pytest.raises(InvalidArgumentError, match=r"agents\.owner is empty in row 2: give each agent an owner"):
        Tables.of(agents=without_owner(kind))


def test_codes_without_a_sign_are_taken(market):
    """DuckDB gives the texts of an ENUM such codes."""
    tables = market.tables()
    codes = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint8()), pa.array(["client3", "new"]))
    column = pa.chunked_array([codes])
    assert positions(column, pa.array(["new", "client3"])).tolist() == [0, -1, 1]
    texts, (column_codes,) = coded_together([column])
    assert (texts.to_pylist(), column_codes.tolist()) == (["client3", "new"], [1, -1, 0])
    client = tables.feedback["client"].combine_chunks().dictionary_encode()
    small = pa.DictionaryArray.from_arrays(client.indices.cast(pa.uint8()), client.dictionary)
    enum = tables.feedback.set_column(1, "client", small)
    names = [name for name in COLUMNS if name != "feedback"]
    again = Tables.of(feedback=enum, **{name: getattr(tables, name) for name in names})
    assert analysed(again).addresses.equals(analysed(tables).addresses)


def judgements(*sizes):
    """Subjects with some numbers of raters: the first so many of all."""
    rater = np.concatenate([np.arange(size) for size in sizes])
    return rater, np.repeat(np.arange(len(sizes)), sizes), (max(sizes), len(sizes))


@pytest.mark.parametrize(
    ("limit", "pairs"),
    [(3 * 16 + 2 * 9, 6), (3 * 16 + 2 * 9 - 1, 3), (2 * 9, 3), (2 * 9 - 1, 0)],
)
def test_subjects_of_one_size_are_compared_together_or_not_at_all(monkeypatch, limit, pairs):
    monkeypatch.setattr(shared, "_PAIRS", limit)
    rater, subject, sizes = judgements(4, 3, 4, 3, 4)
    shared_sum = shared.sharing(rater, subject, sizes, 30)
    assert len(shared_sum.count) == pairs


def test_no_more_pairs_than_the_limit_are_compared_where_many_subjects_are_of_one_size(monkeypatch):
    rater, subject, sizes = judgements(*[60] * 400)
    assert len(shared.sharing(rater, subject, sizes, 60).count) == 60 * 59 // 2
    monkeypatch.setattr(shared, "_PAIRS", 100 * 60**2)
    assert shared.sharing(rater, subject, sizes, 60).raters == 0


accounts = st.sampled_from([f"a{number}" for number in range(6)])
times = st.floats(0, 1e6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(accounts, st.integers(1, 4), st.floats(allow_nan=True), times), max_size=80),
    st.lists(st.tuples(accounts, accounts, st.floats(0, 1e9), times), max_size=30),
    st.lists(st.tuples(accounts, accounts, st.integers(1, 4), st.floats(0, 1e9), times), max_size=30),
    st.lists(st.tuples(accounts, st.integers(1, 4), st.floats(-10, 200), times), max_size=30),
)
def test_any_small_tables_are_analysed(feedback, transfers, payments, ratings):
    scene = Scene()
    for number in range(4):
        scene.agent(number + 1, f"a{number}", ts=10.0)
    for row in feedback:
        scene.feedback(*row)
    for row in transfers:
        scene.transfer(*row)
    for row in payments:
        scene.payment(*row)
    for row in ratings:
        scene.rating(*row)
    analysed(scene.tables())

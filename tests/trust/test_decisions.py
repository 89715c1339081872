"""Decisions: a verdict by standing and amount, from rows up to the time of each ask."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.decision import TRIAL
from bilateral.trust.decisions import ANSWERS, ASKS, decide, read_asks
from tests.trust.conftest import Scene, address_of, addressed

RING, HONEST, POOR, LATER, BOUGHT = 99, 1, 2, 50, 97


@pytest.fixture(scope="module")
def tables():
    """Return a market with a ring, good sellers, a poor one, one that registers late, and one that pays its raters."""
    scene = Scene()
    for number in range(20):
        scene.agent(number + 1, f"owner{number}", ts=10.0 * number)
    for number in range(200):
        scene.transfer(f"exchange{number % 2}", f"client{number}", 20.0 + number, 100.0 * number)
        for step in range(5):
            agent = (number * 7 + step * 3) % 20 + 1
            value = 5 if agent == POOR else 60 + number % 35
            scene.feedback(f"client{number}", agent, value, 5000.0 * step + 20_000 + number)
    scene.agent(RING, "mastermind", ts=50.0)
    for number in range(8):
        scene.transfer("mastermind", f"sybil{number}", 5.0, 6000.0 + number)
        scene.feedback(f"sybil{number}", RING, 100, 7000.0 + number)
    scene.agent(LATER, "latecomer", ts=60_000.0)
    scene.agent(BOUGHT, "patron", ts=50.0)
    for number in range(4):
        client, ts = f"client{9 * number}", 30_000.0 + 900 * number
        scene.feedback(client, BOUGHT, 100, ts)
        scene.transfer("patron", client, 3.0 + number, ts + 600)
    return addressed(scene.tables())


def asked(*asks):
    """Return asks of (agent, time, amount)."""
    names = ("ask_id", "asker", "agent_id", "ts", "amount")
    rows = [(number, address_of("asker"), *ask) for number, ask in enumerate(asks)]
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)), schema=ASKS)


def answers(tables, *asks, analyses=4):
    return decide(tables, asked(*asks), analyses).to_pylist()


def test_small_amounts_are_accepted_and_large_ones_need_evidence_that_suffices(tables):
    small, large = answers(tables, (HONEST, 90_000.0, TRIAL), (HONEST, 90_000.0, 1e6))
    assert (small["verdict"], large["verdict"]) == ("accept", "caution")
    assert small["lower"] == large["lower"] > 0
    assert large["reason"].endswith("which does not suffice for 1e+06")


def test_one_that_all_call_bad_is_declined(tables):
    (poor,) = answers(tables, (POOR, 90_000.0, 0.1))
    assert (poor["verdict"], poor["score"] < 50) == ("decline", True)


def test_a_ring_never_gets_a_large_amount(tables):
    (ring,) = answers(tables, (RING, 90_000.0, 50.0))
    assert ring["verdict"] != "accept"


def test_a_contested_agent_may_be_tried_as_a_newcomer_may(tables):
    small, large = answers(tables, (BOUGHT, 90_000.0, TRIAL), (BOUGHT, 90_000.0, 1.01 * TRIAL))
    assert (small["status"], small["verdict"], large["verdict"]) == ("contested", "accept", "caution")
    assert large["reason"] == f"agent {BOUGHT} is suspected of arranging false ratings (unproven)"


def test_rows_after_the_time_of_an_ask_do_not_count(tables):
    early, late = answers(tables, (LATER, 59_999.0, 0.5), (LATER, 60_000.0, 0.5))
    assert (early["verdict"], early["status"]) == ("decline", "unknown")
    assert (late["verdict"], late["status"], late["score"]) == ("accept", "thin", None)
    alone = answers(tables, (HONEST, 25_000.0, 0.5))[0]
    among = answers(tables, (HONEST, 90_000.0, 0.5), (HONEST, 25_000.0, 0.5))[1]
    assert alone | {"ask_id": 1} == among


def test_one_analysis_answers_from_the_first_ask_on_and_never_sees_later_rows(tables):
    first, second = answers(tables, (LATER, 59_999.0, 0.5), (LATER, 60_000.0, 0.5), analyses=1)
    assert first["status"] == second["status"] == "unknown"


def test_answers_are_in_the_order_of_the_asks_and_without_asks_there_are_none(tables):
    many = [(1 + number % 20, 90_000.0 - number, 0.5) for number in range(50)]
    table = decide(tables, asked(*many), 3)
    assert table.schema == ANSWERS
    assert table.column("ask_id").to_pylist() == list(range(50))
    assert decide(tables, ASKS.empty_table()).num_rows == 0


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("amount", float("nan"), "asks.amount has nan in row 1: write a finite, non-negative number"),
        ("amount", -1.0, "asks.amount has -1.0 in row 1: write a finite, non-negative number"),
        ("agent_id", None, "asks.agent_id is empty in row 1: fill it in"),
    ],
)
def test_asks_that_make_no_sense_are_refused(tmp_path, column, value, told):
    table = asked((HONEST, 1.0, 1.0))
    place = table.column_names.index(column)
    parquet.write_table(table.set_column(place, column, pa.array([value], ASKS.field(column).type)), tmp_path / "asks")
    with pytest.raises(InvalidArgumentError, match=told):
        read_asks(tmp_path / "asks")


def test_a_missing_column_is_named(tmp_path):
    parquet.write_table(asked((HONEST, 1.0, 1.0)).drop_columns(["ts"]), tmp_path / "asks")
    with pytest.raises(InvalidArgumentError, match='the table of payment requests has no column "ts": add it'):
        read_asks(tmp_path / "asks")

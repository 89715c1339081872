"""The relational path gives the same figures as the arrays."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from bilateral.errors import InvalidArgumentError
from bilateral.trust.detectors.cotargeting import cells_by_funder
from bilateral.trust.propagation import EigenTrust
from bilateral.trust.relational import cotargets, degrees, funders, trust


@pytest.fixture
def tables(market):
    for number in range(6):
        market.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
        market.feedback(f"sybil{number}", 7, 100, 7000.0 + number)
    return market.tables()


@pytest.fixture
def database(tables):
    connection = ibis.duckdb.connect()
    return connection.create_table("feedback", tables.feedback), connection.create_table("transfers", tables.transfers)


def test_degrees_are_equal(market, tables, database):
    found = {(row["side"], row["name"]): row["degree"] for row in degrees(database[0]).to_pyarrow().to_pylist()}
    context = market.context()
    for agent in range(20):
        assert found["agent", str(agent + 1)] == context.judged[agent]
    for number, address in enumerate(context.ledger.addresses.to_pylist()):
        assert found.get(("client", address), 0) == context.activity[number]


def test_funders_are_equal(market, tables, database):
    found = {row["account"]: row["funder"] for row in funders(database[1]).to_pyarrow().to_pylist()}
    ledger = market.ledger()
    names = ledger.addresses.to_pylist()
    assert found == {names[n]: names[funder] for n, funder in enumerate(ledger.funder.tolist()) if funder >= 0}


def test_cells_of_cotargeting_are_equal(market, database):
    found = {
        (row["agent_id"], row["funder"]): (row["count"], pytest.approx(row["expected"]))
        for row in cotargets(*database).to_pyarrow().to_pylist()
    }
    assert found == cells_by_funder(market.context())
    assert (7, "boss") in found


def test_trust_is_equal():
    draw = np.random.default_rng(3)
    source, target = draw.integers(0, 30, 200), draw.integers(0, 40, 200)
    weight = draw.uniform(0.1, 1, 200)
    rows = [{"source": f"a{s}", "target": f"a{t}", "weight": w} for s, t, w in zip(source, target, weight, strict=True)]
    fit = EigenTrust(iterations=20, tolerance=0).fit(source, target, weight, np.array([0, 1]), 40)
    found = trust(ibis.memtable(rows), ["a0", "a1"], rounds=20)
    relational = dict(zip(found["account"].to_pylist(), found["trust"].to_pylist(), strict=True))
    for account in range(40):
        assert relational.get(f"a{account}", 0.0) == pytest.approx(fit.trust_[account], abs=1e-12)


def test_an_empty_list_is_refused():
    with pytest.raises(InvalidArgumentError, match="the list of trusted accounts is empty"):
        trust(ibis.memtable([{"source": "a", "target": "b", "weight": 1.0}]), [])

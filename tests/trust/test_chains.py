"""Several chains are analysed together: addresses join them, and equal numbers of agents and rows do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.chains import Chains, of_chain
from bilateral.trust.engine import Engine
from bilateral.trust.explain import explain
from bilateral.trust.results import Results
from tests.trust.conftest import Scene, address_of, addressed

BASE = 8453


@pytest.fixture
def tables(market):
    """A market with a ring whose payments come back."""
    market.agent(99, "boss", ts=5.0)
    market.agent(50, "validator", is_validator=True)
    for number in range(30):
        market.validation(50, number % 20 + 1, 90, 8100.0 + number)
        market.payment(f"client{number}", f"owner{number % 20}", number % 20 + 1, ts=4000.0 + number)
    for number in range(8):
        market.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
        paid = market.payment(f"sybil{number}", "boss", 99, 3.0, 6500.0 + number)
        market.feedback(f"sybil{number}", 99, 100, 7000.0 + number, payment_tx=paid)
        market.transfer("boss", f"sybil{number}", 3.0, 6600.0 + number)
    return addressed(market.tables())


def analysed(chains):
    return chains.apart(Results.of(Engine().fit(chains.tables)))


def test_one_chain_is_analysed_as_its_own_tables_are(tables):
    alone, results = Results.of(Engine().fit(tables)), analysed(Chains.of({BASE: tables}))
    assert results.agents["chain_id"].unique().to_pylist() == [BASE]
    for name in ("agents", "validators", "standings"):
        assert getattr(results, name).drop_columns("chain_id").equals(getattr(alone, name)), name
    assert results.addresses.equals(alone.addresses)
    assert results.findings["sentence"].to_pylist() == [
        text.replace("agent 99", f"agent 99 of chain {BASE}") for text in alone.findings["sentence"].to_pylist()
    ]
    assert f"to agent 99 of chain {BASE} went back" in " ".join(results.findings["sentence"].to_pylist())
    assert results.rows.drop_columns(["chain_id", "finding"]).equals(alone.rows.drop_columns("finding"))
    assert results.evidence["feedback_id"].equals(alone.evidence["feedback_id"])


def test_rows_and_agents_of_each_chain_keep_their_numbers(tables):
    other = Scene()
    for number in range(3):
        other.agent(number + 1, f"seller{number}")
        other.transfer("bank", f"buyer{number}")
        other.payment(f"buyer{number}", f"seller{number}", number + 1)
        other.feedback(f"seller{number}", number + 1, 80)
    alone = Results.of(Engine().fit(tables))
    results = analysed(Chains.of({1: addressed(other.tables()), BASE: tables}))
    rows = Counter((row["chain_id"], row["table"], row["row"]) for row in results.rows.to_pylist())
    of_base = Counter((BASE, row["table"], row["row"]) for row in alone.rows.to_pylist())
    assert {table for _, table, _ in of_base} == {"feedback", "payments", "transfers"}
    assert rows == of_base + Counter((1, "feedback", number) for number in range(3))
    agents = [(agent["chain_id"], agent["agent_id"]) for agent in results.agents.to_pylist()]
    assert agents == [
        *((1, number) for number in (1, 2, 3)),
        *((BASE, n) for n in alone.agents["agent_id"].to_pylist()),
    ]


def test_a_funder_on_one_chain_ties_its_accounts_on_another(tables):
    funding = Scene()
    funding.agent(1, "somebody")
    for number in range(8):
        funding.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
    elsewhere = addressed(funding.tables())
    unfunded = replace(tables, transfers=tables.transfers.filter(pa.array([False] * tables.transfers.num_rows)))
    unpaid = replace(unfunded, payments=tables.payments.slice(0, 0))

    def flagged(rows):
        table = Results.of(Engine().fit(rows)).addresses
        return dict(zip(table["address"].to_pylist(), table["threshold_flag"].to_pylist(), strict=True))

    assert not flagged(unpaid)[address_of("sybil0")]
    assert flagged(Chains.of({1: unpaid, BASE: elsewhere}).tables)[address_of("sybil0")]


def test_an_agent_of_several_chains_is_explained_by_its_chain(tables):
    other = Scene()
    other.agent(1, "somebody")
    results = analysed(Chains.of({1: tables, BASE: addressed(other.tables())}))
    assert explain(of_chain(results, 1), "1")["raters"] > 1
    assert explain(of_chain(results, BASE), "1")["raters"] == 0
    with pytest.raises(InvalidArgumentError, match="these results cover chains 1, 8453: pass one as --chain-id"):
        of_chain(results, None)


@pytest.mark.parametrize(("chain_id", "agent_id"), [(0, 1), (2**31, 1), (1, 2**32)])
def test_numbers_that_do_not_fit_are_refused(chain_id, agent_id):
    scene = Scene()
    scene.agent(agent_id, "owner")
    with pytest.raises(
        InvalidArgumentError, match=r"chain id .* must be an integer|chain 1 ranges from 4294967296 to 4294967296"
    ):
        Chains.of({chain_id: scene.tables()})


def test_the_largest_numbers_fit():
    scene = Scene()
    scene.agent(2**32 - 1, "owner")
    results = analysed(Chains.of({2**31 - 1: scene.tables()}))
    assert results.agents.select(["chain_id", "agent_id"]).to_pylist() == [
        {"chain_id": 2**31 - 1, "agent_id": 2**32 - 1}
    ]

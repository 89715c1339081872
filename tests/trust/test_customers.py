"""To be customers of one seller, or of one market among several, is no common control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.market.play import EXCHANGES, Log, Market
from bench.market.policies import Ranking, by_counts, fitted, held
from bench.trust.measures import Truth
from bench.trust.worlds.customers import GROUPS
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import Settings
from bilateral.trust.engine import Engine
from bilateral.trust.features.ties import ties_of
from tests.trust.attacks import SETTINGS

ACCOUNTS = {"owner", "client", "payer", "src", "dst"}


def disjoint(count, *, shares_exchanges):
    """Return the rows of some small markets without attackers, whose people never meet."""
    log = Log(1)
    for seed in range(count):
        part = Market(replace(SETTINGS, accounts=500), Ranking("mean by counts", by_counts), 20 + seed).run().log
        number = np.arange(part.accounts) + log.accounts
        if shares_exchanges and seed:
            number[:EXCHANGES] = np.arange(EXCHANGES)
        shift = {"agent": len(log.agents), "payment": len(log.payments)}
        for name in ("agents", "feedback", "ratings", "payments", "transfers"):
            rows = getattr(part, name)
            columns = {column: rows[column] for column in rows._arrays}
            columns |= {column: number[columns[column]] for column in ACCOUNTS & columns.keys()}
            for column in shift.keys() & columns.keys():
                columns[column] = np.where(columns[column] >= 0, columns[column] + shift[column], -1)
            getattr(log, name).add(**columns)
        log.accounts += part.accounts
    return log


@pytest.mark.parametrize("shares_exchanges", [True, False])
def test_disjoint_markets_without_attackers_hold_hardly_anybody_back(shares_exchanges):
    assert held(fitted(disjoint(4, shares_exchanges=shares_exchanges))).mean() <= 0.003


@pytest.mark.parametrize("add", GROUPS, ids=lambda add: add.__name__)
def test_groups_with_one_source_or_destination_of_money_are_not_flagged(add):
    world = honest_world(907, Settings(clients=500, owners=200, days=120))
    add(world)
    tables, truth = world.tables()
    engine = Engine(learned=False).fit(tables)
    judged = Truth.of(engine, truth)
    assert engine.suspicion_.flagged[judged.judged & (np.array(judged.group) != "")].mean() <= 0.01


def test_money_that_an_account_gets_after_it_acted_ties_it_to_nobody(market):
    before = ties_of(market.ledger())
    for number in range(200):
        market.transfer("stranger", f"client{number}", 1000.0, 40_000.0)
    ledger, after = market.ledger(), ties_of(market.ledger())
    stranger = ledger.addresses.index("stranger").as_py()
    assert stranger not in after.funder
    assert stranger not in after.root[ledger.opinions.rater]
    assert not before.acknowledged.any()
    assert not after.acknowledged.any()


@pytest.mark.parametrize(
    ("sent", "source"),
    [
        ([("stranger", 0.1), ("exchange", 20.0)], "exchange"),
        ([("exchange", 20.0), ("stranger", 199.0)], "exchange"),
        ([("exchange", 20.0), ("stranger", 201.0)], "stranger"),
    ],
)
def test_the_source_of_an_account_sent_the_first_money_that_is_no_dust(scene, sent, source):
    for at, (sender, amount) in enumerate(sent):
        scene.transfer(sender, "client", amount, 10.0 + at)
    scene.agent(1, "owner")
    scene.feedback("client", 1, 80, 5000.0)
    ledger = scene.ledger()
    funder = ties_of(ledger).funder[ledger.addresses.index("client").as_py()]
    assert ledger.addresses[int(funder)].as_py() == source


def test_who_pays_a_seller_by_a_transfer_acknowledges_no_tie_to_it(scene):
    scene.agent(1, "seller")
    for number in range(8):
        scene.transfer("seller", f"client{number}", 2.0, 10.0)
        scene.transfer(f"client{number}", "seller", 1.0, 400.0)
        scene.feedback(f"client{number}", 1, 90, 5000.0)
    assert not ties_of(scene.ledger()).acknowledged.any()

"""A market: buyers follow answers, money moves, and nobody but an oracle sees the truth."""

from __future__ import annotations

import numpy as np

from bench.market.measures import outcome, play
from bench.market.play import Log, address
from bench.market.policies import Ranking, mean
from tests.bench.market.conftest import SMALL


def test_a_market_is_the_same_for_a_seed(attacked):
    again = next(play(SMALL, Ranking("plain mean", mean), 1))
    other = next(play(SMALL, Ranking("plain mean", mean), 2))
    assert outcome(*again) == outcome(*attacked) != outcome(*other)


def test_a_market_without_attackers_loses_nothing(peaceful):
    measured = outcome(peaceful)
    assert (measured.lost, measured.profit, measured.declined) == (0.0, 0.0, 0.0)
    assert measured.served > 0.95
    assert len(peaceful.sales) > 1_000


def test_a_buyer_who_knows_the_truth_loses_nothing_and_gets_most(attacked, known):
    by_mean, by_truth = outcome(*attacked), outcome(*known)
    assert by_truth.lost == 0.0 < by_mean.lost
    assert by_truth.value > by_mean.value
    assert by_truth.profit < by_mean.profit


def test_needs_are_the_same_under_each_policy(attacked, known):
    (by_mean, _), (by_truth, _) = attacked, known
    assert [needs for _, needs in by_mean.unserved] == [needs for _, needs in by_truth.unserved]


def test_attackers_fund_accounts_before_they_register_agents(attacked):
    market, attackers = attacked
    first = np.full(market.log.accounts, np.inf)
    np.minimum.at(first, market.log.transfers["dst"], market.log.transfers["ts"])
    for campaign in attackers.campaigns:
        if not campaign.plan.offer:  # it registered its agents itself
            agents = market.log.agents
            assert (first[agents["owner"][campaign.agents]] < agents["ts"][campaign.agents]).all()


def test_money_of_a_cheat_is_the_money_lost(attacked):
    market, attackers = attacked
    sales = market.sales
    taken = sum(campaign.revenue for campaign in attackers.campaigns) / (1 - SMALL.fee)
    opens = np.array([campaign.opens for campaign in attackers.campaigns] + [np.inf])  # some had another owner before
    of_attackers = sales["paid"][sales["day"] >= opens[market.agents.campaign[sales["agent"]]]].sum()
    assert np.isclose(taken, of_attackers)
    assert sales["value"][sales["cheated"]].sum() == 0


def test_no_buyer_returns_to_a_seller_that_failed_it(attacked):
    sales = attacked[0].sales
    pairs = {}
    for day, buyer, agent, cheated in zip(*(sales[name] for name in ("day", "buyer", "agent", "cheated")), strict=True):
        assert pairs.get((buyer, agent), day) >= day
        if cheated:
            pairs[buyer, agent] = day


def test_rows_say_nothing_of_the_truth_and_keep_their_times(attacked):
    market = attacked[0]
    tables = market.log.tables()
    born = dict(zip(tables.agents["agent_id"].to_pylist(), tables.agents["ts"].to_pylist(), strict=True))
    assert all(row["ts"] >= born[row["agent_id"]] for row in tables.feedback.select(["agent_id", "ts"]).to_pylist())
    assert max(tables.payments["ts"].to_pylist()) < SMALL.time(SMALL.days)
    assert tables.feedback.num_rows == len(market.log.feedback) > tables.ratings.num_rows > 0


def test_proofs_of_payment_name_a_payment_of_the_rater_to_the_agent(attacked):
    log = attacked[0].log
    proven = log.feedback["payment"] >= 0
    rows = log.feedback["payment"][proven]
    assert (log.payments["payer"][rows] == log.feedback["client"][proven]).all()
    assert (log.payments["agent"][rows] == log.feedback["agent"][proven]).all()


def test_payments_go_to_the_owner_of_their_time_and_tables_say_who_held_an_agent():
    log = Log(1)
    seller, buyer, client = log.open(3)
    (agent,) = log.agents.add(owner=seller, kind=0, ts=0.0)
    log.pay(client, agent, 1.0, 10.0)
    log.hand_over(agent, buyer, 10.0)
    log.pay(client, agent, 1.0, 11.0)
    names, tables = [address(1, number) for number in (seller, buyer)], log.tables()
    assert tables.payments["payee"].to_pylist() == names
    assert tables.agents["owner"].to_pylist() == names[1:]
    holders = [{"account": names[0], "since": 0.0}, {"account": names[1], "since": 10.0}]
    assert tables.agents["holders"].to_pylist() == [holders]

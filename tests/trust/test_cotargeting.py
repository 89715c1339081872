"""Accounts of one funder that judge one subject are found; popularity and exchanges are not mistaken for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilateral.trust.detectors.cotargeting import CoTargeting
from bilateral.trust.scores.suspicion import THRESHOLD
from tests.trust.conftest import moves, names

RING = [f"sybil{number}" for number in range(6)]


def star(scene, funder="mastermind", agent=99, value=100):
    scene.agent(agent, "target owner", ts=50.0)
    for number, sybil in enumerate(RING):
        scene.transfer(funder, sybil, 5.0, 6000.0 + number)
        scene.feedback(sybil, agent, value, 7000.0 + number)


def test_accounts_of_one_funder_that_judge_one_agent_are_found(market):
    star(market)
    context = market.context()
    findings = CoTargeting().fit(context).findings_
    assert len(findings) == 1
    assert names(context, findings[0].actors) == set(RING)
    assert findings[0].q_value < 1e-3
    assert {target for _, target in moves(market, context, findings[0])} == set(RING)


def test_a_finding_rests_on_the_rows_about_the_shared_subject_only(market):
    star(market)
    market.feedback("sybil0", 3, 70, 9000.0)
    context = market.context()
    finding = CoTargeting().fit(context).findings_[0]
    opinions = context.ledger.opinions
    assert {
        int(context.ledger.agent_ids[context.ledger.subject_agent[s]]) for s in opinions.subject[finding.opinions]
    } == {99}


def test_a_finding_tells_the_common_property_and_counts_subjects_and_opinions(market):
    star(market)
    sentences = [finding.sentence for finding in CoTargeting().fit(market.context()).findings_]
    assert sentences == ["6 accounts that share one funder rated the same 1 account, 6 times."]


def test_a_run_in_time_is_told_by_its_pauses(market):
    for number in range(160):
        market.transfer("exchange", f"client{number + 1000}", 5.0 + number, 100_000.0 + 100_000 * number)
    market.agent(99, "target owner", ts=50.0)
    for number, sybil in enumerate(RING):
        market.transfer("exchange", sybil, 5.0 + number, 6_000_000.0 + 3000 * number)
        market.feedback(sybil, 99, 100, 6_100_000.0 + number)
    findings = CoTargeting().fit(market.context()).findings_
    assert findings[0].sentence == (
        "6 accounts that share one funder, with pauses of an hour at most, rated the same 1 account, 6 times."
    )


def test_the_owner_of_the_target_is_a_subject_and_not_an_actor(market):
    star(market)
    context = market.context()
    finding = CoTargeting().fit(context).findings_[0]
    assert names(context, finding.subjects) == {"target owner"}
    assert "target owner" not in names(context, finding.actors)


def staff(market, *, paid, value):
    """Let three in five opinions of the market be paid, and return the finding about six accounts of one purse."""
    for number in range(200):
        for step in range(0, 5, 2):
            agent = (number * 7 + step * 3) % 20 + 1
            market.payment(f"client{number}", f"owner{agent - 1}", agent, 1.0, 4000.0)
    star(market, value=value)
    for sybil in RING[:paid]:
        market.payment(sybil, "target owner", 99, 1.0, 6900.0)
    (finding,) = CoTargeting().fit(market.context()).findings_
    return finding


def test_accounts_of_one_purse_that_pay_and_say_what_is_usual_flag_nobody(market):
    finding = staff(market, paid=4, value=78)
    assert finding.weight == pytest.approx(0.15)
    assert replace(finding, q_value=0.0).strength < THRESHOLD


def test_accounts_of_one_purse_that_do_not_pay_weigh_more(market):
    finding = staff(market, paid=0, value=78)
    assert 0.5 < finding.weight < 1


def test_accounts_of_one_purse_that_neither_pay_nor_say_what_is_usual_weigh_most(market):
    assert staff(market, paid=0, value=0).weight == 1


def test_few_payments_to_ones_own_agent_do_not_hide_accounts_of_one_purse(market):
    star(market, value=78)
    market.agent(200, "payee", ts=40.0)
    for number in range(60):
        market.payment(f"client{number}", "payee", 200, 1.0, 4000.0)
        market.feedback(f"client{number}", 200, 80, 4500.0)
    for sybil in RING:
        market.payment(sybil, "target owner", 99, 1.0, 6900.0)
    context = market.context()
    assert 0.05 < context.paid_share < 0.08
    (finding,) = CoTargeting().fit(context).findings_
    assert finding.weight > 0.8


def test_praise_of_ones_own_agent_does_not_hide_slander_of_a_rival(market):
    market.agent(98, "rival", ts=50.0)
    for number in range(6):
        market.feedback(f"client{number}", 98, 85, 6800.0)
    for sybil in RING:
        market.payment(sybil, "rival", 98, 1.0, 7900.0)
        market.feedback(sybil, 98, 5, 8000.0)
    finding = staff(market, paid=6, value=100)
    assert len(np.unique(finding.subjects)) == 2
    assert finding.weight > 0.5


def test_accounts_of_one_purse_count_in_full_where_no_payments_are_recorded(market):
    star(market, value=78)
    (finding,) = CoTargeting().fit(market.context()).findings_
    assert finding.weight == 1


def test_customers_of_an_exchange_that_judge_a_popular_agent_are_not_found(market):
    for number in range(200):
        market.feedback(f"client{number}", 1, 80, 50000.0 + number)
    assert CoTargeting().fit(market.context()).findings_ == []


def test_servers_of_one_funder_that_punish_one_client_are_found(market):
    for number, sybil in enumerate(RING):
        market.transfer("mastermind", sybil, 5.0, 6000.0 + number)
        market.agent(100 + number, sybil, ts=6500.0)
        market.rating("client3", 100 + number, 0, 7000.0 + number)
    for number in range(20):
        for client in range(20):
            market.rating(f"client{(number * 20 + client) % 200}", number + 1, 80, 9000.0 + client)
    context = market.context()
    findings = CoTargeting().fit(context).findings_
    assert names(context, findings[0].actors) == set(RING)
    assert names(context, findings[0].subjects) == {"client3"}


def test_empty_tables_give_no_finding(scene):
    assert CoTargeting().fit(scene.context()).findings_ == []

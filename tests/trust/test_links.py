"""Ties between rater and rated are found where the rated cannot be framed by them."""

from __future__ import annotations

import pytest

from bilateral.trust.detectors.links import Links
from tests.trust.conftest import moves, names


def findings_of(scene):
    context = scene.context()
    return context, Links().fit(context).findings_


def test_an_account_that_its_rated_agent_funded_is_found_with_the_owner(market):
    market.agent(99, "crook", ts=50.0)
    for number in range(3):
        market.transfer("crook", f"puppet{number}", 3.0, 6000.0)
        market.feedback(f"puppet{number}", 99, 100, 6100.0 + number)
    context, findings = findings_of(market)
    assert names(context, findings[0].actors) == {"puppet0", "puppet1", "puppet2"}
    assert names(context, findings[0].beneficiaries) == {"crook"}
    assert moves(market, context, findings[0]) == {("crook", f"puppet{number}") for number in range(3)}


def test_an_owner_that_rates_its_own_agent_from_its_wallet_is_found(market):
    market.agent(99, "crook", ts=50.0, wallet="pocket")
    market.feedback("pocket", 99, 100, 6000.0)
    context, findings = findings_of(market)
    assert names(context, findings[0].actors) == {"pocket"}
    assert findings[0].sentence == "Accounts rated agents or accounts of their own: 1 account, 1 opinion."


def test_a_low_opinion_of_a_related_account_does_not_count_as_promotion(market):
    market.agent(99, "crook", ts=50.0)
    market.transfer("crook", "child", 3.0, 6000.0)
    market.feedback("child", 99, 10, 6100.0)
    assert findings_of(market)[1] == []


def test_money_from_the_rated_to_raters_is_found(market):
    market.agent(99, "crook", ts=50.0)
    for number in range(4):
        market.transfer("crook", f"client{number}", 2.0, 30000.0)
        market.feedback(f"client{number}", 99, 100, 31000.0)
    context, findings = findings_of(market)
    assert "sent them money" in findings[0].sentence
    assert names(context, findings[0].actors) == {f"client{number}" for number in range(4)}
    assert moves(market, context, findings[0]) == {("crook", f"client{number}") for number in range(4)}


@pytest.mark.parametrize(("back", "count"), [(0.1, 0), (2.0, 0), (2.2, 1)])
def test_money_back_is_a_gift_only_beyond_what_the_rater_paid(market, back, count):
    market.agent(99, "shop", ts=50.0)
    for number in range(4):
        market.payment(f"client{number}", "shop", 99, 2.0, 30000.0)
        market.transfer("shop", f"client{number}", back, 30500.0)
        market.feedback(f"client{number}", 99, 100, 31000.0)
    assert len([finding for finding in findings_of(market)[1] if "sent them money" in finding.sentence]) == count


def rewarded(market, praise, others):
    """Let agent 99 send money to four clients who praise it, beside others who pay and say 80, or complain."""
    market.agent(99, "shop", ts=50.0)
    for number in range(4):
        market.transfer("shop", f"client{number}", 2.0, 30000.0)
        market.feedback(f"client{number}", 99, praise, 31000.0 + number)
    for number in range(others):
        market.payment(f"client{10 + number}", "shop", 99, 1.0, 32000.0)
        market.feedback(f"client{10 + number}", 99, 80, 32010.0 + number)
    market.feedback("client50", 99, 5, 33000.0)
    return [finding for finding in findings_of(market)[1] if "sent them money" in finding.sentence]


@pytest.mark.parametrize(("praise", "others", "count"), [(92, 5, 0), (93, 5, 1), (92, 4, 1)])
def test_money_to_customers_who_say_what_five_others_say_blames_nobody(market, praise, others, count):
    assert len(rewarded(market, praise, others)) == count


def test_fresh_accounts_without_payments_do_not_make_a_bribe_look_like_a_refund(market):
    for number in range(9):
        market.feedback(f"fresh{number}", 99, 100, 32000.0 + number)
    assert len(rewarded(market, 100, 0)) == 1


def test_fresh_accounts_that_judge_several_agents_do_not_make_a_bribe_look_like_a_refund(market):
    for number in range(9):
        market.transfer("exchange", f"fresh{number}", 5.0, 31900.0)
        for agent in (99, 3, 4):
            market.feedback(f"fresh{number}", agent, 100, 32000.0 + number)
    assert len(rewarded(market, 100, 0)) == 1


def test_low_opinions_of_one_bribed_account_hide_no_bribes(market):
    market.transfer("shop", "client7", 2.0, 30000.0)
    for number in range(30):
        market.feedback("client7", 99, 50, 31500.0 + number)
    assert len(rewarded(market, 100, 8)) == 1


def test_a_gift_from_raters_to_a_rival_does_not_frame_the_rival(market):
    for number in range(4):
        market.transfer("mastermind", f"sybil{number}", 5.0, 6000.0)
        market.transfer(f"sybil{number}", "owner3", 2.0, 90000.0)
        market.feedback(f"sybil{number}", 4, 100, 7000.0)
    context, findings = findings_of(market)
    assert not any("owner3" in names(context, finding.beneficiaries) for finding in findings)


def test_customers_of_one_exchange_are_not_linked(market):
    for number in range(200, 420):
        market.transfer("exchange", f"client{number}", 20.0 + number, 100.0 * number)
        market.feedback(f"client{number}", number % 20 + 1, 70 + number % 20, 40000.0 + number)
    for number in range(20):
        market.transfer("exchange", f"owner{number}", 50.0 + number, 5.0)
    assert findings_of(market)[1] == []


def test_a_relation_by_first_funds_is_found_once(market):
    market.agent(99, "crook", ts=50.0)
    for number in range(3):
        market.transfer("crook", f"puppet{number}", 3.0, 6000.0)
        market.feedback(f"puppet{number}", 99, 100, 6100.0 + number)
    assert [finding.sentence for finding in findings_of(market)[1]] == [
        "Accounts rated the account that funded them: 3 accounts, 3 opinions."
    ]


def test_pairs_that_never_judged_each_other_count_as_tests(market):
    market.agent(99, "parent", ts=50.0)
    market.transfer("parent", "child", 3.0, 6000.0)
    market.feedback("child", 99, 80, 6100.0)
    alone = findings_of(market)[1][0].strength
    for number in range(0, 200, 2):
        market.transfer(f"client{number}", f"client{number + 1}", 10.0, 1.0)
        market.agent(300 + number, f"client{number}", ts=40000.0)
        market.feedback("client0" if number else "client3", 300 + number, 80, 50000.0 + number)
    context, findings = findings_of(market)
    mine = [finding for finding in findings if names(context, finding.actors) == {"child"}]
    assert all(finding.strength < alone - 0.4 for finding in mine)


@pytest.mark.parametrize("puppets", [10, 40])
def test_many_puppets_in_a_small_market_do_not_make_puppets_look_usual(scene, puppets):
    for number in range(80):
        scene.feedback(f"client{number % 20}", number // 20, 80 + number % 9, 5000.0 + 60 * number)
    for number in range(4):
        scene.agent(number, f"owner{number}")
    scene.agent(99, "crook", ts=50.0)
    for number in range(puppets):
        scene.transfer("crook", f"puppet{number}", 3.0, 9000.0 + 60 * number)
        scene.feedback(f"puppet{number}", 99, 100, 9001.0 + 60 * number)
    context, findings = findings_of(scene)
    assert names(context, findings[0].beneficiaries) == {"crook"}
    assert findings[0].strength > 6


@pytest.mark.parametrize("returns", [False, True])
def test_customers_of_a_small_exchange_who_judge_each_other_by_chance_are_not_held_back(market, returns):
    for number in range(0, 200, 2):
        market.transfer("small exchange", f"fresh{number}", 5.0 + number % 7, 200.0 * number)
        for step in range(4):
            market.feedback(f"fresh{number}", (number * 7 + step * 5) % 20 + 1, 90, 50000.0 + 900 * number + step)
    for number in range(8):
        market.agent(200 + number, f"fresh{20 * number}", ts=49000.0)
        for step in range(12):
            rater = f"fresh{(2 * number + 14 * step + 6) % 200}" if step < 4 else f"client{number + 9 * step}"
            market.feedback(rater, 200 + number, 90, 90000.0 + 1000 * step)
        if returns:
            market.transfer(f"fresh{20 * number}", "small exchange", 2.0, 300000.0)
    _, findings = findings_of(market)
    assert all(finding.strength < 1 for finding in findings)

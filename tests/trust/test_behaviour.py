"""Detectors of behaviour: blocks, lockstep, retaliation, and biases."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.trust.detectors.blocks import Blocks
from bilateral.trust.detectors.lockstep import _SIZES, Lockstep, _densest, effective
from bilateral.trust.detectors.retaliation import Retaliation
from bilateral.trust.features.significance import excess
from bilateral.trust.scores.scores import BiasModel
from tests.trust.conftest import names

RING = [f"member{number}" for number in range(6)]
HOUR = 3600.0


def ring(scene, values, pays):
    """Six owners who judge each other, all funded apart."""
    for number, owner in enumerate(RING):
        scene.transfer(f"source{number}", owner, 9.0 + number, 3000.0 * number)
        scene.agent(200 + number, owner, ts=20000.0)
    for number, client in enumerate(RING):
        for other in range(6):
            if other != number:
                ts = 30000.0 + 977.0 * (number * 6 + other)
                if pays:
                    scene.payment(client, RING[other], 200 + other, 1.0 + other, ts - 60)
                scene.feedback(client, 200 + other, values(number, other), ts)


def paying_market(scene):
    for row in list(scene.rows["feedback"]):
        if row[0] % 5:
            scene.payment(row[1], f"owner{row[2] - 1}", row[2], 1.0 + row[0] % 3, row[5] - 10)


def test_owners_who_praise_each_other_without_paying_are_found(market):
    paying_market(market)
    ring(market, lambda *_: 99, pays=False)
    context = market.context()
    strongest = Blocks().fit(context).findings_[0]
    assert names(context, strongest.actors) == set(RING[1:])
    assert names(context, strongest.tied) == {RING[0]}  # it praised first; the others could have answered unasked
    assert strongest.strength > 2


def test_a_club_that_pays_and_judges_fairly_carries_little_weight(market):
    paying_market(market)
    ring(market, lambda number, other: 55 + 7 * other + number, pays=True)
    assert all(finding.strength < 1 for finding in Blocks().fit(market.context()).findings_)


def test_a_directed_cycle_is_found(market):
    paying_market(market)
    for number, owner in enumerate(RING):
        market.agent(200 + number, owner, ts=20000.0)
    for number, client in enumerate(RING):
        market.feedback(client, 200 + (number + 1) % 6, 99, 30000.0 + 5000 * number)
    context = market.context()
    findings = [finding for finding in Blocks().fit(context).findings_ if "in a circle" in finding.sentence]
    assert names(context, findings[0].actors) == set(RING[1:])
    assert names(context, findings[0].tied) == {RING[0]}


def test_praise_without_a_usual_payment_is_told_by_praises(market):
    paying_market(market)
    for number in range(8):
        market.agent(99 + number, "target owner", ts=40000.0)
        for rater in range(3):
            market.payment(f"fresh{rater}", "target owner", 99 + number, 1e-9, 49000.0)
            market.feedback(f"fresh{rater}", 99 + number, 90, 50000.0 + 10 * rater)
    sentences = [finding.sentence for finding in Lockstep().fit(market.context()).findings_]
    assert "24 of 24 good ratings of one owner's agents lack the usual payment." in sentences


def test_young_unpaid_raters_of_one_agent_are_found(market):
    paying_market(market)
    market.agent(99, "target owner", ts=40000.0)
    for number in range(12):
        market.transfer(f"source{number}", f"fresh{number}", 3.0 + number, 50000.0 + 7000 * number)
        market.feedback(f"fresh{number}", 99, 100, 50100.0 + 7000 * number)
    context = market.context()
    strongest = Lockstep().fit(context).findings_[0]
    assert names(context, strongest.actors) == {f"fresh{number}" for number in range(12)}
    assert names(context, strongest.subjects) == {"target owner"}


def test_hundreds_of_raters_count_as_a_hundred():
    judged = np.arange(101, 1001)
    counts, trials = effective(np.stack([judged, judged // 2]), judged)
    assert (trials == 100).all()
    assert (counts[0] == 100).all()
    assert set(counts[1]) == {49, 50}
    assert effective(np.array([7]), np.array([30])) == (7, 30)


def test_bursts_below_a_level_are_those_of_all_windows():
    draw, most = np.random.default_rng(3), 1e-3
    subject = np.sort(draw.integers(0, 40, 900))
    times = draw.uniform(0, 1e6, 900) * np.where(draw.random(900) < 0.3, 0.01, 1.0)
    times = times[np.lexsort((times, subject))]
    judged, length = np.bincount(subject), np.full(40, 1e6)
    wanted = []
    for number in range(40):
        at = times[subject == number]
        windows = []
        for size in _SIZES:
            for start in range(len(at) - size + 1):
                expected = 3 * len(at) * min((at[start + size - 1] - at[start] + 60) / 1e6, 1.0)
                tail = len(at) * excess(np.array([size - 1]), np.array([expected]))[0]
                windows.append((tail, size, start + int(np.searchsorted(subject, number))))
        wanted.append(min(windows, default=(1.0, 0, 0), key=lambda window: window[:1]))
    likely = [(place, size, tail) for tail, size, place in wanted if tail < most]
    tested = zip(*_densest(subject, times, slice(0, 900), judged, length, most), strict=True)
    assert 5 < len(likely) < 35
    assert [told for told in tested if told[2] < most] == [
        (place, size, pytest.approx(tail)) for place, size, tail in likely
    ]


@pytest.mark.parametrize(("step", "told"), [(5, "within 55 seconds."), (10, "within 1.8 minutes.")])
def test_a_burst_is_told_with_the_time_that_it_took(market, step, told):
    paying_market(market)
    market.agent(99, "target owner", ts=40000.0)
    for number in range(12):
        market.feedback(f"fresh{number}", 99, 100, 50000.0 + step * number)
    sentences = [finding.sentence for finding in Lockstep().fit(market.context()).findings_]
    assert f"12 of 12 raters of one account rated it {told}" in sentences


def test_a_crowd_of_paying_newcomers_carries_little_weight(market):
    paying_market(market)
    market.agent(99, "launcher", ts=40000.0)
    for number in range(12):
        market.transfer(f"source{number}", f"fresh{number}", 3.0 + number, 50000.0 + 7000 * number)
        market.payment(f"fresh{number}", "launcher", 99, 1.0, 50050.0 + 7000 * number)
        market.feedback(f"fresh{number}", 99, 78 + number % 5, 50100.0 + 7000 * number)
    assert all(finding.strength < 2 for finding in Lockstep().fit(market.context()).findings_)


def fair_ratings(market):
    for number in range(200):
        for step in range(3):
            market.rating(f"client{number}", (number + step * 6) % 20 + 1, 85, 900000.0 + number)


def test_a_server_that_punishes_its_critics_is_found(market):
    fair_ratings(market)
    market.agent(99, "avenger", ts=50.0)
    for number in range(8):
        market.feedback(f"client{number}", 99, 20, 30000.0)
        market.rating(f"client{number}", 99, 3, 30000.0 + number * 21_600)  # the fifth one comes after exactly a day
    context = market.context()
    findings = Retaliation().fit(context).findings_
    assert [names(context, finding.actors) for finding in findings] == [{"avenger"}]
    assert findings[0].statistic.startswith("8 of 8 critics punished, 5 ratings within a day;")
    assert names(context, findings[0].subjects) == {f"client{number}" for number in range(8)}


@pytest.mark.parametrize("times", [1, 3])
def test_a_server_that_punishes_a_critic_by_all_of_its_agents_is_found_and_counts_the_critic_once(market, times):
    for number in range(60, 200):
        market.rating(f"client{number}", number % 20 + 1, 85, 900000.0)
    for agent in range(times):
        market.agent(99 + agent, "avenger", ts=50.0)
    for number in range(8):
        market.feedback(f"client{number}", 99, 20, 30000.0)
        for agent in range(times):
            market.rating(f"client{number}", 99 + agent, 3, 31000.0)
    context = market.context()
    findings = Retaliation().fit(context).findings_
    assert [names(context, finding.actors) for finding in findings] == [{"avenger"}]
    assert findings[0].sentence.startswith("Of 8 clients who had given low feedback")
    assert len(findings[0].opinions) == 8 * times


def test_a_server_that_rates_bad_clients_down_is_not_found(market):
    fair_ratings(market)
    market.agent(99, "strict", ts=50.0)
    for number in range(8):
        for server in range(3):
            market.rating(f"bad{number}", server + 1, 10, 20000.0)
        market.feedback(f"bad{number}", 99, 20, 30000.0)
        market.rating(f"bad{number}", 99, 3, 31000.0)
    assert Retaliation().fit(market.context()).findings_ == []


def test_a_low_rating_before_the_criticism_does_not_count_as_retaliation(market):
    fair_ratings(market)
    market.agent(99, "early", ts=50.0)
    for number in range(8):
        market.rating(f"client{number}", 99, 3, 29000.0)
        market.feedback(f"client{number}", 99, 20, 30000.0)
    assert Retaliation().fit(market.context()).findings_ == []


def test_low_ratings_that_were_sealed_before_the_criticism_was_seen_do_not_count_as_retaliation(market):
    fair_ratings(market)
    market.agent(99, "strict", ts=50.0)
    for number in range(8):
        market.feedback(f"client{number}", 99, 20, 30000.0)
        market.rating(f"client{number}", 99, 3, 30000.0, blind=True)
    assert Retaliation().fit(market.context()).findings_ == []


def test_a_harsh_rater_is_corrected_and_a_constant_one_counts_little():
    draw = np.random.default_rng(7)
    quality = draw.uniform(30, 95, 60)
    rater = np.repeat(np.arange(40), 30)
    subject = np.concatenate([draw.choice(60, 30, replace=False) for _ in range(40)])
    values = quality[subject] + draw.normal(0, 4, len(subject))
    values[rater == 0] -= 25
    values[rater == 1] = 100
    model = BiasModel().fit(rater, subject, values, np.ones(len(values)), 40, 60)
    assert np.abs(model.quality_ - quality).mean() < 2.5
    assert model.bias_[0] == pytest.approx(-25, abs=4)
    assert model.weight_[rater == 1].max() <= 0.05


@pytest.mark.parametrize(("value", "is_extreme"), [(8, True), (9, False), (93, False), (94, True)])
def test_an_extreme_opinion_of_a_thin_rater_risks_less_than_a_middling_one(market, value, is_extreme):
    market.feedback("extreme", 5, value, 90000.0)
    market.feedback("middling", 5, 50, 90000.0)
    context = market.context()
    raters = context.ledger.addresses.take(context.ledger.opinions.rater).to_pylist()
    risk = dict(zip(raters, context.risk, strict=True))
    assert (risk["extreme"] < risk["middling"]) == is_extreme

"""Standings: one figure for each agent and side, with what it rests on, and what its raters spent elsewhere."""

from __future__ import annotations

import pytest

from bilateral.core.values.standing import Standing
from bilateral.trust.engine import Engine
from bilateral.trust.results import Results
from bilateral.trust.standing.standings import SCHEMA
from tests.trust.conftest import Scene

DAY = 86_400.0
RING, HONEST = 10, 30


def ring_and_market():
    """Return a market of two honest servers, and an agent whose owner funds all of its raters."""
    scene = Scene()
    for agent_id, owner in ((1, "good"), (2, "fair"), (3, "master")):
        scene.transfer("exchange", owner, ts=agent_id * DAY)
        scene.agent(agent_id, owner, ts=(1 + agent_id) * DAY)
    for number in range(HONEST):
        client, at = f"client {number}", (5 + 3 * number) * DAY
        scene.transfer(f"exchange {number % 3}", client, amount=1 + 0.37 * number, ts=at)
        for agent_id, owner, value in ((1, "good", 90), (2, "fair", 75)):
            scene.payment(client, owner, agent_id, amount=2.0 + 0.1 * number, ts=at + agent_id * 7000)
            scene.feedback(client, agent_id, value + number % 4, ts=at + agent_id * 9000)
    for number in range(RING):
        scene.transfer("master", f"ring {number}", amount=0.02, ts=100 * DAY + number * 60)
        scene.feedback(f"ring {number}", 3, 100, ts=100 * DAY + 3600 + number * 60)
    scene.rating("client 0", 1, 95, ts=101 * DAY)
    return scene


def by_key(table):
    return {(row["side"], row["agent_id"]): Standing.of(row) for row in table.to_pylist()}


@pytest.fixture(scope="module")
def analysed():
    return by_key(Engine().fit(ring_and_market().tables()).standings())


def test_ring_is_held_back_with_the_findings_and_their_money(analysed):
    ring = analysed["server", 3]
    assert ring.status == "held_back"
    links = next(reason for reason in ring.reasons if reason.code == "links")
    assert links.figures["accounts"] == RING
    assert links.figures["moved"] == pytest.approx(RING * 0.02)


def test_coins_of_a_finding_are_named_in_its_figures_and_its_sentence():
    scene = ring_and_market()
    for number, (source, *_) in enumerate(scene.rows["transfers"]):
        if source == "master":
            scene.coins[number] = "ETH"
    engine = Engine().fit(scene.tables())
    (links,) = (reason for reason in by_key(engine.standings())["server", 3].reasons if reason.code == "links")
    assert (links.figures["moved"], links.figures["coins"]) == (0.0, {"ETH": pytest.approx(RING * 0.02)})
    sentences = Results.of(engine).findings["sentence"].to_pylist()
    assert any(f"transferred {RING * 0.02:g} ETH to" in sentence for sentence in sentences)


def test_buyers_who_return_count_as_no_more_independent_raters_than_they_are():
    scene = ring_and_market()
    scene.agent(4, "loyal", ts=4 * DAY)
    for number in range(30):
        client, at = f"client {number % 3}", 20 * DAY + number * 3600
        scene.payment(client, "loyal", 4, amount=2.0, ts=at)
        scene.feedback(client, 4, 90 + number % 5, ts=at + 60)
    engine = Engine().fit(scene.tables())
    standing = by_key(engine.standings())["server", 4]
    assert engine.scores_.effective[3] > 4, "their repeated purchases are worth more than three ordinary raters"
    assert (standing.status, standing.effective_raters, standing.raters) == ("ok", 3, 3)


def test_honest_servers_are_not_held_back_and_stand_above_the_ring(analysed):
    assert {analysed["server", agent].status for agent in (1, 2)} == {"ok"}
    assert analysed["server", 1].lower > analysed["server", 2].lower > analysed["server", 3].lower


def test_standing_says_what_it_rests_on(analysed):
    standing = analysed["server", 1]
    assert (standing.raters, standing.payments) == (HONEST, HONEST)
    assert standing.paid == pytest.approx(sum(2.0 + 0.1 * number for number in range(HONEST)))
    assert standing.first_at == int(5 * DAY + 7000)
    assert standing.lower < standing.rating < standing.upper


def test_cost_to_fake_is_what_raters_spent_with_others_divided_by_those_whom_they_praise(analysed):
    of_others = sum(2.0 + 0.1 * number for number in range(HONEST)) / 2
    assert 0.2 * of_others < analysed["server", 1].evidence_cost <= of_others
    assert analysed["server", 3].evidence_cost == 0


def test_agent_without_ratings_is_thin_and_has_no_rating():
    scene = Scene()
    scene.agent(1, "somebody")
    standing = by_key(Engine().fit(scene.tables()).standings())["server", 1]
    assert (standing.status, standing.rating, standing.upper) == ("thin", None, 100.0)
    assert 0 < standing.lower < 60
    assert (standing.first_at, standing.evidence_cost) == (None, 0.0)


def test_one_rater_who_repeats_itself_counts_once_and_is_thin():
    scene = Scene()
    scene.agent(1, "owner")
    for _ in range(9):
        scene.feedback("fan", 1, 100)
    standing = by_key(Engine().fit(scene.tables()).standings())["server", 1]
    assert (standing.status, standing.raters) == ("thin", 1)
    assert standing.effective_raters <= 1


def test_money_that_goes_on_to_the_praised_agents_owner_buys_no_evidence():
    scene = ring_and_market()
    scene.agent(4, "dummy", ts=99 * DAY)
    for number in range(RING):
        scene.payment(f"ring {number}", "dummy", 4, amount=50.0, ts=100 * DAY + 2000 + number)
        scene.transfer("dummy", "master", amount=50.0, ts=100 * DAY + 2500 + number)
    scene.payment("client 0", "master", 3, ts=50 * DAY)
    ring = by_key(Engine().fit(scene.tables()).standings())["server", 3]
    assert ring.evidence_cost == 0


def test_client_stands_by_the_ratings_of_servers_and_by_what_it_paid():
    scene = ring_and_market()
    scene.agent(5, "client 1", ts=50 * DAY)
    scene.rating("client 1", 1, 90, ts=102 * DAY)
    scene.rating("client 1", 2, 80, ts=102 * DAY)
    client = by_key(Engine().fit(scene.tables()).standings())["client", 5]
    assert client.raters == 2
    assert client.paid == pytest.approx(2 * 2.1)
    assert 0 < client.evidence_cost <= client.paid


def test_table_has_the_published_columns_also_without_any_agent():
    assert Engine().fit(Scene().tables()).standings().schema == SCHEMA

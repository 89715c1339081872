"""Agents that change hands: evidence speaks for the owner who earned it, and a gift harms nobody."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from bilateral.core.values.standing import OWNER_CHANGED, Side, Standing
from bilateral.index.standing.words import sentence_of
from bilateral.trust.decisions import ASKS, _answered, until
from bilateral.trust.engine import Engine
from bilateral.trust.policy import trusted_clients
from bilateral.trust.results import Results
from tests.trust.attacks import Attack, by_raters, honest_market
from tests.trust.conftest import Scene, names
from tests.trust.test_trials import AT, waits

_COUNTS = ("status", "raters", "payments", "paid", "first_at", "last_at")
_NIGHTLY = pytest.param(range(2, 12), marks=pytest.mark.nightly)


def standings(tables):
    """Return the standings by side and agent."""
    return {(row["side"], row["agent_id"]): Standing.of(row) for row in Engine().fit(tables).standings().to_pylist()}


def reason_of(standing):
    return next((reason for reason in standing.reasons if reason.code == OWNER_CHANGED), None)


@pytest.fixture
def sold(market):
    """The market of 200 clients, where a buyer holds agent 3 since half of its raters spoke."""
    for number in range(10):
        market.payment(f"client{number}", "owner2", 3, 2.0, 4000.0 + 2000 * number)
    market.hand_over(3, "buyer", 12_500.0)
    return market


@pytest.fixture
def raters(sold):
    """The raters of agent 3 before and after it was sold."""
    spoken = [(row[1], row[5] > 12_500) for row in sold.rows["feedback"] if row[2] == 3]
    return [{name for name, is_later in spoken if is_later == later} for later in (False, True)]


def test_evidence_from_before_a_handover_does_not_count_and_the_standing_says_so(sold, raters):
    standing, reason = (found := standings(sold.tables())["server", 3]), reason_of(found)
    assert (standing.raters, standing.payments, standing.paid) == (len(raters[1]), 5, 10.0)
    assert (reason.amount, reason.figures) == (10.0, {"at": 12_500, "raters": len(raters[0]), "payments": 5})


def test_the_reason_and_the_decision_say_in_words_that_the_owner_changed(sold):
    standing = standings(sold.tables())["server", 3]
    raters = reason_of(standing).figures["raters"]
    expected = "it has belonged to its current owner since 1970-01-01"
    counts = f"{raters} raters and 5 payments under earlier owners do not count"
    assert sentence_of(reason_of(standing)) == f"{expected}; {counts}"
    row = {**vars_of(standing), "reasons": json.dumps([vars_of(reason) for reason in standing.reasons])}
    asks = pa.table([[0], ["0x" + "11" * 20], [3], [9e9], [500.0]], ASKS.names).cast(ASKS)
    (answer,) = _answered(pa.Table.from_pylist([row]), asks).to_pylist()
    assert "has evidence since it changed hands that cost" in answer["reason"]


def vars_of(record):
    return {field.name: getattr(record, field.name) for field in fields(record)}


def test_an_agent_that_was_handed_over_without_evidence_has_no_such_reason(market):
    market.hand_over(3, "buyer", 21.0)
    assert reason_of(standings(market.tables())["server", 3]) is None


def test_results_name_an_agent_once_and_its_trusted_clients_are_those_of_its_owner(sold, raters):
    engine = Engine().fit(sold.tables())
    assert Results.of(engine).agents["agent_id"].to_pylist() == list(range(1, 21))
    clients = trusted_clients(engine, 3)
    assert (set(clients.clients), set(clients.left_out)) == (raters[1], raters[0])


def test_rows_until_a_handover_have_the_owner_of_then(sold):
    before, after = (standings(until(sold.tables(), ts))["server", 3] for ts in (12_499.0, 25_000.0))
    assert (reason_of(before), before.payments) == (None, 5)
    assert reason_of(after).figures["at"] == 12_500


def test_ratings_that_a_server_gave_before_it_was_handed_over_are_its_earlier_owners():
    scene = Scene()
    scene.agent(1, "crook")
    scene.agent(2, "validated")
    for ts, value in ((500.0, 1), (1500.0, 2)):
        scene.rating("client", 1, value, ts=ts)
        scene.validator_rating(1, 1, value, ts=ts)
        scene.validation(1, 2, value, ts=ts)
    scene.hand_over(1, "victim", 1000.0)
    ledger = scene.ledger()
    spoken = zip(ledger.addresses.take(pa.array(ledger.opinions.rater)).to_pylist(), ledger.opinions.raw, strict=True)
    assert sorted(spoken) == [("crook", 1.0)] * 3 + [("victim", 2.0)] * 3


def test_an_agent_with_false_praise_neither_taints_who_gets_it_nor_frees_who_gave_it(market):
    market.agent(97, "victim", ts=60.0)
    market.agent(99, "crook", ts=50.0)
    market.feedback("crook", 99, 100, 6000.0)
    market.hand_over(99, "victim", 7000.0)
    market.agent(98, "crook", ts=8000.0)
    engine = Engine().fit(market.tables())
    assert names(engine.context_, np.flatnonzero(engine.suspicion_.flagged)) == {"crook"}
    servers = {row["agent_id"]: row["status"] for row in engine.standings().to_pylist() if row["side"] == Side.SERVER}
    assert [servers[number] for number in (97, 98, 99)] == ["thin", "held_back", "thin"]


@pytest.mark.parametrize("turns", [3, 4, 7, 8, 16])
def test_an_agent_that_is_passed_around_gets_no_more_trials_than_as_many_new_agents(turns):
    passed, registered = Scene(), Scene()
    for scene in (passed, registered):
        scene.transfer("patron", "even", ts=AT - 100)
        scene.transfer("patron", "odd", ts=AT - 100)
        scene.agent(1, "even", ts=AT)
    for turn in range(turns):
        for number, scene in ((1, passed), (turn + 1, registered)):
            scene.payment(f"client{turn}", "payee", number, ts=AT + turn * 1000.0 + 500)
        passed.hand_over(1, ("odd", "even")[turn % 2], AT + turn * 1000.0 + 900)
        registered.agent(turn + 2, ("odd", "even")[turn % 2], ts=AT + turn * 1000.0 + 900)
    ends = [waits(scene, now=AT + turns * 1000.0) for scene in (passed, registered)]
    assert set(ends[1]) >= ({turns + 1} if 1 in ends[0] else set())
    assert (1 in ends[0]) >= (turns + 1 in ends[1])


def test_agents_that_are_given_to_an_owner_make_none_of_its_own_wait():
    scene = Scene()
    for name in ("victim", "friend"):
        scene.transfer("patron", name, ts=AT - 100)
    for number in range(20):
        scene.agent(number + 1, "crook", ts=0.0)
        scene.hand_over(number + 1, "victim", AT + number)
    scene.agent(30, "victim", ts=AT - 50)
    assert 30 not in waits(scene)
    scene.agent(31, "victim", ts=AT + 50)
    assert waits(scene, now=AT + 200).keys() & {30, 31} == set()
    assert 20 in waits(scene, now=AT + 300)  # what was received takes turns


@pytest.mark.parametrize("seeds", [range(2), _NIGHTLY])
def test_a_handed_over_agent_is_worth_what_its_owner_could_register_anew(seeds):
    sold = 0
    for seed in seeds:
        attack, agents = _sales(seed)
        fresh, twins = _registered_anew(attack, agents)
        for (found, amount), (new, new_amount) in zip(attack.answers(*agents), fresh.answers(*twins), strict=True):
            assert amount <= new_amount + 1e-6
            assert [getattr(found, name) for name in _COUNTS] == [getattr(new, name) for name in _COUNTS]
            assert found.evidence_cost == pytest.approx(new.evidence_cost)
            assert (found.lower, found.upper) == pytest.approx((new.lower, new.upper), abs=1e-3)
            sold += reason_of(found) is not None
    assert sold >= 2 * len(seeds)


def _sales(seed):
    """Sell agents of all sizes once or several times, there and back, and let accounts praise and pay them after."""
    random = np.random.default_rng([seed, 5])
    market = honest_market(1 + seed % 2)
    attack = Attack(market, seed)
    agents = random.choice(by_raters(market)[:200], 6, replace=False)
    founders, accounts = attack.log.agents["owner"][agents], attack.accounts(int(random.integers(1, 4)), 30)
    day = random.uniform(35, 50, len(agents))
    for _ in range(int(random.integers(1, 4))):
        target = np.where(random.random(len(agents)) < 0.3, founders, random.choice(accounts, len(agents)))
        moves = target != attack.log.agents["owner"][agents]
        attack.log.hand_over(agents[moves], target[moves], attack.time(day[moves]))
        day += random.uniform(0.01, 4)
    raters = attack.accounts(int(random.integers(1, 8)), 36, source=int(accounts[0]))
    for agent, at in zip(agents.tolist(), day.tolist(), strict=True):
        values = random.uniform(80, 100, len(raters)).round()
        attack.praise(raters, np.full(len(raters), agent), values, at + random.uniform(0, 3, len(raters)), 1.0)
    return attack, agents


def _registered_anew(attack, agents):
    """Return a copy in which each tenure of an agent is one that its owner registered, and the agents of today."""
    fresh = Attack(attack.market)
    log = fresh.log = deepcopy(attack.log)
    moved, log.handovers = log.handovers, type(log.handovers)({"agent": int, "src": int, "dst": int, "ts": float})
    current = {}
    for agent, source, target, ts in zip(
        *(moved[name].tolist() for name in ("agent", "src", "dst", "ts")), strict=True
    ):
        if agent not in current:
            log.agents["owner"][agent] = source
        last = current.get(agent, agent)
        current[agent] = int(log.agents.add(owner=target, kind=0, ts=ts)[0])
        for table in (log.feedback, log.ratings, log.payments):
            table["agent"][(table["agent"] == last) & (table["ts"] > ts)] = current[agent]
    return fresh, [current.get(int(agent), agent) for agent in agents]


@pytest.mark.parametrize("seeds", [range(2), _NIGHTLY])
def test_giving_agents_to_somebody_lowers_nothing_of_theirs(seeds):
    for seed in seeds:
        random = np.random.default_rng([seed, 6])
        market = honest_market(1 + seed % 2)
        attack = Attack(market, seed)
        sellers = by_raters(market)
        sizes = sellers[np.linspace(0, len(sellers) - 1, 12).astype(int)]
        victims = market.log.agents["owner"][sizes]
        given = _bait(attack, random, victims)
        attack.agents(victims[:3], 39)
        owned = np.flatnonzero(np.isin(attack.log.agents["owner"], victims))
        before = attack.answers(*owned)
        attack.log.hand_over(given, random.choice(victims, len(given)), attack.time(random.uniform(40, 59)))
        if random.random() < 0.5:
            attack.log.hand_over(given, attack.accounts(1, 30)[0], attack.time(59.5))
        for (old, limit), (new, new_limit) in zip(before, attack.answers(*owned), strict=True):
            assert old.status == new.status
            assert new.lower >= old.lower - 0.05
            assert new_limit >= 0.99 * limit


def _bait(attack, random, victims):
    """Make agents to give away that a ring praised or blamed, and that victims bought from."""
    owners = attack.accounts(3, 20)
    agents = attack.agents(np.repeat(owners, 3), 21)
    ring = attack.accounts(int(random.integers(3, 10)), 20, source=int(owners[0]))
    for agent, value in zip(agents.tolist(), random.choice([0.0, 100.0], len(agents)), strict=True):
        attack.praise(
            ring, np.full(len(ring), agent), value, random.uniform(22, 30, len(ring)), random.choice([0.1, 1.0])
        )
        some = random.choice(victims, 2, replace=False)
        attack.praise(some, np.full(2, agent), 60.0, random.uniform(30, 38, 2), 1.0)
    return agents

"""Weak signs: the features, the models that weigh them, and their training on drawn attacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.trust.measures import Truth
from bench.trust.train import Sample, train
from bench.trust.worlds import drawn as worlds_drawn
from bench.trust.worlds import lookalikes
from bench.trust.worlds.drawn import EVERY, FAMILY, drawn
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import Settings
from bilateral.trust.engine import Engine
from bilateral.trust.features.features import features
from bilateral.trust.features.findings import Basis, Finding, Part
from bilateral.trust.features.judgements import Judgements
from bilateral.trust.features.signs import MOST, Model, Trees, around, finite, model
from bilateral.trust.scores.suspicion import suspicion

SMALL = Settings(clients=250, owners=120, platforms=1, communities=2)


def test_the_models_know_every_feature_in_its_order(market):
    engine = Engine().fit(market.tables())
    context, judgements = engine.context_, Judgements.of(engine.context_)
    names = [name for name, _ in features(context, judgements)]
    names += [name for name, _ in around(context, judgements, np.zeros(context.ledger.accounts))]
    assert names == list(model().edges)
    assert max(trees.feature.max() for trees in (model().alone, model().among, model().again)) < len(names)


def test_a_tree_goes_left_up_to_its_limit_and_right_above_it():
    trees = Trees.of(
        {
            "base": 0.5,
            "feature": [[0, 1, 1]],
            "above": [[3, 1, 255]],
            "value": [[1.0, 2.0, 4.0, 8.0]],
        }
    )
    codes = np.array([[3, 3, 4, 255], [1, 2, 0, 255]], np.uint8)
    assert trees.score(codes).tolist() == [1.5, 2.5, 4.5, 4.5]


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6])
def test_trees_of_all_depths_lead_each_account_from_the_root_to_its_leaf(depth, monkeypatch):
    monkeypatch.setattr("bilateral.trust.features.signs._ROWS", 7)
    draw, nodes = np.random.default_rng(depth), 2**depth - 1
    trees = Trees(
        0.25,
        draw.integers(0, 5, (3, nodes)).astype(np.int32),
        draw.integers(0, 9, (3, nodes)).astype(np.uint8),
        draw.normal(size=(3, nodes + 1)).astype(np.float32),
    )
    codes = draw.integers(0, 10, (5, 40)).astype(np.uint8)
    wanted = np.full(40, 0.25, np.float32)
    for feature, above, value in zip(trees.feature, trees.above, trees.value, strict=True):
        for account in range(40):
            node = 0
            while node < nodes:
                node = 2 * node + 1 + int(codes[feature[node], account] > above[node])
            wanted[account] += value[node - nodes]
    assert np.array_equal(trees.score(codes), wanted)


def test_each_edge_is_that_of_a_tree():
    trees = model().alone, model().among, model().again
    looked_at = {(int(f), int(a)) for t in trees for f, a in zip(t.feature.ravel(), t.above.ravel(), strict=True)}
    edges = {(f, a) for f, values in enumerate(model().edges.values()) for a in range(len(values))}
    assert edges == {pair for pair in looked_at if pair[1] < 255}


def test_unknown_and_infinite_values_have_codes():
    assert finite(np.array([np.nan, np.inf, -np.inf, 2.0])).tolist() == [-1e6, 1e6, -1e6, 2.0]


def test_an_opinion_is_traced_by_a_payment_or_an_answer_of_the_same_two(scene):
    scene.agent(1, "owner")
    for client in ("payer", "answered", "untraced"):
        scene.feedback(client, 1, 80)
    scene.payment("payer", "owner", 1)
    scene.rating("answered", 1, 80)
    context = scene.context()
    judgements = Judgements.of(context)
    names = context.ledger.addresses.take(judgements.rater[judgements.kind == 0]).to_pylist()
    assert dict(zip(names, judgements.traced[judgements.kind == 0].tolist(), strict=True)) == {
        "payer": True,
        "answered": True,
        "untraced": False,
    }


def columns_of(context, *names):
    """The features of these names, by account."""
    accounts, columns = context.ledger.addresses.to_pylist(), dict(features(context, Judgements.of(context)))
    return [dict(zip(accounts, columns[name].tolist(), strict=True)) for name in names]


def test_a_validation_is_compared_with_what_clients_say_and_clients_are_not_with_validations(scene):
    for agent, owner in ((1, "bad"), (2, "judge"), (3, "good")):
        scene.agent(agent, owner, is_validator=owner == "judge")
    for number in range(6):
        scene.feedback(f"client{number}", 1, 30)
        scene.feedback(f"client{number}", 3, 80)
    (before,) = columns_of(scene.context(), "mean distance as rater")
    scene.validation(2, 1, 90)
    scene.validation(2, 3, 90)
    clients, validated = columns_of(scene.context(), "mean distance as rater", "mean distance as validated")
    assert validated["bad"] > 15 > -15 > validated["good"]
    assert [clients[f"client{number}"] for number in range(6)] == [before[f"client{number}"] for number in range(6)]


def test_several_opinions_far_from_those_of_others_are_rarer_than_one(scene):
    for agent in range(1, 7):
        scene.agent(agent, f"owner{agent}")
        for number in range(6):
            scene.feedback(f"client{number}", agent, 78 + number, ts=1000.0 + 10 * number)
        scene.feedback("unlucky", agent, 10 if agent == 1 else 80, ts=1100.0)
        scene.feedback("slanderer", agent, 10 if agent <= 3 else 80, ts=1110.0)
    low, in_turn = columns_of(scene.context(), "opinions below others", "two opinions below others in turn")
    assert low["slanderer"] > low["unlucky"] > low["client5"]
    assert in_turn["slanderer"] > 1.5 * in_turn["unlucky"]


def test_silence_lasts_from_the_birth_of_an_account_or_its_opinion_before(scene):
    hour = 3600.0
    for agent in (1, 2):
        scene.agent(agent, f"owner{agent}")
    scene.transfer("exchange", "client", ts=0.0)
    scene.feedback("client", 1, 80, ts=2 * hour)
    scene.feedback("client", 2, 80, ts=102 * hour)
    mean, top = columns_of(scene.context(), "mean silence as rater", "top silence as rater")
    assert np.expm1(top["client"]) == pytest.approx(100, rel=1e-4)
    assert mean["client"] == pytest.approx((np.log(3) + np.log(101)) / 2, rel=1e-4)


def test_a_price_is_what_the_client_paid_in_usual_purchases(scene):
    scene.agent(1, "owner")
    for number in range(8):
        scene.payment(f"client{number}", "owner", 1, amount=4.0)
        scene.feedback(f"client{number}", 1, 80)
    scene.payment("cheap", "owner", 1, amount=0.4)
    scene.feedback("cheap", 1, 100)
    (price,) = columns_of(scene.context(), "mean price as rater")
    assert np.expm1([price["client0"], price["cheap"]]) == pytest.approx([1.0, 0.1], rel=1e-4)


def test_whom_nothing_speaks_against_gets_hardly_any_suspicion(market):
    weak = Engine().fit(market.tables()).suspicion_.parts["weak signs"]
    assert weak.min() >= 0
    assert weak.max() <= MOST
    assert np.median(weak) < MOST / 4


@pytest.mark.nightly
def test_trained_models_rank_attackers_first():
    made = honest_world(7, SMALL)
    for _ in range(12):
        drawn(made, made.begin(FAMILY, 8))
    tables, told = made.tables()
    engine = Engine().fit(tables)
    context = engine.context_
    attack = {row["address"]: row["attack"] for row in told["accounts"].to_pylist()}
    guilty = np.array([attack[address] >= 0 for address in context.ledger.addresses.to_pylist()])
    sample = Sample.of(context, engine.judged(), guilty)
    learned = Model.of(train([sample, sample]))
    chosen = np.flatnonzero(sample.judged)
    score = learned.scores(context, chosen)[0]
    assert score[guilty[chosen]].mean() > score[~guilty[chosen]].mean() + 2


@pytest.mark.parametrize("seed", range(3))
def test_a_drawn_attack_has_members(seed):
    made = honest_world(seed, SMALL)
    drawn(made, made.begin(FAMILY, 6))
    members = [account for account in (*made.accounts, *made.agents) if account.attack == 0]
    assert len(members) >= 6


@pytest.mark.sample(10)
@pytest.mark.parametrize("structure", sorted(set(EVERY), key=lambda structure: structure.__name__))
def test_every_structure_makes_attackers(structure, monkeypatch):
    monkeypatch.setattr(worlds_drawn, "EVERY", (structure,))
    made = honest_world(5, SMALL)
    attack = made.begin(FAMILY, 8)
    drawn(made, attack)
    tables, told = made.tables()
    engine = Engine(learned=False).fit(tables)
    truth = Truth.of(engine, told)
    assert attack.family == f"{FAMILY}: {structure.__name__[1:]}"
    guilty = truth.judged & (truth.attack >= 0)
    assert (truth.attack >= 0).sum() >= 2
    assert guilty.any() == (structure.__name__ != "_framed")  # its members are left out: the victims count


def test_look_alikes_are_honest_and_named_by_their_groups(monkeypatch):
    monkeypatch.setattr(lookalikes, "_CHANCE", 1.0)
    made = honest_world(6, SMALL)
    before = len(made.accounts)
    lookalikes.add_look_alikes(made)
    added = made.accounts[before:]
    assert {account.role for account in added} <= {"honest", "exchange"}
    assert {"launch crowd", "airdrop", "club", "staff", "reviewer", "free service"} <= {
        account.group for account in added
    }
    assert all(row[6] < 0 for row in made.feedback)


def test_the_parts_of_an_account_that_is_held_back_make_its_suspicion_and_others_stay_below_the_threshold(market):
    context = market.context()
    places = np.arange(context.ledger.accounts)
    doubtful = Finding("links", "none", 10.0**-1.8, places[::2], "They are told.", basis=Basis.CONTROL)
    certain = Finding("wash payments", "none", 1e-9, places[::3], "They are told.", basis=Basis.MONEY)
    for learned in (True, False):
        result = suspicion(context, [doubtful, certain], {}, learned=learned)
        every = np.sum(list(result.parts.values()), axis=0)
        assert np.flatnonzero(result.flagged).tolist() == places[::6].tolist()
        assert result.total[result.flagged] == pytest.approx(every[result.flagged])
        assert result.total[~result.flagged].max() <= MOST
        assert every[~result.flagged].max() > MOST


CONTROL, MONEY, OPINIONS = Basis.CONTROL, Basis.MONEY, Basis.OPINIONS


@pytest.mark.parametrize(
    ("evidence", "is_held"),
    [
        ([(OPINIONS, 12.0)], False),
        ([(MONEY, 12.0)], False),
        ([(CONTROL, 3.9)], False),
        ([(CONTROL, 4.0)], True),
        ([(OPINIONS, 8.0), (OPINIONS, 8.0)], False),
        ([(OPINIONS, 1.0), (MONEY, 1.0)], True),
        ([(OPINIONS, 8.0), (MONEY, 0.9)], False),
        ([(CONTROL, 3.0), (OPINIONS, 0.5)], True),
        ([(CONTROL, 2.9), (OPINIONS, 0.9)], False),
        ([(CONTROL, 3.9), (OPINIONS, 0.4)], False),
    ],
)
def test_two_kinds_of_evidence_hold_an_account_back_and_one_only_if_others_cannot_make_it(market, evidence, is_held):
    context = market.context()
    place = np.array([context.ledger.opinions.rater[0]])
    findings = [Finding("links", "", 10.0**-digits, place, "They are told.", basis=basis) for basis, digits in evidence]
    assert bool(suspicion(context, findings, {}).flagged[place[0]]) == is_held
    passive = [replace(finding, passive=frozenset({Part.ACTOR})) for finding in findings]
    assert not suspicion(context, passive, {}).flagged[place[0]]


@pytest.mark.parametrize(("digits", "agents"), [(3.9, [1]), (4.1, [1, 2])])
def test_an_owners_other_agents_are_held_back_by_strong_evidence_only(scene, digits, agents):
    for agent in (1, 2):
        scene.agent(agent, "owner")
        scene.feedback("client", agent, 90)
    context = scene.context()
    owner = context.ledger.owner[:1].astype(np.int64)
    result = Finding(
        "links", "", 10.0**-digits, owner, "They are told.", opinions=np.array([0]), basis=CONTROL, is_fact=True
    )
    withheld = suspicion(context, [result], {}, learned=False).withheld
    assert (np.flatnonzero(withheld[:2]) + 1).tolist() == agents

"""Weak signs: the features, the models that weigh them, and their training on drawn attacks."""

from __future__ import annotations

import numpy as np
import pytest

from bench.trust.held_out import structures, without
from bench.trust.measures import Truth
from bench.trust.train import Sample, train
from bench.trust.worlds import drawn as worlds_drawn
from bench.trust.worlds import lookalikes
from bench.trust.worlds.drawn import EVERY, FAMILY, drawn
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import Settings
from bilateral.trust.engine import Engine
from bilateral.trust.features import features
from bilateral.trust.findings import Finding
from bilateral.trust.judgements import Judgements
from bilateral.trust.neighbours import around
from bilateral.trust.signs import MOST, Model, Trees, known, model
from bilateral.trust.suspicion import RANKING, THRESHOLD, suspicion

SMALL = Settings(clients=250, owners=120, platforms=1, communities=2)


def test_the_models_know_every_feature_in_its_order(market):
    engine = Engine().fit(market.tables())
    context, judgements = engine.context_, Judgements.of(engine.context_)
    names = [name for name, _ in features(context, judgements, engine.suspicion_.parts)]
    names += [name for name, _ in around(context, judgements, np.zeros(context.ledger.accounts))]
    assert names == list(model().edges)
    assert max(model().among.feature.max(), model().alone.feature.max()) < len(names)


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


def test_unknown_and_infinite_values_have_codes():
    assert known(np.array([np.nan, np.inf, -np.inf, 2.0])).tolist() == [-1e6, 1e6, -1e6, 2.0]


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


def test_whom_nothing_speaks_against_gets_hardly_any_suspicion(market):
    weak = Engine().fit(market.tables()).suspicion_.parts["weak signs"]
    assert weak.min() >= 0
    assert weak.max() <= MOST
    assert np.median(weak) < MOST / 4


def test_a_finding_exactly_at_the_threshold_flags_whatever_ranks_beside_it(market):
    context = market.context()
    places = np.arange(context.ledger.accounts)
    finding = Finding("links", "none", 10.0**-THRESHOLD, places, "They are told.")
    assert finding.strength == THRESHOLD
    result = suspicion(context, [finding], {})
    ranked = np.sum([result.parts[name] for name in RANKING], axis=0)
    assert (result.total - ranked < THRESHOLD).any()  # rounding takes something from some accounts
    assert (result.unranked == THRESHOLD).all()
    assert result.flagged.all()


def test_trained_models_rank_attackers_first():
    made = honest_world(7, SMALL)
    for _ in range(12):
        drawn(made, made.begin(FAMILY, 8))
    tables, told = made.tables()
    engine = Engine().fit(tables)
    context = engine.context_
    attack = {row["address"]: row["attack"] for row in told["accounts"].to_pylist()}
    guilty = np.array([attack[address] >= 0 for address in context.ledger.addresses.to_pylist()])
    sample = Sample.of(context, engine.suspicion_.parts, engine.judged(), guilty)
    learned = Model.of(train([sample, sample]))
    chosen = np.flatnonzero(sample.judged)
    score = learned.scores(context, engine.suspicion_.parts, chosen)
    assert score[guilty[chosen]].mean() > score[~guilty[chosen]].mean() + 2


@pytest.mark.parametrize("seed", range(3))
def test_a_drawn_attack_has_members(seed):
    made = honest_world(seed, SMALL)
    drawn(made, made.begin(FAMILY, 6))
    members = [account for account in (*made.accounts, *made.agents) if account.attack == 0]
    assert len(members) >= 6


@pytest.mark.parametrize("structure", sorted(set(EVERY), key=lambda one: one.__name__))
def test_every_structure_makes_attackers(structure, monkeypatch):
    monkeypatch.setattr(worlds_drawn, "EVERY", (structure,))
    made = honest_world(5, SMALL)
    attack = made.begin(FAMILY, 8)
    drawn(made, attack)
    tables, told = made.tables()
    engine = Engine(learned=False).fit(tables)
    truth = Truth.of(engine, told)
    assert structures(attack.family) == {structure.__name__[1:]}
    guilty = truth.judged & (truth.attack >= 0)
    assert (truth.attack >= 0).sum() >= 2
    assert not (without(truth, frozenset([structure.__name__[1:]])) & guilty).any()
    assert (without(truth, frozenset(["another"])) & guilty).sum() == guilty.sum()
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


def test_the_parts_of_a_flagged_account_make_its_suspicion_and_others_stay_below_the_threshold(market):
    market.agent(99, "owner", ts=50.0)
    for number in range(40):
        market.transfer("framer", f"sybil{number}", 5.0, 40000.0 + number)
        market.feedback(f"sybil{number}", 99, 100, 41000.0 + number)
    context = market.context()
    places = np.arange(context.ledger.accounts)
    doubtful = Finding("links", "none", 10.0**-1.8, places[::2], "They are told.", tied=places)
    certain = Finding("wash payments", "none", 1e-9, places[::3], "They are told.")
    for learned in (True, False):
        result = suspicion(context, [doubtful, certain], {}, learned=learned)
        every = np.sum(list(result.parts.values()), axis=0)
        assert result.total[result.flagged] == pytest.approx(every[result.flagged])
        assert result.parts["tied by others"][result.flagged].max() > 1
        assert result.total[~result.flagged].max() <= MOST
        assert every[~result.flagged].max() > MOST

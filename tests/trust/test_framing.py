"""Nobody is flagged for what others did: each way to frame an account fails."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bilateral.trust.detectors.blocks import Blocks
from bilateral.trust.detectors.links import Links
from bilateral.trust.detectors.lockstep import Lockstep
from bilateral.trust.detectors.retaliation import Retaliation
from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.engine import Engine
from bilateral.trust.explain import explain
from bilateral.trust.features.context import Context
from bilateral.trust.results import Results
from bilateral.trust.tables.coding import coded
from bilateral.trust.tables.schema import OPTIONAL, Tables
from tests.trust.conftest import judged, names


def is_flagged(scene, address):
    engine, places = judged(scene)
    return bool(engine.suspicion_.flagged[places[address]])


def test_a_rater_that_funds_an_owner_first_does_not_frame_it(market):
    market.transfer("framer", "victim", 3.0, 30000.0)
    market.agent(99, "victim", ts=40000.0)
    for number in range(4):
        market.feedback("framer", 99, 100, 41000.0 + number)
    engine, places = judged(market)
    links = [finding for finding in engine.findings_ if finding.detector == "links"]
    assert [names(engine.context_, link.actors) for link in links] == [{"framer"}] * len(links)
    assert all(names(engine.context_, link.tied) == {"victim"} for link in links)
    assert links
    assert not engine.suspicion_.flagged[places["victim"]]


@pytest.mark.parametrize("returns", [False, True])
def test_an_owner_of_the_raters_funder_is_flagged_only_if_it_confirms_the_tie(market, returns):
    market.transfer("boss", "owner99", 3.0, 30000.0)
    market.agent(99, "owner99", ts=40000.0)
    for number in range(12):
        market.transfer("boss", f"sybil{number}", 3.0, 39000.0 + number)
        market.feedback(f"sybil{number}", 99, 100, 41000.0 + number)
    if returns:
        market.transfer("owner99", "boss", 2.0, 60000.0)
    engine, places = judged(market)
    assert engine.suspicion_.flagged[places["sybil3"]]
    assert engine.suspicion_.total[places["owner99"]] > 0.1
    assert bool(engine.suspicion_.flagged[places["owner99"]]) == returns


def test_money_that_comes_just_after_an_account_acts_does_not_make_it_kin(market):
    market.feedback("victim", 5, 80, 41000.0)
    market.transfer("boss", "victim", 3.0, 41001.0)
    ledger = market.ledger()
    places = {address: number for number, address in enumerate(ledger.addresses.to_pylist())}
    assert ledger.funder[places["victim"]] == -1


def test_dust_from_the_rated_does_not_make_its_raters_bribed(market):
    market.agent(99, "framer", ts=50.0)
    for number in range(4):
        market.feedback(f"client{number}", 99, 90, 31000.0)
        market.transfer("framer", f"client{number}", 1e-6, 30000.0)
    assert Links().fit(market.context()).findings_ == []


def test_accounts_that_copy_an_honest_rater_do_not_make_it_a_member(market):
    for number in range(20):
        market.agent(100 + number, f"rare owner{number}", ts=30000.0)
        market.feedback("victim", 100 + number, 95, 31000.0 + 2000 * number)
        for copier in range(4):
            market.feedback(f"copier{copier}", 100 + number, 99, 33000.0 + 2000 * number + copier)
    for number in range(400):
        market.agent(300 + number, f"other rare owner{number}", ts=30000.0)
        for step in (1, 57):
            market.feedback(f"client{(number * step) % 200}", 300 + number, 80, 31000.0 + number)
    context = market.context()
    strongest = Blocks().fit(context).findings_[0]
    assert names(context, strongest.actors) == {f"copier{number}" for number in range(4)}
    assert names(context, strongest.tied) == {"victim"}
    assert not is_flagged(market, "victim")


def test_accounts_that_praise_in_return_do_not_make_an_honest_rater_a_member(market):
    market.agent(99, "victim", ts=50.0)
    for number in range(6):
        market.agent(200 + number, f"framer{number}", ts=20000.0)
        market.feedback("victim", 200 + number, 90, 30000.0 + 500 * number)
        market.feedback(f"framer{number}", 99, 99, 40000.0 + 500 * number)
    assert not is_flagged(market, "victim")


def test_fresh_slanderers_do_not_make_a_server_an_avenger(market):
    for number in range(200):
        market.rating(f"client{number}", number % 20 + 1, 85, 900000.0 + number)
    market.agent(99, "victim", ts=50.0)
    for number in range(8):
        market.feedback(f"slanderer{number}", 99, 0, 30000.0)
        market.rating(f"slanderer{number}", 99, 3, 31000.0)
    assert Retaliation().fit(market.context()).findings_ == []


@pytest.mark.parametrize(("price", "count"), [(1.0, 4), (50.0, 0)])
def test_a_supplier_whose_accounts_pay_its_customer_does_not_make_it_a_washer(market, price, count):
    market.agent(99, "customer")
    for number in range(4):
        market.transfer("supplier", f"account{number}", 5.0, 100.0)
        market.payment(f"account{number}", "customer", 99, 0.5, 900.0 + number)
    market.transfer("customer", "supplier", price, 5000.0)
    assert WashPayments().fit(market.context()).returned_.sum() == count


def test_who_paid_gets_little_blame_for_the_newcomers_beside_it(market):
    for row in list(market.rows["feedback"]):
        if row[0] % 5:
            market.payment(row[1], f"owner{row[2] - 1}", row[2], 1.0, row[5] - 10)
    market.agent(99, "target owner", ts=40000.0)
    for number in range(12):
        market.transfer(f"source{number}", f"fresh{number}", 3.0 + number, 50000.0 + 7000 * number)
        market.feedback(f"fresh{number}", 99, 100, 50100.0 + 7000 * number)
    market.payment("fresh5", "target owner", 99, 1.0, 50050.0 + 7000 * 5)
    context = market.context()
    strongest = Lockstep().fit(context).findings_[0]
    addresses = context.ledger.addresses.take(pa.array(strongest.actors)).to_pylist()
    shares = dict(zip(addresses, strongest.confidence, strict=True))
    assert shares["fresh5"] < 0.4
    assert shares["fresh4"] > 0.9


def fresh(scene, count=8):
    """Young accounts of an attacker, whose money has no common source."""
    for number in range(count):
        scene.transfer(f"source{number}", f"fresh{number}", 3.0 + number, 40000.0 + 9000 * number)
        yield f"fresh{number}", 40100.0 + 9000 * number


def attack(scene, way):
    """Try to lift the owner of agent 7, or a newcomer that rates agent 99, by weak signs."""
    if way == "company":
        scene.agent(99, "attacker", ts=30000.0)
        scene.transfer("exchange", "newcomer", 7.0, 50000.0)
        for agent in (1, 2, 3, 99):
            scene.feedback("newcomer", agent, 80, 60000.0 + agent)
    for number, (name, time) in enumerate(fresh(scene)):
        if way in {"ratings", "validations"}:
            scene.agent(200 + number, name, ts=time, is_validator=way == "validations")
        if way == "money":
            scene.payment(name, "owner5", 6, 1.0, time - 10)
            scene.transfer(name, "owner6", 1.0, time - 20)
            scene.transfer(name, "client3", 1.0, time - 20)
        if way == "ratings":
            scene.rating("client3", 200 + number, 0, time)
        elif way == "validations":
            scene.validation(200 + number, 7, 100, time)
        else:
            scene.feedback(name, 99 if way == "company" else 7, 0 if way == "slander" else 100, time)
        if way == "money":
            scene.feedback(name, 6, 80, time + 10)


LOW = 1e-5
"""A threshold so low that weak signs would reach it, if they counted. It is for flags alone."""


def unnamed(engine, places):
    """The honest accounts that no finding names as an actor or a beneficiary."""
    parts = [part for finding in engine.findings_ for part in (finding.actors, finding.beneficiaries)]
    rows = set(np.concatenate([np.zeros(0, np.int64), *parts]).tolist())
    honest = ("owner", "client", "newcomer")
    return {name: place for name, place in places.items() if name.startswith(honest) and place not in rows}


@pytest.mark.parametrize("way", ["praise", "company", "money", "slander", "ratings", "validations"])
def test_weak_signs_flag_nobody_whom_an_attacker_frames(market, way):
    attack(market, way)
    engine = Engine(threshold=LOW).fit(market.tables())
    places = {address: number for number, address in enumerate(engine.context_.ledger.addresses.to_pylist())}
    framed, weak = unnamed(engine, places), engine.suspicion_.parts["weak signs"]
    assert weak.max() <= 1.9
    assert not any(engine.suspicion_.flagged[place] for place in framed.values())
    assert max(weak[place] for place in framed.values()) > LOW


@pytest.mark.parametrize("seed", range(4))
def test_weak_signs_flag_nobody_whatever_an_attacker_sends_rates_or_pays(market, seed):
    draw = np.random.default_rng(seed)
    for number, (name, time) in enumerate(fresh(market, 12)):
        market.agent(200 + number, name, ts=time)
        for step in range(4):
            agent, client, at = int(draw.integers(1, 21)), int(draw.integers(200)), time + 100.0 * step
            market.feedback(name, agent, int(draw.choice([0, 50, 93, 100])), at + 5)
            market.rating(f"client{client}", 200 + number, int(draw.choice([0, 100])), at + 6)
            if draw.random() < 0.5:
                market.payment(name, f"owner{agent - 1}", agent, float(draw.lognormal()), at)
            market.transfer(name, f"{draw.choice(['owner', 'client'])}{client % 20}", float(draw.lognormal()), at)
    engine = Engine(threshold=LOW).fit(market.tables())
    places = {address: number for number, address in enumerate(engine.context_.ledger.addresses.to_pylist())}
    framed, weak = unnamed(engine, places), engine.suspicion_.parts["weak signs"]
    assert weak.max() <= 1.9
    assert max(weak[place] for place in framed.values()) > LOW
    assert not any(engine.suspicion_.flagged[place] for place in framed.values())


def test_who_is_funded_and_praised_by_an_attacker_ranks_below_the_threshold(market):
    market.agent(99, "victim", ts=50.0)
    market.transfer("framer", "victim", 3.0, 1.0)
    for number in range(40):
        market.transfer("framer", f"sybil{number}", 5.0, 40000.0 + number)
        market.feedback(f"sybil{number}", 99, 100, 41000.0 + number)
    engine, places = judged(market)
    assert engine.suspicion_.flagged[places["sybil3"]]
    assert 0 < engine.suspicion_.total[places["victim"]] <= 1.9
    assert not engine.suspicion_.flagged[places["victim"]]


def test_an_account_with_hardly_any_suspicion_is_explained_without_parts(market):
    engine, places = judged(market)
    least = min(places, key=lambda name: engine.suspicion_.total[places[name]])
    told = explain(Results.of(engine), least)
    assert engine.suspicion_.total[places[least]] < 0.05
    assert told["parts"] == {}
    assert not any(line.startswith(("The parts", "Weak signs")) for line in told["summary"])


def optional(tables, **columns):
    kinds = OPTIONAL["agents"]
    agents = tables.agents
    for name, values in columns.items():
        scores = [values.get(agent_id) for agent_id in agents["agent_id"].to_pylist()]
        agents = agents.append_column(name, pa.array(scores, kinds[name]))
    names_ = ("feedback", "ratings", "validations", "payments", "transfers")
    return Tables.of(agents=agents, **{name: getattr(tables, name) for name in names_})


def held(scene, *holders):
    """The tables of a scene, where agent 99 was held by some accounts, each from a time on."""
    return optional(scene.tables(), holders={99: [{"account": name, "since": time} for name, time in holders]})


@pytest.mark.parametrize(
    ("founder", "since", "flagged"), [("founder", 7000.0, False), (None, 7000.0, False), ("founder", 6000.0, False)]
)
def test_an_agent_given_away_leaves_its_earlier_raters_alone(market, founder, since, flagged):
    market.agent(99, "critic", ts=50.0)
    market.feedback("critic", 99, 95, 6000.0)
    assert is_flagged(market, "critic")
    engine, places = judged(market, held(market, (founder, 50.0), ("critic", since)))
    assert bool(engine.suspicion_.flagged[places["critic"]]) == flagged


@pytest.mark.parametrize(
    "later",
    [
        [("crook", 7000.0)],
        [("partner", 7000.0), ("crook", 8000.0)],
        [("partner", 5990.0), ("crook", 6010.0)],
        [("partner", 5990.0), ("crook", 6010.0), ("buyer", 9000.0)],
        [("partner", 7000.0)],
    ],
    ids=["to itself", "there and back", "back after the praise", "back and on", "to another account"],
)
def test_who_moves_its_agent_still_answers_for_its_own_praise(market, later):
    market.agent(99, later[-1][0], ts=50.0)
    market.feedback("crook", 99, 100, 6000.0)
    engine, places = judged(market, held(market, ("crook", 50.0), *later))
    assert {name for name, place in places.items() if engine.suspicion_.flagged[place]} == {"crook"}
    assert [
        names(engine.context_, finding.beneficiaries) for finding in engine.findings_ if finding.detector == "links"
    ] == [{"crook"}]


def test_an_agent_that_goes_to_kin_leaves_the_kins_praise_tied_to_its_former_owner(market):
    market.agent(99, "kin", ts=50.0)
    market.transfer("crook", "kin", 3.0, 4000.0)
    market.feedback("kin", 99, 100, 6000.0)
    engine, _ = judged(market, held(market, ("crook", 50.0), ("kin", 7000.0)))
    links = [finding for finding in engine.findings_ if finding.detector == "links"]
    assert "the account that funded them" in links[0].sentence
    assert names(engine.context_, links[0].actors) == {"kin"}
    assert all(names(engine.context_, link.beneficiaries) == {"crook"} for link in links)


def test_an_operator_of_a_later_owner_does_not_tie_its_earlier_praise_to_anybody(market):
    market.agent(99, "buyer", ts=50.0)
    market.feedback("helper", 99, 100, 6000.0)
    tables = optional(held(market, ("founder", 50.0), ("buyer", 7000.0)), operators={99: ["helper"]})
    assert not any("operator" in finding.sentence for finding in judged(market, tables)[0].findings_)


@pytest.mark.parametrize(
    "later",
    [[("crook", 7000.0)], [("partner", 7000.0)], [("partner", 7000.0), ("crook", 8000.0)]],
    ids=["to itself", "to another account", "there and back"],
)
def test_who_moves_its_agent_still_answers_for_money_that_came_back(market, later):
    market.agent(99, later[-1][0], ts=50.0)
    for number in range(4):
        market.payment(f"washer{number}", "pocket", 99, 1.0, 900.0)
        market.transfer("crook", f"washer{number}", 0.99, 1000.0 + number)
    ledger = coded(held(market, ("crook", 50.0), *later))
    context = Context.of(ledger)
    findings = WashPayments().fit(context).findings_
    assert [names(context, finding.beneficiaries) for finding in findings] == [{"crook"}]
    assert len(findings[0].payments) == 4


@pytest.mark.parametrize("approved", [False, True])
def test_operators_that_rate_are_found(market, approved):
    market.agent(99, "crook", ts=50.0)
    for number in range(3):
        market.feedback(f"helper{number}", 99, 100, 6000.0 + number)
    helpers = [f"helper{number}" for number in range(3)]
    tables = optional(market.tables(), operators={99: helpers if approved else ["0xsomebody"]})
    engine, _ = judged(market, tables)
    findings = [finding for finding in engine.findings_ if "made them its operator" in finding.sentence]
    assert [names(engine.context_, finding.actors) for finding in findings] == ([set(helpers)] if approved else [])
    assert all(names(engine.context_, finding.beneficiaries) == {"crook"} for finding in findings)


def test_thin_raters_that_differ_from_the_others_are_found(market):
    for number in range(8):
        market.transfer(f"source{number}", f"thin{number}", 3.0 + number, 1000.0 + 900 * number)
        market.feedback(f"thin{number}", 4, 5 + number % 3, 20000.0 + 9000 * number)
    context = market.context()
    findings = [finding for finding in Lockstep().fit(context).findings_ if "worse than others did" in finding.sentence]
    assert names(context, findings[0].actors) == {f"thin{number}" for number in range(8)}
    assert findings[0].statistic == "mean 6 of 8 thin raters, 77 of 50 others"

"""The engine as a whole: who is flagged, who is not, what scores remain, and what is written."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow.compute as pc
import pytest

from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import add
from bench.trust.worlds.world import Settings
from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.engine import Engine
from bilateral.trust.explain import explain
from bilateral.trust.features.reviews import Reviews, absent_message
from bilateral.trust.policy import trusted_clients
from bilateral.trust.results import Results
from bilateral.trust.tables.schema import Tables

SMALL = Settings(clients=700, owners=260, platforms=1, communities=3)
ATTACKS = ("star", "slander", "camouflaged_ring", "exchange_star", "wash_ring", "bribery", "framing")
RANKED = ("exchange_star", "bribery")


@cache
def world():
    made = honest_world(11, SMALL)
    for family in ATTACKS:
        add(made, family, 10)
    return made.tables()


@cache
def fitted():
    return Engine().fit(world()[0])


@cache
def results_of_world():
    return Results.of(fitted())


@cache
def truth(name="accounts"):
    return {row["address" if name == "accounts" else "agent_id"]: row for row in world()[1][name].to_pylist()}


def flagged(engine):
    ledger = engine.context_.ledger
    return {
        ledger.addresses[int(place)].as_py() for place in np.flatnonzero(engine.suspicion_.flagged & engine.judged())
    }


def members_of(family):
    number = next(row["attack"] for row in world()[1]["attacks"].to_pylist() if row["family"] == family)
    return {
        address for address, row in truth().items() if row["attack"] == number and row["role"] in {"sybil", "bribed"}
    }


@pytest.mark.parametrize("family", [family for family in ATTACKS if family not in RANKED])
def test_most_members_of_an_attack_are_held_back(family):
    members = members_of(family)
    assert len(members & flagged(fitted())) >= 0.7 * len(members)


@pytest.mark.parametrize("family", RANKED)
def test_members_whom_one_kind_of_evidence_names_rank_above_honest_accounts_and_are_not_held_back(family):
    engine, members = fitted(), members_of(family)
    addresses = engine.context_.ledger.addresses.to_pylist()
    honest = [n for n in np.flatnonzero(engine.judged()).tolist() if truth()[addresses[n]]["attack"] < 0]
    limit = np.quantile(engine.suspicion_.total[honest], 0.99)
    above = [engine.suspicion_.total[addresses.index(address)] > limit for address in members]
    assert np.mean(above) >= 0.9
    assert not members & flagged(engine)


@pytest.mark.parametrize(
    "group", ["airdrop", "club", "platform", "bad client", "launch crowd", "team", "voucher", "framed"]
)
def test_honest_look_alikes_are_not_flagged(group):
    members = {address for address, row in truth().items() if row["group"] == group and row["attack"] < 0}
    assert members
    assert len(members & flagged(fitted())) <= 0.02 * len(members)


def test_precision_at_the_threshold_is_high():
    of_agents = {row["attack"] for row in truth("agents").values()}
    guilty = {address for address, row in truth().items() if row["attack"] >= 0}
    assert of_agents
    assert len(flagged(fitted()) & guilty) >= 0.9 * len(flagged(fitted()))


def test_a_rival_that_sybils_praise_is_not_flagged_and_keeps_its_score():
    engine = fitted()
    ledger = engine.context_.ledger
    framed = {address for address, row in truth().items() if row["group"] == "framed"}
    quality = {agent: row["quality"] for agent, row in truth("agents").items()}
    for place in range(ledger.agents):
        owner = ledger.addresses[int(ledger.owner[place])].as_py()
        if owner in framed and not engine.scores_.abstain[place]:
            assert abs(engine.scores_.score[place] - quality[int(ledger.agent_ids[place])]) < 20


def test_scores_without_lies_are_closer_to_the_truth_than_plain_means():
    engine = fitted()
    ledger, opinions = engine.context_.ledger, engine.context_.ledger.opinions
    quality = np.array([truth("agents")[int(agent)]["quality"] for agent in ledger.agent_ids])
    honest = np.array([truth("agents")[int(agent)]["attack"] < 0 for agent in ledger.agent_ids])
    feedback = opinions.kind == 0
    count = np.bincount(opinions.subject[feedback], minlength=ledger.agents)[: ledger.agents]
    plain = np.bincount(opinions.subject[feedback], weights=opinions.percent[feedback], minlength=ledger.agents)
    plain = plain[: ledger.agents] / np.maximum(count, 1)
    chosen = honest & (count >= 5)
    ours = np.abs(engine.scores_.score[: ledger.agents] - quality)[chosen].mean()
    assert ours < 0.8 * np.abs(plain - quality)[chosen].mean()
    usable = chosen & (engine.scores_.score[: ledger.agents] >= 50)  # a bad score waits for proof
    assert engine.scores_.abstain[: ledger.agents][usable].mean() < 0.05


def test_a_flagged_agent_has_the_lower_bound_zero():
    engine = fitted()
    owners = engine.suspicion_.flagged[engine.context_.ledger.owner]
    assert owners.any()
    assert (engine.scores_.lower[: len(owners)][owners] == 0).all()
    assert {engine.scores_.status[place] for place in np.flatnonzero(owners)} == {"flagged"}


def test_buyers_have_scores_by_the_servers_that_they_paid(market):
    for number in range(200):  # a market in which payments and ratings of clients are usual
        server = (number * 7 + 3 * (number % 5)) % 20
        market.payment(f"client{number}", f"owner{server}", server + 1, 1.0, 4900.0 + 200 * number)
        market.rating(f"client{number}", server + 1, 70 + number % 25, 5500.0 + 200 * number)
    for number in range(6):
        for buyer in ("buyer", "washer"):
            market.payment(buyer, f"owner{number}", number + 1, 2.0, 40000.0)
            market.rating(buyer, number + 1, 90, 41000.0 + number)
        market.transfer(f"owner{number}", "washer", 2.0, 40500.0)
        market.rating("talker", number + 1, 90, 41000.0 + number)
    results = Results.of(Engine().fit(market.tables()))
    buyers = {row["address"]: row for row in results.buyers.to_pylist()}
    assert (buyers["buyer"]["status"], buyers["buyer"]["raters"], buyers["buyer"]["abstain"]) == ("ok", 6, False)
    assert buyers["buyer"]["low"] < buyers["buyer"]["score"] < buyers["buyer"]["high"]
    assert 0 < buyers["buyer"]["lower"] < 90
    assert (buyers["washer"]["raters"], buyers["washer"]["abstain"]) == (0, True)
    assert "talker" not in buyers
    assert any(line.startswith("As a buyer: ok, score") for line in explain(results, "buyer")["summary"])


def test_an_explanation_says_if_no_list_was_used():
    without = results_of_world()
    address = without.findings.to_pylist()[0]["actors"][0]
    for identifier in ("1", address):
        assert any(line.startswith("No list of trusted") for line in explain(without, identifier)["summary"])
    reader = without.clients["address"][0].as_py()
    with_list = Results.of(Engine().fit(world()[0], trusted=[reader]))
    assert any("Trust was propagated from a list" in line for line in explain(with_list, "1")["summary"])
    assert any("of all trust from" in line for line in explain(with_list, reader)["summary"])
    assert any("It receives no trust" in line for line in explain(with_list, address)["summary"])


def test_evidence_is_mostly_false_feedback():
    results = results_of_world()
    attack = {row["id"]: row["attack"] for row in world()[1]["feedback"].to_pylist()}
    rows = results.evidence["feedback_id"].to_pylist()
    assert len(rows) > 50
    assert np.mean([attack[row] >= 0 for row in rows]) >= 0.9


def test_the_answer_has_the_columns_that_are_asked_for(tmp_path):
    results = results_of_world()
    results.write(tmp_path)
    again = Results.read(tmp_path)
    assert again.addresses.column_names[:4] == ["address", "suspicion", "cluster", "threshold_flag"]
    assert {"agent_id", "score", "lower", "abstain"} <= set(again.agents.column_names)
    assert {"address", "feedback_id"} <= set(again.evidence.column_names)
    assert again.findings.num_rows == len(fitted().findings_)
    assert len(set(again.findings["finding"].to_pylist())) == again.findings.num_rows


def test_rows_of_others_change_no_id_of_a_finding(market):
    for number in range(3):
        market.agent(99 + number, f"crook{number}", ts=50.0)
        market.feedback(f"crook{number}", 99 + number, 100, 6000.0)
    before = Results.of(Engine().fit(market.tables()))
    market.feedback("client5", 1, 80, 10.0)
    after = Results.of(Engine().fit(market.tables()))
    assert before.findings.num_rows == 3
    assert before.findings["finding"].to_pylist() == after.findings["finding"].to_pylist()
    assert before.rows.equals(after.rows)


def test_a_finding_keeps_its_id_where_rows_before_its_own_go(market):
    for number in range(3):
        market.agent(99 + number, f"crook{number}", ts=50.0)
        market.feedback(f"crook{number}", 99 + number, 100, 6000.0)
    told = []
    for _ in range(2):
        places = {"feedback": [row[1:] for row in market.rows["feedback"]]}
        places |= {name: rows for name, rows in market.rows.items() if name != "feedback"}
        told.append(Results.of(Engine().fit(market.tables()), places).findings["finding"].to_pylist())
        market.rows["feedback"] = [(row, *rest) for row, (_, *rest) in enumerate(market.rows["feedback"][1:])]
    assert len(told[0]) == 3
    assert told[0] == told[1]


def test_the_same_tables_give_the_same_answer():
    again = Results.of(Engine().fit(world()[0]))
    assert again.addresses.equals(results_of_world().addresses)
    assert again.agents.equals(results_of_world().agents)


def test_the_order_of_rows_does_not_matter():
    tables = world()[0]
    turned = Tables(
        **{name: getattr(tables, name)[::-1] for name in ("feedback", "payments")}
        | {name: getattr(tables, name) for name in ("agents", "ratings", "validations", "transfers")}
    )
    assert flagged(Engine().fit(turned)) == flagged(fitted())


def test_a_review_overrides_findings_and_taints_kin():
    address = sorted(flagged(fitted()))[0]
    cases = Reviews.of([{"account": address, "verdict": "innocent", "reason": "A class of students."}])
    engine = Engine().fit(world()[0], cases)
    assert address not in flagged(engine)
    told = explain(Results.of(engine), address)
    assert told["review"] == {"verdict": "innocent", "reason": "A class of students."}
    assert told["summary"][1:3] == [
        "Reviewers found it innocent, which overrides its findings.",
        'The reviewers\' reason: "A class of students.".',
    ]
    assert told["summary"][3].startswith("Components of its suspicion without the review: ")
    honest = next(a for a, row in truth().items() if row["group"] == "team")
    cases = Reviews.of([{"account": honest, "verdict": "guilty", "reason": "It confessed."}])
    engine = Engine().fit(world()[0], cases)
    assert honest in flagged(engine)
    told = explain(Results.of(engine), honest)["summary"]
    assert told[1] == "Reviewers found it guilty, which overrides its findings."
    assert not any(line.startswith("To appeal") for line in told)


def test_a_case_of_an_account_that_does_not_occur_is_told():
    address = sorted(flagged(fitted()))[0]
    entries = [{"account": name, "verdict": "innocent", "reason": "Mine."} for name in (address.upper(), "0xTypo")]
    engine = Engine().fit(world()[0], Reviews.of(entries))
    assert engine.absent_cases() == ("0xtypo",)
    results = Results.of(engine)
    assert results.cases.select(["account", "occurs"]).to_pylist() == [
        {"account": address.lower(), "occurs": True},
        {"account": "0xtypo", "occurs": False},
    ]
    with pytest.raises(InvalidArgumentError, match='"0xTypo" was reviewed but appears in no table: check its address'):
        explain(results, "0xTypo")


def test_many_absent_accounts_are_told_in_one_sentence():
    assert absent_message(["0xb"]) == (
        'the cases of 1 reviewed account change nothing, because no table has the address: "0xb"'
    )
    assert absent_message([f"0x{number:02}" for number in range(12)]).endswith(', "0x09" and 2 more')


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([{"account": "0x1", "verdict": "maybe", "reason": ""}], 'verdict "maybe" is invalid: write guilty'),
        ([{"account": "0x1", "reason": ""}], "a review must have account, verdict and reason"),
        ([{"account": name, "verdict": "guilty", "reason": ""} for name in ("0xA", "0xa")],
         'account "0xa" is reviewed twice: remove one of the reviews'),
    ],
)  # fmt: skip
def test_an_invalid_review_is_refused(entries, words):
    with pytest.raises(InvalidArgumentError, match=words):
        Reviews.of(entries)


def test_reviews_of_invalid_json_are_refused(tmp_path):
    (tmp_path / "cases.json").write_text("{")
    with pytest.raises(InvalidArgumentError, match="are not readable JSON"):
        Reviews.read(tmp_path / "cases.json")
    (tmp_path / "cases.json").write_text(json.dumps({"account": "0x1"}))
    with pytest.raises(InvalidArgumentError, match="are not a list"):
        Reviews.read(tmp_path / "cases.json")


def test_trusted_clients_leave_flagged_accounts_out():
    number = next(row["attack"] for row in world()[1]["attacks"].to_pylist() if row["family"] == "slander")
    sybils = {address for address, row in truth().items() if row["attack"] == number and row["role"] == "sybil"}
    feedback = world()[0].feedback.to_pylist()
    victim = next(row["agent_id"] for row in feedback if row["client"] in sybils)
    answer = trusted_clients(fitted(), victim)
    assert sybils & {row["client"] for row in feedback if row["agent_id"] == victim} <= set(answer.left_out)
    assert not answer.by_list


def test_a_list_of_trusted_accounts_narrows_the_clients():
    tables = world()[0]
    busy = pc.mode(tables.feedback["agent_id"])[0].as_py()["mode"]
    reader = next(row["client"] for row in tables.feedback.to_pylist() if row["agent_id"] == busy and row["value"] > 80)
    engine = Engine().fit(tables, trusted=[reader])
    assert trusted_clients(engine, busy).by_list
    assert set(trusted_clients(engine, busy).clients) <= set(trusted_clients(fitted(), busy).clients)
    assert Results.of(engine).trust.num_rows > 1


def test_a_list_of_unknown_accounts_is_refused():
    with pytest.raises(InvalidArgumentError, match="none of the trusted accounts appears in the tables"):
        Engine().fit(world()[0], trusted=["0xnobody"])


def test_an_unknown_agent_has_no_clients():
    with pytest.raises(InvalidArgumentError, match="agent 999999 is not in the tables"):
        trusted_clients(fitted(), 999_999)


def test_a_finding_an_account_and_an_agent_are_explained():
    results = results_of_world()
    finding = results.findings.to_pylist()[0]
    told = explain(results, finding["finding"])
    assert told["summary"][0] == finding["sentence"]
    assert told["rows"]
    account = explain(results, finding["actors"][0].upper().replace("0X", "0x"))
    assert account["flagged"]
    assert finding["finding"] in account["findings"]
    assert explain(results, "1")["summary"][0].startswith("Agent 1: ")


def test_an_unknown_id_is_refused():
    with pytest.raises(InvalidArgumentError, match='"nothing" is not a finding, address or agent in these results'):
        explain(results_of_world(), "nothing")

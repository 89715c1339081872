"""A week is published once, whatever happens meanwhile, and anybody can prove each of its measurements."""

from __future__ import annotations

import json
import multiprocessing
import random
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from urllib.parse import urlsplit

import pytest

from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId
from bilateral.core.values import MEASURED_TAGS
from bilateral.documents import DataUriStore
from bilateral.index.log.database import open_database
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.endpoints import ROTATES
from bilateral.watchtower.periods import Period, freeze, measure, measurements
from bilateral.watchtower.publishing import (
    HEARTBEAT,
    METADATA_KEY,
    MerkleTree,
    due_signals,
    publish,
)
from scripts._build import ROOT
from tests.sdk.client.helpers import plain, transact
from tests.watchtower.weeks import ROUNDS, WEEK, Week, target

NEXT_WEEK = Period.parse("2025-W48")


def quiet_target(number, *agents, period=NEXT_WEEK):
    """An endpoint whose measurement is not due to be repeated in a period."""
    for attempt in range(100):
        endpoint = target(number, *agents, host=f"{number}-{attempt}.example")
        if (int(endpoint.endpoint_id.hex()[:8], 16) + period.week) % HEARTBEAT:
            return endpoint
    raise AssertionError


def owners(week):
    """Every host names the agents that list it."""
    return {(agent, entry.host) for entry in week.listed for agent in entry.agents}


@pytest.fixture
def tower(newcomer, connect, rpc):
    """The client of a watchtower, and its own agent."""
    client = connect(newcomer, rpc)
    return client, client.register_agent("data:,").wait().agent


@pytest.fixture
def up_week(tmp_path, register):
    """Makes a week in which the endpoints of some new agents were up."""

    def make(count, **options):
        week = Week(tmp_path, *(quiet_target(number, str(register())) for number in range(count)))
        for endpoint in week.listed:
            week.up(endpoint, **options)
        return week

    return make


def published(client, agents, period=WEEK):
    """The signals of a period on chain: agent, tag, endpoint and value."""
    account = client.address
    entries = [entry for agent in agents for entry in client.read_all_feedback(agent, reviewers=[account])]
    return [(str(entry.id.agent), str(entry.tag1), str(entry)) for entry in entries if str(entry.tag2) == period.name]


def with_events(client, agents):
    """The feedback of the watchtower, with its events."""
    entries = client.search_feedback(agent_ids=agents, reviewers=[client.address])
    return [client.get_feedback(entry.id) for entry in entries]


def load(evidence, uri):
    """The bytes behind a URI of the watchtower."""
    return (evidence / urlsplit(uri).path.rpartition("/")[2]).read_bytes()


def test_all_signals_of_a_week_are_published_with_few_requests(tower, connect, newcomer, node, web3, up_week):
    def mine(_, forward):  # else the client asks again and again whether a slow node has a block
        answer = forward()
        web3.eth.wait_for_transaction_receipt(answer["result"], poll_latency=0.01)
        return answer

    node.interference["eth_sendRawTransaction"] = mine
    (_, own), week = tower, up_week(20)
    leaves = measure(week.store, WEEK, owners(week))
    client = connect(newcomer, node.url)
    report = publish(client, own, WEEK, leaves, is_complete=True)
    sent = node.methods.count("eth_sendRawTransaction")
    assert sent == len(report.sent) == 1 + 20 * 5
    assert (node.round_trips - sent) / sent <= 0.2, node.round_trips
    assert client.get_metadata(own, METADATA_KEY)[:32] == MerkleTree(leaves).root
    node.methods.clear()
    assert publish(client, own, WEEK, leaves, is_complete=True).sent == []
    assert node.methods.count("eth_sendRawTransaction") == 0


def test_an_unchanged_week_costs_one_cheap_transaction(tower, up_week, web3):
    (client, own), week = tower, up_week(3)
    first = measure(week.store, WEEK, owners(week))
    publish(client, own, WEEK, first)
    for endpoint in week.listed:
        week.up(endpoint, period=NEXT_WEEK)
    report = publish(client, own, NEXT_WEEK, measure(week.store, NEXT_WEEK, owners(week)), first)
    (hash_,) = report.sent
    assert web3.eth.get_transaction_receipt(hash_)["gasUsed"] <= 50_000


def test_any_measurement_is_proven_by_a_short_program(tower, rpc, evidence, up_week, tmp_path):
    (client, own), week = tower, up_week(5)
    report = publish(client, own, WEEK, measure(week.store, WEEK, owners(week)))
    agents = [agent for entry in week.listed for agent in entry.agents]
    events = [entry.event for entry in with_events(client, agents)]
    assert len(events) == report.due == 5 * 5
    program = [sys.executable, "-I", ROOT / "examples" / "prove_measurement.py"]
    for event in (events[0], events[-1]):
        path = tmp_path / "evidence.json"
        path.write_bytes(load(evidence, event.uri))
        ran = subprocess.run([*program, path, rpc], capture_output=True, text=True, check=True)  # noqa: S603
        assert ran.stdout.startswith("proven: ")
    file = json.loads(load(evidence, events[0].uri))
    assert load(evidence, file["measurement"]["leaves"]).count(b"\n") == 5
    file["measurement"]["leaf"]["known"] += 1
    path.write_text(json.dumps(file))
    assert subprocess.run([*program, path, rpc], capture_output=True, check=False).returncode == 1  # noqa: S603


def test_evidence_is_a_feedback_file(tower, evidence, up_week):
    (client, own), week = tower, up_week(1)
    publish(client, own, WEEK, measure(week.store, WEEK, owners(week)))
    (agent,) = week.listed[0].agents
    for entry in with_events(client, [agent]):
        file = json.loads(load(evidence, entry.event.uri))
        assert (file["tag1"], file["tag2"], file["endpoint"]) == (str(entry.tag1), WEEK.name, week.listed[0].url)
        assert (file["value"], file["valueDecimals"]) == (entry.stored.value, entry.stored.decimals)
        assert file["agentId"] == AgentId.parse(agent).token_id


def test_every_measured_tag_is_published(tower, up_week):
    (client, own), week = tower, up_week(1)
    (leaf,) = measure(week.store, WEEK, owners(week))
    (agent,) = leaf["agents"]
    revenues = {"kind": "revenues", "period": WEEK.name, "agents": {agent: True}, "dollars": "1200"}
    publish(client, own, WEEK, [leaf | {"blocktimeFreshness": "1.5"}, revenues])
    assert {tag for _, tag, _ in published(client, [agent])} == set(MEASURED_TAGS)


def test_two_endpoints_of_an_agent_do_not_collide(tower, register, tmp_path):
    (client, own), agent = tower, register()
    week = Week(tmp_path, quiet_target(1, str(agent)), quiet_target(2, str(agent)))
    week.up(week.listed[0])
    week.up(week.listed[1], downs=ROUNDS // 2)
    publish(client, own, WEEK, measure(week.store, WEEK, owners(week)))
    entries = [entry for entry in with_events(client, [agent]) if entry.tag1 == "uptime"]
    assert {(entry.event.endpoint, str(entry.value)) for entry in entries} == {
        (week.listed[0].url, "100.0"),
        (week.listed[1].url, "50.0"),
    }


def test_an_agent_that_the_registry_refuses_to_rate_stops_nobody_else(tower, deployment, web3, owner, up_week):
    (client, own), week = tower, up_week(6)
    refused = AgentId.parse(week.listed[2].agents[0])
    identity = plain(web3, Registry.IDENTITY, deployment.identity)
    transact(web3, identity.functions.approve(client.address, refused.token_id), owner)
    report = publish(client, own, WEEK, measure(week.store, WEEK, owners(week)))
    assert {due.agent for due in report.refused} == {refused}
    others = [entry.agents[0] for entry in week.listed if entry is not week.listed[2]]
    assert len(published(client, others)) == len(others) * 5


def test_an_owner_that_lets_transactions_fail_does_not_cost_gas_for_ever(
    tower, connect, newcomer, node, deployment, web3, owner, up_week
):
    (_, own), week = tower, up_week(1)
    agent = AgentId.parse(week.listed[0].agents[0])
    identity = plain(web3, Registry.IDENTITY, deployment.identity)

    def overtake(_, forward):  # the owner sees the transaction before it is in a block
        transact(web3, identity.functions.approve(newcomer.address, agent.token_id), owner)
        answer = forward()
        transact(web3, identity.functions.approve("0x" + "0" * 40, agent.token_id), owner)
        return answer

    node.interference["eth_sendRawTransaction"] = overtake
    report = publish(connect(newcomer, node.url), own, WEEK, measure(week.store, WEEK))
    assert [due.tag for due in report.refused] == ["reachable", "ownerVerified"]
    assert len(report.sent) == 1 + 4 * 2


def test_evidence_does_not_go_on_chain(tower, up_week):
    (client, own), week = tower, up_week(1)
    client.state.store = DataUriStore()
    with pytest.raises(InvalidArgumentError, match="configure one"):
        publish(client, own, WEEK, measure(week.store, WEEK))


def run_once(connect, signer, rpc, own, leaves):
    publish(connect(signer, rpc), own, WEEK, leaves, is_complete=True)


@pytest.mark.parametrize(
    ("agents", "kills"), [(6, 3), pytest.param(1000, 20, marks=pytest.mark.nightly)], ids=["short", "nightly"]
)
def test_each_signal_is_published_once_although_the_run_is_killed(
    tower, connect, newcomer, rpc, up_week, agents, kills
):
    (client, own), week = tower, up_week(agents)
    leaves = measure(week.store, WEEK, owners(week))
    chances = random.Random(agents)  # noqa: S311  # moments of kills
    processes = multiprocessing.get_context("fork")
    for _ in range(kills):
        run = processes.Process(target=run_once, args=(connect, newcomer, rpc, own, leaves))
        run.start()
        run.join(chances.uniform(0.05, 0.4 + agents / 50))
        run.kill()
        run.join()
    run_once(connect, newcomer, rpc, own, leaves)
    signals = published(client, [agent for entry in week.listed for agent in entry.agents])
    assert len(signals) == agents * 5
    assert len({(agent, tag) for agent, tag, _ in signals}) == agents * 5


def test_a_week_stays_as_it_was_first_published(tmp_path):
    index = open_database(f"sqlite:///{tmp_path / 'index.sqlite'}")
    week = Week(tmp_path, target(1, "8453:1"))
    week.up(week.listed[0])
    planned, _ = freeze(week.store, index, WEEK, dry_run=True)
    week.list(target(2, "8453:2"))
    week.up(week.listed[1])
    leaves, previous = freeze(week.store, index, WEEK)
    assert (len(planned), len(leaves), previous) == (1, 2, [])
    week.up(week.listed[0], vantage="us-1")
    assert freeze(week.store, index, WEEK) == (leaves, [])
    assert measurements(week.store, index, WEEK) == leaves
    week.up(week.listed[0], period=NEXT_WEEK)
    assert freeze(week.store, index, NEXT_WEEK)[1] == leaves
    index.dispose()


def leaf_of(**values):
    """A measurement of an endpoint whose turn to be repeated has not come."""
    entry = quiet_target(1, "8453:1")
    leaf = {"kind": "endpoint", "endpoint": entry.endpoint_id.hex(), "agents": {"8453:1": True}, "protocol": "mcp"}
    leaf |= {"state": "up", "uptime": ["99.9"], "successRate": ["100.0"], "p50": 100, "changes": []}
    return leaf | values


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        ({}, []),
        ({"uptime": ["99.5"]}, []),
        ({"uptime": ["99.4"]}, ["uptime"]),
        ({"successRate": ["94.9"]}, ["successRate"]),
        ({"state": "down"}, ["reachable"]),
        ({"p50": 199}, []),
        ({"p50": 201}, ["responseTime"]),
        ({"p50": 49}, ["responseTime"]),
        ({"uptime": None}, []),
        ({"state": None}, []),
        ({"agents": {"8453:1": False}}, ["ownerVerified"]),
        ({"changes": [{"kind": "price", "code": None}]}, ["reachable"]),
        ({"changes": [{"kind": "pay_to", "code": ROTATES}]}, []),
    ],
)
def test_only_what_changed_is_published(change, tags):
    due = due_signals([leaf_of(**change)], [leaf_of()], NEXT_WEEK)
    assert [signal.tag for signal in due] == tags


def test_revenues_are_published_when_they_grew_by_a_tenth():
    before, little, more = (
        {"kind": "revenues", "agents": {"8453:1": True}, "dollars": dollars} for dollars in ("100", "109", "110")
    )
    assert list(due_signals([little], [before], NEXT_WEEK)) == []
    assert [signal.value for signal in due_signals([more], [before], NEXT_WEEK)] == ["110"]


def test_an_unchanged_measurement_is_repeated_every_13_weeks():
    weeks = [replace(NEXT_WEEK, first=NEXT_WEEK.first + number * 7 * 86400) for number in range(26)]
    due = [number for number, week in enumerate(weeks) if list(due_signals([leaf_of()], [leaf_of()], week))]
    assert len(due) == 2
    assert due[1] - due[0] == HEARTBEAT


def test_a_state_of_an_unowned_endpoint_is_all_that_is_published():
    leaf = leaf_of(agents={"8453:1": False}, state=str(Outcome.GATED))
    assert [(due.tag, due.value) for due in due_signals([leaf], [], NEXT_WEEK)] == [
        ("reachable", True),
        ("ownerVerified", False),
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_each_leaf_leads_to_the_root(count):
    tree = MerkleTree({"number": number} for number in range(count))
    for number, leaf in enumerate(tree.content.splitlines()):
        node = sha256(b"\0" + leaf).digest()
        for step in tree.path(number):
            sides = (bytes.fromhex(step[1:]), node) if step[0] == "L" else (node, bytes.fromhex(step[1:]))
            node = sha256(b"\1" + b"".join(sides)).digest()
        assert node == tree.root

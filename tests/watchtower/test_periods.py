"""The measurements of a week: recomputed from the export by code that shares nothing with it, and their rules."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from statistics import NormalDist, quantiles

import pytest
import rfc8785
from scipy.stats import binomtest

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.bounds import wilson
from bilateral.documents.http import Network
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.periods import PARTIAL, Period, VantageState, join_states, measure, values_of
from bilateral.watchtower.probes import Asker, ProbeSettings, probe
from bilateral.watchtower.store import Result
from tests.sdk.servers import HttpServer, respond
from tests.watchtower import simulation
from tests.watchtower.weeks import ROUNDS, WEEK, Week, target

UP, GATED, DEGRADED, DOWN, UNKNOWN, UNFIT = Outcome


def test_a_period_is_an_iso_week():
    week = Period.parse("2026-W53")
    assert (week.first, week.end - week.first) == (1798416000, 7 * 86400)
    for name in ("2026-W54", "2026-47", "W47", ""):
        with pytest.raises(InvalidArgumentError, match="ISO week"):
            Period.parse(name)


def recomputed(line):
    """What a measurement says by its counts, in lines that share nothing with the code under test."""
    leaf = json.loads(line)
    counts = leaf["counts"]
    reached = counts.get("up", 0) + counts.get("gated", 0) + counts.get("degraded", 0)
    measured = reached + counts.get("down", 0)
    values = {}
    if leaf["state"] is not None:
        values["reachable"] = leaf["state"] in ("up", "gated", "degraded")
        (values["ownerVerified"],) = leaf["agents"].values()
    if measured >= 90 and measured / leaf["scheduled"] >= 0.8 and values.get("ownerVerified"):
        values["uptime"] = f"{int(reached / measured * 1000) / 10:.1f}"
        if leaf["answered"]:
            values["successRate"] = f"{int(reached / leaf['answered'] * 1000) / 10:.1f}"
        latencies = sorted(vantage["p50"] for vantage in leaf["vantages"].values() if vantage["p50"])
        if latencies:
            values["responseTime"] = latencies[(len(latencies) - 1) // 2]
        bounds = binomtest(reached, measured).proportion_ci(method="wilson")
        assert leaf["uptime"][1:] == [f"{100 * bounds.low:.4f}", f"{100 * bounds.high:.4f}"]
    return values


def test_signals_are_recomputed_from_the_export(tmp_path):
    chances = random.Random(1)  # noqa: S311  # which probes fail
    week = Week(tmp_path, *(target(number, f"8453:{number}") for number in range(30)))
    for endpoint in week.listed:
        weights = [chances.random() ** 3 * part for part in (1, 1, 1, 1, 0.2, 0.05)]
        length = chances.choice([ROUNDS, ROUNDS, 120, 89, 30])
        outcomes = chances.choices([UP, GATED, DEGRADED, DOWN, UNKNOWN, UNFIT], weights, k=length)
        week.probe(endpoint, outcomes)
        week.change(endpoint, WEEK.first + 5, chances.choice([UP, DOWN, DEGRADED]))
    owned = {(f"8453:{number}", f"{number}.example") for number in range(30) if number % 5}
    leaves = measure(week.store, WEEK, owned)
    assert len(leaves) == 30
    for leaf in leaves:
        (agent,) = leaf["agents"]
        assert values_of(leaf, agent) == recomputed(rfc8785.dumps(leaf))
    assert sum("uptime" in values_of(leaf, *leaf["agents"]) for leaf in leaves) >= 8


@pytest.mark.parametrize("trials", [1, 96, 672, 10_000])
def test_bounds_are_those_of_wilson(trials):
    for successes in {0, 1, trials // 3, trials - 1, trials}:
        expected = binomtest(successes, trials).proportion_ci(method="wilson")
        bounds = wilson(successes / trials, trials, NormalDist().inv_cdf(0.975))
        assert bounds == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_latencies_are_within_an_eighth_of_the_exact_ones(tmp_path):
    chances = random.Random(2)  # noqa: S311  # latencies
    latencies = [round(chances.lognormvariate(5, 1)) for _ in range(ROUNDS)]
    week = Week(tmp_path, target(1, "8453:1"))
    week.probe(week.listed[0], [UP] * ROUNDS, latency=latencies.__getitem__)
    (leaf,) = measure(week.store, WEEK)
    exact = quantiles(latencies, n=100)
    assert leaf["p50"] == pytest.approx(exact[49], rel=0.125)
    assert leaf["p95"] == pytest.approx(exact[94], rel=0.125)


@pytest.mark.parametrize(
    ("outcomes", "has_uptime"),
    [
        ([UP] * 90, True),
        ([UP] * 89, False),
        ([UP] * 400 + [UNKNOWN] * 100, True),
        ([UP] * 399 + [UNKNOWN] * 101, False),
    ],
)
def test_few_probes_say_only_whether_an_endpoint_is_reachable(tmp_path, outcomes, has_uptime):
    week = Week(tmp_path, target(1, "8453:1"))
    week.probe(week.listed[0], outcomes)
    week.change(week.listed[0], WEEK.first, UP)
    (leaf,) = measure(week.store, WEEK, {("8453:1", "1.example")})
    tags = values_of(leaf, "8453:1").keys()
    assert ("reachable" in tags, "uptime" in tags) == (True, has_uptime)


def test_an_endpoint_that_was_not_measured_has_no_signal(tmp_path):
    week = Week(tmp_path, target(1, "8453:1"))
    week.change(week.listed[0], WEEK.first - 5, DOWN)
    week.probe(week.listed[0], [UNKNOWN] * ROUNDS)
    (leaf,) = measure(week.store, WEEK)
    assert values_of(leaf, "8453:1") == {}


def test_a_domain_that_does_not_name_the_agent_lends_it_no_uptime(tmp_path):
    week = Week(tmp_path, target(1, "8453:1", "8453:2"))
    week.up(week.listed[0])
    (leaf,) = measure(week.store, WEEK, {("8453:1", "1.example"), ("8453:2", "2.example")})
    assert values_of(leaf, "8453:2") == {"reachable": True, "ownerVerified": False}
    assert values_of(leaf, "8453:1") == {
        "reachable": True,
        "ownerVerified": True,
        "uptime": "100.0",
        "successRate": "100.0",
        "responseTime": 96,
    }


def test_a_document_has_no_response_time(tmp_path):
    week = Week(tmp_path, target(1, "8453:1", protocol=Protocol.OASF))
    week.up(week.listed[0])
    (leaf,) = measure(week.store, WEEK, {("8453:1", "1.example")})
    assert "responseTime" not in values_of(leaf, "8453:1")


def test_an_endpoint_that_asked_not_to_be_measured_is_not_named(tmp_path):
    week = Week(tmp_path, target(1, "8453:1"), target(2, "8453:2"))
    for endpoint in week.listed:
        week.up(endpoint)
    week.probe(week.listed[0], [UNKNOWN], period=Period.parse("2025-W48"), code="opted_out")
    assert [leaf["url"] for leaf in measure(week.store, WEEK)] == ["https://2.example/mcp"]


def test_an_uptime_is_never_rounded_up(tmp_path):
    week = Week(tmp_path, target(1, "8453:1"))
    week.up(week.listed[0], downs=1)
    (leaf,) = measure(week.store, WEEK)
    assert leaf["uptime"][0] == "99.8"


def test_a_service_that_tells_its_lag_has_a_freshness(tmp_path):
    settings, facts = ProbeSettings("https://tower.example", Network(allow_private=True)), {}
    with HttpServer() as server:
        endpoint = Target(Protocol.WEB, f"{server.url}/", "localhost", ("8453:1",))
        for lag in (4, 20):
            state = f"8453;block=46123456;lag={lag};seconds=5, 1;block=7;lag=0;seconds=1"
            server.routes["/"] = lambda handler, state=state: respond(
                handler, b"<html>", Content_Type="text/html", Index_State=state
            )
            facts |= probe(Asker(endpoint, settings, facts)).facts
    assert facts["lag"] == 5.0
    week = Week(tmp_path, target(1, "8453:1"))
    week.up(week.listed[0])
    (entry,) = week.store.endpoints()
    week.store.save([Result(1, "eu-1", WEEK.end, replace(entry.condition, facts=facts))])
    (leaf,) = measure(week.store, WEEK, {("8453:1", "1.example")})
    assert values_of(leaf, "8453:1")["blocktimeFreshness"] == "5.0"


def vantage_states(end=1_000_000):
    """What a vantage may say: each state, a fresh failure, nothing, and what counts for nothing."""
    old, fresh = end - 86_400, end - 900
    measured = [VantageState(state, "ok", old) for state in (UP, GATED, DEGRADED, DOWN)]
    return [
        *measured,
        VantageState(DOWN, "refused", fresh),
        VantageState(UNKNOWN, None, old),
        VantageState(UNFIT, None, 0),
    ]


def expected_state(first, second):
    """The state by two vantages, as the table of the design says."""
    measured = [state for state in (first, second) if state and state.state not in (UNKNOWN, UNFIT)]
    reachable = [state.state for state in measured if state.state is not DOWN]
    if not measured:
        return None
    if not reachable:
        return DOWN
    is_split = len(measured) == 2 and len(reachable) == 1
    lasted = min(1_000_000 - state.since for state in measured)
    if is_split and lasted >= 3 * 900:
        return PARTIAL
    return next(state for state in (UP, GATED, DEGRADED) if state in reachable)


@pytest.mark.parametrize(("first", "second"), itertools.product([*vantage_states(), None], repeat=2))
def test_two_vantages_are_joined(first, second):
    states = [state for state in (first, second) if state is not None]
    joined = join_states(states, 1_000_000)
    assert joined == join_states(states[::-1] * 2, 1_000_000)
    is_partial = joined.code == PARTIAL
    if is_partial:
        assert joined.state is DEGRADED
    assert (PARTIAL if is_partial else joined.state) == expected_state(first, second)


def test_trouble_near_one_vantage_is_no_failure_of_the_endpoint(tmp_path):
    week = Week(tmp_path, target(1, "8453:1"))
    week.up(week.listed[0])
    week.up(week.listed[0], vantage="us-1", downs=100)
    (leaf,) = measure(week.store, WEEK)
    assert (leaf["uptime"][0], leaf["scheduled"], leaf["known"]) == ("100.0", ROUNDS, ROUNDS)
    assert [(name, entry["reached"]) for name, entry in leaf["vantages"].items()] == [("eu-1", 672), ("us-1", 572)]


@pytest.mark.nightly
def test_a_week_of_a_running_watchtower_is_measured(tmp_path):
    week = Period.parse("2027-W03")
    targets = [replace(target(number, f"1:{number}"), host=f"{number}.example") for number in range(4)]
    probes = {
        "0.example": Probe(GATED, Code.AUTHORIZATION, milliseconds=50, status=401),
        "2.example": Probe(DOWN, Code.CONNECTION_REFUSED),
        "3.example": Probe(UNKNOWN, Code.RATE_LIMITED, status=429),
    }

    def answer(endpoint, now):
        is_broken = endpoint.host == "1.example" and week.first <= simulation.START + now - 86_400 < week.first + 86_400
        return simulation.DOWN if is_broken else probes.get(endpoint.host, simulation.UP)

    world = simulation.World(answer=answer)
    tower = simulation.tower_of(world, tmp_path / "watchtower.sqlite", targets)
    world.run(tower, week.end - simulation.START + 3_600)
    leaves = measure(tower.store, week, {(f"1:{number}", f"{number}.example") for number in range(4)})
    values = {leaf["url"]: values_of(leaf, *leaf["agents"]) for leaf in leaves}
    owned = {"ownerVerified": True}
    assert values == {
        "https://0.example/mcp": owned
        | {"reachable": True, "uptime": "100.0", "successRate": "100.0", "responseTime": 49},
        "https://1.example/mcp": owned
        | {"reachable": True, "uptime": "85.7", "successRate": "100.0", "responseTime": 77},
        "https://2.example/mcp": owned | {"reachable": False},
        "https://3.example/mcp": {},
    }

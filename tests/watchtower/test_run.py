"""A watchtower in simulated days: it blames nobody for its own trouble, and asks nobody too often."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from socket import EAI_AGAIN, gaierror

import pytest

from bilateral.documents import Network
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.politeness import OptOuts, Requests, robots_group
from bilateral.watchtower.probes import ProbeSettings
from bilateral.watchtower.vantage import Clocks, Timekeeper
from tests.watchtower.simulation import (
    DAY,
    DOWN,
    UP,
    World,
    counts,
    downs,
    longest_gap,
    most_within,
    targets,
    tower_of,
)

HOUR = 3_600
MINUTE = 60
ROUND = 900

CUT = range(20 * MINUTE, 30 * MINUTE)
"""The time of a trouble that repeats each hour."""

TROUBLES = {
    "network cut": (lambda _: DOWN, 0),
    "resolver dead": (lambda _: Probe(Outcome.UNKNOWN, Code.RESOLVER_FAILED), 0),
    "no route for IPv6": (lambda target: DOWN if int(target.url.rpartition("/")[2]) % 5 < 2 else UP, 3),
    "no trusted authorities": (lambda _: Probe(Outcome.DEGRADED, Code.CERTIFICATE_AUTHORITY), 0),
    "half of all hosts down": (lambda target: DOWN if int(target.url.rpartition("/")[2]) % 2 else UP, 5),
}


@pytest.mark.parametrize("name", TROUBLES)
@pytest.mark.parametrize("hours", [1, pytest.param(24, marks=pytest.mark.nightly)])
def test_no_endpoint_is_down_because_of_our_own_trouble(tmp_path, name, hours):
    answer, references = TROUBLES[name]
    world = World(
        answer=lambda target, now: answer(target) if int(now) % HOUR in CUT else UP,
        references=lambda now: references if int(now) % HOUR in CUT else 5,
    )
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(300))
    world.run(tower, CUT.start + 90)
    assert tower.vantage.is_online is (references >= 3)  # within 90 seconds
    world.run(tower, (hours - 1) * HOUR + CUT.stop + 20 * MINUTE - world.now)
    assert downs(tower) == []
    assert counts(tower).get("down", 0) == 0
    assert counts(tower)["unknown"] > 50 * hours
    assert tower.vantage.is_online


def test_an_endpoint_that_fails_alone_is_down_since_its_first_failure(tmp_path):
    world = World(answer=lambda target, now: DOWN if target.url.endswith("/7") and now > 30 * MINUTE else UP)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(40))
    world.run(tower, 80 * MINUTE)
    (change,) = downs(tower)
    failures = [at for at, _, url in world.requests if url.endswith("/7") and at > 30 * MINUTE]
    assert len(failures) >= 4
    assert change.at - 1_800_000_000 == pytest.approx(failures[1], abs=30)  # the first round ends with its retry


def test_a_retry_within_a_round_saves_an_endpoint_from_suspicion(tmp_path):
    failed = set()

    def answer(target, now):
        is_first = (target.url, int(now // ROUND)) not in failed
        failed.add((target.url, int(now // ROUND)))
        return DOWN if is_first and target.url.endswith("/3") and now > ROUND else UP

    world = World(answer=answer)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(20))
    world.run(tower, 3 * HOUR)
    assert downs(tower) == []
    assert most_within([at for at, _, url in world.requests if url.endswith("/3")], 3 * HOUR) <= 21  # 170 a day


@pytest.mark.parametrize("step", [HOUR, -HOUR, DAY, -DAY, -1_800_000_000])
@pytest.mark.parametrize("is_between_runs", [False, True])
@pytest.mark.sample(4)
def test_a_step_of_the_wall_clock_moves_no_turn_and_no_state(tmp_path, step, is_between_runs):
    world, path = World(), tmp_path / "watchtower.sqlite"
    tower = tower_of(world, path, targets(30))
    world.run(tower, 40 * MINUTE)
    world.offset = step
    if is_between_runs:
        tower = tower_of(world, path)
    world.run(tower, 40 * MINUTE)
    world.offset = 0
    world.run(tower, 40 * MINUTE)
    assert downs(tower) == []
    assert longest_gap(world.requests, 0, world.now) <= 2 * ROUND
    assert most_within([at for at, *_ in world.requests], 1.0) <= 20


def test_a_new_time_is_believed_when_it_has_been_steady_for_an_hour(tmp_path):
    world = World()
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(5))
    world.offset = DAY
    world.run(tower, 50 * MINUTE)
    assert tower.time.wall < 1_800_000_000 + HOUR
    world.run(tower, 20 * MINUTE)
    assert tower.time.wall == pytest.approx(1_800_000_000 + DAY + world.now, abs=2)
    assert tower.time.steps == 1


def test_a_machine_that_was_suspended_knows_the_time_and_that_it_stood_still():
    now = {"monotonic": 0.0, "boottime": 0.0, "wall": 1_800_000_000.0}
    time = Timekeeper(Clocks(*(partial(now.get, name) for name in now)))
    now |= {"monotonic": 1.0, "boottime": 1.0, "wall": 1_800_000_001.0}
    assert not time.tick()
    now |= {"monotonic": 1.1, "boottime": 3_601.1, "wall": 1_800_003_601.1}
    assert time.tick()
    assert (time.now, time.wall, time.steps) == (pytest.approx(1.1), pytest.approx(1_800_003_601.1), 0)


def test_a_process_that_stood_still_blames_nobody(tmp_path):
    world = World(seconds=lambda _: 8.0)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(60))
    in_flight = 0
    for _ in range(4):
        world.run(tower, 8 * MINUTE)
        while not world.finishing:
            world.run(tower, 1)
        in_flight += len(world.finishing)
        world.stop(120)
    world.run(tower, 10 * MINUTE)
    assert downs(tower) == []
    assert counts(tower).get("down", 0) == 0
    assert counts(tower)["unknown"] >= in_flight


@pytest.mark.parametrize(
    ("count", "hours"), [(1_000, 2), pytest.param(40_000, 24, marks=pytest.mark.nightly)], ids=["short", "day"]
)
def test_a_host_of_many_endpoints_is_asked_one_thing_in_three_seconds(tmp_path, count, hours):
    world = World(seconds=lambda _: 1.0)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(count, hosts=1))
    world.run(tower, hours * HOUR / 2)
    tower.refresh()
    world.run(tower, hours * HOUR / 2)
    times = [at for at, *_ in world.requests]
    assert most_within(times, 2.9) == 1
    assert set(counts(tower)) == {"up"}  # none was asked too late
    assert len({url for *_, url in world.requests}) > min(count, hours * 500)


@pytest.mark.parametrize(
    ("count", "hours", "interval"),
    [(300, 0.2, MINUTE), pytest.param(10_000, 3, ROUND, marks=pytest.mark.nightly)],
    ids=["short", "long"],
)
def test_an_address_of_many_names_is_asked_once_a_second(tmp_path, count, hours, interval):
    world = World(address_of=lambda _: "198.51.100.7")
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(count), interval=interval)
    world.run(tower, hours * HOUR)
    assert most_within([at for at, *_ in world.requests], 0.99) == 1
    assert len(world.requests) > 0.9 * hours * HOUR
    assert len({url for *_, url in world.requests}) > min(count, hours * HOUR) / 4
    assert downs(tower) == []


def test_all_together_are_asked_twenty_times_a_second(tmp_path):
    world, path = World(), tmp_path / "watchtower.sqlite"
    tower = tower_of(world, path, targets(400))
    world.run(tower, 20 * MINUTE)
    world.now += 6 * HOUR  # while nobody looked, all turns came
    tower = tower_of(world, path)
    world.run(tower, 10 * MINUTE)
    assert most_within([at for at, *_ in world.requests], 1.0) <= 20
    assert len({url for at, _, url in world.requests if at > 6 * HOUR}) == 400


def test_a_host_that_asks_to_wait_is_left_alone(tmp_path):
    busy = Probe(Outcome.UNKNOWN, Code.RATE_LIMITED, status=429, retry_after=1_200)
    world = World(answer=lambda _target, now: busy if now < 10 * MINUTE else UP)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(3, hosts=1))
    world.run(tower, HOUR)
    times = [at for at, _, url in world.requests if url != "robots.txt"]
    assert times[1] - times[0] >= 1_200
    assert downs(tower) == []
    assert {entry.condition.state for entry in tower.store.endpoints()} == {Outcome.UP}


def test_a_host_is_left_alone_for_a_day_at_most(tmp_path):
    busy = Probe(Outcome.UNKNOWN, Code.RATE_LIMITED, status=429, retry_after=10**9)
    tower = tower_of(World(answer=lambda *_: busy), tmp_path / "watchtower.sqlite", targets(1))
    tower._executor.run(tower, MINUTE)  # the world
    assert tower.hosts["h0.test"].closed_until - tower.time.wall <= DAY


def test_a_probe_gets_the_facts_of_those_before_and_every_six_hours_it_is_deep(tmp_path):
    challenge = Probe(Outcome.UNKNOWN, Code.CHALLENGE, status=403, facts={"challenges": 1})
    world = World(answer=lambda _target, now: challenge if now < 10 else replace(UP, facts={"era": "new"}))
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(1))
    world.run(tower, 6 * HOUR + 2 * ROUND)
    assert world.reads[:3] == [
        (True, {}),
        (True, {"challenges": 1}),
        (False, {"challenges": 1, "era": "new"}),
    ]
    assert sum(is_deep for is_deep, _ in world.reads) == 3


def test_who_is_on_the_operators_list_is_not_asked_from_then_on(tmp_path):
    path = tmp_path / "opt-out"
    path.write_text("h1.test # by mail\n")
    world = World()
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(4), opted_out=OptOuts(path))
    world.run(tower, 20 * MINUTE)
    path.write_text("h1.test\nhttps://h2.test/\n")
    listed_at = world.now
    world.run(tower, HOUR)
    assert "h1.test" not in {host for _, host, _ in world.requests}
    assert {host for at, host, _ in world.requests if at > listed_at} == {"h0.test", "h3.test"}
    assert {entry.target.host: entry.condition.code for entry in tower.store.endpoints()}["h2.test"] == "opted_out"


def test_a_rule_for_watchtowers_in_robots_txt_is_obeyed_within_a_day(tmp_path):
    rules = robots_group("User-agent: *\nDisallow: /\n\nUser-agent: Bilateral-Watchtower\nDisallow: /1\n")
    world, path = World(robots_of=lambda _: rules if world.now > HOUR else ""), tmp_path / "watchtower.sqlite"
    tower = tower_of(world, path, targets(2, hosts=1))
    world.run(tower, HOUR)
    world.now = DAY + 10.0
    tower = tower_of(world, path)
    world.run(tower, HOUR)
    assert {url for at, _, url in world.requests if at > DAY} == {"robots.txt", "https://h0.test/0"}
    assert sum(url == "robots.txt" for *_, url in world.requests) == 2


def test_rules_for_all_robots_are_not_about_watchtowers():
    assert robots_group("User-agent: *\nDisallow: /\n") == ""


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (["127.0.0.1"], Code.CONNECTION_REFUSED),
        (gaierror(EAI_AGAIN, "busy"), Code.RESOLVER_FAILED),
        ([], Code.HOST_NOT_FOUND),
    ],
)
def test_a_name_is_looked_up_once_for_each_probe(answer, code):
    lookups = []

    def resolver(host, port):
        lookups.append((host, port))
        if isinstance(answer, OSError):
            raise answer
        return answer

    network = Network(allow_private=True, resolver=resolver)
    requests = Requests(ProbeSettings("https://operator.example", network, 1.0))
    target = Target(Protocol.WEB, "http://agent.test:9/", "agent.test:9")
    for _ in range(2):
        found = requests.look_up(target.url)
        assert requests.probe(target, found, is_deep=True, previous={}).code is code
    assert lookups == [("agent.test", 9)] * 2

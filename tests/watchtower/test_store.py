"""What a watchtower stores is counted once, summed exactly, and deleted in time."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.index.measurements.values import DAY, Change, Outcome, Protocol, Target
from bilateral.watchtower.endpoints import Condition, Endpoint
from bilateral.watchtower.outcomes import HOUR, Code, Probe, counted, quantile
from bilateral.watchtower.store import Result, open_store
from tests.index.conftest import fresh_postgres, new_database_url, postgres  # noqa: F401  # fixtures
from tests.watchtower import simulation

START = 1_800_000_000 // DAY * DAY
ROUND = 900
LATENCIES = st.lists(st.integers(1, 20_000), min_size=1, max_size=500)


@pytest.fixture
def store(new_database_url):  # noqa: F811
    """A store with ten endpoints, on each engine."""
    store = open_store(new_database_url)
    store.set_targets(Target(Protocol.WEB, f"https://h{number}.test/", f"h{number}.test") for number in range(10))
    yield store
    store.engine.dispose()


def result(number=1, turn=START, outcome=Outcome.UP, *, ms=80, condition=None, scheduled=1, changes=()):
    """Return a result of an endpoint."""
    entry = Endpoint(number, Target(Protocol.WEB, "https://h.test/", "h.test"), condition or Condition())
    entry.conclude(Probe(outcome, Code.OK, ms), turn + 5, scheduled=scheduled)
    return Result(number, "eu-1", turn + 5, replace(entry.condition), changes)


def hours(store):
    """Return the counts of all hours, by hour and endpoint."""
    numbers = {entry.target.endpoint_id: entry.number for entry in store.endpoints()}
    return {(start, numbers[key]): counts for start, key, _, counts in store.hours(0)}


@pytest.mark.one_engine
def test_a_result_that_is_stored_again_counts_once(store):
    change = Change(bytes(32), START, "state", None, "up", "ok")
    results = [result(changes=[change]), result(2, outcome=Outcome.DOWN, ms=None)]
    store.save(results)
    third = result(3)
    store.save([*results, third, third])
    assert {key: counts["scheduled"] for key, counts in hours(store).items()} == {
        (START, number): 1 for number in (1, 2, 3)
    }
    assert hours(store)[START, 2]["down"] == 1
    assert [entry.at for entry in store.changes()] == [START]


@pytest.mark.one_engine
def test_hours_and_days_are_the_sums_of_probes(store):
    outcomes, probes = list(Outcome), Counter()
    conditions = {number: Condition() for number in range(1, 11)}
    for turn in range(START, START + DAY, ROUND):
        expected = {number: outcomes[(turn // ROUND + number) % 6] for number in conditions}
        probes.update(expected.values())
        store.save([result(number, turn, expected[number], condition=conditions[number]) for number in conditions])
    sums = Counter()
    for counts in hours(store).values():
        sums.update(counts)
        latencies = sum(count for key, count in counts.items() if key.isdigit())
        assert latencies == counts["answered"] == counts["scheduled"] - counts["unknown"] - counts["unfit"]
    days = Counter()
    for entry in store.endpoints():
        assert entry.condition.day[0] == START
        days.update(entry.condition.day[1])
    assert days == sums
    assert {outcome: sums[outcome] for outcome in Outcome} == probes


def test_missed_rounds_are_scheduled_and_not_counted(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets([Target(Protocol.WEB, "https://h.test/", "h.test")])
    store.save([result(scheduled=40)])
    (counts,) = hours(store).values()
    assert (counts["scheduled"], counts["up"], quantile(counts, 0.5)) == (40, 1, 77)


def test_a_clock_that_steps_back_does_not_replace_an_hour():
    condition = Condition()
    for at in (START + HOUR, START + HOUR - 1, START + 2 * HOUR):
        result(turn=at - 5, condition=condition)
        start, counts = condition.hour
        assert (start, counts["up"]) == (max(at // HOUR * HOUR, START + HOUR), 1 + (at % HOUR > 0))


def test_endpoints_that_no_agent_lists_any_more_are_not_measured(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    targets = [Target(Protocol.WEB, f"https://h{number}.test/", f"h{number}.test") for number in range(3)]
    store.set_targets(targets)
    store.save([result(1)])
    store.set_targets(targets[1:])
    assert [entry.target for entry in store.endpoints()] == targets[1:]
    store.set_targets(targets)
    assert [entry.condition.state for entry in store.endpoints()] == [Outcome.UP, None, None]


def counts_of(latencies):
    """The counts of probes that took so many milliseconds."""
    counts = Counter()
    for milliseconds in latencies:
        counts += counted(Probe(Outcome.UP, Code.OK, milliseconds))
    return counts


@given(LATENCIES)
def test_a_quantile_is_within_an_eighth(latencies):
    counts = counts_of(latencies)
    for part in (0.5, 0.95):
        exact = sorted(latencies)[-int(-part * len(latencies) // 1) - 1]
        assert quantile(counts, part) == pytest.approx(exact, rel=0.125, abs=1)


@given(LATENCIES, LATENCIES)
def test_counts_merge_exactly(first, second):
    assert counts_of(first) + counts_of(second) == counts_of(first + second)


@pytest.mark.parametrize(("endpoints", "days"), [(5, 8), pytest.param(100, 40, marks=pytest.mark.nightly)])
def test_thirty_days_of_ten_thousand_endpoints_take_less_than_a_gigabyte(tmp_path, endpoints, days):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets(
        Target(Protocol.WEB, f"https://h{number}.test/", f"h{number}.test") for number in range(endpoints)
    )
    conditions = {number: Condition() for number in range(1, endpoints + 1)}
    for turn in range(START, START + days * DAY, 24 * ROUND):
        turns = range(turn, turn + 24 * ROUND, ROUND)
        rounds = ((number, at) for at in turns for number in conditions)
        store.save([result(number, at, ms=number * 7, condition=conditions[number]) for number, at in rounds])
        for _ in range(6):  # in that time there are 21,600
            store.prune(turn)
    assert min(start for start, *_ in store.hours(0)) >= START + (days - 36) * DAY
    with store.engine.connect() as connection:
        pages = connection.exec_driver_sql("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").all()
    assert dict(pages)["hour"] / endpoints * 10_000 / days * 30 < 1e9


@pytest.mark.nightly
def test_the_writer_never_waits_long_for_the_deletion_of_old_rows(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets(Target(Protocol.WEB, f"https://h{number}.test/", "h.test") for number in range(10_000))
    for turn in range(START, START + 8 * HOUR, HOUR):
        for first in range(1, 10_000, 100):
            store.save([result(number, turn) for number in range(first, first + 100)])
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        store.prune(START + 40 * DAY)
        seconds.append(time.perf_counter() - began)
    assert max(seconds) < 0.2
    assert list(store.hours(0)) == []


def rounds_of(tower):
    """The hours of which counts are stored."""
    return {start for start, *_ in tower.store.hours(0)}


def test_old_rows_are_deleted_although_no_run_lasts_an_hour(tmp_path):
    world, path, old = simulation.World(), tmp_path / "watchtower.sqlite", simulation.START - 40 * DAY
    tower = simulation.tower_of(world, path, simulation.targets(1))
    tower.store.save([result(turn=old)])
    for _ in range(2):
        world.run(simulation.tower_of(world, path), HOUR / 2)
    assert min(rounds_of(tower)) > old


def test_a_clock_that_is_ahead_deletes_nothing(tmp_path):
    world, path = simulation.World(), tmp_path / "watchtower.sqlite"
    tower = simulation.tower_of(world, path, simulation.targets(1))
    world.run(tower, HOUR)
    before = rounds_of(tower)
    world.offset = 400 * DAY
    world.run(simulation.tower_of(world, path), HOUR)
    assert before
    assert before <= rounds_of(tower)

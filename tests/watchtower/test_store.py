"""What a watchtower stores is counted once, summed exactly, and deleted in time."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.index.measurements.values import Change, Outcome, Protocol, Target
from bilateral.watchtower import tables
from bilateral.watchtower.endpoints import Condition
from bilateral.watchtower.store import Result, open_store
from bilateral.watchtower.totals import DAY, HOUR, Totals
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


def result(number=1, turn=START, outcome=Outcome.UP, *, ms=80, **fields):
    """Return a result of an endpoint."""
    return Result(number, turn, "eu-1", outcome, "ok", ms, turn + 5, **fields)


@pytest.mark.one_engine
def test_a_result_that_is_stored_again_counts_once(store):
    change = Change(bytes(32), START, "state", None, "up", "ok")
    results = [
        result(changes=[change], condition=Condition(state=Outcome.UP)),
        result(2, outcome=Outcome.DOWN, ms=None),
    ]
    store.save(results)
    store.save([*results, result(3), result(3)])
    assert len(list(store.measured(tables.probe, START, START + DAY))) == 3
    assert [entry.counts for entry in store.measured(tables.day, START, START + DAY)] == [
        {"up": 1},
        {"down": 1},
        {"up": 1},
    ]
    assert [entry.at for entry in store.changes()] == [START]


@pytest.mark.one_engine
def test_hours_and_days_are_the_sums_of_probes(store):
    outcomes = list(Outcome)
    for turn in range(START, START + DAY, ROUND):
        store.save([result(number, turn, outcomes[(turn // ROUND + number) % 6]) for number in range(1, 11)])
    probes = Counter(probe.outcome for probe in store.measured(tables.probe, START, START + DAY))
    for table in (tables.hour, tables.day):
        sums = Counter()
        for entry in store.measured(table, START, START + DAY):
            sums.update(entry.counts)
            assert (
                sum(entry.latencies.values())
                == entry.answered
                == entry.scheduled - sum(entry.counts.get(outcome, 0) for outcome in (Outcome.UNKNOWN, Outcome.UNFIT))
            )
        assert sums == probes


def test_missed_rounds_are_scheduled_and_not_counted(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets([Target(Protocol.WEB, "https://h.test/", "h.test")])
    store.save([result(scheduled=40)])
    (day,) = store.measured(tables.day, START, START + DAY)
    assert (day.scheduled, day.counts, Totals.of(day).quantile(0.5)) == (40, {"up": 1}, 77)


def test_endpoints_that_no_agent_lists_any_more_are_not_measured(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    targets = [Target(Protocol.WEB, f"https://h{number}.test/", f"h{number}.test") for number in range(3)]
    store.set_targets(targets)
    store.save([result(1, condition=Condition(state=Outcome.UP))])
    store.set_targets(targets[1:])
    assert [entry.target for entry in store.endpoints()] == targets[1:]
    store.set_targets(targets)
    assert [entry.condition.state for entry in store.endpoints()] == [Outcome.UP, None, None]


def totals_of(latencies):
    """The totals of probes that took so many milliseconds."""
    totals = Totals()
    for milliseconds in latencies:
        totals.count(Outcome.UP, "ok", milliseconds)
    return totals


@given(LATENCIES)
def test_a_quantile_is_within_an_eighth(latencies):
    totals = totals_of(latencies)
    for part in (0.5, 0.95):
        exact = sorted(latencies)[-int(-part * len(latencies) // 1) - 1]
        assert totals.quantile(part) == pytest.approx(exact, rel=0.125, abs=1)


@given(LATENCIES, LATENCIES)
def test_totals_merge_exactly(first, second):
    totals = totals_of(first)
    totals.add(totals_of(second))
    assert totals == totals_of(first + second)


@pytest.mark.parametrize(("endpoints", "days"), [(5, 8), pytest.param(100, 30, marks=pytest.mark.nightly)])
def test_thirty_days_of_ten_thousand_endpoints_take_less_than_a_gigabyte(tmp_path, endpoints, days):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets(
        Target(Protocol.WEB, f"https://h{number}.test/", f"h{number}.test") for number in range(endpoints)
    )
    for turn in range(START, START + days * DAY, 24 * ROUND):
        turns = range(turn, turn + 24 * ROUND, ROUND)
        store.save([result(number, at, ms=number * 7) for at in turns for number in range(1, endpoints + 1)])
        for _ in range(26):  # in that time there are 4,320
            store.prune(turn)
    now = START + days * DAY
    assert min(probe.round for probe in store.measured(tables.probe, 0, now)) >= now - 7 * DAY - 12 * HOUR
    with store.engine.connect() as connection:
        pages = connection.exec_driver_sql("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").all()
    sizes = {name: size / endpoints * 10_000 for name, size in pages if name in ("probe", "hour", "day")}
    # Of probes seven days are stored, of hours all 30; a day of an endpoint is a row.
    assert sizes["probe"] + sizes["hour"] / days * 30 + sizes["day"] / days * 30 < 1e9


@pytest.mark.nightly
def test_the_writer_never_waits_long_for_the_deletion_of_old_rows(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    store.set_targets(Target(Protocol.WEB, f"https://h{number}.test/", "h.test") for number in range(10_000))
    for turn in range(START, START + 8 * ROUND, ROUND):
        for first in range(1, 10_000, 100):
            store.save([result(number, turn) for number in range(first, first + 100)])
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        store.prune(START + 40 * DAY)
        seconds.append(time.perf_counter() - began)
    assert max(seconds) < 0.2
    assert list(store.measured(tables.probe, 0, START + DAY)) == []


def rounds_of(tower):
    """The rounds of which probes are stored."""
    return {row.round for row in tower.store.measured(tables.probe, 0, 2**40)}


def test_old_rows_are_deleted_although_no_run_lasts_an_hour(tmp_path):
    world, path, old = simulation.World(), tmp_path / "watchtower.sqlite", simulation.START - 9 * DAY
    tower = simulation.tower_of(world, path, simulation.targets(1))
    tower.store.save([Result(1, old, "main", Outcome.UP, "ok", 80, old, condition=Condition(probed_at=old))])
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
    assert before < rounds_of(tower)

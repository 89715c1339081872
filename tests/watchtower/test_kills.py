"""A watchtower that is killed at any moment counts nothing twice and loses a second at most."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from bilateral.watchtower.store import open_store
from tests.watchtower.killed import PROCESSES, endpoints, run_watchtower, serving

INTERVAL = 4
ENDPOINTS = 15


@pytest.mark.parametrize("kills", [1, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_kill_counts_nothing_twice_and_skips_nobody(tmp_path, kills):
    url, chance = f"sqlite:///{tmp_path / 'watchtower.sqlite'}", random.Random(53)  # noqa: S311  # no secret
    with serving() as (port, requests):
        open_store(url).set_targets(endpoints(ENDPOINTS, port))
        for _ in range(kills):
            process = PROCESSES.Process(target=run_watchtower, args=(url, INTERVAL))
            process.start()
            time.sleep(chance.uniform(1.0, 3.0))
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL
        process = PROCESSES.Process(target=run_watchtower, args=(url, INTERVAL, INTERVAL + 2))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        times = defaultdict(list)
        for at, path in requests:
            times[path].append(at)
    store = open_store(url)
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    probes = defaultdict(Counter)
    for _, key, _, hour in store.hours(0):
        probes[key].update(hour)
    days = {entry.target.endpoint_id: entry.condition.day[1] for entry in store.endpoints()}
    assert days == probes or time.time() % 86_400 < 600 * kills  # a day may begin meanwhile
    assert len(probes) == ENDPOINTS
    stored = sum(counts["up"] for counts in probes.values())  # without those that were too late to be asked
    requests = sum(len(entries) for path, entries in times.items() if path != "/robots.txt")
    assert 0 <= requests - stored <= kills * ENDPOINTS  # those of a second, and those in flight
    gaps = [later - earlier for one in times.values() for earlier, later in pairwise(one)]
    assert max(gaps) <= INTERVAL + 60


@pytest.mark.nightly
def test_a_process_that_is_stopped_for_a_while_blames_nobody(tmp_path):
    url = f"sqlite:///{tmp_path / 'watchtower.sqlite'}"
    with serving() as (port, requests):
        open_store(url).set_targets(endpoints(ENDPOINTS, port))
        process = PROCESSES.Process(target=run_watchtower, args=(url, INTERVAL, 132))
        process.start()
        while len(requests) < ENDPOINTS:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(120)
        os.kill(process.pid, signal.SIGCONT)
        process.join(60)
    outcomes = Counter()
    for *_, hour in open_store(url).hours(0):
        outcomes.update(hour)
    assert outcomes["down"] == 0
    assert outcomes["up"] > ENDPOINTS

"""An aggregator that is killed at any point loses nothing and doubles nothing."""

from __future__ import annotations

import random
import threading
import time

import httpx
import pytest

from bilateral.index.log.database import open_database
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.tables import State
from tests.waiting import until
from tests.x402.aggregator.process import POINTS, running, work_until_killed, write_settings
from tests.x402.aggregator.world import log_of

STORED = ("after it has a nonce", "after its transaction is stored", "after its transaction is sent")


def post(url, asked):
    """Post a message; None if the process ends before it answers."""
    try:
        return httpx.post(url, content=asked.content, timeout=60)
    except httpx.HTTPError:
        return None


@pytest.fixture
def kill_at(web3, settings_with, review, values_of, sponsor, tmp_path):
    """Kill a process at a point, and check that the next one ends with one feedback and one transaction."""

    def check(database, point):
        settings = settings_with(lease_seconds=1.0, resend_seconds=1.0)
        asked = review()
        assert work_until_killed(database, *write_settings(tmp_path, settings), point, asked.content) == -9
        engine = open_database(database)
        with Aggregator(engine, settings) as aggregator:
            taken, _ = aggregator.submit(asked.content)
            done = until(lambda: aggregator.read(taken.id), lambda sponsored: sponsored.state is State.CONFIRMED)
            assert len(log_of(engine)) == 1
        engine.dispose()
        assert values_of(asked.reviewer) == [95]
        assert web3.eth.get_transaction_count(sponsor.address) == 1
        assert web3.eth.get_transaction_receipt(done.transaction)["from"] == sponsor.address

    return check


def test_process_that_does_not_end_itself_has_no_exit_code(settings_with, review, sqlite_url, tmp_path):
    written = write_settings(tmp_path, settings_with())
    assert work_until_killed(sqlite_url, *written, None, review().content, seconds=0) is None


@pytest.mark.sample(5)
@pytest.mark.parametrize("point", POINTS)
def test_process_that_ends_loses_and_doubles_nothing(kill_at, sqlite_url, point):
    kill_at(sqlite_url, point)


@pytest.mark.parametrize("point", STORED)
def test_process_that_ends_loses_and_doubles_nothing_on_postgresql(kill_at, fresh_postgres, point):
    kill_at(fresh_postgres, point)


def test_processes_that_are_killed_at_random_lose_and_double_nothing(
    web3, settings_with, review, values_of, sponsor, sqlite_url, tmp_path
):
    settings, chance = settings_with(lease_seconds=1.0, resend_seconds=1.0), random.Random(1)  # noqa: S311  # moments
    written = write_settings(tmp_path, settings)
    asked = [review(value=value) for value in range(6)]
    waiting, lock, place = list(asked), threading.Lock(), {}

    def insist():
        while True:
            with lock:
                if not waiting:
                    return
                mine = waiting.pop()
            while (answer := post(place["url"], mine)) is None or answer.status_code not in (200, 201, 202):
                time.sleep(0.05)

    threads = [threading.Thread(target=insist) for _ in range(3)]
    for round_ in range(3):
        with running(sqlite_url, *written) as process:
            place["url"] = process.url
            if round_ == 0:
                for thread in threads:
                    thread.start()
            if round_ < 2:
                time.sleep(chance.uniform(0.1, 0.8))
                process.kill()
                continue
            for thread in threads:
                thread.join()
            engine = open_database(sqlite_url)
            with Aggregator(engine, settings):
                done = until(
                    lambda engine=engine: log_of(engine),
                    lambda all_: len(all_) == 6 and all(sponsored.state is State.CONFIRMED for sponsored in all_),
                )
            engine.dispose()
    assert [values_of(review.reviewer) for review in asked] == [[value] for value in range(6)]
    assert len({entry.transaction for entry in done}) == 6
    assert web3.eth.get_transaction_count(sponsor.address) == 6

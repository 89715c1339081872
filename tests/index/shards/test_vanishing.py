"""A shard's server that vanishes in the middle of a read and of a write, or hangs: nothing is lost."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import contextmanager
from functools import partial

import httpx
import pytest
from sqlalchemy import create_engine, make_url, select, text

from bilateral.api.settings import ApiSettings
from bilateral.cli.index_options import open_index
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.operating.monitoring import monitored
from bilateral.index.shards.process import follow, statuses_of_shards
from tests.api.world import CHAIN_ID, served
from tests.index.shards.world import BY_CHAIN, OTHER_CHAIN, killed, rolled_back, rows_of_chain
from tests.postgres import administer
from tests.waiting import until

WAITING = text(
    "SELECT count(*) > 1 AND count(backend_xid) > 0 FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
"""True if a worker that has written something waits, and the coordinator too."""


def events_of_chain(url):
    """Return the number of events of the other chain by table, and of rows that derive from them."""
    names = {"agent", "summary", "counterpart"} | {table.name for table in schema.EVENT_TABLES.values()}
    return {name: count for name, count in rows_of_chain(url).items() if name in names}


def looked_at(url):
    """Return the time at which a shard's worker looked at its chain last."""
    engine = create_engine(url)
    with engine.connect() as connection:
        seconds = connection.execute(select(schema.chain.c.updated_at)).scalar_one()
    engine.dispose()
    return seconds


@pytest.fixture
def following(settings):
    """Follow both chains into their shards meanwhile."""
    engine, stop, ends = open_database(settings.database), threading.Event(), []
    thread = threading.Thread(target=lambda: ends.append(follow(engine, settings, stop=stop)))
    yield thread
    stop.set()
    thread.join()
    engine.dispose()
    assert ends == [False]  # stopped by the test, and by no error


def test_read_and_write_that_a_vanishing_shard_breaks_off_lose_nothing(apis, settings, servers, following):
    (a, b), path, answers = settings.shards.values(), BY_CHAIN[OTHER_CHAIN][0], []
    before = events_of_chain(b.url)
    rolled_back(b.url)
    assert events_of_chain(b.url) != before
    holder = create_engine(b.url)
    held = holder.connect()
    held.execute(text(f"LOCK TABLE agent_{OTHER_CHAIN}, summary_{OTHER_CHAIN} IN ACCESS EXCLUSIVE MODE"))
    following.start()
    reading = threading.Thread(target=lambda: answers.append(apis[0].get(path)))
    reading.start()
    with holder.execution_options(isolation_level="AUTOCOMMIT").connect() as looking:
        until(lambda: looking.execute(WAITING).scalar_one(), bool, 60)
    with killed(servers.processes[1]):
        reading.join()
        assert (answers[0].status_code, f"chain {OTHER_CHAIN} is not responding" in answers[0].text) == (503, True)
        administer(a.url, "UPDATE chain SET updated_at = 0")
        until(lambda: looked_at(a.url), bool, 60)
    held.invalidate()
    holder.dispose()
    until(lambda: events_of_chain(b.url), lambda rows: rows == before, 60)
    until(lambda: apis[0].get(path).status_code, lambda status: status == 200, 60)


def test_follower_that_starts_without_a_shard_follows_the_others_and_is_ready(settings, servers, following):
    a, b = (shard.url for shard in settings.shards.values())
    for url in (a, b):
        administer(url, "UPDATE chain SET updated_at = 0")
    with killed(servers.processes[1]):
        following.start()
        until(lambda: looked_at(a), bool, 60)
        with (
            open_index(settings.database) as engine,
            monitored(
                engine, "127.0.0.1", 0, partial(statuses_of_shards, settings.shards), needs_analysis=False
            ) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
        ):
            assert client.get("/readyz").json() == {"ready": True, "problems": [], "missing": [OTHER_CHAIN]}
            figures = client.get("/metrics").text.splitlines()
    assert f'bilateral_chain_missing{{chain_id="{OTHER_CHAIN}"}} 1.0' in figures
    named = {figure.split("{")[0] for figure in figures if f'{{chain_id="{CHAIN_ID}"}}' in figure}
    assert {"bilateral_chain_block", "bilateral_chain_silence_seconds", "bilateral_chain_files_waiting"} <= named
    until(lambda: looked_at(b), bool, 60)


def test_coordinator_that_vanishes_is_logged_once_and_its_shards_are_written_meanwhile(settings, servers, following):
    a, b = (shard.url for shard in settings.shards.values())
    name = make_url(settings.database).database
    for url in (a, b):
        administer(url, "UPDATE chain SET updated_at = 0")
    following.start()
    for url in (a, b):
        until(partial(looked_at, url), bool, 60)
    with logged("bilateral.index") as lines:
        administer(servers.urls[0], f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608  # ours
        administer(servers.urls[0], ended)
        until(lambda: [line for line in lines if line.startswith("outcome=waits")], bool, 60)
        administer(a, "UPDATE chain SET updated_at = 0")
        until(lambda: looked_at(a), bool, 60)
        administer(servers.urls[0], f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    (line,) = [line for line in lines if line.startswith("outcome=waits")]  # others are of a chain under way
    assert "the database server did not respond" in line


@contextmanager
def logged(name):
    """Yield the lines that a logger writes meanwhile."""
    lines, handler, logger = [], logging.Handler(), logging.getLogger(name)
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


@pytest.fixture
def hung(settings, servers):
    """A client of a service with short visits, whose second shard takes connections and says nothing."""
    with (
        served(ApiSettings(database=settings.database, rate=None, max_silence=10**9, needs_analysis=False)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        assert {client.get(paths[0]).status_code for paths in BY_CHAIN.values()} == {200}  # its connections are open
        process = servers.processes[1].get_postmaster_info().process
        processes = [process, *process.children(recursive=True)]
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        yield client
        for process in processes:
            process.send_signal(signal.SIGCONT)


def test_machine_that_hangs_is_left_out_after_a_request_that_needs_it(hung):
    assert hung.get(BY_CHAIN[OTHER_CHAIN][0]).status_code == 503
    readiness = until(lambda: hung.get("/readyz").json(), lambda told: told.get("missing") == [OTHER_CHAIN], 60)
    assert readiness["ready"]
    assert hung.get(BY_CHAIN[CHAIN_ID][0]).status_code == 200

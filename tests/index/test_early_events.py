"""PostgreSQL stores events while later ranges of their transaction are read; a failure leaves none of them."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from sqlalchemy import func, make_url, select, text
from sqlalchemy.exc import IntegrityError, OperationalError

from bilateral.index.agents.projection import ActivityTable
from bilateral.index.chain import follow
from bilateral.index.chain.follow import Outcome
from bilateral.index.log import background_writes as behind
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import connect_engine
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import DERIVED_TABLES, PROJECTIONS
from tests.index.chaos import work
from tests.index.comparison import assert_equals_model
from tests.index.conftest import CHAIN_ID
from tests.index.proxy import Proxy, range_of
from tests.index.test_endpoints import assert_complete
from tests.index.test_transactions import Store, fails_from, follower_of, hundred_blocks
from tests.processes import CONTEXT
from tests.waiting import wait_until

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

LATE = 500
"""A block of a range that is read when events of ranges before it are being stored."""


@pytest.fixture(autouse=True)
def writers(monkeypatch):
    """Let each event be written as soon as it is read, and return the threads that write."""
    made = []

    class Recorded(behind.Writer):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(behind, "_MANY", 1)
    monkeypatch.setattr(behind, "_ROWS_AT_ONCE", 1)
    monkeypatch.setattr(behind, "_IDLE_SECONDS", 600.0)
    monkeypatch.setattr(behind, "Writer", Recorded)
    monkeypatch.setattr(follow, "_MOST_SECONDS", 600.0)
    return made


@pytest.fixture
def watcher(engine):
    """Ask the database on a connection of its own."""

    def ask(question, **values):
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            return connection.execute(text(question), values).scalar_one()

    return ask


@pytest.fixture
def in_the_middle(proxy, watcher):
    """Do something once, while a late range is asked for and events of earlier ones are in the database, unseen."""

    def register(act):
        done = []

        def rule(parameters, result):
            if range_of(parameters)[0] >= LATE and not done:
                done.append(True)
                wait_for_unseen_rows(watcher)
                act()
            return hundred_blocks(parameters, result)

        proxy.rules["eth_getLogs"] = rule
        return done

    return register


@pytest.fixture
def slow_url(engine, proxy, writers):
    """The URL of an endpoint that keeps a late range back until nobody holds the cursor any more."""

    def rule(parameters, result):
        if range_of(parameters)[0] >= LATE:
            wait_until(lambda: writers and not is_held(engine))
        return hundred_blocks(parameters, result)

    proxy.rules["eth_getLogs"] = rule
    return proxy.url


def wait_for_unseen_rows(watcher):
    """Wait until a transaction writes rows that no other one sees."""
    writing = """
        SELECT count(*) FROM pg_locks
        WHERE relation = 'registered_31337'::regclass AND mode = 'RowExclusiveLock' AND granted
    """
    wait_until(lambda: watcher(writing))
    assert not watcher("SELECT count(*) FROM registered")
    assert watcher("SELECT max(block_number) FROM chain") == -1


def is_held(engine):
    """Return True if a transaction holds the chain's cursor."""
    locked = select(schema.chain.c.chain_id).where(schema.chain.c.chain_id == CHAIN_ID)
    with engine.connect() as connection:
        return connection.execute(locked.with_for_update(skip_locked=True)).first() is None


def assert_ended(writers, number=1):
    """Check that there were threads that wrote, and that all have ended."""
    assert len(writers) == number
    assert not any(writer._thread.is_alive() for writer in writers)


def assert_nothing_stored(engine, store, writers, number=1):
    assert_ended(writers, number)
    assert store.cursor().number == -1
    assert not is_held(engine)
    with engine.connect() as connection:
        for table in (*schema.EVENT_TABLES.values(), *DERIVED_TABLES):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0


def test_events_are_stored_by_one_transaction_while_others_are_read(
    engine, settled_chain, proxy, in_the_middle, writers
):
    done, store = in_the_middle(lambda: None), Store(engine)
    assert follower_of(store, proxy.url).step().events == len(settled_chain.logs)
    assert done
    assert store.transactions == [(0, settled_chain.head, len(settled_chain.logs))]
    assert_ended(writers)
    assert_complete(engine, settled_chain)


def test_an_endpoint_that_fails_keeps_the_ranges_before_it(engine, settled_chain, proxy, writers):
    proxy.rules["eth_getLogs"] = fails_from(LATE)
    store = Store(engine)
    with pytest.raises(Exception, match="HTTP status 500"):
        follower_of(store, proxy.url).step()
    ((_, end, _),) = store.transactions
    assert store.cursor().number == end >= LATE - 100
    assert_ended(writers)
    follower_of(store, settled_chain.url).step()
    assert_complete(engine, settled_chain)


def test_an_endpoint_that_lies_is_replaced_and_the_ranges_before_it_stay(engine, settled_chain, proxy, writers):
    def lie(parameters, result):
        if range_of(parameters)[0] >= LATE:
            result = [entry | {"blockHash": "0x" + "77" * 32} for entry in result]
        return hundred_blocks(parameters, result)

    proxy.rules["eth_getLogs"] = lie
    store = Store(engine)
    with Proxy(settled_chain.url, {"eth_getLogs": hundred_blocks}) as honest:
        follower = follower_of(store, proxy.url, honest.url)
        while follower.step().block != settled_chain.head:  # what the liar delivered alone is read again first
            pass
    assert [count > 0 for _, _, count in store.transactions] == [True, True]
    assert_ended(writers, 2)
    assert_complete(engine, settled_chain)


def test_a_reorganisation_between_two_ranges_undoes_the_first_ones(event_chain, generator, engine, watcher, writers):
    for _ in range(20):
        event_chain.mine(generator.logs(4))
        event_chain.rpc("anvil_mine", hex(14))
    reorganised, outcomes, store = [], [], Store(engine)

    def reorganise(parameters, result):
        if not reorganised and range_of(parameters)[0] > 100:
            reorganised.append(True)
            wait_for_unseen_rows(watcher)
            event_chain.rpc("anvil_rollback", 220)
            event_chain.mine(generator.logs(4))
            event_chain.rpc("anvil_mine", hex(230))
        return hundred_blocks(parameters, result)

    with Proxy(event_chain.url, {"eth_getLogs": reorganise}) as proxy:
        follower = follower_of(store, proxy.url)
        while Outcome.WAITED not in outcomes:
            outcomes.append(follower.step().outcome)
    assert reorganised
    assert Outcome.ROLLED_BACK not in outcomes
    assert_ended(writers, 2)
    assert_equals_model(engine, event_chain)


def test_a_row_that_cannot_be_written_undoes_all(engine, store, settled_chain, proxy, in_the_middle, writers):
    store.begin(Block(-1, bytes(32), 0))
    table = schema.block
    with engine.begin() as connection:  # another program wrote the row that the transaction inserts at its end
        connection.execute(
            table.insert().values(chain_id=CHAIN_ID, block_number=settled_chain.head, block_hash=bytes(32))
        )
    in_the_middle(lambda: None)
    with pytest.raises(IntegrityError):
        follower_of(store, proxy.url).step()
    assert_nothing_stored(engine, store, writers)
    with engine.begin() as connection:
        connection.execute(table.delete().where(table.c.block_number == settled_chain.head))
    follower_of(store, proxy.url).step()
    assert_complete(engine, settled_chain)


def test_a_connection_that_is_lost_between_two_ranges_undoes_all(
    engine, store, settled_chain, proxy, in_the_middle, watcher, writers
):
    def lose_connection():
        process = writers[0].rows.connection.connection.driver_connection.info.backend_pid
        assert watcher("SELECT pg_terminate_backend(:process, 60000)", process=process)

    in_the_middle(lose_connection)
    with pytest.raises(OperationalError):
        follower_of(store, proxy.url).step()
    assert_nothing_stored(engine, store, writers)
    follower_of(store, proxy.url).step()
    assert_complete(engine, settled_chain)


def test_an_interruption_between_two_ranges_undoes_all(engine, store, settled_chain, proxy, in_the_middle, writers):
    in_the_middle(lambda: os.kill(os.getpid(), signal.SIGINT))
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ape has a handler of its own
    try:
        with pytest.raises(KeyboardInterrupt):
            follower_of(store, proxy.url).step()
    finally:
        signal.signal(signal.SIGINT, former)
    assert_nothing_stored(engine, store, writers)
    follower_of(store, proxy.url).step()
    assert_complete(engine, settled_chain)


def work_patiently(database, urls):
    """Follow the chain in a process of its own, and let no transaction end because the machine is busy."""
    follow._MOST_SECONDS = behind._IDLE_SECONDS = 600.0
    work(database, urls)


@pytest.mark.one_engine
def test_a_process_that_is_killed_between_two_ranges_leaves_nothing(
    engine, store, settled_chain, proxy, in_the_middle, database_url, writers
):
    process = CONTEXT.Process(target=work_patiently, args=(database_url, [proxy.url]), daemon=True)
    done = in_the_middle(process.kill)
    process.start()
    wait_until(lambda: done)
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    wait_until(lambda: not is_held(engine))  # the server learns of it
    assert_nothing_stored(engine, store, writers, number=0)
    follower_of(store, settled_chain.url).step()
    assert_complete(engine, settled_chain)


def test_a_second_worker_waits_for_the_first_one_and_then_gives_way(
    engine, store, settled_chain, proxy, in_the_middle, watcher, database_url
):
    other = connect_engine(database_url)
    steps = []
    second = follower_of(ChainStore(other, CHAIN_ID, PROJECTIONS), settled_chain.url)
    thread = threading.Thread(target=lambda: steps.append(second.step()))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE chain%'"

    def start_second():
        thread.start()
        wait_until(lambda: watcher(waiting))

    in_the_middle(start_second)
    assert follower_of(store, proxy.url).step().events == len(settled_chain.logs)
    thread.join()
    other.dispose()
    assert [step.outcome for step in steps] == [Outcome.WAITED]
    assert_complete(engine, settled_chain)


def test_a_cursor_that_another_worker_moved_is_noticed_before_more_is_read(
    engine, settled_chain, proxy, database_url, writers
):
    other, moved = connect_engine(database_url), []

    def move(parameters, result):
        if not moved:
            moved.append(follower_of(ChainStore(other, CHAIN_ID, PROJECTIONS), settled_chain.url).step())
        return hundred_blocks(parameters, result)

    proxy.rules["eth_getLogs"] = move
    store = Store(engine)
    assert follower_of(store, proxy.url).step().outcome is Outcome.WAITED
    other.dispose()
    assert store.transactions == []
    assert_ended(writers)
    assert len(proxy.asked("eth_getLogs")) < 5
    assert_complete(engine, settled_chain)


def test_a_slow_endpoint_keeps_no_lock_and_all_is_stored_in_the_end(
    engine, settled_chain, slow_url, writers, monkeypatch
):
    monkeypatch.setattr(behind, "_IDLE_SECONDS", 1.0)
    store = Store(engine)
    assert follower_of(store, slow_url).step().events == len(settled_chain.logs)
    assert store.transactions == [(0, settled_chain.head, len(settled_chain.logs))]
    assert_ended(writers, 2)
    assert_complete(engine, settled_chain)


def test_a_server_that_gives_one_connection_stores_what_a_slow_endpoint_gives(
    engine, settled_chain, slow_url, limited_url, writers, monkeypatch
):
    monkeypatch.setattr(behind, "_IDLE_SECONDS", 1.0)
    limited = connect_engine(limited_url)
    follower_of(ChainStore(limited, CHAIN_ID, PROJECTIONS), slow_url).step()
    limited.dispose()
    assert_ended(writers, 2)
    assert_complete(engine, settled_chain)


def test_a_server_that_ends_idle_transactions_stores_what_a_slow_endpoint_gives(
    engine, settled_chain, slow_url, database_url, writers
):
    url = make_url(database_url)
    options = f"{url.query['options']} -c idle_in_transaction_session_timeout=6s"
    strict = connect_engine(url.update_query_dict({"options": options}).render_as_string(hide_password=False))
    follower_of(ChainStore(strict, CHAIN_ID, PROJECTIONS), slow_url).step()
    strict.dispose()
    assert_ended(writers, 2)
    assert_complete(engine, settled_chain)


@pytest.mark.parametrize("begins_early", [True, False])
def test_a_transaction_that_is_kept_may_take_its_time(engine, store, settled_chain, writers, monkeypatch, begins_early):
    derive = ActivityTable.derive

    def derive_late(*arguments):
        time.sleep(1.0)
        derive(*arguments)

    monkeypatch.setattr(behind, "_IDLE_SECONDS", 0.3)
    monkeypatch.setattr(ActivityTable, "derive", derive_late)
    if not begins_early:
        monkeypatch.setattr(ChainStore, "begin_early", lambda *_: None)
    follower_of(store, settled_chain.url).step()
    assert writers
    assert_complete(engine, settled_chain)

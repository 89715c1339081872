"""With PostgreSQL a second connection reads while the first one writes; the rows are the same, or none."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import ExitStack

import pytest
from eth_utils import keccak
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.exc import IntegrityError, OperationalError

from bilateral.core.contracts import Registry
from bilateral.index.agents.projection import ActivityTable
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log import background_writes as behind
from bilateral.index.log import tables as schema
from bilateral.index.log.background_writes import Writer
from bilateral.index.log.batches import Block
from bilateral.index.log.database import connect_engine
from bilateral.index.log.rows import PostgresRows, Rows
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.ratings.projection import SummaryTables
from simulation.events import encoded
from tests.index.comparison import assert_exact
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.test_endpoints import assert_complete
from tests.postgres import with_driver

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Let few logs suffice for a second connection, and return the accesses to rows that write behind."""
    made = []

    class Recorded(behind._BackgroundRows):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(behind, "_MANY", 1)
    monkeypatch.setattr(behind, "_BackgroundRows", Recorded)
    return made


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let no step end because it took long."""
    monkeypatch.setattr("bilateral.index.chain.follow._MOST_SECONDS", 600.0)


def step_of(store, url):
    return Follower(store, Pool(CHAIN_ID, [Source(Endpoint(url), list(REGISTRIES))]), REGISTRIES, 0).step


@pytest.fixture
def step(store, settled_chain):
    """Store the whole chain by one transaction."""
    return step_of(store, settled_chain.url)


def assert_ended(made):
    """Check that one access wrote behind, and that its thread has ended."""
    (rows,) = made
    assert not rows._writer._thread.is_alive()


def assert_stored_by_the_next_step(step, engine, chain, store, made):
    """Check that nothing was stored and no thread is left, and that a further step stores all."""
    assert_ended(made)
    assert store.cursor().number == -1
    step()
    assert_complete(engine, chain)


def registration(agent, owner):
    yield encoded(Registry.IDENTITY, "Transfer", "0x" + "00" * 20, owner, agent)
    yield encoded(Registry.IDENTITY, "Registered", agent, b"https://agent.example", owner)
    yield wallet(agent, owner)


def wallet(agent, account):
    value = bytes.fromhex(account[2:])
    return encoded(Registry.IDENTITY, "MetadataSet", agent, keccak(b"agentWallet"), b"agentWallet", value)


def transfer(agent, owner, receiver):
    return encoded(Registry.IDENTITY, "Transfer", owner, receiver, agent)


def feedback(agent, client, index, value):
    texts = keccak(b"starred"), b"starred", b"week", b"https://a.example", b"ipfs://file"
    return encoded(Registry.BIDIRECTIONAL, "NewFeedback", agent, client, index, value, 0, *texts, bytes(32))


def revocation(agent, client, index):
    return encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", agent, client, index)


def test_batches_are_the_same_that_one_connection_stores(event_chain, generator, engine, store, made):
    alice, bob, carol = ("0x" + name * 20 for name in ("11", "22", "33"))
    first_agent, second_agent = 10_001, 10_002  # the generator's agents have smaller numbers
    first = [
        *registration(first_agent, alice),
        *registration(second_agent, alice),
        *(feedback(first_agent, carol, index, 10 * index) for index in (1, 2, 3)),
        revocation(first_agent, carol, 2),
        feedback(second_agent, bob, 1, 50),
        transfer(second_agent, alice, bob),
        wallet(second_agent, carol),
    ]
    second = [
        revocation(first_agent, carol, 1),
        feedback(first_agent, carol, 4, 70),
        feedback(first_agent, bob, 1, 5),
        revocation(first_agent, bob, 1),
        transfer(first_agent, alice, bob),
        wallet(first_agent, carol),
        transfer(first_agent, bob, carol),
    ]
    third = [
        revocation(first_agent, carol, 4),
        revocation(second_agent, bob, 1),
        wallet(second_agent, alice),
        transfer(second_agent, bob, alice),
        feedback(second_agent, bob, 2, 100),
    ]
    step = step_of(store, event_chain.url)
    for changes in (first, second, third):
        half = len(changes) // 2
        event_chain.mine([*changes[:half], *generator.logs(20)])
        event_chain.mine([*changes[half:], *generator.logs(20)])
        step()
    assert len(made) == 3
    assert_exact(engine, store, event_chain)


def test_a_write_that_fails_stores_nothing(step, engine, settled_chain, store, made):
    store.begin(Block(-1, bytes(32), 0))
    table = schema.block
    with engine.begin() as connection:  # another program wrote the row that the batch inserts
        connection.execute(
            table.insert().values(chain_id=CHAIN_ID, block_number=settled_chain.head, block_hash=bytes(32))
        )
    with pytest.raises(IntegrityError):
        step()
    assert_ended(made)
    assert store.cursor().number == -1
    with engine.begin() as connection:
        assert connection.execute(schema.chain.select()).one().event_rows == 0
        connection.execute(table.delete().where(table.c.block_number == settled_chain.head))
    step()
    assert_complete(engine, settled_chain)


def test_an_interruption_stores_nothing_and_leaves_no_thread(step, engine, settled_chain, store, made, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ActivityTable, "derive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step()
    assert_stored_by_the_next_step(step, engine, settled_chain, store, made)


def test_a_commit_of_the_reading_connection_that_fails_stores_nothing(
    step, engine, settled_chain, store, made, monkeypatch
):
    store.begin(Block(-1, bytes(32), 0))
    derive = SummaryTables.derive

    def lose_connection(self, events):
        derive(self, events)
        process = made[0].connection.connection.driver_connection.info.backend_pid
        with engine.connect() as other:
            assert other.execute(select(func.pg_terminate_backend(process, 60_000))).scalar_one()

    with monkeypatch.context() as patch:
        patch.setattr(SummaryTables, "derive", lose_connection)
        with pytest.raises(OperationalError):
            step()
    assert_stored_by_the_next_step(step, engine, settled_chain, store, made)


def test_an_interrupted_wait_for_the_thread_stores_nothing_and_leaves_no_thread(
    step, engine, settled_chain, store, made, monkeypatch
):
    store.begin(Block(-1, bytes(32), 0))
    insert, end = PostgresRows.insert, Writer.end
    is_ending, inserted = threading.Event(), []

    def end_loudly(*arguments, **options):
        is_ending.set()
        end(*arguments, **options)

    def insert_late(*arguments):
        assert is_ending.wait(600)
        for _ in range(2):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        insert(*arguments)
        inserted.append(arguments)

    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ape has a handler of its own
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "end", end_loudly)
            patch.setattr(PostgresRows, "insert", insert_late)
            with pytest.raises(KeyboardInterrupt):
                step()
            assert len(inserted) == 1  # the thread has ended, after the write that was under way
    finally:
        signal.signal(signal.SIGINT, former)
    assert_stored_by_the_next_step(step, engine, settled_chain, store, made)


def test_a_thread_that_is_ended_stores_nothing(step, engine, settled_chain, store, made, monkeypatch):
    store.begin(Block(-1, bytes(32), 0))

    def end(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(PostgresRows, "insert", end)
        with pytest.raises(SystemExit):
            step()
    assert_stored_by_the_next_step(step, engine, settled_chain, store, made)


def test_a_table_that_another_program_locks_is_waited_for_by_one_connection(
    step, engine, settled_chain, store, database_url, made
):
    store.begin(Block(-1, bytes(32), 0))
    other = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'agent_activity'::regclass")
    with other.connect() as holder, other.connect().execution_options(isolation_level="AUTOCOMMIT") as watcher:
        holder.exec_driver_sql("LOCK TABLE agent_activity IN ACCESS EXCLUSIVE MODE")
        thread = threading.Thread(target=step)
        thread.start()
        while not watcher.execute(waiting).scalar_one():
            assert thread.is_alive()
        holder.rollback()
        thread.join()
    other.dispose()
    assert not made
    assert_complete(engine, settled_chain)


def test_a_process_with_many_connections_takes_no_second_one(step, engine, settled_chain, made):
    with ExitStack() as stack:
        for _ in range(engine.pool.size()):
            stack.enter_context(engine.connect())
        step()
    assert not made
    assert_complete(engine, settled_chain)


def test_a_server_that_gives_no_second_connection_gets_all_by_one(engine, settled_chain, limited_url, made):
    limited = connect_engine(limited_url)
    try:
        step_of(ChainStore(limited, CHAIN_ID, PROJECTIONS), settled_chain.url)()
    finally:
        limited.dispose()
    assert not made
    assert_complete(engine, settled_chain)


def test_a_pool_that_gives_no_second_connection_lets_one_do_all(engine, settled_chain, database_url, made, monkeypatch):
    monkeypatch.setattr(behind, "_has_spare", lambda _: True)  # another thread was faster
    small = create_engine(with_driver(database_url), pool_size=1, max_overflow=0, pool_timeout=0.1)
    try:
        step_of(ChainStore(small, CHAIN_ID, PROJECTIONS), settled_chain.url)()
    finally:
        small.dispose()
    assert not made
    assert_complete(engine, settled_chain)


def test_only_what_batches_need_is_done_by_two_connections(step, made):
    step()
    (rows,) = made
    public = {name for name in dir(Rows) if not name.startswith("_")}
    reads = {"select", "last_times"}  # inherited: they use the connection that reads
    assert public - reads <= vars(rows.__class__.__base__).keys()
    for name in public - reads - {"insert", "replace", "delete"}:
        with pytest.raises(NotImplementedError):
            getattr(rows, name)()

"""Helpers read a chain's past in ranges, and its worker stores them: the tables are those of one worker alone."""

from __future__ import annotations

import random
import threading
import time

import pytest
from sqlalchemy import select, update

from bilateral.core.contracts import Registry
from bilateral.index import backfill
from bilateral.index.backfill import Helper, NotBegunError, OtherChainError, Progress
from bilateral.index.chain.follow import Outcome
from bilateral.index.errors import OtherRegistriesError
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.status import chain_statuses
from bilateral.index.store.backfill_ranges import BackfillRanges, Next, RangeLostError
from bilateral.index.store.packed_batches import packed_batch, unpacked_batch
from bilateral.index.tables.backfill import backfill_range
from tests.index.chaos import followers_of
from tests.index.comparison import assert_exact, open_with_registries
from tests.index.conftest import CHAIN_ID, DEPLOYMENT, REGISTRIES
from tests.index.proxy import Proxy, range_of, refusal
from tests.index.test_migrations import MODULES
from tests.processes import CONTEXT

BLOCKS = 60
"""Blocks of a range in these tests, whose chains are short."""

_OF_THE_RUN = {"block", "change_step", "endpoint_limit", "backfill_range", "chain"}
"""Tables that also say in which steps a worker went, which depends on time."""


def helper_of(engine, url, *, stop=None, blocks=BLOCKS):
    helper = Helper(engine, ChainSettings((url,), (DEPLOYMENT,)), stop or threading.Event())
    helper._blocks = blocks
    helper._learn = lambda *_: None
    return helper


def begin(store, event_chain, number=0):
    """Set the cursor to a block, as a worker does before its first step."""
    header = event_chain.rpc("eth_getBlockByNumber", hex(number), False)
    store.begin(Block(number, bytes.fromhex(header["hash"][2:]), int(header["timestamp"], 16)))


def fill(helper):
    """Read all ranges that a helper can claim, and return their number."""
    filled = 0
    while helper.step() is Progress.FILLED:
        filled += 1
    return filled


def waiting_ranges(engine):
    with engine.connect() as connection:
        query = select(backfill_range.c.first_block, backfill_range.c.last_block, backfill_range.c.content.is_(None))
        return [tuple(row) for row in connection.execute(query.order_by(backfill_range.c.first_block))]


def all_rows(engine):
    """Return the rows of every table, and what the chain's own row says about it."""
    tables = [table for module in MODULES for table in module.metadata.sorted_tables if table.name not in _OF_THE_RUN]
    with engine.connect() as connection:
        rows = {table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in tables}
        columns = schema.chain.c
        names = (columns.block_number, columns.block_hash, columns.event_rows, columns.first_block)
        rows["chain"] = connection.execute(select(*names)).all()
    return rows


@pytest.fixture
def of_one_worker(event_chain, tmp_path):
    """Return what every table holds after one worker alone has read the chain from block 1 on, on SQLite."""

    def make():
        engine = open_with_registries(f"sqlite:///{tmp_path / 'alone.sqlite'}")
        follower = followers_of(engine, event_chain.url)
        begin(follower._store, event_chain)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        rows = all_rows(engine)
        engine.dispose()
        return rows

    return make


def grow(event_chain, generator, blocks=110, logs=6, *, gap=2):
    """Mine blocks with events and as many without between them, and then those that are not deep in the chain."""
    for _ in range(blocks):
        event_chain.mine(generator.logs(logs))
        event_chain.rpc("anvil_mine", hex(gap))
    event_chain.rpc("anvil_mine", hex(130))


def test_tables_of_a_helped_worker_equal_those_of_one_worker(
    event_chain, generator, engine, store, catch_up, of_one_worker
):
    grow(event_chain, generator)
    begin(store, event_chain)
    assert fill(helper_of(engine, event_chain.url)) == 5
    catch_up()
    assert waiting_ranges(engine) == []
    assert all_rows(engine) == of_one_worker()
    assert_exact(engine, store, event_chain)


def test_worker_asks_no_node_for_blocks_that_a_helper_read(event_chain, generator, engine, store, follow):
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    fill(helper_of(engine, event_chain.url))
    ranges = waiting_ranges(engine)
    with Proxy(event_chain.url) as proxy:
        follower = follow(proxy.url)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        asked = [range_of(parameters) for method, parameters in proxy.calls if method == "eth_getLogs"]
    assert ranges[0][0] == 1 + BLOCKS, "the first blocks are left to the worker"
    assert not [block for first, last in asked for block in (first, last) if ranges[0][0] <= block <= ranges[-1][1]]


def test_two_helpers_claim_different_blocks_without_a_gap(event_chain, generator, engine, store):
    grow(event_chain, generator, 100, 1)
    begin(store, event_chain)
    threads = [threading.Thread(target=fill, args=(helper_of(engine, event_chain.url, blocks=20),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ranges = waiting_ranges(engine)
    assert [first for first, _, _ in ranges[1:]] == [last + 1 for _, last, _ in ranges[:-1]]
    assert ranges[-1][1] == 430 - 128
    assert not any(is_empty for _, _, is_empty in ranges)


def test_range_with_many_events_is_stored_in_parts(event_chain, generator, engine, store, catch_up, monkeypatch):
    monkeypatch.setattr(backfill, "ENOUGH_LOGS", 20)
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    with Proxy(event_chain.url) as proxy:
        proxy.rules["eth_getLogs"] = lambda parameters, result: (
            refusal("exceed maximum block range: 7", -32701) if span(parameters) > 7 else result
        )
        assert fill(helper_of(engine, proxy.url)) == 3
    ranges = waiting_ranges(engine)
    assert len(ranges) > 6
    assert [first for first, _, _ in ranges[1:]] == [last + 1 for _, last, _ in ranges[:-1]]
    catch_up()
    assert_exact(engine, store, event_chain)


def span(parameters):
    first, last = range_of(parameters)
    return last - first + 1


def test_worker_waits_while_a_helper_reads_and_goes_on_when_its_lease_ends(
    event_chain, generator, engine, store, follow, monkeypatch
):
    monkeypatch.setattr("bilateral.index.chain.follow._MOST_SECONDS", 0.2)
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    ranges = BackfillRanges(engine, CHAIN_ID, REGISTRIES)
    claim = ranges.claim("dead", 150, BLOCKS)
    follower = follow()
    for _ in range(3):
        step = follower.step()
    assert (step.outcome, step.block) == (Outcome.ADVANCED, claim.first - 1)
    with engine.begin() as connection:
        connection.execute(update(backfill_range).values(lease_until=1))
    while follower.step().outcome is not Outcome.WAITED:
        pass
    assert_exact(engine, store, event_chain)
    with pytest.raises(RangeLostError):
        ranges.renew("dead", claim)


def test_ranges_of_another_fork_are_not_stored(event_chain, generator, engine, store, follow):
    grow(event_chain, generator, 40, gap=1)
    begin(store, event_chain)
    follower = follow()
    fill(helper_of(engine, event_chain.url, blocks=15))
    event_chain.rpc("anvil_rollback", 182)  # to block 28, among the ranges
    grow(event_chain, generator, 30, gap=1)
    while follower.step().outcome is not Outcome.WAITED:
        pass
    assert waiting_ranges(engine) == []
    assert_exact(engine, store, event_chain)


def test_range_after_another_block_is_dropped(event_chain, engine, store):
    begin(store, event_chain)
    ranges = BackfillRanges(engine, CHAIN_ID, REGISTRIES)
    claim = ranges.claim("helper", 150, BLOCKS)
    end = Block(claim.last, bytes(32), 0)
    ranges.fill("helper", claim, Block(claim.first - 1, b"\1" * 32, 0), Batch(end, {}, [], 310))
    assert ranges.next(Block(claim.first - 1, b"\2" * 32, 0), 310, None) == Next()
    assert waiting_ranges(engine) == []


def test_range_of_another_helper_is_neither_renewed_nor_released(event_chain, engine, store):
    begin(store, event_chain)
    ranges = BackfillRanges(engine, CHAIN_ID, REGISTRIES)
    claim = ranges.claim("helper", 150, BLOCKS)
    with pytest.raises(RangeLostError):
        ranges.renew("another", claim)
    ranges.release("another", claim)
    assert waiting_ranges(engine) == [(claim.first, claim.last, True)]


def test_ranges_for_other_registries_are_not_stored(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    few = {address: kind for address, kind in REGISTRIES.items() if kind is not Registry.IDENTITY}
    ranges = BackfillRanges(engine, CHAIN_ID, few)
    claim = ranges.claim("other", 150, BLOCKS)
    before, end = (Block(number, bytes(32), 0) for number in (claim.first - 1, claim.last))
    ranges.fill("other", claim, before, Batch(end, {}, [], 310))
    catch_up()
    assert_exact(engine, store, event_chain)


def test_range_of_another_format_is_dropped(event_chain, engine, store, monkeypatch):
    begin(store, event_chain)
    ranges = BackfillRanges(engine, CHAIN_ID, REGISTRIES)
    claim = ranges.claim("helper", 150, BLOCKS)
    before, end = (Block(number, bytes(32), 0) for number in (claim.first - 1, claim.last))
    ranges.fill("helper", claim, before, Batch(end, {}, [], 310))
    assert ranges.next(before, 310, None).batch == Batch(end, {}, [], 310)
    monkeypatch.setattr("bilateral.index.store.backfill_ranges.FORMAT", 99)
    assert BackfillRanges(engine, CHAIN_ID, REGISTRIES).next(before, 310, None) == Next()
    assert waiting_ranges(engine) == []


def test_helper_that_is_told_to_stop_gives_its_range_up(event_chain, generator, engine, store):
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    stop = threading.Event()
    helper = helper_of(engine, event_chain.url, stop=stop)
    stop.set()
    helper.step()
    assert waiting_ranges(engine) == []


def test_helper_whose_node_fails_gives_its_range_up(event_chain, generator, engine, store):
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    with Proxy(event_chain.url) as proxy:
        proxy.rules["eth_getLogs"] = lambda *_: refusal("you may not read logs", -32001, status=403)
        helper_of(engine, proxy.url).step()
    assert waiting_ranges(engine) == []


def test_many_ranges_that_wait_keep_helpers_from_reading_more(event_chain, generator, engine, store, monkeypatch):
    monkeypatch.setattr("bilateral.index.store.backfill_ranges._MOST_RANGES", 2)
    monkeypatch.setattr("bilateral.index.store.backfill_ranges.FEW_BLOCKS", 20)
    grow(event_chain, generator, 100, 1)
    begin(store, event_chain)
    helper = helper_of(engine, event_chain.url)
    assert [helper.step() for _ in range(3)] == [Progress.FILLED, Progress.FILLED, Progress.WAITED]


def test_helper_is_done_when_few_blocks_are_left(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 10)
    catch_up()
    assert helper_of(engine, event_chain.url).step() is Progress.DONE


def test_status_counts_the_ranges_of_helpers(event_chain, generator, engine, store):
    grow(event_chain, generator, 60)
    begin(store, event_chain)
    fill(helper_of(engine, event_chain.url, blocks=70))
    BackfillRanges(engine, CHAIN_ID, REGISTRIES).claim("another", 1_000, 10)
    (status,) = chain_statuses(engine)
    assert (status.ranges_claimed, status.ranges_filled) == (1, 2)


def test_helper_of_a_chain_that_no_worker_began_is_refused(event_chain, engine):
    with pytest.raises(NotBegunError, match="chain 31337 is not in the database yet: start bilateral index run"):
        helper_of(engine, event_chain.url)


def test_helper_with_other_registries_is_refused(event_chain, generator, engine, store):
    grow(event_chain, generator, 1)
    begin(store, event_chain)
    with engine.begin() as connection:
        connection.execute(schema.registry.delete().where(schema.registry.c.kind == Registry.VALIDATION.value))
    with pytest.raises(OtherRegistriesError, match="with other registries: it lacks"):
        helper_of(engine, event_chain.url)


def test_helper_with_a_node_of_another_chain_is_refused(event_chain, settled_chain, generator, engine, store):
    grow(event_chain, generator, 1)
    begin(store, event_chain, 2)
    with pytest.raises(OtherChainError, match="has another block 2 of chain 31337 than the database"):
        helper_of(engine, settled_chain.url)


def test_packed_batch_holds_integers_of_every_size_and_all_bytes():
    (table,) = [table for table in schema.EVENT_TABLES.values() if table.name == "metadata_set"]
    numbers = (0, 2**63 - 1, 2**63, 2**256 - 1)
    rows = [
        (CHAIN_ID, 7, index, b"\0" * 32, 1, b"\xff" * 32, "0x1", number, b"\1" * 32, "key \N{SNOWMAN}", b"\0\xff", None)
        for index, number in enumerate(numbers)
    ]
    batch = Batch(Block(9, b"\2" * 32, 3), {table: rows}, [Block(8, b"\3" * 32, 2)], 50, 40, 1_000)
    assert unpacked_batch(packed_batch(batch), 50, 40) == batch
    few = Batch(batch.end, {table: rows[:2]}, [], 50, 40)
    assert unpacked_batch(packed_batch(few), 50, 40) == few


def help_until_killed(database, url):
    """Help, in a process of its own."""
    engine = open_database(database)
    while True:
        try:
            helper = helper_of(engine, url, blocks=15)
            while True:
                helper.step()
        except NotBegunError:
            time.sleep(0.01)


def follow_until_killed(database, url):
    """Follow the chain, in a process of its own."""
    follower = followers_of(open_database(database), url)
    while True:
        follower.step()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [3])
def test_helpers_and_workers_killed_at_any_moment_leave_the_tables_of_one_worker(
    event_chain, generator, engine, store, database_url, catch_up, of_one_worker, seed
):
    moments = random.Random(seed)  # noqa: S311  # reproducible, not secret
    grow(event_chain, generator, 130, 10)
    begin(store, event_chain)
    works = (help_until_killed, help_until_killed, follow_until_killed)
    for _ in range(3):
        processes = [CONTEXT.Process(target=work, args=(database_url, event_chain.url)) for work in works]
        for process in processes:
            process.start()
        before = waiting_ranges(engine), store.cursor()
        end = time.monotonic() + 30
        while before == (waiting_ranges(engine), store.cursor()) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.1))
        for process in moments.sample(processes, 3):
            process.kill()
            process.join()
    with engine.begin() as connection:  # the leases of the dead would end after a minute
        connection.execute(update(backfill_range).values(lease_until=1))
    catch_up()
    assert waiting_ranges(engine) == []
    assert all_rows(engine) == of_one_worker()
    assert_exact(engine, store, event_chain)

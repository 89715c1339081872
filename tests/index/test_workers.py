"""Workers that run at once, are killed, or live through anything: the tables hold what the chain says."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from unittest.mock import Mock

import pytest

from bilateral.index.errors import CursorMovedError
from bilateral.index.log import background_writes as behind
from bilateral.index.log.batches import Batch, Block
from tests.index.chaos import MANY_LOGS, ROWS_AT_ONCE, Round, work
from tests.index.comparison import assert_exact
from tests.index.proxy import Proxy
from tests.processes import CONTEXT


def grow(event_chain, generator, blocks, logs=5):
    for _ in range(blocks):
        event_chain.mine(generator.logs(logs))


def started(database_url, event_chain, number):
    workers = [CONTEXT.Process(target=work, args=(database_url, [event_chain.url])) for _ in range(number)]
    for worker in workers:
        worker.start()
    return workers


def killed(workers):
    for worker in workers:
        worker.kill()
        worker.join()


def wait_for(store, block):
    end = time.monotonic() + 300
    while (cursor := store.cursor()) is None or cursor.number < block:
        assert time.monotonic() < end, f"block {block} is not indexed within 300 seconds"
        time.sleep(0.01)


def test_two_processes_that_start_at_once_store_nothing_twice(event_chain, generator, engine, store, database_url):
    grow(event_chain, generator, 30, logs=10)
    workers = started(database_url, event_chain, 2)
    try:
        wait_for(store, 30)
        grow(event_chain, generator, 10)
        wait_for(store, 40)
    finally:
        killed(workers)
    assert_exact(engine, store, event_chain)


def test_a_worker_killed_at_any_moment_leaves_what_another_one_completes(
    event_chain, generator, engine, store, database_url, catch_up
):
    moments = random.Random(11)  # noqa: S311  # reproducible, not secret
    event_chain.rpc("anvil_mine", hex(150))
    for _ in range(3):
        grow(event_chain, generator, 10, logs=40)
        workers = started(database_url, event_chain, 1)
        before = store.cursor()
        while store.cursor() == before:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.05))
        killed(workers)
        event_chain.rpc("anvil_rollback", 5)
    catch_up()
    assert_exact(engine, store, event_chain)


def test_a_worker_with_an_old_cursor_stores_nothing(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 3)
    catch_up()
    old, new = Block(2, bytes(32), 0), Block(4, b"\1" * 32, 0)
    with pytest.raises(CursorMovedError, match="away from block 2"):
        store.append(old, Batch(new, {}, [new], 4))
    with pytest.raises(CursorMovedError, match="away from block 2"):
        store.roll_back(old, Block(1, bytes(32), 0))
    assert_exact(engine, store, event_chain)


def test_a_reorganisation_while_no_worker_runs_is_found_by_the_next_one(event_chain, generator, engine, store, follow):
    grow(event_chain, generator, 20)
    follow().step()
    event_chain.rpc("anvil_rollback", 8)
    grow(event_chain, generator, 3)
    new = follow()
    while store.cursor().number != 15:
        new.step()
    assert_exact(engine, store, event_chain)


def test_only_some_hashes_of_deep_blocks_are_kept_and_the_first_one_stays(event_chain, store, catch_up):
    for _ in range(6):
        event_chain.rpc("anvil_mine", hex(100))
        catch_up()
    kept = [block.number for block in store.checkpoints(before=10_000)][::-1]
    assert kept[0] == -1
    assert len([number for number in kept if number <= 600 - 128]) < 10
    assert max(after - before for before, after in pairwise(kept)) <= 257


@pytest.mark.parametrize("seed", [1])
def test_forty_steps_of_chaos_leave_no_row_missing_stale_or_double(event_chain, database_url, seed, monkeypatch):
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (0.05,))
    monkeypatch.setattr(behind, "_MANY", MANY_LOGS)
    monkeypatch.setattr(behind, "_ROWS_AT_ONCE", ROWS_AT_ONCE)
    monkeypatch.setattr(behind, "_BackgroundRows", made := Mock(wraps=behind._BackgroundRows))
    monkeypatch.setattr(behind, "Writer", writers := Mock(wraps=behind.Writer))
    with Proxy(event_chain.url) as proxy:
        played = Round(seed, database_url, event_chain, proxy)
        played.run(40)
        played.close()
    assert played.happened["comparisons"] == 2
    assert played.happened["reorganise"] > 0
    is_postgres = database_url.startswith("postgresql")
    assert made.called == is_postgres  # a second connection read for some transactions
    patience = [entry.args[1] for entry in writers.call_args_list]
    assert any(patience) == is_postgres  # some began while others were read

"""Work that asks a node has threads of its own, and a limit."""

from __future__ import annotations

import threading

import anyio
import pytest
from anyio import to_thread

from bilateral.api.answers import ProblemError
from bilateral.api.load import AT_ONCE, MOST_UNDER_WAY, NodeWork


def test_work_up_to_the_limit_runs_and_one_more_is_refused():
    go_on, done = threading.Event(), []

    async def run():
        work = NodeWork()

        async def one():
            done.append(await work.run(go_on.wait, 60))

        async with anyio.create_task_group() as group:
            for _ in range(MOST_UNDER_WAY):
                group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(ProblemError) as refused:
                await work.run(go_on.wait)
            assert (refused.value.status, refused.value.code) == (503, "nodes_busy")
            assert refused.value.headers["Retry-After"] == "5"
            assert await to_thread.run_sync(lambda: "read") == "read"  # the threads of queries are free
            go_on.set()
        assert await work.run(lambda: "again") == "again"

    anyio.run(run)
    assert done == [True] * MOST_UNDER_WAY
    assert AT_ONCE < MOST_UNDER_WAY


def test_work_that_fails_leaves_its_place():
    async def run():
        work = NodeWork()
        for _ in range(MOST_UNDER_WAY + 1):
            with pytest.raises(ZeroDivisionError):
                await work.run(lambda: 1 // 0)

    anyio.run(run)

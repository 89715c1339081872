"""Apache Spark gives the analysis of the arrays, also if a worker or the client is killed in the middle of it.

The workers of Sail are threads of its server, so that all of them are lost together.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from bench.trust.engines import compare
from bench.trust.servers import SPARK, running_sail, running_spark
from bilateral.core.errors import NodeUnreachableError
from bilateral.trust import runners
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.results import Results
from bilateral.trust.runs import Run
from tests.helpers import free_port
from tests.trust.conftest import attacked_world, same

pytestmark = pytest.mark.nightly

RESTART_SECONDS = 120
"""The time in which Spark puts another worker in place of a lost one. On a busy machine a JVM starts in 15 seconds."""

KILLED = """
import os, signal, sys
from pathlib import Path
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.runs import Run

tell = lambda progress: progress.step == "cells 3" and os.kill(os.getpid(), signal.SIGKILL)
database = Relational.open(sys.argv[1])
Engine(steps=database, run=Run(Path(sys.argv[2]), tell)).fit(database.tables())
"""
"""An analysis that is killed between steps on the server."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A server of Spark with two workers, each a process."""
    if not (SPARK / ".installed").exists():
        pytest.skip("make spark installs Spark and Java")
    with running_spark(tmp_path_factory.mktemp("spark"), free_port()) as server:
        yield server


def kill_worker(server):
    """Kill the worker that runs longest, and wait until another one has its place."""
    before = server.workers()
    lost = min(before, key=lambda worker: worker.create_time())
    lost.kill()
    end = time.monotonic() + RESTART_SECONDS
    while lost.is_running() or len(server.workers()) < len(before):
        assert time.monotonic() < end, "no worker came in place of the lost one"
        time.sleep(0.2)


def test_an_analysis_survives_the_loss_of_each_worker(spark, tmp_path, monkeypatch):
    tables = attacked_world()
    tables.write(tmp_path)
    reader = tables.feedback["client"][0].as_py()
    rounds, own_round = [], Relational._round

    def tell(progress):
        if progress.step == "degrees":  # the distinct pairs are kept, for the cells
            kill_worker(spark)

    def round_with_a_loss(*arguments):
        rounds.append(1)
        if len(rounds) == 5:
            kill_worker(spark)
        return own_round(*arguments)

    monkeypatch.setattr(Relational, "_round", round_with_a_loss)
    first = {worker.pid for worker in spark.workers()}
    database = Relational.open(f"{spark.url}/#{tmp_path}")
    engine = Engine(steps=database, run=Run(tell=tell)).fit(database.tables(), trusted=[reader])
    same(Results.of(Engine().fit(tables, trusted=[reader])), Results.of(engine))
    assert len(engine.findings_) > 10
    assert len(rounds) > 5
    assert not first & {worker.pid for worker in spark.workers()}
    database.runner.close()


def test_a_killed_client_continues_with_the_same_answer(spark, tmp_path):
    tables = attacked_world()
    tables.write(tmp_path / "tables")
    url = f"{spark.url}/#{tmp_path / 'tables'}"
    command = [sys.executable, "-c", KILLED, url, tmp_path / "kept"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL  # noqa: S603
    database, told = Relational.open(url), []
    engine = Engine(steps=database, run=Run(tmp_path / "kept", told.append)).fit(database.tables())
    kept = [progress.step for progress in told if progress.is_kept]
    assert kept == ["first transfers", "degrees", "cells 1", "cells 2", "cells 3"]
    same(Results.of(Engine().fit(tables)), Results.of(engine))
    database.runner.close()


def test_an_analysis_continues_on_the_next_sail_after_one_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(runners, "_RETRIES", 0)
    tables, told = attacked_world(), []
    tables.write(tmp_path / "tables")
    kept = tmp_path / "kept"

    def analysed(server, tell):
        database = Relational.open(f"{server.url}/#{tmp_path / 'tables'}")
        try:
            return Results.of(Engine(steps=database, run=Run(kept, tell)).fit(database.tables()))
        finally:
            database.runner.close()

    for name in ("first", "next"):
        (tmp_path / name).mkdir()
    with running_sail(tmp_path / "first", free_port()) as server:

        def kill(progress):
            if progress.step == "cells 3":
                server.process.kill()
                server.process.wait()

        with pytest.raises(NodeUnreachableError, match=r"^the Spark Connect server failed"):
            analysed(server, kill)
    with running_sail(tmp_path / "next", free_port()) as server:
        results = analysed(server, told.append)
    assert [progress.step for progress in told if progress.is_kept][-1] == "cells 3"
    same(Results.of(Engine().fit(tables)), results)


def test_a_client_takes_the_memory_that_it_is_given_at_any_size():
    analyses = list(compare([3_000_000], memory=1.0))
    arrays, *engines = (analysis.client_memory for analysis in analyses)
    assert arrays > 1.3e9
    assert all(memory <= 1e9 for memory in engines)


def test_engines_are_compared_by_cost_and_answer():
    analyses = list(compare([2000]))
    assert [analysis.engine for analysis in analyses] == ["arrays", "DuckDB", "Sail"]
    assert len({analysis.answer for analysis in analyses}) == 1
    assert all(analysis.client > 0 and analysis.client_memory > 2**26 for analysis in analyses)
    assert analyses[-1].server > 0
    assert analyses[-1].server_memory > 2**26

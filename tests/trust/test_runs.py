"""A run that is lost continues with its finished steps, and gives the answer of a run that was not lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust import checkpoints
from bilateral.trust.detectors.links import Links
from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.results import Results
from bilateral.trust.reviews import Reviews
from bilateral.trust.runs import Run
from bilateral.trust.tables import COLUMNS, Tables
from tests.trust.conftest import address_of, addressed

CLIENT = address_of("client1")
STEPS = [
    *("first transfers", "degrees", *(f"cells {number}" for number in range(1, 8)), "co-targeting", "links"),
    *("wash payments", "blocks", "lockstep", "retaliation", "values", "suspicion", "scores", "trust"),
]


@pytest.fixture
def tables(market):
    """A market with a ring that is found, and a payment that came back."""
    market.agent(99, "boss", ts=5.0)
    for number in range(8):
        market.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
        market.feedback(f"sybil{number}", 99, 100, 7000.0 + number)
    market.payment("sybil0", "boss", 99)
    market.transfer("boss", "sybil0", 1.0, 950.0)
    return addressed(market.tables())


def analysed(tables, run):
    """Return the results of a run with a reader's list."""
    return Results.of(Engine(run=run).fit(tables, trusted=[CLIENT]))


KILLED = """
import os, signal, sys
from pathlib import Path
from bilateral.trust.engine import Engine
from bilateral.trust.runs import Run
from bilateral.trust.tables import Tables

tell = lambda progress: progress.step == "links" and os.kill(os.getpid(), signal.SIGKILL)
tables, kept = map(Path, sys.argv[1:3])
Engine(run=Run(kept, tell)).fit(Tables.read(tables), trusted=sys.argv[3:])
"""
"""An analysis that is killed once the findings of links are kept."""


def interrupt(*_):
    """Do as Ctrl-C does."""
    raise KeyboardInterrupt


def lost(tables, folder, step):
    """Lose a run once a step is kept."""

    class LostError(Exception):
        pass

    def tell(progress):
        if progress.step == step:
            raise LostError

    with pytest.raises(LostError):
        analysed(tables, Run(folder, tell))


def kept(tables, folder, **options):
    """Analyse tables, and return the steps that came from checkpoints."""
    told = []
    Engine(run=Run(folder, told.append), **options).fit(tables, trusted=[CLIENT])
    return [progress.step for progress in told if progress.is_kept]


def same(left, right):
    """Check that two results are equal to the last bit."""
    return all(getattr(left, field.name).equals(getattr(right, field.name)) for field in fields(left))


def test_a_killed_run_continues_with_the_same_answer(tables, tmp_path):
    tables.write(tmp_path / "tables")
    command = [sys.executable, "-c", KILLED, tmp_path / "tables", tmp_path / "kept", CLIENT]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL  # noqa: S603
    tables, told = Tables.read(tmp_path / "tables"), []
    results = analysed(tables, Run(tmp_path / "kept", told.append))
    assert [progress.step for progress in told if progress.is_kept] == ["first transfers", "degrees", *STEPS[9:11]]
    assert results.findings.num_rows
    assert same(results, analysed(tables, Run()))


def test_each_answer_survives_its_checkpoint(tables, tmp_path):
    before = analysed(tables, Run(tmp_path))
    assert same(analysed(tables, Run(tmp_path)), before)
    assert kept(tables, tmp_path) == [step for step in STEPS if not step.startswith("cells")]


def test_an_analysis_in_a_database_continues_on_a_new_connection(tables, tmp_path):
    connection = ibis.duckdb.connect()
    for name in COLUMNS:
        connection.create_table(name, getattr(tables, name))
    with pytest.raises(KeyboardInterrupt):
        Engine(steps=Relational(connection), run=Run(tmp_path, interrupt)).fit(tables)
    told = []
    engine = Engine(steps=Relational(connection), run=Run(tmp_path, told.append)).fit(tables)
    assert [progress.step for progress in told if progress.is_kept] == ["first transfers"]
    assert same(Results.of(engine), Results.of(Engine().fit(tables)))


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 2.5},
        {"learned": False},
        {"detectors": [Links()]},
        {"detectors": [WashPayments()]},
    ],
)
def test_other_options_use_no_checkpoint(tables, tmp_path, options):
    lost(tables, tmp_path, "first transfers")
    assert kept(tables, tmp_path, **options) == []


def test_other_rows_use_no_checkpoint(tables, tmp_path):
    lost(tables, tmp_path, "first transfers")
    for column, value in (("value", 61.0), ("payment_tx", "0x01"), ("ts", None)):
        feedback = tables.feedback
        values = pa.array([value, *feedback[column].to_pylist()[1:]], feedback[column].type)
        feedback = feedback.set_column(feedback.column_names.index(column), column, values)
        assert kept(replace(tables, feedback=feedback), tmp_path) == []


def test_another_list_or_review_uses_no_checkpoint(tables, tmp_path):
    lost(tables, tmp_path, "first transfers")
    told = []
    reviews = Reviews.of([{"account": address_of("boss"), "verdict": "innocent", "reason": "A tester."}])
    Engine(run=Run(tmp_path, told.append)).fit(tables, trusted=[address_of("client2")])
    Engine(run=Run(tmp_path, told.append)).fit(tables, reviews, trusted=[CLIENT])
    assert not any(progress.is_kept for progress in told)


def test_other_code_uses_no_checkpoint(tables, tmp_path, monkeypatch):
    lost(tables, tmp_path, "first transfers")
    monkeypatch.setattr(checkpoints, "version", lambda library: f"{library} of tomorrow")
    assert kept(tables, tmp_path) == []


def test_values_behind_a_null_do_not_count(tables, tmp_path):
    lost(tables, tmp_path, "first transfers")
    feedback = tables.feedback
    empty = pc.if_else(pc.equal(feedback["id"], -1), "0x01", feedback["payment_tx"])
    same_rows = feedback.set_column(feedback.column_names.index("payment_tx"), "payment_tx", empty)
    assert kept(replace(tables, feedback=same_rows), tmp_path) == ["first transfers"]


def test_an_interrupted_checkpoint_leaves_no_file(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        analysed(tables, Run(tmp_path))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_damaged_checkpoint_is_computed_again(tables, tmp_path):
    lost(tables, tmp_path, "degrees")
    (folder,) = tmp_path.iterdir()
    file = folder / "degrees.npz"
    file.write_bytes(file.read_bytes()[:-30])
    (folder / "rest.part").touch()
    assert kept(tables, tmp_path) == ["first transfers"]
    assert not (folder / "rest.part").exists()


def test_a_finished_run_removes_its_checkpoints_alone(tables, tmp_path):
    other = replace(tables, transfers=tables.transfers.slice(1))
    lost(other, tmp_path / "kept", "first transfers")
    run = Run(tmp_path / "kept")
    analysed(tables, run)
    run.close()
    assert kept(other, tmp_path / "kept") == ["first transfers"]


def test_a_file_as_folder_of_checkpoints_is_refused(tables, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgumentError, match="is not a folder: name one for checkpoints"):
        analysed(tables, Run(tmp_path / "file"))


def test_the_state_after_each_step_is_told(tables):
    told = []
    analysed(tables, Run(tell=told.append))
    assert [progress.step for progress in told] == STEPS
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    assert all(progress.left > 0 for progress in told)
    assert str(told[-1]).startswith("trust: 87% done after ")


def test_results_are_written_whole_or_not_at_all(tables, tmp_path, monkeypatch):
    results = analysed(tables, Run())
    results.write(tmp_path / "old")
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    write = parquet.write_table

    def interrupted(table, path, **options):
        write(table, path, **options)
        if Path(path).stem == "findings":
            interrupt()

    monkeypatch.setattr(parquet, "write_table", interrupted)
    for folder in ("old", "new"):
        with pytest.raises(KeyboardInterrupt):
            replace(results, agents=results.agents.slice(1)).write(tmp_path / folder)
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before
    assert not (tmp_path / "new").exists()

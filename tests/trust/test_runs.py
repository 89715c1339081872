"""The steps of an analysis are reported as they end, and results are written whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from bilateral.trust.engine import Engine
from bilateral.trust.results import Results
from bilateral.trust.runs import Run
from tests.trust.conftest import address_of, addressed

CLIENT = address_of("client1")
STEPS = [
    *("first transfers", "degrees", "co-targeting", "links", "wash payments", "blocks"),
    *("lockstep", "retaliation", "suspicion", "scores", "trust"),
]


@pytest.fixture
def tables(market):
    return addressed(market.tables())


def analysed(tables, run):
    """Return the results of a run with a reader's list."""
    return Results.of(Engine(run=run).fit(tables, trusted=[CLIENT]))


def test_the_state_after_each_step_is_told(tables):
    told = []
    analysed(tables, Run(told.append))
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
            raise KeyboardInterrupt

    monkeypatch.setattr(parquet, "write_table", interrupted)
    for folder in ("old", "new"):
        with pytest.raises(KeyboardInterrupt):
            replace(results, agents=results.agents.slice(1)).write(tmp_path / folder)
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before
    assert not (tmp_path / "new").exists()

"""Arrays on disk are those of memory, stay within their limit, and leave nothing behind."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.trust.out_of_core import analyse, make
from bilateral.core.errors import InvalidArgumentError
from bilateral.trust import copies, disk, standing_rows
from bilateral.trust.copies import joined_texts, moved
from bilateral.trust.disk import Budget, DiskArrays
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.results import Results
from tests.trust.conftest import attacked_world, same

_PLENTY = 2**40
_MILLION = 2**20


def on_disk(folder):
    """The bytes of files of this process that are in a folder, whether they have a name or not."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    sizes = [
        int(line.split()[0].split("-")[1], 16) - int(line.split("-")[0], 16) for line in lines if str(folder) in line
    ]
    return sum(sizes)


def resident():
    """The bytes of pages of files in this process's memory."""
    return int(Path("/proc/self/statm").read_text().split()[2]) * resource.getpagesize()


def test_large_arrays_are_in_files_and_small_ones_in_memory(tmp_path):
    with DiskArrays(tmp_path, _PLENTY):
        small = np.ones(_MILLION - 1, np.uint8)
        assert on_disk(tmp_path) == 0
        large = np.ones(_MILLION, np.uint8)
        assert on_disk(tmp_path) == _MILLION
    assert small.all()
    assert large.all()


def test_arrays_stay_valid_after_the_context_and_new_ones_are_in_memory(tmp_path):
    with DiskArrays(tmp_path, _PLENTY):
        before = np.arange(_MILLION)
    size = on_disk(tmp_path)
    after = before + 1
    assert on_disk(tmp_path) == size
    assert np.array_equal(after - 1, before)


def test_a_file_is_used_again_and_zeros_are_zeros(tmp_path):
    with DiskArrays(tmp_path, _PLENTY):
        first = np.full(_MILLION, 7)
        size = on_disk(tmp_path)
        del first
        assert not np.zeros(_MILLION, np.int64).any()
        assert on_disk(tmp_path) == size


def test_files_of_freed_arrays_are_removed_beyond_twice_the_limit(tmp_path):
    with DiskArrays(tmp_path, _MILLION):
        arrays = [np.ones(_MILLION, np.uint8) for _ in range(3)]
        del arrays[-1], arrays[-1]
        assert on_disk(tmp_path) == 3 * _MILLION
        del arrays[-1]
        assert on_disk(tmp_path) == 0


def test_arrays_that_grow_and_shrink_keep_their_values(tmp_path):
    with DiskArrays(tmp_path, _PLENTY):
        values = np.arange(_MILLION)
        for size in (3 * _MILLION, 2 * _MILLION, 10):
            values.resize(size, refcheck=False)
        assert values.tolist() == list(range(10))
        small = np.arange(10)
        small.resize(_MILLION, refcheck=False)
        assert small[:10].tolist() == list(range(10))


def test_pages_beyond_the_limit_leave_the_memory_and_come_back(tmp_path):
    limit = resident() + 32 * _MILLION
    with DiskArrays(tmp_path, limit):
        arrays = [np.full(16 * _MILLION, number, np.uint8) for number in range(8)]
        deadline = time.monotonic() + 30
        while resident() > limit and time.monotonic() < deadline:
            time.sleep(0.01)
        assert resident() <= limit
        assert all((values == number).all() for number, values in enumerate(arrays))


def test_more_arrays_than_the_kernel_lends_memory_for_fit(tmp_path):
    program = (
        "import resource, sys; from pathlib import Path; import numpy as np, psutil\n"
        "from bilateral.trust.disk import DiskArrays\n"
        "held = psutil.Process().memory_full_info().data + 2**27\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (held, held))\n"
        "try: np.ones(2**28, np.uint8); sys.exit('memory has no limit')\n"
        "except MemoryError: pass\n"
        "with DiskArrays(Path(sys.argv[1]), 2**26): print(sum(int(np.ones(2**28, np.uint8).sum()) for _ in range(2)))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == f"{2**29}\n"  # noqa: S603
    assert list(tmp_path.iterdir()) == []


def test_arrays_outlive_the_object_that_put_them_on_disk(tmp_path):
    program = (
        "import gc, sys; from pathlib import Path; import numpy as np\n"
        "from bilateral.trust.disk import DiskArrays\n"
        "with DiskArrays(Path(sys.argv[1]), 2**30): first, last = np.ones(2**21), np.ones(2**21)\n"
        "gc.collect()\n"
        "del first\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, capture_output=True)  # noqa: S603
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_is_one_clear_error_and_arrays_before_it_stay(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with (
            pytest.raises(
                InvalidArgumentError, match=rf'^the disk of "{tmp_path}" has no room for the arrays: File too'
            ),
            DiskArrays(tmp_path, _PLENTY),
        ):
            values = np.ones(2 * _MILLION, np.uint8)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2 * _MILLION, limits[1]))
            np.ones(2 * _MILLION, np.uint8)
            np.ones(3 * _MILLION, np.uint8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert values.all()


def test_an_analysis_on_disk_is_that_of_memory(tmp_path, monkeypatch):
    tables = attacked_world()
    monkeypatch.setattr(copies, "_STRETCH", 50)
    monkeypatch.setattr(standing_rows, "_STRETCH", 50)
    tables.write(tmp_path / "tables")
    reader = tables.feedback["client"][0].as_py()
    monkeypatch.setattr(disk, "_LARGE", 512)
    budget = Budget.of(1, tmp_path)
    with DiskArrays(budget.scratch, budget.arrays):
        results = Results.of(Engine().fit(Relational.read_files(str(tmp_path / "tables"), budget), trusted=[reader]))
        assert on_disk(tmp_path) > 0
    assert results.buyers["address"].num_chunks > 1
    assert results.standings["reasons"].num_chunks > 2
    monkeypatch.undo()
    same(Results.of(Engine().fit(tables, trusted=[reader])), results)


@pytest.mark.parametrize("in_database", [False, True])
def test_a_market_is_analysed_out_of_core_as_in_memory(tmp_path, in_database):
    file, told = tmp_path / "market.duckdb", []
    connection = ibis.duckdb.connect(file)
    make(connection, 5000)
    whole = Engine().fit(Relational(connection).tables())
    connection.disconnect()
    assert len(whole.context_.ledger.opinions) == 5000
    analyse(file, tmp_path, 1, told.append, in_database=in_database)
    same(Results.of(whole), Results.read(tmp_path / "results"))
    assert [line.rpartition(": ")[2] for line in told][:: len(told) - 1] == ["tables", "results"]


def test_folders_that_are_not_tables_are_refused(tmp_path):
    budget = Budget.of(1, tmp_path)
    with pytest.raises(InvalidArgumentError, match=r'^no agents\.parquet in ".*": name a folder of tables$'):
        Relational.read_files(str(tmp_path), budget)
    with pytest.raises(
        InvalidArgumentError, match=r"^a limit of memory needs tables on this machine, or in a database$"
    ):
        Relational.read_files("s3://bucket/tables", budget)
    (tmp_path / "agents.parquet").write_text("no table")
    with pytest.raises(InvalidArgumentError, match=r"^agents\.parquet is not a Parquet table: "):
        Relational.read_files(str(tmp_path), budget)


def test_missing_files_are_empty_tables_and_a_table_may_be_a_folder_of_files(tmp_path):
    tables = attacked_world()
    tables.write(tmp_path)
    for name in ("feedback", "ratings", "validations", "transfers"):
        (tmp_path / f"{name}.parquet").unlink()
    (tmp_path / "agents.parquet").rename(tmp_path / "part.parquet")
    (tmp_path / "agents.parquet").mkdir()
    (tmp_path / "part.parquet").rename(tmp_path / "agents.parquet" / "part.parquet")
    read = Relational.read_files(str(tmp_path), Budget.of(1, tmp_path))
    assert read.agents["owner"].to_pylist() == tables.agents["owner"].to_pylist()
    assert read.payments["payer"].to_pylist() == tables.payments["payer"].to_pylist()
    assert read.feedback.num_rows == read.transfers.num_rows == 0


@given(st.lists(st.none() | st.text(max_size=5), max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_a_moved_array_is_equal_whatever_part_of_another_it_is(texts, start, count):
    for values in (
        pa.array(texts, pa.string()),
        pa.array([None if text is None else len(text) for text in texts], pa.int32()),
    ):
        part = values.slice(start, count)
        assert moved(part).equals(part)
        assert moved(part.dictionary_encode()).equals(part.dictionary_encode())


@given(st.lists(st.lists(st.text(max_size=4), max_size=6), max_size=6), st.integers(0, 3))
def test_joined_texts_are_all_texts_in_order(lists, start):
    parts = [pa.array(texts, pa.string()).slice(start) for texts in lists]
    assert joined_texts(parts).to_pylist() == [text for texts in lists for text in texts[start:]]

"""Pages of an SQLite file: a new file gets small ones, and a file keeps those that it has."""

from __future__ import annotations

import sqlite3

import pytest

from bilateral.index.log.database import open_database


@pytest.mark.parametrize(("made_with", "expected"), [(None, 4_096), (16_384, 16_384)])
def test_a_new_file_gets_small_pages_and_an_old_one_keeps_its_own(tmp_path, made_with, expected):
    file = tmp_path / "index.sqlite"
    if made_with is not None:
        with sqlite3.connect(file) as connection:
            connection.execute(f"PRAGMA page_size = {made_with}")
            connection.execute("VACUUM")
    engine = open_database(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA page_size").scalar_one() == expected
        pages = connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar_one()
        assert pages * expected == 256 * 1024**2
        assert connection.exec_driver_sql("PRAGMA journal_size_limit").scalar_one() == 256 * 1024**2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    engine.dispose()

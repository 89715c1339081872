"""Pages of an SQLite file: a new file gets large ones, and a file keeps those that it has."""

from __future__ import annotations

import sqlite3

import pytest

from bilateral.index.database import open_database


@pytest.mark.parametrize(("made_with", "expected"), [(None, 16_384), (4_096, 4_096)])
def test_a_new_file_gets_large_pages_and_an_old_one_keeps_its_own(tmp_path, made_with, expected):
    file = tmp_path / "index.sqlite"
    if made_with is not None:
        with sqlite3.connect(file) as connection:
            connection.execute(f"PRAGMA page_size = {made_with}")
            connection.execute("VACUUM")
    engine = open_database(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA page_size").scalar_one() == expected
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    engine.dispose()

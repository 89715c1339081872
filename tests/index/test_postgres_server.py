"""Tests that need PostgreSQL start one, or use the server that a variable names, and leave nothing on it."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.index.schemas import empty_schema
from tests.postgres import VARIABLE, running_postgres, with_driver


def asked(url, query):
    engine = create_engine(with_driver(url))
    with engine.connect() as connection:
        found = connection.execute(text(query)).scalars().all()
    engine.dispose()
    return found


def test_named_server_gets_a_database_of_its_own_and_loses_it_again(tmp_path, monkeypatch):
    folder = tmp_path / "unused"
    monkeypatch.delenv(VARIABLE, raising=False)
    with running_postgres(tmp_path / "named") as server:  # not the one of other tests: a checkpoint disturbs it
        monkeypatch.setenv(VARIABLE, server)
        before = set(asked(server, "SELECT datname FROM pg_database"))
        with running_postgres(folder) as url:
            (name,) = asked(url, "SELECT current_database()")
            assert name.startswith("bilateral_test_")
            assert name not in before
        assert set(asked(server, "SELECT datname FROM pg_database")) == before
    assert not folder.exists()  # no server was started


def test_a_transaction_that_a_test_left_open_fails_the_next_one_instead_of_stopping_it(postgres_template):
    engine = create_engine(postgres_template)
    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE chain"))
        with pytest.raises(OperationalError, match="lock timeout"):
            empty_schema(postgres_template, lock_timeout="50ms")
    engine.dispose()

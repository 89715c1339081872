"""Tests that need PostgreSQL start one, or use the server that a variable names, and leave nothing on it."""

from __future__ import annotations

from sqlalchemy import create_engine, text

from tests.postgres import VARIABLE, running_postgres, with_driver


def asked(url, query):
    engine = create_engine(with_driver(url))
    with engine.connect() as connection:
        found = connection.execute(text(query)).scalars().all()
    engine.dispose()
    return found


def test_named_server_gets_a_database_of_its_own_and_loses_it_again(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, postgres)
    before = set(asked(postgres, "SELECT datname FROM pg_database"))
    with running_postgres(tmp_path) as url:
        (name,) = asked(url, "SELECT current_database()")
        assert name.startswith("bilateral_test_")
        assert name not in before
    assert set(asked(postgres, "SELECT datname FROM pg_database")) == before
    assert list(tmp_path.iterdir()) == []  # no server was started

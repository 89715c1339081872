"""Tests that need PostgreSQL start one, or use the server that a variable names, and leave nothing on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.index.schemas import empty_schema
from tests.postgres import (
    VARIABLE,
    administer,
    dead_servers,
    running_postgres,
    running_server,
    server_folder,
    with_driver,
)

ENDED_BY_A_SIGNAL = """
import atexit, os, signal, sys
from tests.postgres import dead_servers, running_server, server_folder

def handle(*_):  # as Ape does
    atexit._run_exitfuncs()
    sys.exit(143)

signal.signal(signal.SIGTERM, handle)
with server_folder() as folder, running_server(folder / "data"):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except SystemExit:
        print(dead_servers())  # as pytest goes on
"""


def asked(url, query):
    engine = create_engine(with_driver(url))
    with engine.connect() as connection:
        values = connection.execute(text(query)).scalars().all()
    engine.dispose()
    return values


def test_named_server_gets_a_database_of_its_own_and_loses_it_again(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with running_postgres() as server:  # not the one of other tests: a checkpoint disturbs it
        monkeypatch.setenv(VARIABLE, server)
        monkeypatch.setattr("pgserver.get_server", None)  # no further one is started
        before = set(asked(server, "SELECT datname FROM pg_database"))
        with running_postgres() as url:
            (name,) = asked(url, "SELECT current_database()")
            assert name.startswith("bilateral_test_")
            assert name not in before
        assert set(asked(server, "SELECT datname FROM pg_database")) == before


def test_a_transaction_that_a_test_left_open_fails_the_next_one_instead_of_stopping_it(postgres_template):
    engine = create_engine(postgres_template)
    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE chain"))
        with pytest.raises(OperationalError, match="lock timeout"):
            empty_schema(postgres_template, lock_timeout="50ms")
    engine.dispose()


@pytest.mark.nightly
def test_server_outlives_a_signal_after_which_pytest_goes_on():
    command = [sys.executable, "-c", ENDED_BY_A_SIGNAL]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603  # ours
    assert done.stdout == "{}\n", done.stderr


def test_server_that_went_down_shows_its_log_and_runs_again():
    with (
        server_folder() as folder,
        running_server(folder / "first") as server,
        running_server(folder / "other") as other,
    ):
        process = server.get_postmaster_info().process
        os.kill(process.pid, signal.SIGQUIT)
        process.wait(60)
        ((name, words),) = dead_servers().items()
        assert name == folder / "first"
        assert f"process {process.pid} has ended" in words
        assert "received immediate shutdown request" in words
        assert asked(server.get_uri(), "SELECT 1") == asked(other.get_uri(), "SELECT 1") == [1]
        assert dead_servers() == {}


@pytest.mark.nightly
def test_server_outlives_a_further_session_of_pytest_that_closes_the_folders_of_the_first(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(tmp_path):\n    pass\n")
    with server_folder() as folder, running_server(folder / "data") as server:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, tmp_path]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=300)  # noqa: S603  # ours
        administer(server.get_uri(), "CHECKPOINT")
        assert dead_servers() == {}

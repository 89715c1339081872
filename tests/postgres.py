"""A PostgreSQL for tests: a server that the run starts, or a database of its own on a server that a variable names."""

from __future__ import annotations

import os
from contextlib import contextmanager
from uuid import uuid4

import pgserver
from pgserver import postgres_server
from sqlalchemy import NullPool, create_engine, make_url, text

_START = postgres_server.pg_ctl
postgres_server.pg_ctl = lambda *arguments, **options: _START(*arguments, **options | {"timeout": 120})
"""The package gives a server ten seconds to start: too few while all workers of a run compute."""

VARIABLE = "BILATERAL_TEST_POSTGRESQL"
"""The variable that names a server, such as `postgresql://postgres@localhost/postgres`."""


@contextmanager
def running_postgres(folder):
    """Run a PostgreSQL, and give its URL.

    Args:
        folder: A folder for a server that is started. Without the variable, each call starts one.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            forget_power_cuts(server.get_uri())
            yield server.get_uri()
        finally:
            server.cleanup()
        return
    database = f"bilateral_test_{uuid4().hex}"
    administer(named, f"CREATE DATABASE {database}")
    try:
        yield make_url(named).set(database=database).render_as_string(hide_password=False)
    finally:
        administer(named, f"DROP DATABASE {database} WITH (FORCE)")


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

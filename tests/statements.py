"""The statements that drivers send to databases. SQLAlchemy's own events do not tell of those that go past it."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import psycopg
from sqlalchemy import Pool, event

_READS = ("SELECT", "WITH")


@contextmanager
def noted_reads():
    """Collect the reading statements of all connections that are lent meanwhile, on both engines.

    Settings and transactions are left out, and so are the statements that SQLite runs within another one.
    """
    statements = []

    def note(statement):
        if statement.startswith(_READS):
            statements.append(statement)

    class Cursor(psycopg.Cursor):
        """A cursor of PostgreSQL that notes its statements."""

        def execute(self, query, *arguments, **options):
            note(query)
            return super().execute(query, *arguments, **options)

    def begin(driver, _record, _lent):
        if isinstance(driver, sqlite3.Connection):
            driver.set_trace_callback(note)
        else:
            driver.cursor_factory = Cursor

    def end(driver, _record):
        if isinstance(driver, sqlite3.Connection):
            driver.set_trace_callback(None)
        elif driver is not None:
            driver.cursor_factory = psycopg.Cursor

    event.listen(Pool, "checkout", begin)
    event.listen(Pool, "checkin", end)
    try:
        yield statements
    finally:
        event.remove(Pool, "checkout", begin)
        event.remove(Pool, "checkin", end)

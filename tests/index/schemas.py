"""Schemas of their own, for tests that share a server of PostgreSQL."""

from __future__ import annotations

from sqlalchemy import NullPool, create_engine, text


def make_schema(url, name):
    """Make a schema on the shared server, and return the URL whose tables are in it."""
    administer(url, f'CREATE SCHEMA "{name}"')
    return f"{with_driver(url)}&options=-csearch_path%3D{name}"


def administer(url, statement):
    """Run one statement outside of any transaction, on a connection of its own."""
    engine = create_engine(with_driver(url), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(statement))


def with_driver(url):
    return url.replace("postgresql://", "postgresql+psycopg://")

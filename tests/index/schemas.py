"""Schemas of their own, for tests that share a server of PostgreSQL."""

from __future__ import annotations

from sqlalchemy import NullPool, create_engine, make_url, text

from tests.postgres import administer, with_driver


def make_schema(url, name):
    """Make a schema on the shared server, and return the URL whose tables are in it."""
    administer(url, f'CREATE SCHEMA "{name}"')
    options = {"options": f"-csearch_path={name}"}
    return make_url(with_driver(url)).update_query_dict(options).render_as_string(hide_password=False)


def empty_schema(url, lock_timeout="30s"):
    """Delete the rows of all tables of a schema, but for the version of the tables.

    Args:
        url: The URL of the schema.
        lock_timeout: The longest wait for a transaction that a test left open. Then this fails.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = '{lock_timeout}'"))
        connection.execute(text("SET LOCAL session_replication_role = replica"))  # without a look at foreign keys
        connection.execute(
            text("""
                DO $$ DECLARE name text; BEGIN
                  FOR name IN SELECT oid::regclass FROM pg_class
                    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
                      AND relname <> 'alembic_version'
                  LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
                END $$
            """)
        )

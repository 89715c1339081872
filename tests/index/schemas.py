"""Schemas of their own, for tests that share a server of PostgreSQL."""

from __future__ import annotations

from sqlalchemy import make_url

from tests.postgres import administer, with_driver


def make_schema(url, name):
    """Make a schema on the shared server, and return the URL whose tables are in it."""
    administer(url, f'CREATE SCHEMA "{name}"')
    options = {"options": f"-csearch_path={name}"}
    return make_url(with_driver(url)).update_query_dict(options).render_as_string(hide_password=False)

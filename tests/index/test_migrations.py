"""The migrations form one line, the package knows all of them, and the last text of a view reaches old databases."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text

import bilateral.index.migrate
from bilateral.index import schema
from bilateral.index.database import connect_engine
from bilateral.index.migrate import upgrade_within
from bilateral.index.views import VIEWS, fingerprint


def migrations():
    """Return the modules of the migrations, the oldest first."""
    config = Config()
    config.set_main_option("script_location", str(Path(bilateral.index.migrate.__file__).with_name("migrations")))
    return [it.module for it in reversed(list(ScriptDirectory.from_config(config).walk_revisions()))]


def texts_of_views(connection):
    """Return the text of each view, as the engine stores it."""
    if connection.dialect.name == "sqlite":
        stored = "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
    else:
        stored = "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema()"
    return dict(connection.execute(text(stored)).tuples().all())


def test_the_migrations_form_one_line_that_the_package_knows():
    assert tuple(it.revision for it in migrations()) == schema.REVISIONS


def test_views_have_the_text_of_the_last_migration_that_replaces_them():
    noted = [it.VIEWS for it in migrations() if hasattr(it, "VIEWS")]
    assert noted[-1] == fingerprint(), "the text of a view changed: add a migration that replaces the views"


def test_old_database_gets_the_present_views(database_url):
    engine = connect_engine(database_url)
    with engine.begin() as connection:
        upgrade_within(connection, "0009")
        present = texts_of_views(connection)
        # The first text of the view has no plus signs. The other one lacks columns.
        former = {
            "feedback": VIEWS["feedback"].replace("+", ""),
            "rating": "SELECT chain_id, registry, client_id AS agent_id FROM client_rated",
        }
        for name, query in former.items():
            connection.exec_driver_sql(f'DROP VIEW "{name}"')
            connection.exec_driver_sql(f'CREATE VIEW "{name}" AS {query}')
        assert {name for name, found in texts_of_views(connection).items() if found != present[name]} == set(former)
    with engine.begin() as connection:
        upgrade_within(connection)
        assert texts_of_views(connection) == present
        assert set(present) == set(VIEWS)
    engine.dispose()

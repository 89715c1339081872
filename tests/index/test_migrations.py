"""The migrations form one line that the package knows, and they create what the package describes."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from bilateral.buyers import tables as buyers
from bilateral.index.agents import tables as agents
from bilateral.index.changes import tables as changes
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine
from bilateral.index.log.revisions import upgrade_within
from bilateral.index.measurements import tables as measurements
from bilateral.index.payments import tables as payments
from bilateral.index.ratings import tables as ratings
from bilateral.index.search import tables as search
from bilateral.index.standing import tables as analysis
from bilateral.x402.aggregator import tables as aggregator
from scripts._build import ROOT

MODULES = (
    schema,
    files,
    analysis,
    aggregator,
    search,
    payments,
    measurements,
    buyers,
    agents,
    ratings,
    changes,
)


def test_the_migrations_form_one_line_that_the_package_knows():
    config = Config()
    config.set_main_option("script_location", str(ROOT / "bilateral" / "migrations"))
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(revisions)) == schema.REVISIONS


def test_the_migrations_create_every_table_and_view_that_the_package_describes(new_database_url):
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        assert upgrade_within(connection) is None
        context = MigrationContext.configure(connection)
        differences = compare_metadata(context, [module.metadata for module in MODULES])
        # Some indexes are of PostgreSQL alone, and SQLite has tables for its word index.
        kept = [difference for difference in differences if difference[0] not in {"add_index", "remove_table"}]
        assert kept == []
        assert set(inspect(connection).get_view_names()) == {*schema.VIEWS, *files.VIEWS}
    with engine.begin() as connection:
        assert upgrade_within(connection) == schema.REVISION
    engine.dispose()

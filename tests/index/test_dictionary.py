"""The data dictionary is that of the tables."""

from __future__ import annotations

from sqlalchemy import text

from bilateral.index.log import tables as schema
from scripts.index_tables import PAGE, page


def test_the_dictionary_has_the_columns_of_all_tables():
    assert PAGE.read_text(encoding="utf-8") == page(), "run make index-tables"


def test_sql_says_the_version_that_the_dictionary_describes(engine):
    with engine.connect() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    assert version == schema.REVISION
    assert f"These are the tables of version {version}." in PAGE.read_text(encoding="utf-8")

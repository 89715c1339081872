"""The migrations form one line, and the package knows all of them."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory

import bilateral.index.migrate
from bilateral.index import schema


def test_the_migrations_form_one_line_that_the_package_knows():
    config = Config()
    config.set_main_option("script_location", str(Path(bilateral.index.migrate.__file__).with_name("migrations")))
    revisions = [it.revision for it in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(revisions)) == schema.REVISIONS

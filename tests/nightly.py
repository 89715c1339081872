"""Leaves what takes long, or says the same twice, to `make test-all`, which runs every night.

`make test` runs what is not marked `nightly`. A module marked `one_engine` is about something else than SQL, so its
cases on PostgreSQL are nightly, and those on SQLite are not.
"""

from __future__ import annotations

import pytest

QUICK = "not nightly"
"""The marks that `make test` asks for."""


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly: takes long; part of `make test-all`, not of `make test`")
    config.addinivalue_line("markers", "one_engine: does not depend on the database; on PostgreSQL it runs nightly")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        is_on_postgresql = "postgresql" in item.callspec.params.values() if hasattr(item, "callspec") else False
        if is_on_postgresql and item.get_closest_marker("one_engine"):
            item.add_marker("nightly")

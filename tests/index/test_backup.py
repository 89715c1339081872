"""A backup of a database that is written, restored into another one, goes on as if nothing had happened."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pgserver
import pytest
from sqlalchemy import make_url

from tests.index.test_commands import bilateral, grown, record  # noqa: F401  # fixtures
from tests.packaging.fixtures import run
from tests.postgres import administer, running_postgres

PROGRAMS = Path(pgserver.__file__).parent / "pginstall" / "bin"


def copy_of_sqlite(url, folder):
    """Back the database up and restore it as docs/operating.md says, and return the URL of the restored one."""
    with sqlite3.connect(make_url(url).database) as connection:
        connection.execute("VACUUM INTO ?", (str(folder / "backup.sqlite"),))
    shutil.copy(folder / "backup.sqlite", folder / "restored.sqlite")
    return f"sqlite:///{folder / 'restored.sqlite'}"


def copy_of_postgresql(url, folder):
    """Do the same by the programs of PostgreSQL."""
    backup = folder / "backup.dump"
    run(PROGRAMS / "pg_dump", "--format", "custom", "--file", backup, url)
    administer(url, "CREATE DATABASE restored")
    restored = make_url(url).set(database="restored").render_as_string(hide_password=False)
    run(PROGRAMS / "pg_restore", "--dbname", restored, backup)
    return restored


@pytest.fixture(params=["sqlite", "postgresql"])
def database_and_copy(request, tmp_path):
    """The URL of a database that does not exist yet or is empty, and the function that backs it up and restores it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'index.sqlite'}", copy_of_sqlite
        return
    with running_postgres() as url:
        yield url, copy_of_postgresql


def test_a_restored_backup_catches_up_and_equals_the_chain(
    database_and_copy,
    grown,  # noqa: F811  # a fixture
    record,  # noqa: F811  # a fixture
    generator,
    tmp_path,
):
    url, copy = database_and_copy
    node = ["--rpc-url", grown.url, "--deployment", record]
    assert bilateral("run", *node, "--until-head", "--no-files", "--database", url)[0] == 0
    restored = copy(url, tmp_path)
    grown.rpc("anvil_rollback", 2)
    for _ in range(4):
        grown.mine(generator.logs(3))
    assert bilateral("run", *node, "--until-head", "--no-files", "--database", restored)[0] == 0
    assert bilateral("verify", *node, "--derived", "--database", restored)[0] == 0
    (chain,) = json.loads(bilateral("status", "--database", restored, "--json")[1])
    assert (chain["block"], chain["reorganizations"]) == (22, 1)

"""Failures of endpoints, databases and deployments: one clear line each, a way on, and nothing lost."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
from contextlib import ExitStack, closing, contextmanager

import pytest
from sqlalchemy import make_url, text, update
from sqlalchemy.exc import DBAPIError

from bilateral.core.events import NewFeedback
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine, open_database, passing_failure
from bilateral.index.log.revisions import upgrade_within
from simulation.events import ADDRESSES
from tests.index.conftest import CHAIN_ID
from tests.index.schemas import empty_schema
from tests.index.test_commands import COMMAND, bilateral, database, grown, record  # noqa: F401  # fixtures
from tests.postgres import running_server, server_folder
from tests.sdk.servers import HttpServer

pytestmark = pytest.mark.usefixtures("grown")


@pytest.fixture
def run(event_chain, record, database):  # noqa: F811  # fixtures
    """Run the index up to the head, and return its exit code and its last message.

    With settings of a process it has one of its own.
    """

    def run_command(*options, url=event_chain.url, path=record, into=database, **settings):
        arguments = ["run", "--rpc-url", url, "--deployment", path, "--database", into]
        arguments += ["--until-head", "--no-files", "--max-wait", "0"]
        if settings:
            command = [*COMMAND, *map(str, (*arguments, *options))]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **settings)  # noqa: S603  # ours
            code, told = done.returncode, done.stderr
        else:
            code, _, told = bilateral(*arguments, *options)
        assert "Traceback" not in told
        return code, told.strip().rpartition("\n")[2]

    return run_command


@pytest.fixture
def postgres_url(postgres_template):
    yield postgres_template
    empty_schema(postgres_template)


@pytest.fixture
def is_whole(run, event_chain, record, database):  # noqa: F811  # fixtures
    """Check that a further run completes the index, and that its rows are what the chain says."""

    def check(of=database):
        assert run(into=of)[0] == 0
        arguments = ("--rpc-url", event_chain.url, "--deployment", record, "--database", of)
        code, shown, _ = bilateral("verify", *arguments, "--json")
        (endpoint,) = json.loads(shown)["endpoints"]
        assert (code, endpoint["missing"], endpoint["stale"]) == (0, [], [])
        assert endpoint["rows"] >= 100

    return check


def test_an_endpoint_that_nobody_answers_at_is_named(run):
    code, told = run(url="http://127.0.0.1:9")
    assert code == 5
    assert "127.0.0.1:9: the node cannot be reached" in told
    assert told.endswith("Check --rpc-url, or add another one.")


def test_an_address_without_a_node_is_named(run):
    with HttpServer() as server:
        server.routes["/"] = b"<!doctype html>"
        code, told = run(url=server.url)
    assert code == 5
    assert f"localhost:{server.port}" in told
    assert told.endswith("Check --rpc-url, or add another one.")


def test_a_deployment_of_another_chain_is_refused_before_anything_is_stored(run, database, tmp_path):  # noqa: F811  # a fixture
    other = tmp_path / "other.json"
    contracts = {str(name): {"address": address} for name, address in ADDRESSES.items()}
    other.write_text(json.dumps({"chainId": 8453, "contracts": contracts}))
    code, told = run(path=other)
    assert code == 8
    assert "8453" in told
    assert str(CHAIN_ID) in told
    with open_database(database).connect() as connection:
        assert connection.execute(schema.registry.select()).all() == []


def test_a_full_disk_ends_the_run_and_the_next_one_completes_it(run, database, is_whole, event_chain, generator):  # noqa: F811  # a fixture
    open_database(database).dispose()
    for _ in range(3):
        event_chain.mine(generator.logs(1_500))

    def allow_little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    code, told = run(preexec_fn=allow_little)
    assert code == 11
    assert "the database's disk is full or does not work: free some space, and restart" in told
    is_whole()


LARGEST_FILE = 16 * 2**20
"""The size of a file of the write-ahead log. A smaller limit would stop the server itself."""


@contextmanager
def postgres_on(folder, largest_file=resource.RLIM_INFINITY):
    """Run a PostgreSQL, and yield its URL.

    Args:
        folder: Its folder. It stays, with its tables.
        largest_file: The size at which the system lets none of its files grow, in bytes.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, before[1]))  # the server inherits it
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server(folder, cleanup_mode="stop"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        yield server.get_uri()


@pytest.fixture
def data():
    with server_folder() as folder:
        yield folder / "data"


def fill(url):
    """Make the file of a table larger than the limit, by rows that are deleted again."""
    engine = connect_engine(url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ALTER SYSTEM SET autovacuum = off"))  # it would find the room
    table = schema.partition_name(schema.EVENT_TABLES[NewFeedback], CHAIN_ID)
    names = ", ".join(
        column.name for column in schema.EVENT_TABLES[NewFeedback].c if column.name not in ("log_index", "tag1")
    )
    with engine.begin() as connection:
        connection.execute(
            text(f"""
                INSERT INTO {table} ({names}, log_index, tag1)
                SELECT {names}, number, repeat('x', 1500)
                FROM (SELECT * FROM {table} LIMIT 1) AS row, generate_series(1000, 12000) AS number
            """)  # noqa: S608  # names of the package
        )
        connection.execute(text(f"DELETE FROM {table} WHERE log_index >= 1000"))  # noqa: S608  # as above
        size = connection.execute(text(f"SELECT pg_relation_size('{table}')")).scalar_one()
    engine.dispose()
    assert size > LARGEST_FILE


@pytest.mark.nightly
def test_a_full_disk_of_postgresql_ends_the_run_and_the_next_one_completes_it(
    run, is_whole, event_chain, generator, data
):
    with postgres_on(data) as url:
        assert run(into=url)[0] == 0
        fill(url)
    event_chain.mine(generator.logs(300))
    with postgres_on(data, LARGEST_FILE) as url:
        code, told = run(into=url)
        assert code == 11
        assert "the database's disk is full or does not work: free some space, and restart" in told
        assert "could not extend file" in told
    with postgres_on(data) as url:
        is_whole(url)


def test_a_locked_database_is_named_and_nothing_is_lost(run, database, is_whole):  # noqa: F811  # a fixture
    open_database(database).dispose()
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        code, told = run(into=f"{database}?timeout=0.2")
    assert code == 11
    assert "another program has locked the database for too long: stop it, or choose a different --database" in told
    is_whole()


def test_commands_that_only_read_wait_for_no_program_that_writes(run, database, event_chain, record):  # noqa: F811  # fixtures
    assert run()[0] == 0
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        short = f"{database}?timeout=0.2"
        assert bilateral("status", "--database", short)[0] == 0
        node = ("--rpc-url", event_chain.url, "--deployment", record)
        assert bilateral("verify", *node, "--database", short)[0] == 0


def test_locked_database_of_postgresql_is_named_and_nothing_is_lost(run, postgres_url):
    assert run(into=postgres_url)[0] == 0
    engine = connect_engine(postgres_url)
    with engine.begin() as connection:
        assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "30s"
        connection.execute(update(schema.chain).values(block_number=19))  # it has to index block 20 again
        connection.execute(text("LOCK TABLE new_feedback, chain"))
        short = make_url(postgres_url)
        options = f"{short.query['options']} -clock_timeout=200ms"
        code, told = run(into=short.update_query_dict({"options": options}).render_as_string(hide_password=False))
        assert code == 11
        assert "another program has locked the database for too long: stop it, or choose a different --database" in told
        connection.rollback()
    engine.dispose()
    assert run(into=postgres_url)[0] == 0


def test_a_file_other_than_a_database_is_named(run, tmp_path):
    (tmp_path / "notes.txt").write_text("These are notes. " * 100)
    code, told = run(into=f"sqlite:///{tmp_path / 'notes.txt'}")
    assert code == 11
    assert "damaged or from another program" in told
    assert (tmp_path / "notes.txt").read_text().startswith("These are notes.")


def test_a_folder_in_the_place_of_the_file_is_named(run, tmp_path):
    code, told = run(into=f"sqlite:///{tmp_path}")
    assert code == 11
    assert "the database file cannot be opened" in told
    assert "use a different --database" in told


def test_a_database_whose_log_cannot_be_written_beside_it_is_named(run, database):  # noqa: F811  # a fixture
    assert run()[0] == 0
    path = database.removeprefix("sqlite:///")
    code, told = run(into=f"sqlite:///file:{path}?readonly_shm=1&uri=true")  # as on a file system that may only be read
    assert code == 11
    assert "its folder is read-only, and SQLite must write its log there" in told


def test_a_database_server_that_does_not_answer_is_named(run):
    code, told = run(into="postgresql://127.0.0.1:9/index")
    assert code == 11
    assert "the database server did not respond: start it, or correct --database" in told


def test_a_failure_that_waiting_does_not_mend_is_raised(postgres_url):
    engine = connect_engine(postgres_url)
    with pytest.raises(DBAPIError) as failure, engine.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert "the database server did not respond" in str(passing_failure(failure.value))
    with pytest.raises(DBAPIError) as failure, engine.connect() as connection:
        connection.execute(text("SELECT 1 / 0"))
    with pytest.raises(DatabaseUnavailableError, match="the database cannot be used: division by zero"):
        passing_failure(failure.value)
    engine.dispose()


@pytest.mark.parametrize("version", ["0028", "1", "4"])
def test_a_database_from_before_the_first_release_is_to_be_built_anew(run, database, version):  # noqa: F811  # a fixture
    engine = connect_engine(database)
    with engine.begin() as connection:
        upgrade_within(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    engine.dispose()
    expected = (
        f"the tables have version {version}, but this package needs {schema.REVISION}: they predate the first release"
    )
    code, _, error = bilateral("schema", "--database", database)
    for status, message in (run(), (code, error)):
        assert status == 11
        assert expected in message

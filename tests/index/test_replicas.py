"""Readers on a replica: PostgreSQL copies an index to another server, and the API's reader reads it there."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pgserver
import pytest
from msgspec.structs import replace
from sqlalchemy import create_engine, make_url, select, text
from sqlalchemy.exc import DBAPIError

from bilateral.api.settings import ApiSettings, read_api_settings
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import grouped
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.chains import chains
from bilateral.index.projections import DERIVED_TABLES, PROJECTIONS
from bilateral.index.reading.copies import VISIT, ReplicatedReader, Visit
from bilateral.index.reading.readers import Reader
from simulation.events import Generator
from tests.api.world import served
from tests.index.comparison import open_with_registries
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.test_extraction import entries
from tests.postgres import administer, dead_servers, running_server, server_folder, with_driver
from tests.waiting import until

START = Block(6, bytes(32), 0)
PROCESSES = {}
PROGRAMS = Path(pgserver.__file__).parent / "pginstall" / "bin"


@pytest.fixture(scope="module")
def servers():
    """The URLs of a server and of its replica, which follows it by streaming."""
    with server_folder() as folder, running_server(folder / "primary") as primary:
        copy = folder / "replica"
        copy.mkdir(mode=0o700)
        user = primary.system_user  # the server does not run as root
        if user is not None:
            os.chown(copy, *(getattr(folder.joinpath("primary").stat(), name) for name in ("st_uid", "st_gid")))
        command = [PROGRAMS / "pg_basebackup", "-D", copy, "-d", primary.get_uri(), "-R", "-c", "fast"]
        subprocess.run(command, check=True, user=user, capture_output=True)  # noqa: S603  # ours
        for name in (".s.PGSQL.5432.lock", ".handle_pids.json"):  # of the server, not of its replica
            (copy / name).unlink(missing_ok=True)
        with running_server(copy) as replica:
            PROCESSES.update(primary=primary, replica=replica)
            yield with_driver(primary.get_uri()), with_driver(replica.get_uri())
            PROCESSES.clear()


@pytest.fixture(scope="module")
def filled(servers):
    """The store of an index with some blocks on the server."""
    engine = open_with_registries(servers[0])
    store = ChainStore(engine, CHAIN_ID, PROJECTIONS)
    store.begin(START)
    for number in (7, 8):
        logs = [replace(entry, blockNumber=hex(number)) for entry in entries(Generator(seed=1, hostile=0).logs(50))]
        blocks = grouped("node", logs, list(REGISTRIES), number, number)
        end = Block(number, blocks[0].hash, 5)
        store.append(store.cursor(), Batch(end, Extraction(CHAIN_ID, REGISTRIES).rows(blocks), [end], 8))
    yield store
    engine.dispose()


def asked(url, query):
    engine = create_engine(url)
    with engine.connect() as connection:
        value = connection.execute(text(query)).scalar_one()
    engine.dispose()
    return value


def wait_for_copy(servers):
    """Wait until the replica has all that the server has."""
    place = asked(servers[0], "SELECT pg_current_wal_insert_lsn()")
    end = time.monotonic() + 300
    while not asked(servers[1], f"SELECT pg_last_wal_replay_lsn() >= '{place}'"):
        assert time.monotonic() < end
        time.sleep(0.01)


def rows(url):
    """Return all rows of the index, as the reader of the API sees them."""
    reader, tables = Reader(url), (*schema.metadata.sorted_tables, *DERIVED_TABLES)
    with reader.connect() as connection:
        rows_of = {table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in tables}
    reader.close()
    return rows_of


def test_replica_has_each_row_and_each_rollback(servers, filled):
    wait_for_copy(servers)
    before = rows(servers[1])
    assert before == rows(servers[0])
    assert before["summary"]
    target = next(checkpoint for checkpoint in filled.checkpoints(8) if checkpoint.number == 7)
    filled.roll_back(filled.cursor(), target)
    wait_for_copy(servers)
    assert rows(servers[1]) == rows(servers[0]) != before


def test_replica_refuses_to_be_written(servers, filled):
    wait_for_copy(servers)
    engine = create_engine(servers[1])
    with pytest.raises(DBAPIError, match="read-only transaction"), engine.begin() as connection:
        connection.execute(text("DELETE FROM chain"))
    engine.dispose()


def wait_until(condition):
    """Wait until a condition holds; not longer than a server takes to start on a busy machine."""
    until(condition, bool, seconds=90)


def append(store, *, number):
    """Index one more block of two events."""
    logs = [replace(entry, blockNumber=hex(number)) for entry in entries(Generator(seed=number, hostile=0).logs(2))]
    blocks = grouped("node", logs, list(REGISTRIES), number, number)
    end = Block(number, blocks[0].hash, 5)
    store.append(store.cursor(), Batch(end, Extraction(CHAIN_ID, REGISTRIES).rows(blocks), [end], number))


@contextmanager
def killed(name):
    """Kill a server without a word, and start it again at the end."""
    process = PROCESSES[name].get_postmaster_info().process
    os.kill(process.pid, signal.SIGQUIT)
    process.wait(60)
    yield
    assert dead_servers()


@pytest.fixture
def service(servers, filled):
    """A client of a service that reads on the replica."""
    wait_for_copy(servers)
    settings = ApiSettings(database=servers[0], readers=(servers[1],), rate=None, max_delay=30, query_seconds=20)
    with served(settings) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def state(client, path="/v1/chains"):
    """Return the parameters of the header of an answer; nothing on a replica that does not lag is left out."""
    response = client.get(path)
    assert response.status_code == 200, response.text
    return dict(part.partition("=")[::2] for part in response.headers["Index-State"].split(";")[1:])


def test_service_reads_on_the_replica_and_each_answer_says_how_far_it_is_behind(servers, filled, service):
    append(filled, number=filled.cursor().number + 1)  # the head is the last block again
    block = filled.cursor().number
    wait_until(lambda: state(service)["block"] == str(block))
    now = state(service)
    assert (now["lag"], now["behind"]) == ("0", "0")
    administer(servers[1], "SELECT pg_wal_replay_pause()")
    try:
        append(filled, number=block + 1)
        wait_until(lambda: state(service)["behind"] == "1")
        late = state(service)
        assert (late["block"], late["lag"]) == (str(block), "1")
        assert service.get("/v1/chains").json()["items"][0]["progress"]["block"] == block
    finally:
        administer(servers[1], "SELECT pg_wal_replay_resume()")
    wait_until(lambda: state(service)["block"] == str(block + 1))
    assert service.get("/v1/chains").json()["items"][0]["progress"]["block"] == block + 1


def test_replica_that_is_late_is_left_out_until_it_has_caught_up(servers, service):
    wait_until(lambda: "behind" in state(service))
    administer(servers[1], "SELECT pg_wal_replay_pause()")
    try:
        administer(servers[0], "UPDATE chain SET updated_at = updated_at + 31")
        wait_until(lambda: "behind" not in state(service))
    finally:
        administer(servers[1], "SELECT pg_wal_replay_resume()")
    wait_until(lambda: "behind" in state(service))


@pytest.mark.sample(1)
@pytest.mark.parametrize("path", ["/v1/chains", "/v1/agents/31337:1", "/v1/search/agents?limit=2"])
def test_no_request_fails_while_a_replica_dies_and_comes_back(service, path):
    answers, is_over = [service.get(path)], threading.Event()

    def ask():
        while not is_over.wait(0.1):
            answers.append(service.get(path))

    wait_until(lambda: "behind" in state(service, path))
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with killed("replica"):
            wait_until(lambda: "behind" not in answers[-1].headers.get("Index-State", "behind"))
            assert 'bilateral_database_up{server="' in service.get("/metrics").text
        wait_until(lambda: "behind" in answers[-1].headers.get("Index-State", ""))
    finally:
        is_over.set()
        asking.join()
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_while_the_primary_is_away_its_replica_answers_and_a_reader_without_one_says_so(servers, service):
    wait_until(lambda: "behind" in state(service))
    nowhere = make_url(servers[1]).set(host="127.0.0.1", port=9, query={})
    reader = ReplicatedReader(servers[0], [nowhere.render_as_string(hide_password=False)])
    reader.copies.replicas[0].is_up = True  # as it was until now
    token = VISIT.set(visit := Visit(key=0))
    assert reader.read(chains)
    VISIT.reset(token)
    assert (visit.copy, reader.copies.replicas[0].is_up) == (reader.copies.primary, False)
    with killed("primary"):
        for path in ("/v1/chains", "/v1/agents/31337:1"):
            assert "behind" in state(service, path)
        with pytest.raises(DatabaseUnavailableError):
            reader.read(chains)
    reader.close()
    wait_until(lambda: service.get("/readyz").status_code != 500)


@pytest.mark.parametrize(
    ("database", "problem"),
    [
        ('url = "sqlite:///index.sqlite"\nreaders = ["postgresql://copy/x"]', r"database\.url is not PostgreSQL"),
        ('url = "postgresql://db/x"\nreaders = ["sqlite:///copy"]', r"database\.readers\[0\] is not PostgreSQL"),
        ('url = "postgresql://db/x"\nreader = []', r"database\.reader"),
        ('url = "postgresql://db/x"\nmax_delay = 0', r"database\.max_delay"),
    ],
)
def test_wrong_replica_is_named(tmp_path, database, problem):
    path = tmp_path / "index.toml"
    path.write_text(f"[database]\n{database}\n")
    with pytest.raises(InvalidArgumentError, match=problem):
        read_api_settings(path)


def test_replicas_of_a_file_are_not_those_of_another_database(tmp_path):
    path = tmp_path / "index.toml"
    path.write_text('[database]\nurl = "postgresql://db/x"\nreaders = ["postgresql://copy/x"]\n')
    assert read_api_settings(path).readers == ("postgresql://copy/x",)
    other = read_api_settings(path, database="postgresql://db/y")
    assert (make_url(other.database).database, other.readers) == ("y", ())

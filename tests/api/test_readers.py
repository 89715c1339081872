"""Read-only access to the index: it writes nothing, ends in time, and keeps nobody from writing."""

from __future__ import annotations

import select as readiness
import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import Integer, Text, column, func, literal, select, text

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.errors import (
    DatabaseUnavailableError,
    NewerSchemaError,
    OlderSchemaError,
    QueryTimeoutError,
    ReadersBusyError,
    StarvedError,
)
from bilateral.index.log.database import open_database
from bilateral.index.operating.chains import chains
from bilateral.index.reading import readers
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.readers import Reader

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT count(*) FROM generate_series(1, 1000000000000) AS n",
}

QUICK = Prepared(select(column("n", Integer)).select_from(select(func.length("one").label("n")).subquery()))


def endless(dialect):
    """Return a prepared statement that does not end in the time of a test."""
    if dialect == "postgresql":
        return Prepared(select(func.pg_sleep(600).label("slept")))
    numbers = select(literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(select(numbers.c.n + 1))
    return Prepared(select(func.count().label("n")).select_from(numbers))


def wait_for_end(driver):
    """Wait until the server has closed a connection, and read nothing."""
    ended = readiness.poll()
    ended.register(driver.pgconn.socket, readiness.POLLRDHUP)
    ended.poll()


@pytest.fixture
def make_reader(api_database):
    readers = []

    def make(**options):
        readers.append(Reader(api_database, **options))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()


def test_a_reader_cannot_write(make_reader):
    reader = make_reader()
    with pytest.raises(DatabaseUnavailableError), reader.connect() as connection:
        connection.execute(text("DELETE FROM chain"))
    assert reader.read(chains)


@pytest.fixture
def unhurried(monkeypatch):
    """A machine that other work makes slow starves no query."""
    monkeypatch.setattr(readers, "_CLOCK_FACTOR", 10_000)


@pytest.mark.usefixtures("unhurried")
def test_a_query_without_end_is_ended_and_the_connection_goes_on(make_reader):
    reader = make_reader(seconds=60.0, connections=1)  # also on a busy machine, the last query has time
    for _ in range(2):
        late = reader.connect(spent=59.8)
        with pytest.raises(QueryTimeoutError, match=r"longer than 60 seconds"), late as connection:
            connection.execute(text(ENDLESS[reader.dialect]))
    assert reader.read(chains)


@pytest.mark.usefixtures("unhurried")
def test_time_limit_is_of_all_statements_of_a_visit_together(make_reader):
    reader = make_reader(seconds=1.5, connections=1)
    for _ in range(2):
        with pytest.raises(QueryTimeoutError, match=r"longer than 1\.5 seconds"), reader.connect() as connection:
            connection.execute(text("SELECT 1"))
            connection.execute(text(ENDLESS[reader.dialect]))
    if reader.dialect == "postgresql":
        with make_reader(seconds=60, connections=1).connect() as connection:
            assert connection.execute(text("SHOW statement_timeout")).scalar_one() in ("1min", "60s")
            connection.connection.info["deadline"] = time.monotonic() + 0.4
            assert int(connection.execute(text("SHOW statement_timeout")).scalar_one()[:-2]) <= 400


def test_time_before_the_first_statement_counts(make_reader):
    reader = make_reader(seconds=60.0)
    with pytest.raises(QueryTimeoutError, match="longer than 60 seconds"), reader.connect(spent=60.0) as connection:
        connection.execute(text(ENDLESS[reader.dialect]))
    assert reader.read(chains)


@contextmanager
def starving():
    """Let threads take turns at the interpreter, so that SQLite waits its turn each time it looks at the clock."""
    is_over = threading.Event()

    def spin():
        while not is_over.is_set():
            sum(range(1_000))

    threads = [threading.Thread(target=spin) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


COUNTED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT count(*) FROM n"


@pytest.mark.parametrize("api_database", ["sqlite"], indirect=True)  # PostgreSQL does not tell its processor time
def test_busy_machine_ends_no_query_that_costs_little(make_reader, monkeypatch):
    monkeypatch.setattr(readers, "_CLOCK_FACTOR", 10_000)
    reader = make_reader(seconds=0.5)
    before = time.thread_time()
    with starving(), reader.connect() as connection:
        began = time.monotonic()
        while time.monotonic() - began < 0.6:
            assert connection.execute(text(COUNTED)).scalar_one() == 2_000
    assert time.thread_time() - before < 0.5


@pytest.mark.parametrize("api_database", ["sqlite"], indirect=True)
def test_starved_query_is_told_apart_from_a_dear_one(make_reader, monkeypatch):
    reader = make_reader(seconds=0.1)
    busy = pytest.raises(StarvedError, match=r"busy: the query did not finish within 0\.5 s")
    with busy as starved, reader.connect() as connection:
        time.sleep(0.6)  # the thread has no processor time meanwhile
        connection.execute(text(ENDLESS["sqlite"]))
    assert starved.value.reason == "busy"
    monkeypatch.setattr(readers, "_CLOCK_FACTOR", 10_000)  # other work of this machine starves nobody
    with pytest.raises(QueryTimeoutError) as dear, reader.connect() as connection:
        connection.execute(text(ENDLESS["sqlite"]))
    assert dear.value.reason == "query_timeout"


def test_prepared_statements_share_the_time_of_a_visit(make_reader):
    reader = make_reader(seconds=600.0, connections=1)
    slow = endless(reader.dialect)
    with pytest.raises(QueryTimeoutError), reader.connect(spent=599.0) as connection:
        assert QUICK.all(connection, {}) == [(3,)]
        slow.all(connection, {})
    with pytest.raises(QueryTimeoutError), reader.connect(spent=600.0) as connection:
        slow.all(connection, {})
    assert reader.read(chains)


@pytest.mark.parametrize("api_database", ["postgresql"], indirect=True)  # SQLite looks at the clock within statements
def test_prepared_statements_of_short_visits_keep_the_limit_that_is_set(make_reader):
    reader = make_reader(seconds=600.0, connections=1)
    limit = Prepared(select(func.current_setting("statement_timeout", type_=Text).label("limit")))
    with reader.connect() as connection:
        assert limit.first(connection, {}) == ("10min",)
    with reader.connect(spent=300.0) as connection:
        assert limit.first(connection, {}) != ("10min",)


@pytest.mark.parametrize("api_database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("is_together", [False, True], ids=["later", "with the former answer"])
def test_visit_that_the_server_ends_between_two_statements_took_too_long(make_reader, is_together):
    """The driver loses the server's reason if it reads it together with the former answer."""
    reader = make_reader(seconds=600.0, connections=1)
    end = "SET LOCAL idle_in_transaction_session_timeout = 1"
    with pytest.raises(QueryTimeoutError, match="longer than 600 seconds"), reader.connect(spent=600.0) as connection:
        connection.begin()
        driver = connection.connection.driver_connection  # SQLAlchemy's statements would find no time left
        driver.execute("SELECT 1")
        if is_together:
            driver.pgconn.send_query(end.encode())
            wait_for_end(driver)
            while driver.pgconn.get_result() is not None:
                pass
        else:
            driver.execute(end)
            wait_for_end(driver)
    assert reader.read(chains)


def test_more_readers_than_connections_are_told_to_try_again(make_reader):
    reader = make_reader(seconds=1.0, connections=1)
    with reader.connect(), pytest.raises(ReadersBusyError):
        reader.read(chains)


def test_a_reader_sees_one_state_and_keeps_nobody_from_writing(make_reader, api_database):
    reader = make_reader()
    engine = open_database(api_database)
    count = text("SELECT count(*) FROM endpoint_limit WHERE endpoint = 'of a test'")
    with reader.connect() as connection:
        assert connection.execute(count).scalar_one() == 0
        with engine.begin() as writer:
            writer.execute(
                text("INSERT INTO endpoint_limit (chain_id, endpoint, blocks, learnt_at) VALUES (9, 'of a test', 1, 1)")
            )
        assert connection.execute(count).scalar_one() == 0
    with reader.connect() as connection:
        assert connection.execute(count).scalar_one() == 1
    with engine.begin() as writer:
        writer.execute(text("DELETE FROM endpoint_limit WHERE endpoint = 'of a test'"))
    engine.dispose()


def test_threads_share_a_reader(make_reader):
    reader = make_reader(connections=2, seconds=10.0)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(reader.read(chains))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len(set(answers)) == 1


def test_a_database_without_tables_is_refused(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(OlderSchemaError):
        Reader(f"sqlite:///{tmp_path / 'empty.sqlite'}")


def test_a_newer_database_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'newer.sqlite'}"
    engine = open_database(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(NewerSchemaError):
        Reader(url)


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y"])
def test_another_kind_of_database_is_refused(url):
    with pytest.raises(InvalidArgumentError):
        Reader(url)


def test_an_unreachable_server_is_named():
    with pytest.raises(DatabaseUnavailableError):
        Reader("postgresql://nobody@127.0.0.1:9/none")

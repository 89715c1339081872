"""A database gives the same steps as the arrays, and so the same analysis."""

from __future__ import annotations

from dataclasses import fields
from threading import Timer
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlalchemy import make_url

from bench.trust.servers import running_sail
from bilateral.core.errors import InvalidArgumentError, NodeUnreachableError
from bilateral.trust import runners
from bilateral.trust.coding import coded
from bilateral.trust.context import edges_of
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational, _finite
from bilateral.trust.results import Results
from bilateral.trust.runners import SparkConnect
from bilateral.trust.steps import ARRAYS, Edges
from bilateral.trust.tables import COLUMNS, Tables
from tests.helpers import free_port
from tests.postgres import administer, running_postgres
from tests.trust.conftest import address_of, addressed, attacked_world, same

pytestmark = pytest.mark.one_engine  # the statements are ibis's; PostgreSQL takes 30 times as long as DuckDB

WITHOUT_SPARK_BY_DAY = pytest.mark.parametrize(
    "stored", ["duckdb", "postgresql", pytest.param("sail", marks=pytest.mark.nightly)], indirect=True
)
"""For tests of many statements, each of which other tests show on Spark Connect, too: one takes seconds there."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The URL of a PostgreSQL server."""
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def sail(tmp_path_factory):
    """The URL of a Spark Connect server: Sail with two workers, which exchange plans and rows by messages."""
    with running_sail(tmp_path_factory.mktemp("sail"), free_port()) as server:
        yield server.url


@pytest.fixture(params=["duckdb", "postgresql", "sail"])
def stored(request):
    """Store tables in a new database of each engine."""
    opened = []

    def store(tables, without=()):
        if request.param == "sail":
            runner = SparkConnect.open(request.getfixturevalue("sail"))
            folder = request.getfixturevalue("tmp_path")
            for name in sorted(set(COLUMNS) - set(without)):
                parquet.write_table(getattr(tables, name), folder / f"{name}.parquet")
                runner.read(name, str(folder / f"{name}.parquet"))
            opened.append(Relational(runner))
            return opened[-1]
        connection = ibis.duckdb.connect()
        if request.param == "postgresql":
            url, name = request.getfixturevalue("server"), f"trust_{uuid4().hex}"
            administer(url, f"CREATE DATABASE {name}")
            connection = ibis.connect(make_url(url).set(database=name).render_as_string(hide_password=False))
        for name in sorted(set(COLUMNS) - set(without)):
            connection.create_table(name, getattr(tables, name))
        opened.append(Relational(connection))
        return opened[-1]

    yield store
    for database in opened:
        database.runner.close()


@pytest.fixture
def tables(market):
    """A market with every kind of opinion, a constant tag, and rows that the ledger leaves out."""
    for number in range(6):
        market.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
        market.feedback(f"sybil{number}", 7, 100, 7000.0 + number)
    for number in range(60):
        market.feedback(f"client{number % 40}", number % 20 + 1, 1, 8000.0, tag="alive")
        market.rating(f"client{number}", number % 20 + 1, 80, 8000.0 + number)
    market.agent(50, "validator", is_validator=True)
    for number in range(8):
        market.validation(50, number + 1, 90, 8100.0)
        market.validator_rating(50, number + 1, 85, 8200.0)
    market.feedback("client1", 999, 50)
    market.rating("stranger", 999, 50)
    market.transfer("boss", "boss", 5.0, 1.0)
    market.transfer(None, "sybil0", 5.0, 1.0)
    market.transfer("z late", "tied", 5.0, 6000.0)
    market.transfer("a first", "tied", 7.0, 6000.0)
    return market.tables()


def test_first_transfers_are_equal(tables, stored):
    database = stored(tables)
    with_arrays, with_database = coded(tables), coded(tables, database)
    for name in ("funder", "funded_at", "funded_with"):
        assert np.array_equal(getattr(with_arrays, name), getattr(with_database, name), equal_nan=True)
    names = with_arrays.addresses.to_pylist()
    assert names[with_arrays.funder[names.index("tied")]] == "a first"


def test_degrees_and_cells_are_equal(tables, stored):
    database = stored(tables)
    ledger = coded(tables, database)
    assert len(ledger.constant_tags) == 1
    context = Engine().fit(tables).context_
    edges = edges_of(ledger, context.pair)
    for name in ("judged", "activity"):
        assert np.array_equal(getattr(database.degrees(ledger, edges), name), getattr(context, name))
    for grouping in context.kin.groupings:
        of_arrays = ARRAYS.cells(ledger, edges, grouping.group, grouping.size)
        of_database = database.cells(ledger, edges, grouping.group, grouping.size)
        for field in fields(of_arrays):
            assert np.array_equal(getattr(of_arrays, field.name), getattr(of_database, field.name)), field.name


def test_cells_of_many_stretches_are_those_of_one(monkeypatch):
    draw = np.random.default_rng(4)
    subject = np.sort(draw.integers(0, 50, 3000))
    edges = Edges(subject, draw.integers(0, 400, 3000), np.zeros(3000, np.int8))
    group = draw.integers(-1, 20, 400)
    whole = ARRAYS.cells(None, edges, group, 20)
    monkeypatch.setattr("bilateral.trust.arrays.stretches.__defaults__", (100,))
    parts = ARRAYS.cells(None, edges, group, 20)
    assert all(np.array_equal(getattr(whole, field.name), getattr(parts, field.name)) for field in fields(whole))


def test_trust_is_equal(tables, stored):
    draw = np.random.default_rng(3)
    source, target, weight = draw.integers(0, 30, 200), draw.integers(0, 40, 200), draw.uniform(0.1, 1, 200)
    arguments = source, target, weight, np.array([0, 1]), 40
    of_arrays, of_database = ARRAYS.trust(*arguments), stored(tables).trust(*arguments)
    assert of_database.trust_ == pytest.approx(of_arrays.trust_, abs=1e-12)
    assert of_database.reached_.tolist() == of_arrays.reached_.tolist()
    assert of_database.iterations_ == of_arrays.iterations_


def test_an_empty_list_is_refused(tables, stored):
    nothing = np.zeros(0, np.int64)
    with pytest.raises(InvalidArgumentError, match="the list of trusted accounts is empty"):
        stored(tables).trust(np.array([0]), np.array([1]), np.ones(1), nothing, 2)


@WITHOUT_SPARK_BY_DAY
def test_a_whole_analysis_is_equal_on_both_paths(stored):
    tables = attacked_world()
    database = stored(tables)
    reader = tables.feedback["client"][0].as_py()
    with_arrays = Engine().fit(tables, trusted=[reader])
    with_database = Engine(steps=database).fit(database.tables(), trusted=[reader])
    assert len(with_arrays.findings_) > 10
    assert with_arrays.suspicion_.flagged.any()
    same(Results.of(with_arrays), Results.of(with_database))


@pytest.mark.parametrize("stored", ["duckdb", "postgresql"], indirect=True)  # on Sail the tables are files
def test_later_rows_of_the_database_are_analysed_anew(tables, stored):
    database = stored(addressed(tables))
    engine = Engine(steps=database).fit(database.tables())
    before = Results.of(engine)
    later = pa.table({"src": [address_of("boss")], "dst": [address_of("new")], "amount": [1.0], "ts": [9e3]})
    database.connection.insert("transfers", later)
    engine.renew(database.tables())
    assert Results.of(engine).addresses.num_rows == before.addresses.num_rows + 1
    same(Results.of(Engine().fit(database.tables())), Results.of(engine))


@WITHOUT_SPARK_BY_DAY
def test_missing_tables_are_empty_and_agents_are_needed(tables, stored):
    few, tables = ("agents", "feedback"), addressed(tables)
    database = stored(tables, without=set(COLUMNS) - set(few))
    part = Tables.of(agents=tables.agents, feedback=tables.feedback)
    same(Results.of(Engine().fit(part)), Results.of(Engine(steps=database).fit(database.tables())))
    with pytest.raises(InvalidArgumentError, match="the database has no table agents: it needs agents and feedback"):
        stored(tables, without=("agents",))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:secret@localhost:1/none",
        "postgresql://reader:secret@secret@localhost:1/none",
        "postgresql://reader:secret/secret@localhost:1/none",
        "postgresql://localhost:1/none?user=reader&password=secret",
    ],
)
def test_a_server_that_refuses_is_an_error_without_the_password(url):
    with pytest.raises(InvalidArgumentError, match='no database opens at "postgresql://localhost:1/none"') as refused:
        Relational.open(url)
    assert "secret" not in str(refused.value)


def test_a_spark_server_that_does_not_answer_is_an_error_without_the_token(monkeypatch):
    monkeypatch.setattr(runners, "_RETRIES", 0)
    with pytest.raises(NodeUnreachableError, match=r"^the Spark Connect server failed") as refused:
        Relational.open("sc://127.0.0.1:1/;token=secret")
    assert "secret" not in str(refused.value)


@pytest.mark.nightly  # it starts a server of its own
def test_a_spark_server_without_checkpoints_is_refused(tmp_path):
    with (
        running_sail(tmp_path, free_port(), keeps=False) as server,
        pytest.raises(InvalidArgumentError, match=r"keeps no checkpoints: set spark\.checkpoint\.dir"),
    ):
        Relational.open(server.url)


def test_a_spark_server_reads_a_folder_that_the_url_names(tables, sail, tmp_path):
    tables = addressed(tables)
    tables.write(tmp_path)
    database = Relational.open(f"{sail}/#{tmp_path}")
    same(Results.of(Engine().fit(tables)), Results.of(Engine(steps=database).fit(database.tables())))
    database.runner.close()


def test_a_table_that_a_spark_server_cannot_read_is_named(sail, tmp_path):
    with pytest.raises(InvalidArgumentError, match=f'the server cannot read table agents at "{tmp_path}/agents.parq'):
        Relational.open(f"{sail}/#{tmp_path}")


def test_floats_that_a_server_computes_as_decimals_are_refused(sail):
    runner = SparkConnect.open(sail)
    rows = runner.rows(pa.table({"amount": [1e-20, None]}))
    with pytest.raises(InvalidArgumentError, match="computes column amount as decimal: expected double"):
        runner.keep(rows.select(amount=rows.amount.fill_null(0.0)))
    runner.close()


def test_values_of_any_size_pass_a_spark_server_unchanged(sail):
    runner = SparkConnect.open(sail)
    rows = runner.rows(pa.table({"amount": [1e-20, 1e38, 1e300, -1e300, float("nan"), None]}))
    kept = runner.keep(rows.select(amount=_finite(rows.amount)))
    assert runner.out(kept)["amount"].to_pylist() == [1e-20, 1e38, 1e38, -1e38, 0.0, 0.0]
    runner.close()


def test_rows_that_exceed_a_message_go_to_a_spark_server_in_parts(sail, monkeypatch):
    runner = SparkConnect.open(sail)
    monkeypatch.setattr(runners, "_PART", 100)
    rows = pa.table({"number": np.arange(50)})
    assert sorted(runner.out(runner.rows(rows))["number"].to_pylist()) == list(range(50))
    runner.close()


def test_a_table_of_many_stretches_is_that_of_one(tables, stored, monkeypatch):
    database = stored(addressed(tables))
    whole = database.tables()
    monkeypatch.setattr("bilateral.trust.numbered._STRETCH", 7)
    parts = database.tables()
    for name in COLUMNS:
        assert getattr(parts, name).to_pylist() == getattr(whole, name).to_pylist()


def test_a_spark_server_that_is_lost_within_an_analysis_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(runners, "_RETRIES", 0)
    with running_sail(tmp_path, free_port()) as server:
        runner = SparkConnect.open(server.url)
        kept = runner.rows(pa.table({"amount": [1.0]}))
    with pytest.raises(NodeUnreachableError, match=r"^the Spark Connect server failed"):
        runner.out(kept)
    runner.close()


def test_an_unknown_database_is_an_error_without_the_password():
    with pytest.raises(InvalidArgumentError, match='no database opens at "unknown://localhost"') as refused:
        Relational.open("unknown://reader:secret@localhost")
    assert "secret" not in str(refused.value)


def test_a_url_sets_the_memory_of_duckdb(tables, tmp_path):
    connection = ibis.duckdb.connect(tmp_path / "tables.duckdb")
    for name in ("agents", "feedback"):
        connection.create_table(name, getattr(tables, name))
    connection.disconnect()
    database = Relational.open(f"duckdb://{tmp_path / 'tables.duckdb'}?memory_limit=300MB&threads=1")
    limits = database.connection.raw_sql("SELECT current_setting('memory_limit'), current_setting('threads')")
    assert limits.fetchall() == [("286.1 MiB", 1)]
    database.runner.close()
    with pytest.raises(InvalidArgumentError, match=r"no database opens at .*: .*Memory must"):
        Relational.open(f"duckdb://{tmp_path / 'tables.duckdb'}?memory_limit=much")


def test_a_database_without_agents_is_refused_by_its_url(tmp_path):
    ibis.duckdb.connect(tmp_path / "empty.duckdb").disconnect()
    with pytest.raises(InvalidArgumentError, match=r"^the database has no table agents"):
        Relational.open(f"duckdb://{tmp_path / 'empty.duckdb'}")


def test_rows_of_a_database_are_not_added_here(tables, stored):
    engine = Engine(steps=stored(tables)).fit(tables)
    with pytest.raises(InvalidArgumentError, match="add the rows there"):
        engine.update(tables)


def test_an_interrupted_query_ends_as_a_keyboard_interrupt(tables):
    connection = ibis.duckdb.connect()
    for name in ("agents", "feedback"):
        connection.create_table(name, getattr(tables, name))
    database = Relational(connection)
    slow = database.connection.sql("SELECT sum(a.range * b.range) AS total FROM range(10000000) a, range(10000000) b")
    timer = Timer(0.5, database.connection.con.interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        database.runner.out(slow)
    timer.join()

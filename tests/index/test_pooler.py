"""PgBouncer in front of PostgreSQL: clients share the server's sessions, so nothing may depend on one or stay in it."""

from __future__ import annotations

from contextlib import closing
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import bindparam, make_url, select, text

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine, is_pooled, named_database_errors, open_database, parsed_url
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.readers import Reader
from tests.index.conftest import CHAIN_ID
from tests.index.test_commands import bilateral, record  # noqa: F401  # fixtures
from tests.pooler import Pooler
from tests.postgres import administer

_SESSION = """
    SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation'),
        current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('jit'),
        (SELECT count(*) FROM pg_class WHERE relpersistence = 't'), (SELECT count(*) FROM pg_prepared_statements)
"""


@pytest.fixture
def own_database(postgres):
    """Makes a database with an encoding, and returns its URL without options, which poolers refuse."""
    names = []

    def make(encoding="UTF8"):
        names.append(f"pooled_{uuid4().hex}")
        administer(postgres, f"CREATE DATABASE {names[-1]} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        url = make_url(postgres)
        return url.set(database=names[-1], query={"host": url.query["host"]} if "host" in url.query else {})

    yield lambda *encoding: make(*encoding).render_as_string(hide_password=False)
    for name in names:
        administer(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def session_of(url):
    """Return what a stranger's transaction finds in the session: mode, limits, and the number of temporary tables."""
    with closing(psycopg.connect(url)) as stranger:
        return stranger.execute(_SESSION).fetchone()


def test_an_index_runs_and_is_read_through_a_pooler_and_leaves_no_trace(event_chain, generator, record, own_database):  # noqa: F811
    url = own_database()
    untouched = session_of(url)
    with closing(Pooler(url, size=3)) as pooler:
        pooled = pooler.url.replace("postgresql://", "postgres://")
        options = ["--rpc-url", event_chain.url, "--deployment", record, "--database", pooled, "--no-files"]
        for _ in range(2):
            for _ in range(6):
                event_chain.mine(generator.logs(5))
            code, _, told = bilateral("run", *options, "--until-head", "--max-wait", "0")
            assert code == 0, told
            event_chain.rpc("anvil_rollback", 3)
        with closing(Reader(pooled, seconds=30)) as reader, closing(Reader(pooled, seconds=30)) as other:
            statement = Prepared(select(schema.chain.c.chain_id).where(schema.chain.c.chain_id == bindparam("chain")))
            for _ in range(4):
                with reader.connect() as first, other.connect() as second:
                    for connection in (first, second, first):
                        assert statement.all(connection, {"chain": CHAIN_ID}) == [(CHAIN_ID,)]
                        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "repeatable read"
            with (
                pytest.raises(DatabaseUnavailableError, match="the database is read-only"),
                reader.connect() as connection,
            ):
                connection.execute(text("CREATE TABLE stray (number int)"))
            with (
                pytest.raises(QueryTimeoutError),
                closing(Reader(pooled, seconds=0.2)) as hasty,
                hasty.connect() as connection,
            ):
                connection.execute(text("SELECT pg_sleep(20)"))
        assert {session_of(pooler.url) for _ in range(6)} == {untouched}


def test_a_pooler_is_found_or_named_and_prepared_statements_are_off(own_database):
    url = own_database()
    with closing(Pooler(url)) as pooler:
        for named, has_pooler in (
            (url, False),
            (pooler.url, True),
            (f"{pooler.url}?pooler=yes", True),
            (f"{pooler.url}?pooler=no", False),
        ):
            engine = connect_engine(named)
            with engine.connect() as connection:
                assert (is_pooled(connection), connection.connection.prepare_threshold is None) == (has_pooler,) * 2
            engine.dispose()


def test_prepared_statements_in_a_pooler_are_told_apart_from_missing_tables(own_database):
    with closing(Pooler(own_database())) as pooler:
        engines = [connect_engine(f"{pooler.url}?pooler=no") for _ in range(2)]
        with (
            pytest.raises(DatabaseUnavailableError, match=r"add \?pooler=yes to the database URL"),
            named_database_errors(),
        ):
            for number in range(12):
                for engine in engines:
                    with engine.begin() as connection:
                        connection.execute(text("SELECT 1 + :number"), {"number": number})
        for engine in engines:
            engine.dispose()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
@pytest.mark.parametrize("opened", [open_database, Reader])
def test_a_database_whose_encoding_loses_texts_is_refused_at_the_start(own_database, encoding, opened):
    with pytest.raises(DatabaseUnavailableError) as refusal:
        opened(own_database(encoding))
    assert f"is {encoding}, which cannot represent all text: create it with CREATE DATABASE" in str(refusal.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_a_url_of_postgresql_has_any_of_its_schemes(scheme):
    assert parsed_url(f"{scheme}://index@db/bilateral").drivername == "postgresql+psycopg"


def test_a_pooler_is_named_by_yes_or_no():
    with pytest.raises(InvalidArgumentError, match='pooler in the database URL must be yes or no, not "transaction"'):
        parsed_url("postgres://db/bilateral?pooler=transaction")

"""Single statements on PostgreSQL, without a thread: they end in time, write nothing, and connect again."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Integer, Text, bindparam, column, func, select, table, text

from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError, ReadersBusyError
from bilateral.index.store.database import open_database
from bilateral.query.prepared import Prepared
from bilateral.query.single_statements import SingleStatements

DOUBLED = Prepared(select((bindparam("number", type_=Integer) * 2).label("doubled")))
NOTHING = Prepared(select(column("n", Integer)).select_from(func.generate_series(1, 0).alias("n")))
SLOW = Prepared(select(func.pg_sleep(60).label("slept")))
WRITING = Prepared(select(func.set_config("transaction_read_only", "off", False).label("set"), func.txid_current()))
ENDED = Prepared(select(func.pg_terminate_backend(func.pg_backend_pid()).label("ended")))
LIMIT = Prepared(select(func.current_setting("statement_timeout", type_=Text).label("limit")))

UNLIMITED = Prepared(select(func.set_config("statement_timeout", "0", False).label("set")))
CHANGED = Prepared(select(column("n", Integer)).select_from(table("changed_by_test")))


@pytest.fixture
def run(api_postgresql):
    """Run a coroutine function with the statements of a database."""

    def start(ask, **options):
        async def main():
            statements = SingleStatements(api_postgresql, **{"seconds": 60.0, "connections": 2, **options})
            try:
                return await ask(statements)
            finally:
                statements.close()

        return asyncio.run(main())

    return start


@pytest.fixture
def patient(monkeypatch):
    """Give a busy server more than a second to say that it ended a statement."""
    monkeypatch.setattr("bilateral.query.single_statements._GRACE", 60.0)


def test_first_row_is_found_with_parameters(run):
    async def ask(statements):
        return [await statements.first(DOUBLED, {"number": number}) for number in range(3)]

    assert run(ask) == [(0,), (2,), (4,)]


def test_statement_without_rows_finds_none(run):
    assert run(lambda statements: statements.first(NOTHING, {})) is None


def test_statement_that_takes_too_long_is_ended_and_the_connection_goes_on(run, patient):
    async def ask(statements):
        with pytest.raises(QueryTimeoutError, match=r"longer than 2 seconds"):
            await statements.first(SLOW, {})
        statements.seconds = 60.0  # on a busy machine, the answer may be late
        return await statements.first(DOUBLED, {"number": 2})

    assert run(ask, seconds=2.0, connections=1) == (4,)


def test_more_statements_than_connections_are_told_to_try_again(run, patient):
    async def ask(statements):
        return await asyncio.gather(*(statements.first(SLOW, {}) for _ in range(2)), return_exceptions=True)

    kinds = {type(problem) for problem in run(ask, seconds=2.0, connections=1)}
    assert kinds <= {QueryTimeoutError, ReadersBusyError}
    assert QueryTimeoutError in kinds


def test_statements_wait_for_a_free_connection(run):
    async def ask(statements):
        return await asyncio.gather(*(statements.first(DOUBLED, {"number": number}) for number in range(20)))

    assert run(ask, connections=1) == [(2 * number,) for number in range(20)]


def test_statement_cannot_write(run):
    with pytest.raises(DatabaseUnavailableError, match=r"read-only|read-write"):
        run(lambda statements: statements.first(WRITING, {}))


def test_lost_connection_is_replaced(run):
    async def ask(statements):
        with pytest.raises(DatabaseUnavailableError):
            await statements.first(ENDED, {})
        return await statements.first(DOUBLED, {"number": 4})

    assert run(ask) == (8,)


@pytest.fixture
def changed_table(api_postgresql):
    """Make a table, and return a function that changes the type of its column."""
    engine = open_database(api_postgresql)

    def run_text(statement):
        with engine.begin() as connection:
            connection.execute(text(statement))

    run_text("CREATE TABLE changed_by_test AS SELECT 7 AS n")
    yield lambda: run_text("ALTER TABLE changed_by_test ALTER COLUMN n TYPE bigint")
    run_text("DROP TABLE changed_by_test")
    engine.dispose()


def test_prepared_statement_that_the_server_refuses_fails_once(run, changed_table):
    async def ask(statements):
        await asyncio.gather(*(statements.first(CHANGED, {}) for _ in range(2)))
        changed_table()
        with pytest.raises(DatabaseUnavailableError, match="cached plan"):
            await statements.first(CHANGED, {})
        return await asyncio.gather(*(statements.first(CHANGED, {}) for _ in range(2)))

    assert run(ask) == [(7,), (7,)]


def test_prepared_statement_that_the_server_forgot_fails_once(run):
    hidden = "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"  # psycopg would notice the command itself

    async def ask(statements):
        await statements.first(DOUBLED, {"number": 1})
        async with statements._lent() as connection:
            await connection.execute(hidden)
        with pytest.raises(DatabaseUnavailableError, match="does not exist"):
            await statements.first(DOUBLED, {"number": 2})
        return await statements.first(DOUBLED, {"number": 3})

    assert run(ask, connections=1) == (6,)


def test_server_that_does_not_keep_the_limit_is_given_up(run):
    async def ask(statements):
        await statements.first(UNLIMITED, {})
        with pytest.raises(DatabaseUnavailableError, match="did not answer within 3 seconds"):
            await statements.first(SLOW, {})
        statements.seconds = 60.0  # on a busy machine, a new connection takes its time
        return await statements.first(LIMIT, {})

    assert run(ask, seconds=2.0, connections=1) == ("1min",)


def test_abandoned_statement_leaves_its_connection_to_nobody(run):
    async def ask(statements):
        await statements.first(DOUBLED, {"number": 1})  # connects
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await statements.first(SLOW, {})
        return await statements.first(LIMIT, {})

    assert run(ask, connections=1) == ("1min",)


def test_server_that_is_not_there_is_an_error():
    async def ask():
        statements = SingleStatements("postgresql://nobody@127.0.0.1:9/nothing", seconds=1.0, connections=1)
        await statements.first(DOUBLED, {"number": 1})

    with pytest.raises(DatabaseUnavailableError):
        asyncio.run(ask())

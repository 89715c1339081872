"""Statements that are compiled once give what SQLAlchemy gives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import bindparam, func, literal_column, select, text

from bilateral.core.events import NewFeedback
from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError
from bilateral.index.log import tables as schema
from bilateral.index.ratings.feedback import feedback_of
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import agent_key, read_registries

FEEDBACK = schema.EVENT_TABLES[NewFeedback]
OF_AGENT = (
    select(*FEEDBACK.c, func.substr(FEEDBACK.c.feedback_hash, 1, 4, type_=FEEDBACK.c.feedback_hash.type))
    .where(FEEDBACK.c.agent_id == bindparam("agent", type_=FEEDBACK.c.agent_id.type), FEEDBACK.c.tag1 != "")
    .order_by(FEEDBACK.c.block_number, FEEDBACK.c.log_index)
    .limit(100)
)
ENDLESS = {
    "sqlite": "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)",
    "postgresql": "(SELECT count(*) FROM generate_series(1, 1000000000000) AS n)",
}


def test_rows_have_the_values_of_their_columns(api_reader):
    prepared = Prepared(OF_AGENT)
    with api_reader.connect() as connection:
        for agent in (1, 2, 2**255, 1):
            expected = connection.execute(OF_AGENT, {"agent": agent}).all()
            assert prepared.all(connection, {"agent": agent, "unused": 1}) == [tuple(row) for row in expected]
            assert prepared.first(connection, {"agent": agent}) == (tuple(expected[0]) if expected else None)
        assert {type(entry) for entry in prepared.first(connection, {"agent": 1})} >= {int, str, bytes}


@pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (500, 512)])
def test_lists_get_a_power_of_two_of_parameters(count, size):
    assert size_for(range(count)) == size


@pytest.mark.parametrize("agents", [(), (1,), (1, 2), (1, 2, 2**255), (1, 2, 3, 4, 5)], ids=len)
def test_lists_find_what_they_name(api_reader, agents):
    size = size_for(agents)
    query = select(FEEDBACK.c.agent_id, FEEDBACK.c.client_address).order_by(
        FEEDBACK.c.block_number, FEEDBACK.c.log_index
    )
    prepared = Prepared(query.where(one_of("agent", FEEDBACK.c.agent_id, size)).limit(at_most(50)))
    with api_reader.connect() as connection:
        expected = connection.execute(query.where(FEEDBACK.c.agent_id.in_(agents)).limit(50)).all()
        records = prepared.records(connection, spread("agent", agents, size))
    assert [(row.agent_id, row.client_address) for row in records] == [tuple(row) for row in expected]
    assert bool(records) == bool(agents)


def test_a_list_without_parameters_finds_nothing(api_reader):
    nothing = Prepared(select(FEEDBACK.c.tag1).where(one_of("agent", FEEDBACK.c.agent_id, 0)))
    with api_reader.connect() as connection:
        assert nothing.records(connection, spread("agent", (), 0)) == []


def test_a_missing_parameter_is_a_mistake_of_the_caller(api_reader):
    with api_reader.connect() as connection, pytest.raises(KeyError, match="agent"):
        Prepared(select(FEEDBACK.c.tag1).where(FEEDBACK.c.agent_id == bindparam("agent"))).all(connection, {})


def test_a_statement_without_end_is_ended_and_the_connection_goes_on(api_database):
    reader = Reader(api_database, seconds=60.0, connections=1)  # also on a busy machine, the last statement has time
    endless = Prepared(select(literal_column(ENDLESS[reader.dialect])))
    try:
        for _ in range(2):
            with pytest.raises(QueryTimeoutError), reader.connect(spent=59.8) as connection:
                endless.all(connection, {})
        assert reader.read(Prepared(select(literal_column("1"))).first, {}) == (1,)
    finally:
        reader.close()


def test_a_wrong_statement_fails_as_one_of_sqlalchemy(api_reader):
    wrong = select(literal_column("nothing"))
    with pytest.raises(DatabaseUnavailableError, match="nothing"):
        api_reader.read(Prepared(wrong).all, {})


def test_the_server_keeps_a_plan_from_visit_to_visit(api_database):
    reader = Reader(api_database, connections=1)
    prepared = Prepared(select(literal_column("1")))
    try:
        for _ in range(10):
            reader.read(prepared.first, {})
        if reader.dialect == "postgresql":  # SQLite keeps statements by itself
            with reader.connect() as connection:
                kept = text(
                    "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE statement = 'SELECT 1'"
                )
                assert connection.execute(kept).scalar_one() > 1
    finally:
        reader.close()


def test_feedback_is_asked_only_of_registries_that_take_it(api_reader):
    with api_reader.connect() as connection:
        key = agent_key(read_registries(connection), "31337:1")
        with_feedback = set(connection.execute(select(FEEDBACK.c.registry).distinct()).scalars())
        asked = replace(key, reputations=())
        assert feedback_of(connection, key).items == feedback_of(connection, asked).items != ()
    assert with_feedback <= set(key.reputations) < set(key.registries)

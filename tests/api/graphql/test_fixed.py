"""Statements of lists without a filter are made once and planned once. They answer as others do."""

from __future__ import annotations

import pytest

from bilateral.api.graphql import statements
from bilateral.api.graphql import statements as entities
from bilateral.api.graphql.rows import chains_of
from bilateral.api.graphql.statements import Page, Selected, fixed, key_of, read_list
from tests.api.graphql.oracle import everything
from tests.api.world import CHAIN_ID

ID = (Selected("id", "id"),)
INNER = Selected("feedback", "feedback", ID, Page(first=1_000))


@pytest.fixture(autouse=True)
def _no_list_is_known():
    """Forget the lists of other tests."""
    statements._COUNTS.clear()
    statements._prepared.cache_clear()


def test_repeated_queries_get_the_same_answers(query):
    first = everything(query)
    assert [everything(query) for _ in range(2)] == [first, first]
    assert any(first.values())


@pytest.mark.parametrize("asked", [CHAIN_ID, None])
def test_repeated_lists_of_one_chain_are_not_those_of_all(query, asked):
    text = "{ agents(orderBy: createdAt) { id agentURIType feedback { tag1 } } }"
    assert len({str(query(text, chain=asked)) for _ in range(3)}) == 1


def test_lists_differ_by_their_pages_and_fields():
    lists = [
        (ID, Page()),
        (ID, Page(first=1_000)),
        (ID, Page(order_by="id")),
        (ID, Page(descending=True)),
        (ID, Page({"registrationFile": None})),
        (ID, Page({"registrationFile_not": None})),
        ((Selected("owner", "owner"),), Page()),
        ((*ID, INNER), Page()),
        ((Selected("feedback", "feedback", (*ID, *ID), Page()),), Page()),
        ((Selected("feedback", "feedback", ID, Page()),), Page()),
    ]
    assert len({key_of(*entry) for entry in lists} - {None}) == len(lists)


@pytest.mark.parametrize(
    ("selection", "page"),
    [
        (ID, Page({"id": "1:1"})),
        (ID, Page(skip=1)),
        ((Selected("feedback", "feedback", ID, Page({"tag1": ""})),), Page()),
        (ID, Page(first=7)),
        ((Selected("feedback", "feedback", ID, Page(first=99)),), Page()),
        ((Selected("alias", "id"),), Page()),
        ((Selected("alias", "feedback", ID, Page()),), Page()),
        ((Selected("feedback", "feedback", (Selected("alias", "id"),), Page()),), Page()),
        (ID * 200, Page()),
    ],
    ids=["filter", "skip", "nested filter", "first", "nested first", "alias", "list", "nested alias", "long"],
)
def test_values_of_strangers_and_long_queries_are_not_kept(selection, page):
    assert key_of(selection, page) is None


def test_a_list_is_kept_from_the_second_time_on():
    made = []
    asked = [fixed("a list of this test", lambda: made.append(1)) for _ in range(3)]
    assert asked[0] is None
    assert asked[1] is asked[2] is not None
    assert made == [1]


@pytest.mark.parametrize(("first", "kept"), [(7, 0), (100, 1), (1_000, 1)])
def test_lists_stay_whose_number_of_entries_is_that_of_many_programs(api_reader, registries, first, kept):
    chains = chains_of(registries, CHAIN_ID)
    with api_reader.connect() as connection:
        pages = {read_list(connection, chains, "Agent", ID, Page(first=first)) for _ in range(2)}
    assert len(pages) == 1
    assert statements._prepared.cache_info().currsize == kept


@pytest.mark.parametrize("api_database", ["postgresql"], indirect=True, scope="session")
def test_postgresql_plans_a_kept_list_once(api_reader, registries):
    chains = chains_of(registries, CHAIN_ID)

    def plans(connection):
        statements = connection.exec_driver_sql(
            "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements"
        )
        return {row[0]: row[1:] for row in statements if "LIMIT 1000" in row[0]}

    with api_reader.connect() as connection:
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
        before = plans(connection)
        for _ in range(4):
            read_list(connection, chains, "Agent", (*ID, INNER), Page())
        counts = [count for text, count in plans(connection).items() if text not in before]
    assert counts == [(3, 0)]


def test_statements_of_many_different_lists_leave_memory_soon(api_reader, registries):
    chains = chains_of(registries, CHAIN_ID)
    with api_reader.connect() as connection:
        others = len(connection.engine._compiled_cache)
        for alias in range(120):  # an alias is part of the statement
            read_list(connection, chains, "Agent", (Selected(f"alias{alias}", "id"),), Page())
        assert len(connection.engine._compiled_cache) == others
    assert 32 <= len(entities._COMPILED["compiled_cache"]) <= 96

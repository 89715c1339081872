"""A statement is made once for all queries that differ by their values alone. They get the answers of a new one."""

from __future__ import annotations

import pytest

from bilateral.api.graphql import statements
from bilateral.api.graphql.rows import Scope, chains_of
from bilateral.api.graphql.statements import Page, Selected, _Query, read_list
from bilateral.index.reading.json import EntityDialect
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


@pytest.fixture
def key(registries):
    """Return what the statement of a list of agents depends on."""
    scope = Scope(EntityDialect(), chains_of(registries, CHAIN_ID))
    return lambda selection, page: _Query(scope, "Agent", selection, page, is_list=True).key


def feedback(*selection, **page):
    """Return a selection of a list within the list."""
    return (*ID, Selected("feedback", "feedback", selection or ID, Page(**page)))


def test_lists_differ_by_their_pages_and_fields(key):
    lists = [
        (ID, Page()),
        (ID, Page(first=1_000)),
        (ID, Page(first=7)),
        (ID, Page(order_by="id")),
        (ID, Page(descending=True)),
        (ID, Page({"registrationFile": None})),
        (ID, Page({"registrationFile_not": None})),
        (ID, Page({"id": f"{CHAIN_ID}:1"})),
        (ID, Page({"id_in": [f"{CHAIN_ID}:1", f"{CHAIN_ID}:2"]})),
        (ID, Page({"createdAt_gt": 1})),
        (ID, Page({"createdAt_gte": 1})),
        (ID, Page({"createdAt_gte": 2**70})),
        (ID, Page({"registrationFile_": {"name": "a"}})),
        (ID, Page({"registrationFile_": {"active": True}})),
        (ID, Page({"registrationFile_": {"active": False}})),
        ((Selected("owner", "owner"),), Page()),
        ((Selected("alias", "id"),), Page()),
        (feedback(), Page()),
        (feedback(first=1_000), Page()),
        (feedback(where={"tag1": "a"}), Page()),
        (feedback(where={"tag2": "a"}), Page()),
        (feedback(*ID, *ID), Page()),
    ]
    assert len({key(*entry) for entry in lists} - {None}) == len(lists)


@pytest.mark.parametrize(
    "lists",
    [
        [(ID, Page({"id": f"{CHAIN_ID}:{number}"})) for number in (1, 2)],
        [(ID, Page(first=first, skip=skip)) for first, skip in ((7, 0), (8, 3), (1_000, 1))],
        [(ID, Page({"registrationFile_": {"name_contains_nocase": name}})) for name in ("a", "bc")],
        [(feedback(where={"tag1": tag}, first=first), Page()) for tag, first in (("a", 1), ("", 2))],
        [(ID, Page({"lastActivity_gt": time, "feedback_": {"agent_": {"updatedAt_gt": time}}})) for time in (1, 2)],
    ],
    ids=["id", "page", "text", "nested", "joined"],
)
def test_lists_that_differ_by_values_have_one_statement(key, lists):
    assert len({key(*entry) for entry in lists}) == 1


def test_filters_on_times_leave_nothing_to_later_ones(key):
    def owned():
        return key(ID, Page({"feedback_": {"agent_": {"owner": "0x" + "00" * 20}}}))

    before = owned()
    key(ID, Page({"feedback_": {"agent_": {"updatedAt_gt": 1}}}))
    assert owned() == before


@pytest.mark.parametrize(
    ("selection", "page"),
    [(ID * 200, Page()), (ID, Page({"id_in": [f"{CHAIN_ID}:{number}" for number in range(65)]}))],
    ids=["fields", "values"],
)
def test_statements_of_long_queries_are_not_kept(key, selection, page):
    assert key(selection, page) is None


@pytest.mark.parametrize("asked", [CHAIN_ID, None])
@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("{ agent(id: $a) { id owner feedback(first: 2) { id } } }", [f"{CHAIN_ID}:{number}" for number in range(5)]),
        ("{ agents(where: {id_in: [$a, $b]}) { id } }", [f"{CHAIN_ID}:1", f"{CHAIN_ID}:2", f"{CHAIN_ID}:3", "1:1"]),
        ("{ agents(where: {id_not: $a}) { id } }", [f"{CHAIN_ID}:1", f"{CHAIN_ID}:2", "1:1"]),
        ("{ agents(first: $a, skip: $b) { id } }", [1, 2, 3, 100]),
        ("{ agents(where: {createdAt_gt: $a, totalFeedback_gt: $b}) { id } }", [0, 1, 2, 2**62, 2**70]),
        ("{ agents(where: {registrationFile_: {name_contains_nocase: $a}}) { id } }", ["a", "B", "é", "Ab"]),
        ("{ agents(where: {registrationFile_: {mcpTools_contains: [$a, $b]}}) { id } }", ["a", "search", ""]),
        ("{ agents { feedback(where: {tag1: $a}, first: 3) { id } validations(where: {tag: $b}) { id } } }", ["", "a"]),
        ("{ feedbacks(where: {value_gte: $a, value_lte: $b}) { id value } }", ["-1", "80.5", 100]),
        ("{ feedbacks(where: {agent_: {lastActivity_gt: $a}, isRevoked: false}) { id } }", [0, 2**60]),
    ],
)
def test_values_of_one_query_are_not_those_of_another(query, text, operands, asked):
    pairs = [(first, second) for first in operands for second in operands]
    texts = [text.replace("$a", _literal(first)).replace("$b", _literal(second)) for first, second in pairs]
    answers = [query(text, chain=asked) for text in texts * 3]
    statements._COUNTS.clear()
    statements._prepared.cache_clear()
    fresh = []
    for one in texts:
        statements._COUNTS.clear()
        fresh.append(query(one, chain=asked))
    assert answers == fresh * 3


def _literal(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_a_statement_is_kept_from_the_second_time_on(api_reader, registries):
    chains = chains_of(registries, CHAIN_ID)
    with api_reader.connect() as connection:
        counts = []
        for _ in range(3):
            read_list(connection, chains, "Agent", ID, Page())
            counts.append(statements._prepared.cache_info().currsize)
    assert counts == [0, 1, 1]


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
            for _ in range(2):
                read_list(connection, chains, "Agent", (Selected(f"alias{alias}", "id"),), Page())
        assert len(connection.engine._compiled_cache) == others
    assert 32 <= statements._prepared.cache_info().currsize <= 96

"""Queries that ask for too much are refused before a statement runs, each at the first value beyond its limit."""

from __future__ import annotations

import time

import pytest
from graphql import GraphQLError, get_introspection_query, parse, validate

from bilateral.api.graphql import limits
from bilateral.api.graphql.execution import MAX_REPETITIONS, RULES, Checked, Deadline, GraphqlRequest
from bilateral.api.graphql.schema import graphql_schema
from bilateral.index.errors import QueryTimeoutError


def check(text, variables=None):
    return Checked(GraphqlRequest(text, variables or {}))


def nested(levels):
    """Return a query with so many levels of entities: feedback and its agent, in turn."""
    text = "id"
    for level in range(levels - 1):
        text = f"agent {{ {text} }}" if level % 2 else f"feedback(first: 1) {{ {text} }}"
    root = "feedbacks" if levels % 2 else "agents"
    return f"{{ {root}(first: 1) {{ {text} }} }}"


def filtered(conditions):
    return "{ agents(where: {or: [" + '{id: "1:1"}' * conditions + "]}) { id } }"


def fields(number):
    """Return a query with so many fields: lists of a hundred each, the last one with the rest. Few repeat."""
    sizes, names = [100] * 19 + [number - 1900], ("id", "owner", "agentId", "createdAt")
    inner = (" ".join(names[at % len(names)] for at in range(size - 1)) for size in sizes)
    return "{ " + " ".join(f"a{at}: agents {{ {text} }}" for at, text in enumerate(inner)) + " }"


def repeated(number):
    return "{ agents { " + "id " * number + "} }"


def repeated_in_fragments(number):
    """Return a query with a field in itself, in a fragment within another one, and in an inline fragment."""
    rest = "id " * (number - 2)
    return "{ agents { id ...A } } fragment A on Agent { ...B } " + f"fragment B on Agent {{ id ... {{ {rest} }} }}"


def repeated_apart(number):
    """Return a query whose lists with one name, which are one list in the answer, have a field so often together."""
    return "{ agents { " + "feedback(first: 1) { id } " * (number - 1) + "feedback(first: 1) { id } } }"


def repeated_below(number):
    """Return a query that repeats a list twice, and a field within both of them."""
    return "{ agents { feedback { " + "id " * (number - 15) + "} feedback { " + "id " * 15 + "} } }"


def aliases(number):
    return "{ agents { " + " ".join(f"a{alias}: id" for alias in range(number)) + " } }"


def roots(number):
    return "{ " + "agents { id } " * number + "}"


def entries(number):
    return "{ agents(where: {id_in: [" + '"1:1" ' * number + "]}) { id } }"


def definitions(number):
    return "{ agents { ...F0 } } " + " ".join(
        f"fragment F{at} on Agent {{ {'id' if at % 2 else 'owner'} {f'...F{at + 1}' if at < number - 2 else ''} }}"
        for at in range(number - 1)
    )


def objects(number):
    """Return a query that declares so many objects, of which 1,000 are agents."""
    return f"{{ agents(first: 1000) {{ feedback(first: {number // 1000 - 1}) {{ id }} }} }}"


@pytest.mark.parametrize(
    ("make", "allowed", "refused"),
    [
        (nested, limits.MAX_DEPTH, limits.MAX_DEPTH + 1),
        (objects, limits.MAX_OBJECTS, limits.MAX_OBJECTS + 1000),
        (fields, limits.MAX_SELECTIONS, limits.MAX_SELECTIONS + 1),
        (repeated, MAX_REPETITIONS, MAX_REPETITIONS + 1),
        (repeated_in_fragments, MAX_REPETITIONS, MAX_REPETITIONS + 1),
        (repeated_apart, MAX_REPETITIONS, MAX_REPETITIONS + 1),
        (repeated_below, MAX_REPETITIONS, MAX_REPETITIONS + 1),
        (aliases, limits.MAX_ALIASES, limits.MAX_ALIASES + 1),
        (roots, limits.MAX_ROOT_FIELDS, limits.MAX_ROOT_FIELDS + 1),
        (entries, limits.MAX_ITEMS, limits.MAX_ITEMS + 1),
        (filtered, limits.MAX_CONDITIONS - 1, limits.MAX_CONDITIONS),
        (definitions, limits.MAX_DEFINITIONS, limits.MAX_DEFINITIONS + 1),
    ],
    ids=[
        *("depth", "objects", "fields", "repetitions", "repetitions in fragments", "repetitions of lists"),
        *("repetitions within lists", "aliases", "roots", "entries", "conditions", "definitions"),
    ],
)
def test_limit_lets_its_last_value_pass(make, allowed, refused):
    check(make(allowed))
    with pytest.raises(GraphQLError, match=r"allowed|more than"):
        check(make(refused))


@pytest.mark.parametrize(
    ("argument", "allowed", "refused"),
    [("first", 1000, 1001), ("first", 1, 0), ("skip", 100_000, 100_001), ("skip", 0, -1)],
)
def test_pages_have_the_bounds_of_graph_node(argument, allowed, refused):
    check(f"{{ agents({argument}: {allowed}) {{ id }} }}")
    with pytest.raises(
        GraphQLError, match=f"The value of the `{argument}` argument must be between .*, but is {refused}"
    ):
        check(f"{{ agents({argument}: {refused}) {{ id }} }}")


def test_repeated_fields_are_refused_before_validation(monkeypatch):
    def fail(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr("bilateral.api.graphql.execution.validate", fail)
    with pytest.raises(GraphQLError, match="field feedback is selected 900 times, but at most 30 times are allowed"):
        check(repeated_apart(900))


def test_parsing_and_validation_count_as_time_of_the_query():
    text = fields(2_000)
    with pytest.raises(QueryTimeoutError, match="longer than 1e-09 seconds"):
        Checked(GraphqlRequest(text, {}), 1e-9)
    began = time.thread_time()
    document = parse(text)
    parsed_within = time.thread_time() - began
    with pytest.raises(QueryTimeoutError):  # the look at the clock is within validation, at each node
        validate(graphql_schema(), document, (*RULES, Deadline(min(0.001, parsed_within)).rule()))
    check(text)  # no failure is remembered
    Checked(GraphqlRequest(text, {}), 60.0)


def test_largest_query_of_published_sdks_passes():
    check(
        "query F($w: Feedback_filter, $first: Int!) { feedbacks(where: $w, first: $first, orderBy: createdAt, "
        "orderDirection: desc) { id agent { id } feedbackFile { id } responses { id responder } } }",
        {"first": 1000, "w": {"agent_in": [f"31337:{number}" for number in range(10_000)]}},
    )


HOSTILE = {
    "depth by fragments": "{ agents { ...A } } fragment A on Agent { feedback { ...F } } "
    "fragment F on Feedback { agent { feedback { agent { feedback { agent { feedback { agent { id } } } } } } } }",
    "a fragment in itself": "{ agents { ...A } } fragment A on Agent { feedback { agent { ...A } } }",
    "fragments that double": "{ agents { ...F0 } } "
    + " ".join(f"fragment F{number} on Agent {{ ...F{number + 1} ...F{number + 1} }}" for number in range(40))
    + " fragment F40 on Agent { id owner }",
    "wide lists": "{agents(first:1000){feedback(first:1000){agent{feedback(first:1000){agent{id}}}}}}",
    "nested or": "{ agents(where: " + "{or: [" * 200 + "{}" + "]}" * 200 + ") { id } }",
    "brackets": "{" * 5000,
    "lists": "{ agents(where: {id_in: " + "[" * 3000 + "]" * 3000 + "}) { id } }",
    "fragments and braces in each other": "{ agents { ...F0 } } "
    + " ".join(f"fragment F{number} on Agent {{ {'... {' * 50} ...F{number + 1} {'}' * 50} }}" for number in range(48))
    + " fragment F48 on Agent { id }",
    "operations": " ".join(f"query Q{number} {{ agents {{ id }} }}" for number in range(2_000)),
    "words": "{ agents { " + "id " * 20_000 + "} }",
    "directives": "{ agents { id " + "@skip(if: false) " * 5000 + "} }",
    "contained": "{ agents(where: {operators_contains: [" + '"0x00" ' * 301 + "]}) { id } }",
    "an unknown fragment": "{ agents { ...Nothing } }",
    "introspection in circles": "{ __schema { types { fields { type { fields { type { fields { type { fields "
    "{ type { name } } } } } } } } } }",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_query_is_refused(text):
    with pytest.raises(GraphQLError):
        check(text)


@pytest.mark.parametrize(
    "variables",
    [
        {"w": {"id_in": ["1:1"] * 20_000}},
        {"w": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]},
        {"w": {"or": [{"id": "1:1"}] * 400}},
    ],
    ids=["entries", "depth", "conditions"],
)
def test_variables_have_limits_too(variables):
    with pytest.raises(GraphQLError):
        check("query ($w: Agent_filter) { agents(where: $w) { id } }", variables)


def test_schema_describes_itself(query):
    types = query(get_introspection_query())["__schema"]["types"]
    assert {"Agent", "Agent_filter", "Agent_orderBy", "BigInt"} <= {type_["name"] for type_ in types}

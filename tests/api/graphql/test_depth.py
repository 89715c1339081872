"""Every query within the limits is answered by both engines, at the greatest depth that is allowed."""

from __future__ import annotations

import json

import pytest
from graphql import GraphQLError, get_named_type

from bilateral.api.graphql import limits
from bilateral.api.graphql.schema import PLURALS, entity_types, is_derived
from tests.api.graphql.oracle import everything, lists_of, references_of

pytestmark = pytest.mark.one_engine

CYCLES = {
    "agents": ("feedback", "agent"),
    "responses": ("feedback", "responses", "feedback", "responses", "feedback", "agent"),
    "metadata": ("metadata", "agent"),
    "validations": ("validations", "agent"),
    "files": ("registrationFile",),
}
"""Ways from an agent through the entities and back. They end where an entity leads nowhere."""


@pytest.fixture(scope="module")
def rows(query):
    return {entity: {entry["id"]: entry for entry in members} for entity, members in everything(query).items()}


def walk(cycle, levels):
    """Yield the entities and fields of a way of so many levels from an agent on."""
    entity = "Agent"
    for level in range(levels - 1):
        name = cycle[level % len(cycle)]
        field = entity_types()[entity].fields.get(name)
        if field is None:
            return
        yield entity, name, is_derived(field)
        entity = get_named_type(field.type).name


def nested(way, arguments):
    """Return a selection along a way. The last list has other arguments."""
    text, is_last = "id", True
    for _, name, is_list in reversed(way):
        first = f"(first: 2{arguments if is_last else ''})" if is_list else ""
        is_last = is_last and not is_list
        text = f"id {name}{first} {{ {text} }}"
    return text


def expected(rows, entity, identifier, way):
    """Return what a selection along a way finds, in plain Python."""
    answer = {"id": identifier}
    if way:
        (_, name, is_list), *rest = way
        field = (lists_of(entity) if is_list else references_of(entity))[name]
        inner, linked = get_named_type(field.type).name, rows[entity][identifier][name]
        if is_list:
            answer[name] = [expected(rows, inner, entry["id"], rest) for entry in linked[:2]]
        else:
            answer[name] = linked and expected(rows, inner, linked["id"], rest)
    return answer


@pytest.mark.parametrize("levels", [3, 5, limits.MAX_DEPTH])
@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES.keys())
def test_nested_entities_are_those_of_plain_python(query, rows, cycle, levels):
    way = list(walk(cycle, levels))
    agents = query(f"{{ agents(first: 3) {{ {nested(way, '')} }} }}")["agents"]
    assert agents == [expected(rows, "Agent", entry, way) for entry in list(rows["Agent"])[:3]]


def linked(entity, levels, inner):
    """Return a filter through other entities, with another filter in it."""
    if not levels:
        return inner(entity)
    name, of = {"Agent": ("feedback", "Feedback"), "AgentMetadata": ("agent", "Agent")}.get(entity, ("agent", "Agent"))
    if entity == "FeedbackResponse":
        name, of = "feedback", "Feedback"
    return f"{{{name}_: {linked(of, levels - 1, inner)}}}"


def joined(levels):
    """Return a function that makes a filter of `and` and `or` by turns."""

    def make(entity):
        where = '{id_not: "x"}'
        for level in range(levels):
            where = f'{{{"or" if level % 2 else "and"}: [{where}, {{id_not: "{entity}"}}]}}'
        return where

    return make


FILTERS = {
    "entities": lambda entity, levels: linked(entity, levels - limits.MAX_LINKED_LEVELS, joined(0)),
    "joined": lambda entity, levels: joined(levels)(entity),
    "both": lambda entity, levels: linked(entity, levels // 2, joined(levels - levels // 2)),
}


@pytest.mark.parametrize("make", FILTERS.values(), ids=FILTERS.keys())
@pytest.mark.parametrize("levels", [1, 2, limits.MAX_DEPTH])
@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES.keys())
def test_largest_filter_is_taken_at_every_depth(query, cycle, levels, make):
    way = list(walk(cycle, levels))
    lists = [get_named_type(entity_types()[entity].fields[name].type).name for entity, name, is_list in way if is_list]
    entity = lists[-1] if lists else "Agent"
    order = "agent__owner" if "agent" in references_of(entity) else "name" if entity == "Agent" else "id"
    arguments = f", orderBy: {order}, where: {make(entity, limits.MAX_FILTER_LEVELS)}"
    at_root, nested_ones = ("", arguments) if lists else (arguments, "")
    assert "agents" in query(f"{{ agents(first: 2{at_root}) {{ {nested(way, nested_ones)} }} }}")


@pytest.mark.parametrize("make", FILTERS.values(), ids=FILTERS.keys())
def test_filter_with_one_level_more_is_refused(query, make):
    with pytest.raises(GraphQLError, match=r"more than \d levels"):
        query(f"{{ agents(where: {make('Agent', limits.MAX_FILTER_LEVELS + 1)}) {{ id }} }}")


def test_conditions_on_other_entities_count_for_several(query):
    allowed = (limits.MAX_CONDITIONS - 1) // (limits.LINKED_CONDITIONS + 1)
    for condition in ('{feedback_: {tag1: "x"}}', '{feedback_: {agent: "x"}}'):
        number = allowed if "tag1" in condition else allowed // 2
        assert query(f"{{ agents(where: {{or: [{condition * number}]}}) {{ id }} }}") == {"agents": []}
        with pytest.raises(GraphQLError, match="conditions"):
            query(f"{{ agents(where: {{or: [{condition * (number + 2)}]}}) {{ id }} }}")


@pytest.mark.parametrize("field", ["tag1", "tag1_in", "tag1_contains_nocase", "agent", "id", "agent_"])
def test_text_with_nul_is_refused(query, field):
    operand = {"tag1_in": ["a\0"], "agent_": {"agentURI": "\0"}}.get(field, "\0")
    with pytest.raises(GraphQLError, match="NUL"):
        query("query ($w: Feedback_filter) { feedbacks(where: $w) { id } }", {"w": {field: operand}})
    with pytest.raises(GraphQLError, match="NUL"):
        query("query ($id: ID!) { feedback(id: $id) { id } }", {"id": "\0"})


MANY = limits.MAX_ITEMS - 10
LARGE = {
    "agents": ("Agent", {"id_in": [f"31337:{number}" for number in range(10, MANY)]}),
    "agents of other chains": ("Agent", {"id_in": [f"{number}:1" for number in range(MANY)]}),
    "feedback": ("Feedback", {"id_in": [f"31337:{number}:0x{number:040x}:{number}" for number in range(MANY)]}),
    "values": ("Feedback", {"value_in": [f"{number}.123" for number in range(MANY)]}),
    "clients": ("Feedback", {"clientAddress_in": [f"0x{number:040x}" for number in range(MANY)]}),
    "contained": ("AgentRegistrationFile", {"mcpTools_contains_nocase": ["forecast", *map(str, range(290))]}),
    "operators": ("Agent", {"operators_contains": [f"0x{number:040x}" for number in range(290)]}),
    "contained in feedback files": ("FeedbackFile", {"a2aSkills_contains": list(map(str, range(290)))}),
}


@pytest.mark.parametrize(("entity", "where"), LARGE.values(), ids=LARGE.keys())
def test_longest_lists_are_taken(query, entity, where):
    plural = PLURALS[entity][0]
    text = f"query ($w: {entity}_filter) {{ {plural}(where: $w) {{ id }} }}"
    assert query(text, {"w": where}) == {plural: []}


def test_entries_must_all_be_in_the_list(query):
    def ids(entries, name="mcpTools_contains"):
        text = f"{{ agentRegistrationFiles(where: {{{name}: {json.dumps(entries)}}}) {{ agentId }} }}"
        return query(text)["agentRegistrationFiles"]

    both = ["forecast", "current_weather"]
    assert ids(both) == ids([*both, *both]) == ids(["FORECAST", "Current_Weather"], "mcpTools_contains_nocase") != []
    assert ids([*both, "x"]) == ids(["FORECAST"]) == []
    assert len(ids([])) > 1

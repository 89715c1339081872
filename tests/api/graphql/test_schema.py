"""The rows behind the schema have each field, and take each filter, that the schema offers."""

from __future__ import annotations

from itertools import chain

import pytest
from graphql import GraphQLObjectType, get_named_type

from bilateral.api.graphql.rows import ENTITIES, Scope, chains_of
from bilateral.api.graphql.schema import PLURALS, entity_types, graphql_schema, is_derived
from bilateral.api.graphql.statements import MODULES, _prepared
from bilateral.api.graphql.values import MatchedValue
from bilateral.index.reading.json import entity_dialect
from tests.statements import noted_reads

MATCHES = ("contains", "starts_with", "ends_with")

LEVELS = 3
"""Levels of nested entities of a query."""


@pytest.fixture
def statements():
    """The reading statements that drivers send meanwhile."""
    with noted_reads() as reads:
        yield reads


def selected(type_, levels):
    """Return all fields of a type, with those of the entities that they name, some levels deep."""
    fields = []
    for name, field in type_.fields.items():
        inner = get_named_type(field.type)
        if not isinstance(inner, GraphQLObjectType):
            fields.append(name)
        elif levels:
            first = "(first: 2)" if "first" in field.args else ""
            fields.append(f"{name}{first} {selected(inner, levels - 1)}")
    return f"{{ {' '.join(fields)} }}"


@pytest.mark.parametrize("name", sorted(graphql_schema().query_type.fields))
def test_root_field_is_one_statement_with_all_that_is_nested_in_it(name, query, statements):
    field = graphql_schema().query_type.fields[name]
    arguments = '(id: "31337:1")' if "id" in field.args else "(first: 5)" if "first" in field.args else ""
    answer = query(f"{{ {name}{arguments} {selected(get_named_type(field.type), LEVELS)} }}")
    assert name in answer
    assert len(statements) == 1


@pytest.mark.parametrize("name", sorted(set(chain.from_iterable(PLURALS.values()))))
def test_list_whose_statement_is_kept_is_one_statement_too(name, query, statements):
    text = f"{{ {name}(first: 1000) {selected(get_named_type(graphql_schema().query_type.fields[name].type), 0)} }}"
    first, second = query(text), query(text)
    assert second == first
    kept = _prepared.cache_info()
    statements.clear()
    assert query(text) == first
    assert _prepared.cache_info().hits == kept.hits + 1
    assert len(statements) == 1


@pytest.mark.parametrize("entity", PLURALS)
def test_rows_have_the_fields_and_filters_of_the_schema(entity, api_reader, registries):
    assert len(MODULES) > 1
    with api_reader.connect() as connection:
        rows = ENTITIES[entity](Scope(entity_dialect(connection), chains_of(registries)))
    for name, field in entity_types()[entity].fields.items():
        if is_derived(field):
            assert name in rows.lists
        elif isinstance(get_named_type(field.type), GraphQLObjectType):
            assert name in rows.links
        else:
            filters = [
                field for field in graphql_schema().type_map[f"{entity}_filter"].fields if field.startswith(f"{name}_")
            ]
            is_matched = any(match in filter_ for filter_ in filters for match in MATCHES)
            assert isinstance(rows.value(name), MatchedValue) or not is_matched

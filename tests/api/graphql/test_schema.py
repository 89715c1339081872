"""The rows behind the schema have each field, and take each filter, that the schema offers."""

from __future__ import annotations

import pytest
from graphql import GraphQLObjectType, get_named_type

from bilateral.api.graphql.schema import PLURALS, entity_types, graphql_schema, is_derived
from bilateral.index.queries.entities import MODULES
from bilateral.index.queries.entities_dialects import entity_dialect
from bilateral.index.queries.entities_rows import ENTITIES, Scope, chains_of
from bilateral.index.queries.entities_values import MatchedValue

MATCHES = ("contains", "starts_with", "ends_with")


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
            filters = [it for it in graphql_schema().type_map[f"{entity}_filter"].fields if it.startswith(f"{name}_")]
            is_matched = any(match in it for it in filters for match in MATCHES)
            assert isinstance(rows.value(name), MatchedValue) or not is_matched

"""The GraphQL schema: queries, filters and sort orders, generated from the list of entities by graph-node's rules."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from graphql import GraphQLError, build_schema
from graphql.language import FloatValueNode, IntValueNode, StringValueNode, ValueNode, print_ast
from graphql.type import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    get_named_type,
)

ENTITY_LIST: Final = Path(__file__).with_name("entities.graphql")
"""The list of entities."""

PLURALS: Final = {
    "Agent": ("agents",),
    "Feedback": ("feedbacks",),
    "FeedbackResponse": ("feedbackResponses",),
    "Validation": ("validations",),
    "AgentMetadata": ("agentMetadatas", "agentMetadata_collection"),
    "Protocol": ("protocols",),
    "AgentRegistrationFile": ("agentRegistrationFiles",),
    "FeedbackFile": ("feedbackFiles",),
    "Standing": ("standings",),
}
"""The names of the root fields that list entities. For `AgentMetadata`, graph-node has only one root field."""

FIRST: Final = 100
"""The number of entries in a list if the query does not specify `first`, as in graph-node."""

_EQUALITY: Final = ("", "_not", "_in", "_not_in")
_ORDERED: Final = ("", "_not", "_gt", "_lt", "_gte", "_lte", "_in", "_not_in")
_CONTAINED: Final = ("_contains", "_not_contains")
_MATCHED: Final = (
    *("_contains", "_contains_nocase", "_not_contains", "_not_contains_nocase"),
    *("_starts_with", "_starts_with_nocase", "_not_starts_with", "_not_starts_with_nocase"),
    *("_ends_with", "_ends_with_nocase", "_not_ends_with", "_not_ends_with_nocase"),
)
_LIST: Final = ("", "_not", *_CONTAINED)
_TEXT_LIST: Final = (*_LIST, "_contains_nocase", "_not_contains_nocase")

_PRELUDE: Final = """
enum OrderDirection { asc desc }
enum _SubgraphErrorPolicy_ { allow deny }
input Block_height { hash: Bytes number: Int number_gte: Int }
input BlockChangedFilter { number_gte: Int! }
type _Block_ { hash: Bytes number: Int! timestamp: Int parentHash: Bytes }
type _Meta_ { block: _Block_! deployment: String! hasIndexingErrors: Boolean! }
"""

_AT: Final = "block: Block_height, subgraphError: _SubgraphErrorPolicy_! = deny"


@cache
def entity_types() -> dict[str, GraphQLObjectType]:
    """Return the types in the list of entities, by name."""
    scalars = "\n".join(f"scalar {name}" for name in SCALARS)
    listed = build_schema(scalars + "\ntype Query { none: Int }\n" + ENTITY_LIST.read_text())
    return {name: kind for name in PLURALS if isinstance(kind := listed.type_map[name], GraphQLObjectType)}


def is_derived(field: GraphQLField) -> bool:
    """Return True if a field lists entities that refer back to the entity that has the field."""
    node = field.ast_node
    return node is not None and any(directive.name.value == "derived" for directive in node.directives or ())


@cache
def reference_names() -> frozenset[str]:
    """Return the names of the fields that refer to one other entity."""
    fields = (field for entity in entity_types().values() for field in entity.fields.items())
    return frozenset(
        name
        for name, field in fields
        if isinstance(get_named_type(field.type), GraphQLObjectType) and not is_derived(field)
    )


@cache
def graphql_schema() -> GraphQLSchema:
    """Return the API's schema."""
    schema = build_schema(schema_text())
    for name, scalar in SCALARS.items():
        kind = schema.type_map[name]
        if isinstance(kind, GraphQLScalarType):
            scalar.adorn(kind)
    return schema


@cache
def schema_text() -> str:
    """Return the API's schema as text."""
    types = entity_types()
    parts = [*(f"scalar {name}" for name in SCALARS), _PRELUDE]
    queries = ["_meta(block: Block_height): _Meta_"]
    for name, entity in types.items():
        singular = name[0].lower() + name[1:]
        queries.append(f"{singular}(id: ID!, {_AT}): {name}")
        queries += [f"{plural}({_arguments(name)}, {_AT}): [{name}!]!" for plural in PLURALS[name]]
        parts += [_object(entity), _filter(entity), _orders(entity)]
    for enum in {get_named_type(field.type) for entity in types.values() for field in entity.fields.values()}:
        if isinstance(enum, GraphQLEnumType):
            parts.append(f"enum {enum.name} {{ {' '.join(enum.values)} }}")
    parts.append("type Query {\n  " + "\n  ".join(queries) + "\n}")
    return "\n\n".join(parts)


def _arguments(entity: str) -> str:
    order = f"orderBy: {entity}_orderBy, orderDirection: OrderDirection"
    return f"skip: Int = 0, first: Int = {FIRST}, {order}, where: {entity}_filter"


def _object(entity: GraphQLObjectType) -> str:
    lines = []
    for name, field in entity.fields.items():
        arguments = f"({_arguments(get_named_type(field.type).name)})" if is_derived(field) else ""
        lines.append(f"  {name}{arguments}: {field.type}")
    return f"type {entity.name} {{\n" + "\n".join(lines) + "\n}"


def _filter(entity: GraphQLObjectType) -> str:
    lines = [line for name, field in entity.fields.items() for line in _filter_lines(name, field)]
    lines += ["_change_block: BlockChangedFilter", f"and: [{entity.name}_filter]", f"or: [{entity.name}_filter]"]
    return f"input {entity.name}_filter {{\n  " + "\n  ".join(lines) + "\n}"


def _filter_lines(name: str, field: GraphQLField) -> Iterator[str]:
    kind = get_named_type(field.type)
    type_ = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
    is_list = isinstance(type_, GraphQLList)
    if isinstance(kind, GraphQLObjectType):
        if not is_list:
            yield from (f"{name}{end}: {_operand('String', end)}" for end in (*_ORDERED, *_MATCHED))
        yield f"{name}_: {kind.name}_filter"
    elif is_list:
        ends = _TEXT_LIST if kind.name == "String" else _LIST
        yield from (f"{name}{end}: [{kind.name}!]" for end in ends)
    else:
        yield from (f"{name}{end}: {_operand(kind.name, end)}" for end in _operators(kind))


def _operators(kind: object) -> tuple[str, ...]:
    if isinstance(kind, GraphQLEnumType):
        return _EQUALITY
    return {"Boolean": _EQUALITY, "Bytes": (*_ORDERED, *_CONTAINED), "String": (*_ORDERED, *_MATCHED)}.get(
        str(kind), _ORDERED
    )


def _operand(type_name: str, end: str) -> str:
    return f"[{type_name}!]" if end in ("_in", "_not_in") else type_name


def _orders(entity: GraphQLObjectType) -> str:
    names = list(_sortable(entity))
    for name, field in entity.fields.items():
        kind = get_named_type(field.type)
        if isinstance(kind, GraphQLObjectType) and not is_derived(field):
            names += [name, *(f"{name}__{inner}" for inner in _sortable(kind))]
    if entity.name == "Agent":
        names.append("name")  # a published SDK sorts by it, meaning the name in the registration file
    return f"enum {entity.name}_orderBy {{ {' '.join(names)} }}"


def _sortable(entity: GraphQLObjectType) -> Iterator[str]:
    for name, field in entity.fields.items():
        type_ = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
        if not isinstance(type_, GraphQLList | GraphQLObjectType):
            yield name


_WHOLE: Final = re.compile(r"-?[0-9]{1,80}(?:\.0+)?", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,80}(?:\.[0-9]{1,80})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_BYTES: Final = re.compile(r"(?:0[xX])?(?:[0-9a-fA-F]{2})*", re.ASCII)
_NUMBERS: Final = (IntValueNode, FloatValueNode, StringValueNode)
_MAX_LITERAL: Final = 80  # characters of a rejected value, so that an error fits on one line


@dataclass(frozen=True)
class Scalar:
    """A scalar type.

    Attributes:
        parse: Parses a text as a value, or returns None if the text is invalid.
        nodes: The types of literals that the scalar accepts.
        description: A description of the values.
    """

    parse: Callable[[str], Any]
    nodes: tuple[type[ValueNode], ...]
    description: str

    def adorn(self, scalar: GraphQLScalarType) -> None:
        """Make a scalar type in a schema parse values as this object specifies."""
        name = scalar.name

        def parse_value(value: Any) -> Any:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not isinstance(value, str) and not (is_number and IntValueNode in self.nodes):
                raise GraphQLError(f"{name} cannot represent {self._cut(repr(value))}: expected {self.description}")
            return self._parsed(name, str(value))

        def parse_literal(node: ValueNode, _: Any = None) -> Any:
            if not isinstance(node, self.nodes):
                literal = self._cut(print_ast(node))
                raise GraphQLError(f"{name} cannot represent {literal}: expected {self.description}", node)
            return self._parsed(name, node.value)  # type: ignore[attr-defined]

        own: Any = scalar
        own.parse_value = own.coerce_input_value = parse_value
        own.parse_literal = own.coerce_input_literal = parse_literal

    def _parsed(self, name: str, text: str) -> Any:
        parsed = self.parse(text)
        if parsed is None:
            raise GraphQLError(f"{name} cannot represent {self._cut(repr(text))}: expected {self.description}")
        return parsed

    @staticmethod
    def _cut(text: str) -> str:
        return text if len(text) <= _MAX_LITERAL else f"{text[:_MAX_LITERAL]}…"


def _whole(text: str) -> int | None:
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _bytes(text: str) -> str | None:
    return text if _BYTES.fullmatch(text) else None


SCALARS: Final = {
    "BigInt": Scalar(_whole, _NUMBERS, "an integer of at most 80 digits, as a number or a string"),
    "BigDecimal": Scalar(_decimal, _NUMBERS, "a decimal number of at most 80 digits, as a number or a string"),
    "Bytes": Scalar(_bytes, (StringValueNode,), "0x followed by pairs of hexadecimal digits"),
    "Int8": Scalar(_whole, _NUMBERS, "an integer, as a number or a string"),
    "Timestamp": Scalar(_whole, _NUMBERS, "microseconds since 1970, as a number or a string"),
}
"""The scalars that GraphQL itself does not define, by name."""

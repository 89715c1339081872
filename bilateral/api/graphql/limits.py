"""Query limits, which are checked before validation and execution. The schema's types determine a query's size."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphql import GraphQLError
from graphql import language as ast
from graphql.language import parse
from graphql.type import GraphQLList, GraphQLNonNull, GraphQLObjectType, get_named_type

from bilateral.api.graphql.schema import FIRST, graphql_schema, reference_names

# Queries within these limits must finish within two seconds; `make fuzz-graphql` tests 10,000 of them.
MAX_DEPTH: Final = 8
"""The maximum nesting depth of selected entities."""

MAX_OBJECTS: Final = 150_000
"""The maximum number of entities that a query may request through `first`. Published SDKs request up to 103,000."""

MAX_SELECTIONS: Final = 2_000
"""The maximum number of fields. Fields in a fragment count each time the fragment is spread."""

MAX_TOKENS: Final = 15_000
"""The maximum number of tokens in the text of a query."""

MAX_ALIASES: Final = 30
"""The maximum number of fields with an alias."""

MAX_ROOT_FIELDS: Final = 20
"""The maximum number of root fields, each of which becomes a statement."""

MAX_ITEMS: Final = 10_000
"""The maximum total number of list entries in a query's text and variables."""

MAX_DEFINITIONS: Final = 50
"""The maximum number of operations and fragments. Each is validated, and fragments may be nested."""

MAX_CONDITIONS: Final = 300
"""The maximum total number of conditions in all filters."""

LINKED_CONDITIONS: Final = 10
"""How many conditions a condition on a linked entity counts as, because it requires a subquery."""

MAX_FILTER_LEVELS: Final = 6
"""The maximum depth of nested `and`, `or` and linked entities in a filter. SQLite's parser allows only a few more."""

MAX_LINKED_LEVELS: Final = 3
"""The maximum nesting depth of linked entities in a filter. graph-node allows one level."""

MAX_FIRST: Final = 1_000  # as in graph-node
MAX_SKIP: Final = 100_000  # the engine reads the skipped rows, within the time limit of a read

_MAX_BRACKETS: Final = 60
"""The maximum nesting depth of brackets, because the parser recurses at each level."""

_MAX_VARIABLE_DEPTH: Final = 20
"""The maximum nesting depth of variables: more than filters need, but far below Python's recursion limit."""

_STRINGS: Final = re.compile(r'"""(?:\\"""|[\s\S])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?|#[^\n]*')
_CLOSING: Final = {"}": "{", "]": "[", ")": "("}


class LimitError(GraphQLError):
    """A query exceeds a limit."""


@dataclass(frozen=True)
class _Size:
    """The size of a selection.

    Attributes:
        depth: The number of entity levels.
        objects: The number of entities that the selection requests, per enclosing entity.
        selections: The number of fields.
        aliases: The number of fields with an alias.
    """

    depth: int = 0
    objects: int = 0
    selections: int = 0
    aliases: int = 0


def parsed(text: str) -> ast.DocumentNode:
    """Parse a query."""
    depth = deepest = 0
    for mark in re.findall(r"[][(){}]", _STRINGS.sub("", text)):
        depth += -1 if mark in _CLOSING else 1
        deepest = max(deepest, depth)
    if deepest > _MAX_BRACKETS:
        raise LimitError(f"the query has {deepest} levels of brackets, but at most {_MAX_BRACKETS} are allowed")
    return parse(text, no_location=False, max_tokens=MAX_TOKENS)


def check_variables(variables: Mapping[str, Any]) -> None:
    """Check the nesting depth of the variables, and the number of entries in them."""
    entries, items = [(variables, 1)], 0
    while entries:
        value, depth = entries.pop()
        if depth > _MAX_VARIABLE_DEPTH:
            raise LimitError(f"the variables are nested deeper than {_MAX_VARIABLE_DEPTH} levels")
        if isinstance(value, dict | list):
            items += len(value)
            entries += [(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value)]
    if items > MAX_ITEMS + MAX_CONDITIONS:
        raise LimitError(f"the variables have {items} entries, but at most {MAX_ITEMS} are allowed")


Fragments = Mapping[str, ast.FragmentDefinitionNode]


def fragments_of(document: ast.DocumentNode) -> Fragments:
    """Return the fragments of a document by name."""
    return {node.name.value: node for node in document.definitions if isinstance(node, ast.FragmentDefinitionNode)}


def fields_by_key(
    sets: Sequence[ast.SelectionSetNode], fragments: Fragments, applies: Callable[[Any], bool] = lambda _: True
) -> dict[str, list[ast.FieldNode]]:
    """Return the fields in selections and their fragments, by response name. Each fragment is spread once.

    Args:
        applies: Returns False for a selection or fragment to exclude.
    """
    fields: dict[str, list[ast.FieldNode]] = {}
    spread: set[str] = set()
    stack: list[Any] = [node for selection in reversed(sets) for node in reversed(selection.selections)]
    while stack:
        node = stack.pop()
        if not applies(node):
            continue
        if isinstance(node, ast.FieldNode):
            fields.setdefault((node.alias or node.name).value, []).append(node)
        elif not isinstance(node, ast.FragmentSpreadNode):
            stack += reversed(node.selection_set.selections)
        elif node.name.value in fragments and node.name.value not in spread:
            spread.add(node.name.value)
            stack.append(fragments[node.name.value])
    return fields


class SizeOfQuery:
    """Measures the size of a document's operations.

    Args:
        variables: The request's variables, which may be invalid.
    """

    def __init__(self, document: ast.DocumentNode, variables: Mapping[str, Any]) -> None:
        self._variables = variables
        self._document = document
        self._fragments = fragments_of(document)
        self._computed: dict[str, _Size] = {}
        self._open: set[str] = set()
        self._items = 0

    def check(self) -> None:
        """Check all operations and fragments."""
        schema, number = graphql_schema(), len(self._document.definitions)
        if number > MAX_DEFINITIONS:
            raise LimitError(
                f"the query has {number} operations and fragments, but at most {MAX_DEFINITIONS} are allowed"
            )
        for definition in self._document.definitions:
            if isinstance(definition, ast.OperationDefinitionNode):
                size = self._size(definition.selection_set, schema.query_type)
                fields = fields_by_key([definition.selection_set], self._fragments)
                self._refuse(size, sum(map(len, fields.values())))
        for name in self._fragments:
            self._refuse(self._of_fragment(name), 0)
        if self._items > MAX_ITEMS:
            raise LimitError(f"the query's lists have {self._items} entries, but at most {MAX_ITEMS} are allowed")

    def _refuse(self, size: _Size, root_fields: int) -> None:
        for counted, count, allowed in (
            ("levels", size.depth, MAX_DEPTH),
            ("selected fields", size.selections, MAX_SELECTIONS),
            ("aliases", size.aliases, MAX_ALIASES),
            ("fields at its root", root_fields, MAX_ROOT_FIELDS),
            ("declared objects", size.objects, MAX_OBJECTS),
        ):
            if count > allowed:
                figure = count if count < 10**12 else "more than a billion"
                raise LimitError(
                    f"the query has {figure} {counted}, but at most {allowed} are allowed: split the query"
                )

    def _size(self, selection: ast.SelectionSetNode, parent: Any) -> _Size:
        sizes = [self._of_node(node, parent) for node in selection.selections]
        return _Size(
            max((size.depth for size in sizes), default=0),
            sum(size.objects for size in sizes),
            sum(size.selections for size in sizes),
            sum(size.aliases for size in sizes),
        )

    def _of_node(self, node: Any, parent: Any) -> _Size:
        if isinstance(node, ast.FieldNode):
            return self._of_field(node, parent)
        if isinstance(node, ast.FragmentSpreadNode):
            return self._of_fragment(node.name.value)
        condition = node.type_condition
        type_ = parent if condition is None else graphql_schema().type_map.get(condition.name.value)
        return self._size(node.selection_set, type_)

    def _of_fragment(self, name: str) -> _Size:
        fragment = self._fragments.get(name)
        if fragment is None:
            return _Size()
        if name in self._open:
            raise LimitError(f"the fragment {name} contains itself")
        if name not in self._computed:
            self._open.add(name)
            type_ = graphql_schema().type_map.get(fragment.type_condition.name.value)
            self._computed[name] = self._size(fragment.selection_set, type_)
            self._open.discard(name)
        return self._computed[name]

    def _of_field(self, node: ast.FieldNode, parent: Any) -> _Size:
        aliases = int(node.alias is not None)
        field = parent.fields.get(node.name.value) if isinstance(parent, GraphQLObjectType) else None
        for argument in node.arguments or ():
            self._count_items(argument.value)
        is_introspection = node.name.value.startswith("__") or str(parent).startswith("__")
        if is_introspection or field is None or node.selection_set is None:
            inner = _Size() if node.selection_set is None else self._size(node.selection_set, None)
            return _Size(0, 0, 1 + inner.selections, aliases + inner.aliases)
        type_ = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
        inner = self._size(node.selection_set, get_named_type(field.type))
        times = self._first(node) if isinstance(type_, GraphQLList) else 1
        objects = times * (1 + inner.objects)
        return _Size(1 + inner.depth, objects, 1 + inner.selections, aliases + inner.aliases)

    def _first(self, node: ast.FieldNode) -> int:
        for argument in node.arguments or ():
            if argument.name.value == "first":
                value: Any = argument.value
                if isinstance(value, ast.VariableNode):
                    number = self._variables.get(value.name.value, MAX_FIRST)
                    return number if type(number) is int and 0 <= number <= MAX_FIRST else MAX_FIRST
                if isinstance(value, ast.IntValueNode) and len(value.value) < 6:  # noqa: PLR2004  # more is refused later
                    return min(max(int(value.value), 0), MAX_FIRST)
                return MAX_FIRST
        return FIRST

    def _count_items(self, value: ast.ValueNode) -> None:
        if isinstance(value, ast.ListValueNode):
            self._items += len(value.values)
            for inner in value.values:
                self._count_items(inner)
        elif isinstance(value, ast.ObjectValueNode):
            for entry in value.fields:
                self._count_items(entry.value)


def count_conditions(where: Any, level: int = 0, linked: int = 0) -> int:
    """Return the number of conditions in a filter. Each entry of a list counts as one condition."""
    if level > MAX_FILTER_LEVELS:
        raise LimitError(f"a filter has more than {MAX_FILTER_LEVELS} levels: use fewer nested filters")
    if linked > MAX_LINKED_LEVELS:
        raise LimitError(f"a filter follows more than {MAX_LINKED_LEVELS} levels of linked entities: use fewer levels")
    if isinstance(where, list):
        return sum(count_conditions(condition, level, linked) for condition in where)
    if not isinstance(where, dict):
        refuse_nul(where)
        return 1
    number = 0
    for name, operand in where.items():
        if name in ("and", "or"):
            number += 1 + count_conditions(operand, level + 1, linked) if operand else 1
        elif name.endswith("_"):
            number += LINKED_CONDITIONS + (count_conditions(operand, level + 1, linked + 1) if operand else 0)
        else:
            entries = operand if isinstance(operand, list) else [operand]
            for entry in entries:
                refuse_nul(entry)
            is_reference = name.partition("_")[0] in reference_names()
            number += LINKED_CONDITIONS if is_reference else len(entries) if "contains" in name and entries else 1
    return number


def refuse_nul(value: Any) -> None:
    """Reject a text that contains a NUL character."""
    if isinstance(value, str) and "\0" in value:
        raise LimitError("the query contains the character NUL, which no stored text contains: remove it")

"""A limit on repeated fields, checked before a query is validated: validation compares each with each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, InlineFragmentNode, OperationDefinitionNode

from bilateral.api.graphql.limits import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphql import DocumentNode, SelectionSetNode

MAX_REPETITIONS: Final = 30
"""Fields of one name in the answer, in one selection. 30 make 435 pairs; published SDKs repeat none."""


def refuse_repetitions(document: DocumentNode) -> None:
    """Refuse a query that repeats a field too often. Selections of one field that is repeated count as one selection.

    Args:
        document: The query. Its size is within the limits, so that this ends soon.

    Raises:
        LimitError: It repeats one.
    """
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode | FragmentDefinitionNode):
            _check([definition.selection_set], fragments)


def _check(sets: Iterable[SelectionSetNode], fragments: Mapping[str, FragmentDefinitionNode]) -> None:
    """Check selections that are one in the answer, and those within them."""
    for key, fields in _by_key(sets, fragments).items():
        if len(fields) > MAX_REPETITIONS:
            raise LimitError(
                f"a selection has the field {key[:80]} {len(fields)} times, and {MAX_REPETITIONS} are allowed: "
                "select each field once"
            )
        if inner := [field.selection_set for field in fields if field.selection_set is not None]:
            _check(inner, fragments)


def _by_key(
    sets: Iterable[SelectionSetNode], fragments: Mapping[str, FragmentDefinitionNode]
) -> dict[str, list[FieldNode]]:
    """Return the fields of selections, with those of fragments, by their name in the answer."""
    fields: dict[str, list[FieldNode]] = {}
    spread: set[str] = set()
    stack = list(sets)
    while stack:
        for node in stack.pop().selections:
            if isinstance(node, FieldNode):
                fields.setdefault((node.alias or node.name).value, []).append(node)
            elif isinstance(node, InlineFragmentNode):
                stack.append(node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                spread.add(node.name.value)
                if node.name.value in fragments:
                    stack.append(fragments[node.name.value].selection_set)
    return fields

"""The rules of a valid query: those of the GraphQL standard, with the exceptions that published SDKs need."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from graphql import ASTValidationRule, GraphQLError, specified_rules, type_from_ast
from graphql import language as ast
from graphql.type import GraphQLID, GraphQLList, GraphQLNonNull, GraphQLString, GraphQLType, get_named_type
from graphql.validation import FieldsOnCorrectTypeRule, VariablesInAllowedPositionRule
from graphql.validation.rules.variables_in_allowed_position import allowed_variable_usage

from bilateral.api.graphql.limits import Fragments, LimitError, fields_by_key, fragments_of
from bilateral.index.errors import QueryTimeoutError


class Deadline:
    """The end of the processor time that a thread has for a query. All are equal, as keys of remembered answers.

    Args:
        seconds: The time from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.thread_time() + seconds

    def __eq__(self, other: object) -> bool:
        """Return True for every deadline."""
        return isinstance(other, Deadline)

    def __hash__(self) -> int:
        """Return the same for every deadline."""
        return hash(Deadline)

    def require(self) -> None:
        """End the query if its time is over."""
        if time.thread_time() >= self._until:
            raise QueryTimeoutError(self._seconds)

    def rule(self) -> type[ASTValidationRule]:
        """Return a rule that no query breaks in time: it looks at the clock at each node."""
        require = self.require

        class InTimeRule(ASTValidationRule):
            """Validation ends in time."""

            def enter(self, *_args: Any) -> None:
                """Look at the clock."""
                require()

        return InTimeRule


class ExistingFieldsRule(FieldsOnCorrectTypeRule):
    """Fields exist. The words are those of graph-node, which published SDKs look for."""

    def enter_field(self, node: ast.FieldNode, *_args: Any) -> None:
        """Check one field."""
        parent = self.context.get_parent_type()
        if parent and not self.context.get_field_def():
            self.report_error(GraphQLError(f"Type `{parent.name}` has no field `{node.name.value}`", node))


class VariablesAsIdsRule(VariablesInAllowedPositionRule):
    """Variables have the types of their places. A `String` may stand for an `ID`: a published SDK declares it so."""

    def leave_operation_definition(self, operation: ast.OperationDefinitionNode, *_args: Any) -> None:
        """Check the variables of one operation."""
        schema = self.context.schema
        for usage in self.context.get_recursive_variable_usages(operation):
            node, expected = usage.node, usage.type
            definition = self.var_def_map.get(node.name.value)
            type_ = None if definition is None else type_from_ast(schema, definition.type)
            if definition is None or type_ is None or expected is None:
                continue
            as_id = _with_ids(type_) if get_named_type(expected) is GraphQLID else type_
            default = definition.default_value
            if not allowed_variable_usage(schema, as_id, default, expected, usage.default_value):
                message = (
                    f"Variable '${node.name.value}' of type '{type_}' used in position expecting type '{expected}'."
                )
                self.report_error(GraphQLError(message, [definition, node]))


def _with_ids(kind: GraphQLType) -> Any:
    if isinstance(kind, GraphQLNonNull):
        return GraphQLNonNull(_with_ids(kind.of_type))
    if isinstance(kind, GraphQLList):
        return GraphQLList(_with_ids(kind.of_type))
    return GraphQLID if kind is GraphQLString else kind


_OWN: Final[dict[Any, Any]] = {
    FieldsOnCorrectTypeRule: ExistingFieldsRule,
    VariablesInAllowedPositionRule: VariablesAsIdsRule,
}

RULES: Final = tuple(_OWN.get(rule, rule) for rule in specified_rules)
"""The rules by which queries are validated."""


MAX_REPETITIONS: Final = 30
"""Fields of one name in the answer, in one selection. 30 make 435 pairs; published SDKs repeat none."""


def refuse_repetitions(document: ast.DocumentNode) -> None:
    """Refuse a query that repeats a field too often; repeated selections of one field count as one."""
    fragments = fragments_of(document)
    for definition in document.definitions:
        if isinstance(definition, ast.OperationDefinitionNode | ast.FragmentDefinitionNode):
            _check([definition.selection_set], fragments)


def _check(sets: Sequence[ast.SelectionSetNode], fragments: Fragments) -> None:
    for key, fields in fields_by_key(sets, fragments).items():
        if len(fields) > MAX_REPETITIONS:
            raise LimitError(
                f"a selection has the field {key[:80]} {len(fields)} times, and {MAX_REPETITIONS} are allowed: "
                "select each field once"
            )
        if inner := [field.selection_set for field in fields if field.selection_set is not None]:
            _check(inner, fragments)

"""The rules of a valid query: those of the GraphQL standard, with the exceptions that published SDKs need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from graphql import (
    ASTValidationRule,
    GraphQLError,
    GraphQLID,
    GraphQLList,
    GraphQLNonNull,
    GraphQLString,
    get_named_type,
    specified_rules,
    type_from_ast,
)
from graphql.validation import FieldsOnCorrectTypeRule, VariablesInAllowedPositionRule
from graphql.validation.rules.variables_in_allowed_position import allowed_variable_usage

from bilateral.index.errors import QueryTimeoutError

if TYPE_CHECKING:
    from graphql import FieldNode, GraphQLType, OperationDefinitionNode


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
        """End the query if its time is over.

        Raises:
            QueryTimeoutError: It is.
        """
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


class KnownFieldsRule(FieldsOnCorrectTypeRule):
    """Fields exist. The words are those of graph-node, which published SDKs look for."""

    def enter_field(self, node: FieldNode, *_args: Any) -> None:
        """Check one field."""
        parent = self.context.get_parent_type()
        if parent and not self.context.get_field_def():
            self.report_error(GraphQLError(f"Type `{parent.name}` has no field `{node.name.value}`", node))


class VariablesAsIdsRule(VariablesInAllowedPositionRule):
    """Variables have the types of their places. A `String` may stand for an `ID`: a published SDK declares it so."""

    def leave_operation_definition(self, operation: OperationDefinitionNode, *_args: Any) -> None:
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
    """Return a type with `ID` for `String`."""
    if isinstance(kind, GraphQLNonNull):
        return GraphQLNonNull(_with_ids(kind.of_type))
    if isinstance(kind, GraphQLList):
        return GraphQLList(_with_ids(kind.of_type))
    return GraphQLID if kind is GraphQLString else kind


_OWN: Final[dict[Any, Any]] = {
    FieldsOnCorrectTypeRule: KnownFieldsRule,
    VariablesInAllowedPositionRule: VariablesAsIdsRule,
}

RULES: Final = tuple(_OWN.get(rule, rule) for rule in specified_rules)
"""The rules by which queries are validated."""

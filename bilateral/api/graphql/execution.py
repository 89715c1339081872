"""Validate and execute queries. Each root field becomes one SQL statement that returns the field's value as JSON."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from graphql import ASTValidationRule, GraphQLError, execute, specified_rules, type_from_ast, validate
from graphql import language as ast
from graphql.execution.values import get_argument_values, get_directive_values, get_variable_values
from graphql.type import (
    GraphQLID,
    GraphQLIncludeDirective,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSkipDirective,
    GraphQLString,
    GraphQLType,
    get_named_type,
)
from graphql.validation import FieldsOnCorrectTypeRule, VariablesInAllowedPositionRule
from graphql.validation.rules.variables_in_allowed_position import allowed_variable_usage
from sqlalchemy import Connection

from bilateral.api.graphql import limits
from bilateral.api.graphql.limits import (
    MAX_CONDITIONS,
    MAX_FIRST,
    MAX_SKIP,
    Fragments,
    LimitError,
    fields_by_key,
    fragments_of,
)
from bilateral.api.graphql.roots import Constant, Many, Meta, One, Root
from bilateral.api.graphql.rows import chains_of
from bilateral.api.graphql.schema import FIRST, entity_types, graphql_schema, is_derived
from bilateral.api.graphql.statements import Page, Selected
from bilateral.index.errors import LargeAnswerError, QueryTimeoutError
from bilateral.index.reading.prepared import plan_by_values
from bilateral.index.reading.readers import MOST_BYTES
from bilateral.index.reading.registries import Registries


class Deadline:
    """A limit on a query thread's processor time. All instances compare equal, so that caches ignore them.

    Args:
        seconds: The thread's remaining processor time, in seconds.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.thread_time() + seconds

    def __eq__(self, other: object) -> bool:
        """Return True for any two deadlines."""
        return isinstance(other, Deadline)

    def __hash__(self) -> int:
        """Return the same hash for all deadlines."""
        return hash(Deadline)

    def require(self) -> None:
        """Cancel the query if its time has run out."""
        if time.thread_time() >= self._until:
            raise QueryTimeoutError(self._seconds)

    def rule(self) -> type[ASTValidationRule]:
        """Return a validation rule that only checks the deadline, at each node of the query."""
        require = self.require

        class InTimeRule(ASTValidationRule):
            """Stops validation at the deadline."""

            def enter(self, *_args: Any) -> None:
                """Check the clock."""
                require()

        return InTimeRule


class ExistingFieldsRule(FieldsOnCorrectTypeRule):
    """Requires fields to exist. Error messages match graph-node's, because published SDKs search for them."""

    def enter_field(self, node: ast.FieldNode, *_args: Any) -> None:
        """Check one field."""
        parent = self.context.get_parent_type()
        if parent and not self.context.get_field_def():
            self.report_error(GraphQLError(f"Type `{parent.name}` has no field `{node.name.value}`", node))


class VariablesAsIdsRule(VariablesInAllowedPositionRule):
    """Requires variables to have the types expected where they occur. SDKs may pass a `String` as an `ID`."""

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
            if not allowed_variable_usage(schema, as_id, definition.default_value, expected, usage.default_value):
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
"""The rules for validating queries."""


MAX_REPETITIONS: Final = 30
"""The maximum number of fields with the same response name per selection; 30 fields make 435 pairs to compare."""


def refuse_repetitions(document: ast.DocumentNode) -> None:
    """Reject a query that repeats a field too often. The selections inside a repeated field are checked together."""
    fragments = fragments_of(document)
    for definition in document.definitions:
        if isinstance(definition, ast.OperationDefinitionNode | ast.FragmentDefinitionNode):
            _check([definition.selection_set], fragments)


def _check(sets: Sequence[ast.SelectionSetNode], fragments: Fragments) -> None:
    for key, fields in fields_by_key(sets, fragments).items():
        if len(fields) > MAX_REPETITIONS:
            raise LimitError(
                f"field {key[:80]} is selected {len(fields)} times, but at most {MAX_REPETITIONS} times are allowed: "
                "select each field once"
            )
        if inner := [field.selection_set for field in fields if field.selection_set is not None]:
            _check(inner, fragments)


_MAX_ERRORS: Final = 5
"""The maximum number of errors per response, which suffices to fix a query and limits the cost of a hostile one."""

_REMEMBERED: Final = 128
"""The number of parsed and validated queries to cache. Programs send few different queries, with varying variables."""

_REMEMBERED_LENGTH: Final = 4_000
"""The maximum length of a cached query text."""


@dataclass(frozen=True)
class GraphqlRequest:
    """A request.

    Attributes:
        query: The text of the query.
        operation: The name of the operation to run, if the text contains several.
    """

    query: str
    variables: Mapping[str, Any]
    operation: str | None = None


class Checked:
    """A request that has been checked: it is valid and within the limits.

    Args:
        seconds: The processor time that checking may take.

    Raises:
        GraphQLError: The request is malformed, invalid or too large. `errors` lists all reasons.
        QueryTimeoutError: Parsing and validating the request takes too long.
    """

    def __init__(self, request: GraphqlRequest, seconds: float = math.inf) -> None:
        try:
            self._check(request, Deadline(seconds))
        except RecursionError:
            raise limits.LimitError("the query is nested too deeply: use fewer levels of fragments") from None

    def _check(self, request: GraphqlRequest, deadline: Deadline) -> None:
        limits.check_variables(request.variables)
        is_short = len(request.query) <= _REMEMBERED_LENGTH
        self._document = (_cached_document if is_short else limits.parsed)(request.query)
        deadline.require()
        limits.SizeOfQuery(self._document, request.variables).check()
        refuse_repetitions(self._document)
        errors = _cached_errors(request.query, deadline) if is_short else _errors(self._document, deadline)
        if errors:
            raise InvalidQueryError(errors)
        self._operation = _operation(self._document, request.operation)
        self._raw_variables = dict(request.variables)
        definitions = self._operation.variable_definitions or ()
        variable_values = get_variable_values(
            graphql_schema(), definitions, self._raw_variables, max_errors=_MAX_ERRORS
        )
        if isinstance(variable_values, list):
            raise InvalidQueryError(variable_values)
        self._variables = variable_values
        self._fragments = limits.fragments_of(self._document)
        self._conditions = 0
        self._roots = list(self._root_fields())

    def answer(self, connection: Connection, registries: Registries, chain_id: int | None) -> bytes:
        """Return the response to the request."""
        chains = chains_of(registries, chain_id)
        plan_by_values(connection)
        parts = [b'{"data":{', b"}}"]
        for number, root in enumerate(self._roots):
            root.require_block(connection, chains)
            key = f'{"," if number else ""}"{root.key}":'.encode()
            parts[-1:-1] = key, root.answer(connection, chains)
            if sum(map(len, parts)) > MOST_BYTES:
                raise LargeAnswerError(MOST_BYTES)
        return b"".join(parts)

    def _root_fields(self) -> Iterator[Root]:
        query = graphql_schema().query_type
        assert query is not None  # noqa: S101  # the schema has one
        collected = self._collected([self._operation.selection_set], query)
        introspected = self._introspected([node for nodes in collected.values() for node in nodes])
        for key, nodes in collected.items():
            name = nodes[0].name.value
            if name == "__typename":
                yield Constant(key, query.name)
            elif name.startswith("__"):
                yield Constant(key, introspected.get(key))
            else:
                yield self._root(key, nodes, query)

    def _root(self, key: str, nodes: list[ast.FieldNode], query: GraphQLObjectType) -> Root:
        name = nodes[0].name.value
        arguments = get_argument_values(query.fields[name], nodes[0], self._variables)
        block = arguments.get("block") or {}
        type_ = get_named_type(query.fields[name].type)
        assert isinstance(type_, GraphQLObjectType)  # noqa: S101  # the schema is made of entities
        if name == "_meta":
            return Meta(key, block, self._names([node.selection_set for node in nodes if node.selection_set], type_))
        selection = self._selected(nodes, type_)
        if "id" in arguments:
            limits.refuse_nul(arguments["id"])
            return One(key, block, type_.name, selection, arguments["id"])
        return Many(key, block, type_.name, selection, self._page(arguments))

    def _names(self, sets: list[ast.SelectionSetNode], type_: Any) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for key, nodes in self._collected(sets, type_).items():
            name = nodes[0].name.value
            inner = [node.selection_set for node in nodes if node.selection_set]
            nested = self._names(inner, get_named_type(type_.fields[name].type)) if inner else None
            answer[key] = (name, nested)
        return answer

    def _selected(self, nodes: list[ast.FieldNode], type_: GraphQLObjectType) -> tuple[Selected, ...]:
        sets = [node.selection_set for node in nodes if node.selection_set]
        selected = []
        for key, same in self._collected(sets, type_).items():
            name = same[0].name.value
            if name == "__typename":
                selected.append(Selected(key, name))
                continue
            field = type_.fields[name]
            kind = get_named_type(field.type)
            if not isinstance(kind, GraphQLObjectType):
                selected.append(Selected(key, name))
                continue
            page = None
            if is_derived(entity_types()[type_.name].fields[name]):
                page = self._page(get_argument_values(field, same[0], self._variables))
            selected.append(Selected(key, name, self._selected(same, kind), page))
        return tuple(selected)

    def _collected(
        self, sets: Sequence[ast.SelectionSetNode], type_: GraphQLObjectType
    ) -> dict[str, list[ast.FieldNode]]:
        def applies(node: Any) -> bool:
            condition = getattr(node, "type_condition", None)
            return (condition is None or condition.name.value == type_.name) and self._is_included(node)

        return limits.fields_by_key(sets, self._fragments, applies)

    def _is_included(self, node: Any) -> bool:
        """Return True unless @skip or @include excludes a selection."""
        if not node.directives:
            return True
        skip = get_directive_values(GraphQLSkipDirective, node, self._variables)
        include = get_directive_values(GraphQLIncludeDirective, node, self._variables)
        return not (skip and skip["if"]) and (include is None or bool(include["if"]))

    def _page(self, arguments: Mapping[str, Any]) -> Page:
        first, skip = arguments.get("first"), arguments.get("skip")
        first, skip = FIRST if first is None else first, 0 if skip is None else skip
        if not 1 <= first <= MAX_FIRST:
            raise GraphQLError(f"The value of the `first` argument must be between 1 and {MAX_FIRST}, but is {first}")
        if not 0 <= skip <= MAX_SKIP:
            raise GraphQLError(
                f"The value of the `skip` argument must be between 0 and {MAX_SKIP}, but is {skip}: "
                "to read further, filter by the last id or time received"
            )
        where = arguments.get("where") or {}
        self._conditions += limits.count_conditions(where)
        if self._conditions > MAX_CONDITIONS:
            raise GraphQLError(f"the filters have more than {MAX_CONDITIONS} conditions: split the query")
        return Page(where, arguments.get("orderBy"), arguments.get("orderDirection") == "desc", first, skip)

    def _introspected(self, nodes: list[ast.FieldNode]) -> Mapping[str, Any]:
        queried = tuple(node for node in nodes if node.name.value in ("__schema", "__type"))
        if not queried:
            return {}
        operation = ast.OperationDefinitionNode(
            operation=ast.OperationType.QUERY,
            variable_definitions=self._operation.variable_definitions,
            selection_set=ast.SelectionSetNode(selections=queried),
        )
        document = ast.DocumentNode(definitions=(operation, *self._fragments.values()))
        result: Any = execute(graphql_schema(), document, variable_values=self._raw_variables)
        return result.data or {}


class InvalidQueryError(GraphQLError):
    """A query is invalid.

    Attributes:
        errors: The query's problems.
    """

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = tuple(errors)


def _errors(document: ast.DocumentNode, deadline: Deadline) -> tuple[GraphQLError, ...]:
    rules = (*RULES, deadline.rule())
    return tuple(validate(graphql_schema(), document, rules, max_errors=_MAX_ERRORS, hide_suggestions=True))


@lru_cache(_REMEMBERED)
def _cached_document(text: str) -> ast.DocumentNode:
    """Return a parsed document, which must not be modified. See `parsed` for errors."""
    return limits.parsed(text)


@lru_cache(_REMEMBERED)
def _cached_errors(text: str, deadline: Deadline) -> tuple[GraphQLError, ...]:
    """Return the first errors in a document that is within the limits. See `_errors`."""
    return _errors(_cached_document(text), deadline)


def _operation(document: ast.DocumentNode, name: str | None) -> ast.OperationDefinitionNode:
    operations = [node for node in document.definitions if isinstance(node, ast.OperationDefinitionNode)]
    if name is not None:
        operations = [node for node in operations if node.name is not None and node.name.value == name]
    if not operations:
        raise GraphQLError("the text has no query" if name is None else f"the text has no query {name[:80]!r}")
    if len(operations) > 1:
        raise GraphQLError("the query has several operations: choose one with operationName")
    if operations[0].operation is not ast.OperationType.QUERY:
        raise GraphQLError("only queries are supported: this service has no mutations or subscriptions")
    return operations[0]

"""GraphQL entities as JSON. One statement returns a list of entities with all selected fields.

The statement first selects a page of keys, to which the filter, the order, `first` and `skip` apply. The row of each
key then becomes a JSON object, and linked entities become objects or lists inside it.

SQLite's parser has a stack of a hundred entries, which nested expressions can exhaust. On SQLite, deeply nested objects
therefore become a sequence of common table expressions, which SQLite's planner inlines again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final, TypeAlias

from graphql.type import get_named_type
from sqlalchemy import BindParameter, Connection, Integer, ScalarSelect, Text, and_, bindparam, cast, exists, false
from sqlalchemy.sql import ColumnElement, Select, Subquery, literal_column, or_, select, true

from bilateral.api.graphql import agents, feedback, files
from bilateral.api.graphql.rows import ENTITIES, ChainRegistries, Rows, Scope
from bilateral.api.graphql.schema import entity_types
from bilateral.api.graphql.values import Condition
from bilateral.index.errors import LargeAnswerError
from bilateral.index.reading.json import entity_dialect
from bilateral.index.reading.prepared import Prepared, entries_of
from bilateral.index.reading.readers import MOST_BYTES


@dataclass(frozen=True)
class Page:
    """The requested page of a list.

    Attributes:
        where: The filter, as parsed by the schema's input types.
        order_by: The field to sort by, or a field of a referenced entity such as `registrationFile__name`; None for the
            id.
        descending: True to sort in descending order.
        first: The maximum number of entries.
        skip: The number of entries to skip.
    """

    where: Mapping[str, Any] = field(default_factory=dict)
    order_by: str | None = None
    descending: bool = False
    first: int = 100
    skip: int = 0


@dataclass(frozen=True)
class Selected:
    """A requested field.

    Attributes:
        key: The field's name in the response.
        name: The field's name in the schema, or `__typename`.
        selection: The selected fields of the entities to which the field refers; empty for a value.
        page: The requested page, if the field is a list of entities.
    """

    key: str
    name: str
    selection: tuple[Selected, ...] = ()
    page: Page | None = None


_MAX_STATEMENTS: Final = 64
"""The number of statements to cache. Each takes half a megabyte."""

_LONGEST: Final = 1_500
"""The maximum length of a selection whose statement is cached. The SDKs' selections have about half this length."""

_MAX_PARAMETERS: Final = 64
"""The maximum number of filter values in a cached statement."""

_FIRSTS: Final = (100, 1_000)
"""The values of `first` that become literals in statements: the schema's and SDKs' defaults. Others are parameters."""

_MAX_COUNTED: Final = 1_024
"""The number of distinct statements at which the counts of uses are reset."""

_COUNTS: Final[Counter[int]] = Counter()

_LOCK: Final = Lock()
"""The lock that is held while a filter is built from cached rows."""

_Parameters: TypeAlias = Sequence[BindParameter[Any]]


class _Query:
    """A query for entities. Two queries are equal if they differ only in the statement's parameters.

    Args:
        page: The page of the list or, for a single entity, a filter that finds the entity.
        is_list: False for a single entity.

    Attributes:
        key: Everything on which the statement depends; None if the statement is not cached.
        values: The values of the statement's parameters, with lists flattened.
    """

    def __init__(self, scope: Scope, entity: str, selection: Sequence[Selected], page: Page, *, is_list: bool) -> None:
        self._scope, self._entity, self._selection, self._page, self._is_list = scope, entity, selection, page, is_list
        shape = _shape(selection)
        filters = [_filter(scope, *listed) for listed in _pages(entity, selection, page)]
        self.values = [value for _, parameters in filters for of in parameters for value in entries_of(of)]
        is_kept = len(repr(shape)) <= _LONGEST and len(self.values) <= _MAX_PARAMETERS
        self.key = (is_list, scope, entity, shape, *(key for key, _ in filters)) if is_kept else None

    def __eq__(self, other: object) -> bool:
        """Return True if both queries can use the same statement."""
        return isinstance(other, _Query) and self.key == other.key

    def __hash__(self) -> int:
        """Return the same hash for queries that share a statement."""
        return hash(self.key)

    def rows(self, connection: Connection) -> Iterable[Any]:
        """Return the rows of the response. A statement is cached when it is used for the second time."""
        if self.key is not None:
            if len(_COUNTS) >= _MAX_COUNTED:
                _COUNTS.clear()
            _COUNTS[number := hash(self)] += 1  # hashing traverses the whole key
            if _COUNTS[number] > 1:
                return _prepared(self).all(connection, dict(enumerate(self.values)))
        return connection.execute(self.make()[0], execution_options={"compiled_cache": None})

    def make(self) -> tuple[Select[Any], _Parameters]:
        """Return the statement, and the parameters in the order of their values."""
        assembly, rows = _Assembly(self._scope, self._selection), ENTITIES[self._entity](self._scope)
        if self._is_list:
            statement = assembly.rows(rows, self._selection, self._page)
        else:
            rows.conditions.append(assembly.condition(rows, self._page))
            statement = select(cast(assembly.object(rows, self._selection), Text))
        pages = (page for _, page in _pages(self._entity, self._selection, self._page))
        return statement, [parameter for page in pages for parameter in assembly.parameters[id(page)]]


@lru_cache(_MAX_STATEMENTS)
def _prepared(query: _Query) -> Prepared:
    # PostgreSQL plans a statement without parameters only once.
    statement, parameters = query.make()
    return Prepared(statement, is_literal=not parameters, parameters=parameters)


def _pages(entity: str, selection: Sequence[Selected], page: Page | None) -> Iterator[tuple[str, Page]]:
    """Yield each page of a list in a query, with the type of the listed entities."""
    if page is not None:
        yield entity, page
    for selected in selection:
        if selected.selection:
            kind = get_named_type(entity_types()[entity].fields[selected.name].type)
            yield from _pages(kind.name, selected.selection, selected.page)


def _filter(scope: Scope, entity: str, page: Page) -> tuple[Hashable, _Parameters]:
    """Return the part of a page on which the statement depends, and the page's parameters."""
    key: Hashable = tuple(page.where)
    parameters: _Parameters = ()
    if any(operand is not None for operand in page.where.values()):
        with _LOCK:
            key, parameters = _key_and_parameters(_condition(_rows_of_filters(scope, entity), page.where))
    if _is_fixed(page):
        return (key, page.order_by, page.descending, page.first), parameters
    return (key, page.order_by, page.descending, None), (*parameters, *_limits(page))


@lru_cache(_MAX_STATEMENTS)
def _rows_of_filters(scope: Scope, entity: str) -> Rows:
    """Return cached rows for computing filters' keys, because creating rows takes longer than most queries."""
    return ENTITIES[entity](scope)


def _key_and_parameters(condition: Condition) -> tuple[Hashable, _Parameters]:
    """Return a condition's SQLAlchemy cache key, without values, and the parameters that contain the values."""
    cached = condition._generate_cache_key()  # noqa: SLF001  # as compiled caches do
    assert cached is not None  # noqa: S101  # all parts of conditions have keys
    lengths = tuple(len(entries_of(parameter)) for parameter in cached.bindparams if parameter.expanding)
    return (cached.key, lengths), cached.bindparams


def _is_fixed(page: Page) -> bool:
    return not page.skip and page.first in _FIRSTS


def _limits(page: Page) -> tuple[BindParameter[int], BindParameter[int]]:
    return bindparam(None, page.first, Integer, unique=True), bindparam(None, page.skip, Integer, unique=True)


def _shape(selection: Sequence[Selected]) -> Hashable:
    """Return a key that identifies a selection without its pages."""
    return tuple((selected.key, selected.name, _shape(selected.selection)) for selected in selection)


MODULES: Final = (agents, feedback, files)
"""The modules that define the rows in `ENTITIES`."""

_NESTED: Final = 2
"""The number of nested levels of entities per expression, for engines whose parser has a small stack."""


def read_list(
    connection: Connection, chains: Sequence[ChainRegistries], entity: str, selection: Sequence[Selected], page: Page
) -> bytes:
    """Return a list of entities as JSON, using one statement that returns an entity per row."""
    query = _Query(Scope(entity_dialect(connection), tuple(chains)), entity, selection, page, is_list=True)
    return _listed(text for (text,) in query.rows(connection))


def _listed(entries: Iterable[str | None]) -> bytes:
    """Return entries as a JSON list. SQLite builds it step by step, so that oversized lists fail early."""
    encoded, size = [], 1
    for entry in entries:
        encoded.append((entry or "null").encode())
        size += len(encoded[-1]) + 1  # including the separator
        if size > MOST_BYTES:
            raise LargeAnswerError(MOST_BYTES)
    return b"[%b]" % b",".join(encoded)


def read_one(
    connection: Connection,
    chains: Sequence[ChainRegistries],
    entity: str,
    selection: Sequence[Selected],
    entity_id: str,
) -> bytes:
    """Return one entity as JSON, using one statement; `null` if it does not exist."""
    scope = Scope(entity_dialect(connection), tuple(chains))
    ((answer,),) = _Query(scope, entity, selection, Page({"id": entity_id}), is_list=False).rows(connection)
    return b"null" if answer is None else str(answer).encode()


def _rows_of(rows: Rows, statement: Select[Any]) -> Select[Any]:
    """Select from an entity's rows. Other tables in the statement belong to the enclosing entities."""
    return statement.select_from(rows.source).correlate_except(*_leaves(rows.source))


def _leaves(source: Any) -> list[Any]:
    if not hasattr(source, "left"):
        return [source]
    return [source, *_leaves(source.left), *_leaves(source.right)]


class _Assembly:
    """Assembles a statement from its parts.

    Args:
        scope: The chains and the database engine.
        selection: The selected fields of the root entities.
    """

    def __init__(self, scope: Scope, selection: Sequence[Selected]) -> None:
        self._scope = scope
        self._is_flat = scope.dialect.has_small_parser and _height(selection) > _NESTED
        self._number = 0
        self.parameters: dict[int, _Parameters] = {}
        """The parameters of each page, by the `id` of the page object."""

    def condition(self, rows: Rows, page: Page) -> Condition:
        """Return a page's condition, and record its parameters."""
        condition = _condition(rows, page.where)
        self.parameters[id(page)] = _key_and_parameters(condition)[1]
        return condition

    def rows(self, rows: Rows, selection: Sequence[Selected], page: Page) -> Select[Any]:
        """Return a root list's entities as JSON, one per row. Joining them in the database would copy long texts."""
        item, numbered = self._entries(rows, selection, page, 1)
        return select(cast(item, Text)).select_from(numbered)

    def listed(self, rows: Rows, selection: Sequence[Selected], page: Page, level: int) -> ScalarSelect[Any]:
        """Return a list of entities as JSON."""
        item, numbered = self._entries(rows, selection, page, level)
        return select(self._scope.dialect.json_list(item)).select_from(numbered).scalar_subquery()

    def _entries(self, rows: Rows, selection: Sequence[Selected], page: Page, level: int) -> tuple[Any, Any]:
        keys = [column.label(f"key{at}") for at, column in enumerate(rows.key)]
        # Build filters and orders first, because they may join tables to the rows.
        condition, order = self.condition(rows, page), _order(rows, page)
        query = _rows_of(rows, select(*keys)).where(*rows.conditions, condition)
        query = query.order_by(*order)
        if _is_fixed(page):
            query = query.limit(page.first)
        else:
            limits = _limits(page)
            self.parameters[id(page)] = (*self.parameters[id(page)], *limits)
            query = query.limit(limits[0]).offset(limits[1])
        numbered: Any = query.subquery()
        key = list(numbered.c)
        shared = self._shared(rows, selection, level)
        if shared is not None:
            numbered = numbered.join(shared, true())
        return self._by_key(rows, key, selection, level, shared), numbered

    def _shared(self, rows: Rows, selection: Sequence[Selected], level: int) -> Subquery | None:
        """Return the objects to which all entries of a list link, by position in the selection; None if empty."""
        # The objects are computed once per list. The limit keeps the engine from computing them for each entry.
        # Response names cannot be column names: SQLite ignores their case, and PostgreSQL truncates long ones.
        if self._is_apart(level):
            return None  # a separate expression cannot refer to enclosing ones
        objects = [
            self.object(rows.parents[selected.name](), selected.selection, level + 1).label(f"shared{at}")
            for at, selected in enumerate(selection)
            if selected.name in rows.parents and selected.selection
        ]
        return select(*objects).limit(1).subquery() if objects else None

    def object(
        self, rows: Rows, selection: Sequence[Selected], level: int = 1, shared: Subquery | None = None
    ) -> ScalarSelect[Any]:
        """Return the first row as a JSON object. `shared` may contain members that are already computed."""
        if self._is_apart(level):
            content: Any = self._by_key(rows, rows.key, selection, level)
        else:
            content = self._members(rows, selection, level, shared)
        return _rows_of(rows, select(content)).where(*rows.conditions).limit(1).scalar_subquery()

    def _is_apart(self, level: int) -> bool:
        """Return True if the objects at a nesting level become separate expressions."""
        return self._is_flat and level > 1 and level % _NESTED == 1

    def _by_key(
        self, rows: Rows, key: Sequence[Any], selection: Sequence[Selected], level: int, shared: Subquery | None = None
    ) -> ScalarSelect[Any]:
        own = type(rows)(self._scope)
        # The first condition names the chains, so PostgreSQL only opens their partitions. The others already hold.
        own.conditions = own.conditions[:1]
        if not self._is_apart(level):
            own.conditions += [column == value for column, value in zip(own.key, key, strict=True)]
            return self.object(own, selection, level, shared)
        self._number += 1
        keys = [column.label(f"key{at}") for at, column in enumerate(own.key)]
        members = select(*keys, self._members(own, selection, level).label("shown")).select_from(own.source)
        apart = members.where(*own.conditions).cte(f"level{level}_{self._number}")
        same = [apart.c[f"key{at}"] == value for at, value in enumerate(key)]
        # JSON that comes from another query is text until it is parsed.
        query = select(self._scope.dialect.embedded(apart.c.shown)).where(*same)
        return query.limit(1).correlate_except(apart).scalar_subquery()

    def _members(
        self, rows: Rows, selection: Sequence[Selected], level: int, shared: Subquery | None = None
    ) -> ColumnElement[Any]:
        dialect = self._scope.dialect
        computed = {} if shared is None else {column.name: dialect.embedded(column) for column in shared.c}
        return dialect.members(
            [
                (
                    selected.key,
                    computed[name] if (name := f"shared{at}") in computed else self._member(rows, selected, level),
                )
                for at, selected in enumerate(selection)
            ]
        )

    def _member(self, rows: Rows, selected: Selected, level: int) -> ColumnElement[Any]:
        if selected.name == "__typename":
            return literal_column(f"'{rows.entity}'", Text)
        if selected.page is not None:
            return self.listed(rows.lists[selected.name](), selected.selection, selected.page, level + 1)
        if selected.selection:
            return self.object(rows.links[selected.name](), selected.selection, level + 1)
        return rows.value(selected.name).json_value(self._scope.dialect)


def _height(selection: Sequence[Selected]) -> int:
    return 1 + max((_height(selected.selection) for selected in selection if selected.selection), default=0)


def _linked(rows: Rows, expression: Any) -> ScalarSelect[Any]:
    return _rows_of(rows, select(expression)).where(*rows.conditions).limit(1).scalar_subquery()


def _order(rows: Rows, page: Page) -> list[ColumnElement[Any]]:
    """Return a list's sort order: by a field and then by id, both in the same direction."""
    name = rows.sort_aliases.get(page.order_by or "id", page.order_by or "id")
    keys = rows.order(name)
    if keys is None:
        reference, _, of_reference = name.partition("__")
        dialect = rows.scope.dialect
        if reference in rows.links:
            linked = rows.links[reference]()
            key = _linked(linked, linked.value(of_reference or "id").sort_key(dialect))
            keys = [(key.desc() if page.descending else key.asc())]
            keys = [keys[0].nulls_first() if page.descending else keys[0].nulls_last()]
            return [*keys, *_order(rows, Page(descending=page.descending))]
        value = rows.value(name)
        keys = [value.sort_key(dialect)]
        if value.is_nullable:
            # As in PostgreSQL, NULL is greater than all values.
            ordered = [(key.desc().nulls_first() if page.descending else key.asc().nulls_last()) for key in keys]
            return [*ordered, *_order(rows, Page(descending=page.descending))]
    # Block and position already distinguish rows, and SQLite then uses the agent's index, which has this order.
    if name != "id" and len(keys) == 1:
        return [*_directed(keys, page), *_order(rows, Page(descending=page.descending))]
    return _directed(keys, page)


def _directed(keys: Sequence[ColumnElement[Any]], page: Page) -> list[ColumnElement[Any]]:
    return [key.desc() if page.descending else key.asc() for key in keys]


def _condition(rows: Rows, where: Mapping[str, Any]) -> Condition:
    return and_(true(), *(_test(rows, name, operand) for name, operand in where.items()))


def _test(rows: Rows, name: str, operand: Any) -> Condition:
    if name == "and":
        return and_(true(), *(_condition(rows, inner or {}) for inner in operand or ()))
    if name == "or":
        return or_(false(), *(_condition(rows, inner or {}) for inner in operand)) if operand is not None else true()
    if name == "_change_block":
        return true() if rows.block is None or operand is None else and_(rows.block >= operand["number_gte"])
    if name.endswith("_"):
        return true() if operand is None else _has(rows, name[:-1], operand)
    of, _, operator = name.partition("_")
    if of in rows.links:
        return _test_reference(rows, of, operator, operand)
    return rows.value(of).test(rows.scope.dialect, operator, operand)


def _has(rows: Rows, name: str, where: Mapping[str, Any]) -> Condition:
    children = rows.child(name)
    source = children.source
    condition = _condition(children, where)
    if children.source is not source:
        rows.forget_child(name)  # the filter joined a table that other filters do not need
    children_query: Select[Any] = select(literal_column("1")).where(*children.conditions, condition)
    return exists(_rows_of(children, children_query))


def _test_reference(rows: Rows, name: str, operator: str, operand: Any) -> Condition:
    if operand is None:
        linked = rows.child(name)
        rows_of_link: Select[Any] = _rows_of(linked, select(literal_column("1")).where(*linked.conditions))
        is_linked = exists(rows.scope.dialect.row_by_row(rows_of_link))
        return ~is_linked if operator == "" else is_linked
    # "Not" matches rows that refer to a different entity, but not rows that refer to none.
    return _has(rows, name, {f"id_{operator}".rstrip("_"): operand})

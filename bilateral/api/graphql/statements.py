"""Entities of the GraphQL schema as JSON: one statement answers a list of entities with all that is selected of them.

A page of keys comes first: filters, order, `first` and `skip` look at them alone. Each key's row becomes a JSON object,
and what it links to becomes an object or list inside of it.

SQLite's parser has a stack of a hundred entries, which nested expressions fill. So on SQLite objects that are nested
deeply become common table expressions, which follow each other in the text. SQLite's planner puts them back into place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, ScalarSelect, Text, and_, cast, exists, false, literal_column, or_, select, true
from sqlalchemy.sql import ColumnElement, Select, Subquery
from sqlalchemy.util import LRUCache

from bilateral.api.graphql import agents, feedback, files
from bilateral.api.graphql.rows import ENTITIES, ChainRegistries, Rows, Scope
from bilateral.api.graphql.values import Condition
from bilateral.index.errors import LargeAnswerError
from bilateral.index.reading.json import entity_dialect
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.readers import MOST_BYTES


@dataclass(frozen=True)
class Page:
    """The part of a list that is asked for.

    Attributes:
        where: The filter, as the schema's input types parse it.
        order_by: The field that sorts, or a reference's field such as `registrationFile__name`; None for the id.
        descending: True for the greatest first.
        first: The largest number of entries.
        skip: The number of entries to leave out before them.
    """

    where: Mapping[str, Any] = field(default_factory=dict)
    order_by: str | None = None
    descending: bool = False
    first: int = 100
    skip: int = 0


@dataclass(frozen=True)
class Selected:
    """A field that is asked for.

    Attributes:
        key: Its name in the answer.
        name: Its name in the schema, or `__typename`.
        selection: The fields of the entities behind it; empty for a value.
        page: The part of the list, if it is a list of entities.
    """

    key: str
    name: str
    selection: tuple[Selected, ...] = ()
    page: Page | None = None


_MAX_STATEMENTS: Final = 64
"""Statements that stay."""

_LONGEST: Final = 1_500
"""The most characters of the key of a statement that stays. The lists of the SDKs have about half of them."""

_FIRSTS: Final = (100, 1_000)
"""The `first` of lists that stay: the schema's default, and that of the SDKs. Each other one would be a statement."""

_MAX_COUNTED: Final = 1_024
"""Lists that are counted until the count begins anew."""

_COUNTS: Final[Counter[Hashable]] = Counter()


def fixed(key: Hashable, make: Callable[[], Select[Any]]) -> Prepared | None:
    """Return the statement of a list from the second time on that it is asked for; None for the first time."""
    if len(_COUNTS) >= _MAX_COUNTED:
        _COUNTS.clear()
    _COUNTS[key] += 1
    return _prepared(_List(key, make)) if _COUNTS[key] > 1 else None


@dataclass(frozen=True)
class _List:
    """A list that is asked for.

    Attributes:
        key: Tells it from other lists.
        make: Makes its statement.
    """

    key: Hashable
    make: Callable[[], Select[Any]] = field(compare=False)


@lru_cache(_MAX_STATEMENTS)
def _prepared(listed: _List) -> Prepared:
    return Prepared(listed.make(), is_literal=True)


def key_of(selection: Sequence[Selected], page: Page) -> Hashable | None:
    """Return what tells a list from others; None if its statement has parts that strangers choose, or is long."""
    key = _key(selection, page)
    return None if len(repr(key)) > _LONGEST else key


def _key(selection: Sequence[Selected], page: Page | None) -> Hashable | None:
    """Return what tells a selection from others; None if it has an alias, or a list with an unusual part of its own."""
    part: Hashable = None
    if page is not None:
        if page.skip or page.first not in _FIRSTS or any(condition is not None for condition in page.where.values()):
            return None
        part = (tuple(page.where), page.order_by, page.descending, page.first)
    fields = []
    for selected in selection:
        inner = _key(selected.selection, selected.page) if selected.selection else ()
        if inner is None or selected.key != selected.name:
            return None
        fields.append((selected.name, inner))
    return part, tuple(fields)


MODULES: Final = (agents, feedback, files)
"""The modules whose rows are in `ENTITIES`."""

_NESTED: Final = 2
"""Levels of entities within each other in one expression, where the engine's parser has a small stack."""

_COMPILED: Final[Mapping[str, Any]] = {"compiled_cache": LRUCache(capacity=64)}
"""The compiled statements that stay. One takes half a megabyte, and SQLAlchemy would keep up to 750 of them."""


def read_list(
    connection: Connection, chains: Sequence[ChainRegistries], entity: str, selection: Sequence[Selected], page: Page
) -> bytes:
    """Return a list of entities as JSON, by one statement: each row is an entity."""
    scope = Scope(entity_dialect(connection), tuple(chains))

    def make() -> Select[Any]:
        return _Assembly(scope, selection).rows(ENTITIES[entity](scope), selection, page)

    key = key_of(selection, page)
    prepared = None if key is None else fixed((scope, entity, key), make)
    result: Any
    if prepared is None:
        result = connection.execute(make(), execution_options=_COMPILED)
    else:
        result = prepared.all(connection, {})
    return _listed(text for (text,) in result)


def _listed(entries: Iterable[str | None]) -> bytes:
    """Return a JSON list of entries. SQLite makes them one by one, so too large a list ends before it takes memory."""
    encoded, size = [], 1
    for entry in entries:
        encoded.append((entry or "null").encode())
        size += len(encoded[-1]) + 1  # with the sign behind it
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
    """Return one entity as JSON, by one statement; `null` if there is none."""
    scope = Scope(entity_dialect(connection), tuple(chains))
    rows = ENTITIES[entity](scope)
    rows.conditions.append(rows.value("id").test(scope.dialect, "", entity_id))
    as_json = _Assembly(scope, selection).object(rows, selection)
    answer = connection.execute(select(cast(as_json, Text)), execution_options=_COMPILED).scalar_one()
    return b"null" if answer is None else str(answer).encode()


def _rows_of(rows: Rows, statement: Select[Any]) -> Select[Any]:
    """Read a statement from the rows of an entity. Other tables that it names are of the statements around it."""
    return statement.select_from(rows.source).correlate_except(*_leaves(rows.source))


def _leaves(source: Any) -> list[Any]:
    if not hasattr(source, "left"):
        return [source]
    return [source, *_leaves(source.left), *_leaves(source.right)]


class _Assembly:
    """Puts the parts of a statement together.

    Args:
        scope: The chains and the engine.
        selection: The fields of the entities at the root.
    """

    def __init__(self, scope: Scope, selection: Sequence[Selected]) -> None:
        self._scope = scope
        self._is_flat = scope.dialect.has_small_parser and _height(selection) > _NESTED
        self._number = 0

    def rows(self, rows: Rows, selection: Sequence[Selected], page: Page) -> Select[Any]:
        """Return the entities of a list at the root, each as JSON. To join them, an engine copies long texts."""
        item, numbered = self._entries(rows, selection, page, 1)
        return select(cast(item, Text)).select_from(numbered)

    def listed(self, rows: Rows, selection: Sequence[Selected], page: Page, level: int) -> ScalarSelect[Any]:
        """Return a list of entities as JSON."""
        item, numbered = self._entries(rows, selection, page, level)
        return select(self._scope.dialect.json_list(item)).select_from(numbered).scalar_subquery()

    def _entries(self, rows: Rows, selection: Sequence[Selected], page: Page, level: int) -> tuple[Any, Any]:
        keys = [column.label(f"key{at}") for at, column in enumerate(rows.key)]
        # Filters and orders come first: they may join tables to the rows.
        condition, order = _condition(rows, page.where), _order(rows, page)
        query = _rows_of(rows, select(*keys)).where(*rows.conditions, condition)
        query = query.order_by(*order).limit(page.first).offset(page.skip)
        numbered: Any = query.subquery()
        key = list(numbered.c)
        shared = self._shared(rows, selection, level)
        if shared is not None:
            numbered = numbered.join(shared, true())
        return self._by_key(rows, key, selection, level, shared), numbered

    def _shared(self, rows: Rows, selection: Sequence[Selected], level: int) -> Subquery | None:
        """Return the objects that all entries of a list link to, by their places in the selection; None without any."""
        # They are computed once for the list. The limit keeps the engine from computing them for each entry after all.
        # Keys of the answer cannot name columns: SQLite takes `a` and `A` for one name, and PostgreSQL cuts long names.
        if self._is_apart(level):
            return None  # what is written apart sees nothing around it
        objects = [
            self.object(rows.parents[selected.name](), selected.selection, level + 1).label(f"shared{at}")
            for at, selected in enumerate(selection)
            if selected.name in rows.parents and selected.selection
        ]
        return select(*objects).limit(1).subquery() if objects else None

    def object(
        self, rows: Rows, selection: Sequence[Selected], level: int = 1, shared: Subquery | None = None
    ) -> ScalarSelect[Any]:
        """Return the first of some rows as a JSON object. Some of its members may be known."""
        if self._is_apart(level):
            content: Any = self._by_key(rows, rows.key, selection, level)
        else:
            content = self._members(rows, selection, level, shared)
        return _rows_of(rows, select(content)).where(*rows.conditions).limit(1).scalar_subquery()

    def _is_apart(self, level: int) -> bool:
        """Return True if the objects of a level are written apart."""
        return self._is_flat and level > 1 and level % _NESTED == 1

    def _by_key(
        self, rows: Rows, key: Sequence[Any], selection: Sequence[Selected], level: int, shared: Subquery | None = None
    ) -> ScalarSelect[Any]:
        own = type(rows)(self._scope)
        # The first condition names the chains, so that PostgreSQL looks into their partitions only. The others hold.
        own.conditions = own.conditions[:1]
        if not self._is_apart(level):
            own.conditions += [column == value for column, value in zip(own.key, key, strict=True)]
            return self.object(own, selection, level, shared)
        self._number += 1
        keys = [column.label(f"key{at}") for at, column in enumerate(own.key)]
        members = select(*keys, self._members(own, selection, level).label("shown")).select_from(own.source)
        apart = members.where(*own.conditions).cte(f"level{level}_{self._number}")
        same = [apart.c[f"key{at}"] == value for at, value in enumerate(key)]
        # JSON that is read from another query is a text until it is parsed.
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
    """Return the order of a list: by a field, then by the id, both in one direction."""
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
            # As PostgreSQL does: NULL is greater than all values.
            ordered = [(key.desc().nulls_first() if page.descending else key.asc().nulls_last()) for key in keys]
            return [*ordered, *_order(rows, Page(descending=page.descending))]
    if name != "id":
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
        return true() if operand is None else _has(_children(rows, name[:-1]), operand)
    of, _, operator = name.partition("_")
    if of in rows.links:
        return _test_reference(rows, of, operator, operand)
    return rows.value(of).test(rows.scope.dialect, operator, operand)


def _children(rows: Rows, name: str) -> Rows:
    return (rows.links.get(name) or rows.lists[name])()


def _has(children: Rows, where: Mapping[str, Any]) -> Condition:
    """Return true if there is a linked row that a filter lets pass."""
    children_query: Select[Any] = select(literal_column("1")).where(*children.conditions, _condition(children, where))
    return exists(_rows_of(children, children_query))


def _test_reference(rows: Rows, name: str, operator: str, operand: Any) -> Condition:
    linked = rows.links[name]()
    if operand is None:
        rows_of_link: Select[Any] = _rows_of(linked, select(literal_column("1")).where(*linked.conditions))
        is_linked = exists(rows.scope.dialect.row_by_row(rows_of_link))
        return ~is_linked if operator == "" else is_linked
    # "Not" is true of rows that name another entity, and not of those that name none.
    return _has(linked, {f"id_{operator}".rstrip("_"): operand})

"""Selections: the fields and the part of a list that a query asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Select

from bilateral.index.reading.prepared import Prepared


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


_KEPT: Final = 64
"""Statements that stay."""

_LONGEST: Final = 1_500
"""The most characters of the key of a statement that stays. The lists of the SDKs have about half of them."""

_FIRSTS: Final = (100, 1_000)
"""The `first` of lists that stay: the schema's default, and that of the SDKs. Each other one would be a statement."""

_HEARD: Final = 1_024
"""Lists that are counted until the count begins anew."""

_COUNTS: Final[Counter[Hashable]] = Counter()


def fixed(key: Hashable, make: Callable[[], Select[Any]]) -> Prepared | None:
    """Return the statement of a list from the second time on that it is asked for; None for the first time."""
    if len(_COUNTS) >= _HEARD:
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


@lru_cache(_KEPT)
def _prepared(wanted: _List) -> Prepared:
    return Prepared(wanted.make(), is_literal=True)


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

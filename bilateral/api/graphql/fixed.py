"""Lists of entities without a filter: their statements have no parameters, so they are made once, and planned once.

To put a statement for GraphQL together takes longer than to answer most queries, and PostgreSQL takes as long again to
plan it. Programs send few queries, again and again. Each connection to PostgreSQL keeps the plans, so a statement stays
only if its list looks like those of the SDKs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from bilateral.index.reading.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from sqlalchemy import Select

    from bilateral.api.graphql.selections import Page, Selected

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
    """Return the statement of a list from the second time on that it is asked for; None for the first time.

    Args:
        key: Tells the list from others.
        make: Makes the statement.
    """
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
    """Return what tells a list from others; None if its statement has parts that strangers choose, or is long.

    Args:
        selection: The fields.
        page: The part of the list.
    """
    key = _key(selection, page)
    return None if len(repr(key)) > _LONGEST else key


def _key(selection: Sequence[Selected], page: Page | None) -> Hashable | None:
    """Return what tells a selection from others; None if it has an alias, or a list with an unusual part of its own."""
    shown: Hashable = None
    if page is not None:
        if page.skip or page.first not in _FIRSTS or any(condition is not None for condition in page.where.values()):
            return None
        shown = (tuple(page.where), page.order_by, page.descending, page.first)
    fields = []
    for selected in selection:
        inner = _key(selected.selection, selected.page) if selected.selection else ()
        if inner is None or selected.key != selected.name:
            return None
        fields.append((selected.name, inner))
    return shown, tuple(fields)

"""Selections: the fields and the part of a list that a query asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


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

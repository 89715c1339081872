"""Long lists of values, in parts for statements."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 500
"""Values of one statement's list, so that no statement grows with what a question finds."""


def in_parts(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Yield some values in parts, each for the list of one statement."""
    rest = iter(values)
    while part := list(islice(rest, size)):
        yield part

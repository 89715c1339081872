"""Errors of pydantic in the words of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pydantic import ValidationError

_OF_OURS: Final = "Value error, "
"""Pydantic puts these words before a message that the package wrote."""


def message_of(problem: Mapping[str, Any]) -> str:
    """Return the message of one problem.

    Args:
        problem: An entry of `ValidationError.errors()`.
    """
    return str(problem["msg"]).removeprefix(_OF_OURS)


def first_problem(error: ValidationError, *place: str) -> str:
    """Return the first problem with the name of its field, such as `api.port: …`.

    Args:
        error: The error.
        *place: The names of the tables around the field.
    """
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, (*place, *first["loc"])))
    return f"{name}: {message_of(first)}" if name else message_of(first)

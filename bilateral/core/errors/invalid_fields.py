"""Convert pydantic errors to messages in the package's own wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pydantic import ValidationError

_OF_OURS: Final = "Value error, "
"""The prefix that pydantic adds to the messages of this package's own validators."""


def message_of(problem: Mapping[str, Any]) -> str:
    """Return the message for one problem in a pydantic error."""
    return str(problem["msg"]).removeprefix(_OF_OURS)


def first_problem(error: ValidationError, *place: str) -> str:
    """Return the message for the first problem, preceded by the name of the field, as in `api.port: …`."""
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, (*place, *first["loc"])))
    return f"{name}: {message_of(first)}" if name else message_of(first)


_WORDS: Final = {
    "bool_parsing": "must be yes or no",
    "decimal_parsing": "is not a number",
    "enum": "is unknown: choose {expected}",
    "greater_than_equal": "is too small: write at least {ge}",
    "int_parsing": "is not an integer",
}
"""The messages about strings entered in a form or on a command line, by pydantic error type."""


def refusal(error: ValidationError, ending: str = "") -> InvalidArgumentError:
    """Return an error that quotes the input and states its first problem, such as `minimum "much" is not a number`."""
    first = error.errors(include_url=False)[0]
    context = dict(first.get("ctx", {}))
    if "expected" in context:
        context["expected"] = context["expected"].replace("'", "").replace(" or ", ", ")
    words = _WORDS[first["type"]].format(**context) if first["type"] in _WORDS else f"is invalid: {message_of(first)}"
    return InvalidArgumentError(f"{first['loc'][0]}{ending} {quoted(str(first['input']))} {words}")

"""Check arguments against the annotations of their parameters.

Python accepts unintended values: a string is also a sequence of strings, and `True` is also the number 1.
`checked` rejects values that the annotations do not allow, and raises an error that identifies the argument.

Existing libraries are unsuitable: pydantic's `validate_call` copies values, and shows even secret keys in error
messages; others accept `True` as a number.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from inspect import iscoroutinefunction, isfunction, signature
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from bilateral.core.errors import InvalidArgumentError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def checked(function: F) -> F:
    """Make a function reject arguments that its annotations do not allow."""
    annotations = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    hints = get_type_hints(SimpleNamespace(__annotations__=annotations), function.__globals__)
    parameters = signature(function)

    def check(*arguments: Any, **options: Any) -> None:
        for name, value in parameters.bind(*arguments, **options).arguments.items():
            if name in hints and not _fits(value, hints[name]):
                raise InvalidArgumentError(f"{name}: expected {annotations[name]}, not {_described(value)}")

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        check(*arguments, **options)
        return function(*arguments, **options)

    @wraps(function)
    async def call_async(*arguments: Any, **options: Any) -> Any:
        check(*arguments, **options)
        return await function(*arguments, **options)

    return cast("F", call_async if iscoroutinefunction(function) else call)


def checked_class(cls: C) -> C:
    """Apply `checked` to a class's constructor and public methods."""
    for name, member in list(vars(cls).items()):
        if isfunction(member) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, checked(member))
    return cls


def is_whole(value: object) -> bool:
    """Return whether a value is an integer other than a `bool`, because passing `True` as a number is a mistake."""
    return isinstance(value, int) and not isinstance(value, bool)


def _fits(value: object, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, option) for option in inner)
    if origin is Sequence:
        is_several = isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, Mapping))
        return is_several and all(_fits(element, inner[0]) for element in cast("Collection[object]", value))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items()
        )
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(hint) if not name.startswith("_"))
    rule = _RULES.get(hint)
    return isinstance(value, hint) if rule is None else rule(value)


def _is_unicode(text: str) -> bool:
    """Return whether a string can be encoded in UTF-8. Lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _described(value: object) -> str:
    kind = f"a {type(value).__name__}"
    if isinstance(value, str) and not _is_unicode(value):
        return f"{kind} with a lone surrogate"
    if isinstance(value, Mapping):
        return f"{kind} of {_kinds(value)} to {_kinds(value.values())}"
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray)):
        return f"{kind} of {_kinds(value)}"
    return "None" if isinstance(value, NoneType) else kind


def _kinds(values: Collection[object]) -> str:
    return ", ".join(sorted({type(value).__name__ for value in values})) or "nothing"


_RULES: Final[Mapping[Any, Callable[[object], bool]]] = {
    Any: lambda _: True,
    int: is_whole,
    float: lambda value: is_whole(value) or (isinstance(value, float) and not math.isnan(value)),
    Decimal: lambda value: isinstance(value, (Decimal, float)),  # the number parser raises a better error for a float
    str: lambda value: isinstance(value, str) and _is_unicode(value),
    bytes: lambda value: isinstance(value, (bytes, bytearray)),
}
"""The checks for annotated types for which `isinstance` would be too lenient or too strict."""

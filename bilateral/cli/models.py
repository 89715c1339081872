"""Options of commands from models: the dataclasses of commands, and the questions that REST and tools ask too.

The model of a question may have two tables for its command: `flags` of fields whose names do not serve, where a text
without dashes makes an argument of several words, and the fields of each of the `panels` of the help.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import EnumType
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

from bilateral.cli.help import argument, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

_REQUIRED: Final = inspect.Parameter.empty


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a command behind the first, with the fields of each model in the model's place.

    Args:
        function: The function of the command.
    """
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return [field for parameter in own for field in fields_of(parameter.annotation) or [parameter]]


def gathered(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function, made of those of its command.

    Args:
        arguments: The arguments of `parameters_of`, by name.

    Raises:
        InvalidArgumentError: A field is invalid.
    """
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return {parameter.name: _value(parameter, arguments) for parameter in own}


def _value(parameter: inspect.Parameter, arguments: dict[str, Any]) -> Any:
    kind = parameter.annotation
    names = [field.name for field in fields_of(kind)]
    if not names:
        return arguments[parameter.name]
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: arguments[name] for name in names})
    from pydantic import ValidationError  # noqa: PLC0415  # slow to import

    from bilateral.core.errors.invalid_fields import refusal  # noqa: PLC0415

    values: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        value = " ".join(arguments[name] or ()) if _is_of_words(kind, name) else arguments[name]
        if value not in (None, "", [], ()):
            values[field.alias or name] = value
    try:
        return kind(**values)
    except ValidationError as error:
        raise refusal(error) from None


def fields_of(kind: Any) -> list[inspect.Parameter]:
    """Return the fields of a model as parameters; none for another type.

    Args:
        kind: The type.
    """
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        options = {
            field.name: (hints[field.name], _REQUIRED if field.default is MISSING else field.default)
            for field in fields(kind)
        }
    else:
        options = {name: _option(kind, name, field) for name, field in getattr(kind, "model_fields", {}).items()}
    place = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, place, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def _option(model: Any, name: str, field: FieldInfo) -> tuple[Any, Any]:
    """Return the type and the default of a field of a question: an argument if it is required, else an option."""
    public, about = field.alias or name, (field.description or "").replace("`", "")
    if field.is_required():
        return Annotated[str, argument(public.upper(), about, show_default=False)], _REQUIRED
    own = next((part for part in field.metadata if isinstance(part, OptionInfo)), None)
    parts = _parts(field.annotation)
    kind: Any = next((kind for kind in (int, bool) if kind in parts), str)  # texts are parsed later
    is_list = any(get_origin(part) is list for part in parts)
    flag = getattr(model, "flags", {}).get(name, f"--{public}" if is_list or field.alias else None)
    if _is_of_words(model, name):
        return Annotated[list[str] | None, argument(flag, about, show_default=False)], None
    declared = option(
        _metavar(public, parts) if kind is str else None,
        about,
        *filter(None, [flag]),
        min=next((part.ge for part in field.metadata if hasattr(part, "ge")), None) if kind is int else None,
        show_default=False,
        rich_help_panel=next((panel for panel, names in getattr(model, "panels", {}).items() if name in names), None),
    )
    return Annotated[(list[kind] if is_list else kind) | None, own or declared], None


def _is_of_words(model: Any, name: str) -> bool:
    """Return True if a field is an argument of several words."""
    return not getattr(model, "flags", {}).get(name, "-").startswith("-")


def _metavar(name: str, parts: list[Any]) -> str:
    """Return what the help shows for a text: the values to choose from, or a noun."""
    choices = next((part for part in parts if isinstance(part, EnumType)), None)
    if choices is not None:
        return "|".join(choices)
    return "NUMBER" if Decimal in parts else name.upper()


def _parts(kind: Any) -> list[Any]:
    """Return a type, and the types that it is made of."""
    return [kind, *(part for inner in get_args(kind) for part in _parts(inner))]

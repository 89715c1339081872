"""Options of commands from models: the dataclasses of commands, and the questions that REST and tools ask too."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from bilateral.cli.errors import UsageProblemError

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
    return [field for parameter in own for field in _fields_of(parameter.annotation) or [parameter]]


def gathered(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function, made of those of its command.

    Args:
        function: The function.
        arguments: The arguments of `parameters_of`, by name.

    Raises:
        UsageProblemError: A field is invalid.
    """
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return {parameter.name: _value(parameter, arguments) for parameter in own}


def _value(parameter: inspect.Parameter, arguments: dict[str, Any]) -> Any:
    """Return the argument for a parameter."""
    kind = parameter.annotation
    names = [field.name for field in _fields_of(kind)]
    if not names:
        return arguments[parameter.name]
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: arguments[name] for name in names})
    from pydantic import ValidationError  # noqa: PLC0415  # slow to import

    from bilateral.errors.invalid_fields import refusal  # noqa: PLC0415

    try:
        return kind(
            **{kind.model_fields[name].alias or name: arguments[name] for name in names if arguments[name] is not None}
        )
    except ValidationError as error:
        raise UsageProblemError(str(refusal(error))) from None


def _fields_of(kind: Any) -> list[inspect.Parameter]:
    """Return the fields of a model as parameters; none for another type."""
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        options = {
            field.name: (hints[field.name], _REQUIRED if field.default is MISSING else field.default)
            for field in fields(kind)
        }
    else:
        options = {name: _option(name, field) for name, field in getattr(kind, "model_fields", {}).items()}
    place = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, place, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def _option(name: str, field: FieldInfo) -> tuple[Any, Any]:
    """Return the type and the default of a field of a question: an argument if it is required, else an option."""
    metavar, about = (field.alias or name).upper(), (field.description or "").replace("`", "")
    if field.is_required():
        return Annotated[str, typer.Argument(metavar=metavar, help=about, show_default=False)], _REQUIRED
    kind: Any = next((kind for kind in (int, bool) if kind in _parts(field.annotation)), str)  # texts are parsed later
    option = typer.Option(metavar=metavar if kind is str else None, help=about)
    own = (part for part in field.metadata if isinstance(part, OptionInfo))
    return Annotated[kind | None, next(own, option)], None


def _parts(kind: Any) -> list[Any]:
    """Return a type, and the types that it is made of."""
    return [kind, *(part for inner in get_args(kind) for part in _parts(inner))]

"""Arguments of tools, from the models of questions that REST and the command line ask too."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Field, create_model

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def brief(model: type[BaseModel], about: Mapping[str, str], **others: Any) -> Any:
    """Return a model with descriptions as short as a tool's have to be.

    Its arguments have the names that they have over HTTP, where a list is a parameter in the singular that is repeated.

    Args:
        model: The model of the question.
        about: The descriptions by field. Other fields have none.
        **others: The types of further fields, and of fields that differ. None is their default.
    """
    fields: dict[str, Any] = {
        name: (
            Annotated[
                (field.annotation, *field.metadata, Field(alias=_published(name, field), description=about.get(name)))
            ],
            field.default,
        )
        for name, field in model.model_fields.items()
    }
    fields |= {name: (Annotated[kind, Field(description=about.get(name))], None) for name, kind in others.items()}
    return create_model(model.__name__, __base__=model, __cls_kwargs__={"extra": "forbid"}, **fields)


def _published(name: str, field: FieldInfo) -> str | None:
    """Return the name of a field over HTTP; None for its own, which lists have too."""
    is_list = get_origin(field.annotation) is list or any(
        get_origin(kind) is list for kind in get_args(field.annotation)
    )
    return None if is_list or field.alias == name else field.alias


def asks(model: type[BaseModel]) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]:
    """Make the fields of a model arguments of a tool, before those that it has itself. Required ones come first.

    Args:
        model: The model. The tool gets it as its first argument.
    """

    def decorate(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(function)
        async def call(**arguments: Any) -> Any:
            names = [field.alias or name for name, field in model.model_fields.items()]
            question = model.model_construct(**{name: arguments.pop(name) for name in names})
            return await function(question, **arguments)  # the server validated each argument

        signature = inspect.signature(function, eval_str=True)
        fields = [
            inspect.Parameter(
                field.alias or name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.is_required() else field.default,
                annotation=Annotated[(field.annotation, *field.metadata, Field(description=field.description))],
            )
            for name, field in model.model_fields.items()
        ]
        _, *own = signature.parameters.values()
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        parameters = sorted([*fields, *own], key=lambda parameter: parameter.default is not inspect.Parameter.empty)
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate

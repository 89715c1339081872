"""Modules that require optional parts of the index."""

from collections.abc import Iterable
from http import HTTPStatus
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bilateral.api.answers import ProblemError

_INDEX: Final = "bilateral.index."


def module_names(package: ModuleType) -> list[str]:
    """Return the names of a package's modules."""
    return [f"{package.__name__}.{module.name}" for module in iter_modules(package.__path__)]


def import_present(names: Iterable[str]) -> tuple[list[ModuleType], set[str]]:
    """Import modules. Return the imported modules, and the names of the index's parts that are not installed."""
    modules, missing = [], set()
    for name in names:
        try:
            modules.append(import_module(name))
        except ModuleNotFoundError as error:
            part = (error.name or "").removeprefix(_INDEX)
            if part == error.name or not part.isidentifier():  # a package, or a module in an installed part
                raise
            missing.add(part)
    return modules, missing


def refuse_missing(parts: Iterable[str]) -> ASGIApp:
    """Return an application for paths whose routes are missing because parts of the index are not installed."""
    names = ", ".join(sorted(parts))

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001  # the form of an application
        detail = f"this installation has no route for {scope['path']}: it lacks these parts of the index: {names}"
        raise ProblemError(HTTPStatus.NOT_IMPLEMENTED, "missing_part", detail)

    return refuse

"""The OpenAPI document of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.api.answers import PROBLEM, adapter
from bilateral.api.problems import Problem

if TYPE_CHECKING:
    from fastapi import FastAPI

_OWN = frozenset({"HTTPValidationError", "ValidationError"})
"""The schemas of errors that FastAPI would answer with. The service answers with problems."""


def describe(app: FastAPI) -> None:
    """Make an application's OpenAPI document say what its error handlers and layers do.

    Args:
        app: The application.
    """
    original = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = original()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for name in _OWN:
                schemas.pop(name, None)
            schemas["Problem"] = {**adapter(Problem).json_schema(), "additionalProperties": True}
            for operations in document["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
                    operation["responses"].setdefault("default", dict(PROBLEM))
        assert app.openapi_schema is not None  # noqa: S101  # FastAPI keeps it
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]

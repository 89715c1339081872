"""Routes that stream their responses, as an application declares them. A stream cannot be signed as a whole."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

STREAMS: Final = frozenset(
    {
        "application/json-seq",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/stream+json",
        "application/x-jsonlines",
        "application/x-ndjson",
        "multipart/x-mixed-replace",
        "text/event-stream",
    }
)
"""Content types of responses that clients read while they arrive."""

_FLASK_PARAMETER: Final = re.compile(r"<(?:([^<>:]+):)?([^<>]+)>")


class StreamingRoute(NamedTuple):
    """A route that streams.

    Attributes:
        methods: Its HTTP methods.
        path: Its path, with parameters as `{name}`, or `{name:path}` if they take slashes.
    """

    methods: Collection[str]
    path: str


def is_stream(content_type: str) -> bool:
    """Tell whether a `Content-Type` is that of a stream."""
    return content_type.partition(";")[0].strip().lower() in STREAMS


def asgi_streams(app: Any, prefix: str = "") -> Iterator[StreamingRoute]:
    """Find the streaming routes of a FastAPI or Starlette application: also of included routers and mounted parts."""
    for route in _asgi_routes(app):
        path = prefix + (getattr(route, "path", None) or "")
        if getattr(route, "endpoint", None) is None:
            yield from asgi_streams(getattr(route, "app", None) or route, path)
            continue
        response_class = getattr(route, "response_class", None)
        response_class = getattr(response_class, "value", response_class)  # FastAPI wraps its default
        if _is_streaming_class(response_class) or _is_streaming_function(route.endpoint):
            yield StreamingRoute(getattr(route, "methods", None) or {"GET"}, path)


def flask_streams(app: Any) -> Iterator[StreamingRoute]:
    """Find the streaming routes of a Flask application, also of its blueprints: views that yield their responses."""
    for rule in app.url_map.iter_rules():
        if _is_streaming_function(app.view_functions.get(rule.endpoint)):
            yield StreamingRoute(rule.methods or {"GET"}, _FLASK_PARAMETER.sub(_parameter, rule.rule))


def _parameter(match: re.Match[str]) -> str:
    """Return a parameter of Flask as Starlette writes it."""
    return f"{{{match[2]}:path}}" if match[1] == "path" else f"{{{match[2]}}}"


def _asgi_routes(app: Any) -> Iterable[Any]:
    """Return the routes of an application, those of included routers one by one."""
    while not hasattr(app, "routes") and hasattr(app, "app"):
        app = app.app  # middleware around a mounted application
    routes = getattr(app, "routes", None) or ()
    fastapi = sys.modules.get("fastapi.routing")
    expand = getattr(fastapi, "iter_route_contexts", None)
    return routes if expand is None else expand(routes)


def _is_streaming_class(kind: Any) -> bool:
    """Tell whether a class is that of streaming responses."""
    if not isinstance(kind, type):
        return False
    is_streaming = any(base.__name__ == "StreamingResponse" for base in kind.__mro__)
    return is_streaming or is_stream(str(getattr(kind, "media_type", "")))


def _is_streaming_function(function: Callable[..., Any] | None) -> bool:
    """Tell whether a function yields its response, or says by its annotation that it returns a stream."""
    while isinstance(function, functools.partial):
        function = function.func
    if function is None or inspect.isclass(function):
        return False
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return True
    returned = None
    with suppress(Exception):  # an annotation may name what is not imported
        returned = typing.get_type_hints(function).get("return")
    return _is_streaming_class(returned)

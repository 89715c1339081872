"""The most frequent requests, answered before the router. It takes longer for one than the database does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from re import Match, Pattern

from fastapi import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bilateral.api.answers import tagged_by
from bilateral.api.problems import ProblemError, answer_to, problem_of
from bilateral.api.service import Service
from bilateral.core.errors import BilateralError


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A frequent kind of GET request. Its route stays in the application: it describes the path, and takes the rest.

    Attributes:
        path: The path of the route, for the figures of the service.
        pattern: The paths, without a query.
        answer: Gives the JSON of a request, by its path and its query; None to leave it to the route.
    """

    path: str
    pattern: Pattern[str]
    answer: Callable[[Service, Match[str], bytes], Awaitable[bytes | None]]


class Shortcuts:
    """Answers the requests of `Shortcut`s, and passes the others on.

    Args:
        app: The application.
        service: The parts that all routes share.
        shortcuts: The kinds of requests.
    """

    def __init__(self, app: ASGIApp, service: Service, shortcuts: Sequence[Shortcut]) -> None:
        self._app = app
        self._service = service
        self._shortcuts = shortcuts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        response = None
        if scope["type"] == "http" and scope["method"] == "GET":
            response = await self._answer(scope)
        await (self._app if response is None else response)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        path = scope["path"]
        for shortcut in self._shortcuts:
            match = shortcut.pattern.fullmatch(path)
            if match is None:
                continue
            try:
                body = await shortcut.answer(self._service, match, scope["query_string"])
            except ProblemError as problem:
                response = answer_to(path, problem)
            except BilateralError as error:
                response = answer_to(path, problem_of(error))
            else:
                if body is None:
                    return None
                response = tagged_by(_known(scope), body)
            scope["route"] = shortcut
            return response
        return None


def _known(scope: Scope) -> str | None:
    """Return the tags of the answers that the client has."""
    values = [value for name, value in scope["headers"] if name == b"if-none-match"]
    return b",".join(values).decode("latin-1") if values else None

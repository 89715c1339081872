"""A service whose database is not there yet: it answers 503 until the process that follows the chains made it."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from fastapi import Response

from bilateral.api.answers import JSON
from bilateral.api.app import create_app
from bilateral.api.problems import ProblemError, answer_to
from bilateral.core.errors import BilateralError
from bilateral.index.errors import DatabaseUnavailableError, OlderSchemaError
from bilateral.index.log.database import open_database

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bilateral.api.settings import ApiSettings

_LOOK_SECONDS: Final = 1.0
"""The seconds between two looks for the database, which a follower makes within a few."""

_RETRY_SECONDS: Final = 5
"""The seconds after which a client should come again: a follower makes its tables in less."""

_DETAIL: Final = "the index has no tables of this version yet: try again later"
_NOT_READY: Final = f'{{"ready":false,"problems":["{_DETAIL}"],"chains":[],"missing":[]}}'.encode()
_LOGGER: Final = logging.getLogger("bilateral.api")


def make_app(settings: ApiSettings) -> ASGIApp:
    """Make the application, or one that waits for its database.

    Raises:
        NewerSchemaError: A newer version of this package made the tables.
        InvalidArgumentError: A setting is invalid.
    """
    try:
        return create_app(settings)
    except (DatabaseUnavailableError, OlderSchemaError) as problem:
        return AwaitingDatabase(settings, problem)


class AwaitingDatabase:
    """Answers 503 to all but the monitors' `/healthz`, and becomes the application once there is a database.

    Args:
        problem: The error of the first try to open it.
    """

    def __init__(self, settings: ApiSettings, problem: BilateralError) -> None:
        self._settings = settings
        self._told = ""
        self._app: ASGIApp | None = None
        self._tell(problem)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await _answer(scope["path"])(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Look for the database from the start of the process to its end."""
        await receive()
        ended = asyncio.Event()
        work = asyncio.create_task(self._become(ended))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        ended.set()
        await work
        await send({"type": "lifespan.shutdown.complete"})

    async def _become(self, ended: asyncio.Event) -> None:
        """Wait for the database, and then run the application. Its start and end belong to one task."""
        while not ended.is_set():
            try:
                await to_thread.run_sync(_require_database, self._settings.database)
                app = create_app(self._settings)
            except BilateralError as problem:
                self._tell(problem)
                await _wait(ended)
                continue
            async with app.router.lifespan_context(app):
                self._app = app
                _LOGGER.warning("the database is there: the service answers")
                await ended.wait()

    def _tell(self, problem: BilateralError) -> None:
        """Log the reason, once. It names hosts and paths, so it is for the operator alone."""
        if str(problem) != self._told:
            self._told = str(problem)
            _LOGGER.warning("the service waits for its database: %s", problem)


def _require_database(url: str | None) -> None:
    open_database(url, creates=False).dispose()


async def _wait(ended: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(ended.wait(), _LOOK_SECONDS)
    except TimeoutError:
        return


def _answer(path: str) -> Response:
    """Return the answer to a path until the database is there."""
    if path == "/healthz":
        return Response(b'{"status":"ok"}', media_type=JSON, headers={"Cache-Control": "no-store"})
    headers = {"Retry-After": str(_RETRY_SECONDS)}
    if path == "/readyz":
        return Response(_NOT_READY, HTTPStatus.SERVICE_UNAVAILABLE, {**headers, "Cache-Control": "no-store"}, JSON)
    problem = ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, DatabaseUnavailableError.reason, _DETAIL, headers=headers)
    return answer_to(path, problem)

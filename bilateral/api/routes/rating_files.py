"""The route of a file with all ratings that a list of an agent has."""

from __future__ import annotations

from collections.abc import Iterator
from threading import BoundedSemaphore
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from bilateral.api.answers import CSV, attachment, csv_lines
from bilateral.api.pages import agent_of
from bilateral.api.problems import ProblemError, known
from bilateral.api.service import service_of
from bilateral.explorer.listing import rating_rows

router = APIRouter(include_in_schema=False, default_response_class=Response)

_MOST_FILES: Final = 2
"""The files that a process sends at a time. One of a million ratings takes a thousand queries."""

_SLOTS: Final = BoundedSemaphore(_MOST_FILES)


class _File(StreamingResponse):
    """An answer that gives its slot back at its end, also if the client is gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            _SLOTS.release()


@router.get("/{network}/{agent_id:number}/ratings.csv")
def ratings_file(request: Request, network: str, agent_id: int) -> Response:
    """Return all of the ratings that a list of an agent has, as CSV. They are read and sent a thousand at a time."""
    service = service_of(request)
    parameters = {name: value for name, value in request.query_params.items() if name != "cursor"}  # of all pages
    key = agent_of(service, network, agent_id)
    first = known(service.read(rating_rows, service.registries(), key, parameters), "agent", key.id)

    def parts() -> Iterator[bytes]:
        kind, rows, cursor = first
        yield csv_lines(kind, rows)
        while cursor is not None:
            following = service.read(rating_rows, service.registries(), key, {**parameters, "cursor": cursor})
            if following is None:  # a reorganisation removed the agent
                return
            kind, rows, cursor = following
            yield csv_lines(kind, rows, has_header=False)

    name = f"bilateral {network} {agent_id} ratings as {parameters.get('side', 'server')} {parameters.get('tag', '')}"
    headers = {
        "Content-Disposition": attachment(name),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if not _SLOTS.acquire(blocking=False):
        detail = f"{_MOST_FILES} files of ratings are sent at this moment: try again later"
        raise ProblemError(503, "files_busy", detail, headers={"Retry-After": "10"})
    return _File(parts(), 200, headers, CSV)

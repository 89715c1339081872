"""File routes: complete lists of an agent's ratings, and registration files stored by the operator."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from bilateral.api.answers import CSV, JSON, ProblemError, attachment, csv_lines, existing
from bilateral.api.file_store import PATH, PENDING
from bilateral.api.pages import agent_of
from bilateral.api.service import service_of
from bilateral.explorer.listing import rating_rows

router = APIRouter(include_in_schema=False, default_response_class=Response)

_MOST_FILES: Final = 2
"""The maximum number of files that a process sends at once. A file with a million ratings takes 1,000 queries."""

_SLOTS: Final = BoundedSemaphore(_MOST_FILES)


class _File(StreamingResponse):
    """A response that releases its slot when it ends, even if the client has disconnected."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            _SLOTS.release()


@router.get("/{network}/{agent_id:number}/ratings.csv")
def ratings_file(request: Request, network: str, agent_id: int) -> Response:
    """Return the complete list of an agent's ratings as CSV. Ratings are read and sent a thousand at a time."""
    service = service_of(request)
    parameters = {name: value for name, value in request.query_params.items() if name != "cursor"}  # apply to all pages
    key = agent_of(service, network, agent_id)
    first = existing(service.read(rating_rows, service.registries(), key, parameters), "agent", key.id)

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
        detail = f"{_MOST_FILES} rating files are already being sent: try again later"
        raise ProblemError(503, "files_busy", detail, headers={"Retry-After": "10"})
    return _File(parts(), 200, headers, CSV)


_NAME: Final = re.compile(r"[0-9a-f]{64}")
_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of a file. Its name is its hash, and its content is untrusted."""


@router.get(f"{PATH}/{{name}}.json")
def read_registration_file(request: Request, name: str) -> Response:
    """Return a registration file stored by this service, by its keccak-256 hash."""
    folder = service_of(request).settings.store
    places = () if folder is None or not _NAME.fullmatch(name) else (Path(folder), Path(folder) / PENDING, Path(folder))
    content = None
    for place in places:  # a file may move between the folders, so the first is tried twice
        if content is None:
            with suppress(OSError):
                content = (place / f"{name}.json").read_bytes()
    return Response(existing(content, "file", name), headers=_HEADERS, media_type=JSON)

"""The change feed as JSON, JSON Lines, long polls and server-sent events."""

import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from bilateral.api.answers import JSON, JSON_LINES, ProblemError, adapter, json_lines, one_of
from bilateral.api.feed import Feed
from bilateral.api.guard import network_of
from bilateral.api.service import service_of
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.index.changes.answers import FeedChange
from bilateral.index.changes.queries import AT_ONCE, FeedCursorError, FeedFilter, FeedPage, last_cursor, parse_filter
from bilateral.index.changes.tables import ChangeKind

EVENTS: Final = "text/event-stream"

STREAM_SECONDS: Final = 600.0
"""The maximum duration of a stream, in seconds. Clients then reconnect, so that old connections do not pile up."""

BEAT_SECONDS: Final = 15.0
"""Seconds after which a stream without changes sends its cursor. Proxies close connections after an idle minute."""

_MOST_VALUES: Final = 20
"""The maximum number of values per filter, each of which adds a branch to the statement."""

_DEFAULT: Final = 100  # as many as in one webhook delivery

router = APIRouter(tags=["changes"], default_response_class=Response)


class FeedFormat(StrEnum):
    """The formats of the feed."""

    JSON = "json"
    JSON_LINES = "jsonl"
    EVENTS = "sse"


@dataclass(frozen=True, slots=True)
class Changes:
    """A page of the change feed.

    Attributes:
        items: The changes, in order.
        cursor: The `since` value for the next request.
        is_end: True if the end of the feed was reached.
    """

    items: tuple[FeedChange, ...]
    cursor: str
    is_end: bool


@dataclass(frozen=True, slots=True)
class ChangesEnd:
    """The last line of the feed as JSON Lines.

    Attributes:
        cursor: The `since` value for the next request.
        is_end: True if the end of the feed was reached.
    """

    cursor: str
    is_end: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A stream's `reset` event: changes were lost, so the client must read everything again.

    Attributes:
        code: The reason: `invalid_cursor` or `cursor_pruned`.
        detail: The reason as text.
        cursor: The cursor at which the stream continues.
    """

    code: str
    detail: str
    cursor: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Create the change feed, which also counts waiting requests."""
    app.state.feed = Feed(app.state.service)
    yield


_TEXTS = {JSON_LINES: {"schema": {"type": "string"}}, EVENTS: {"schema": {"type": "string"}}}
_ANSWERS = one_of(Changes, 404)
_ANSWERS[200]["content"] = _TEXTS
del _ANSWERS[304]


def _values(alias: str, about: str) -> Any:
    return Query(alias=alias, max_length=_MOST_VALUES, description=about)


class ChangesQuery(BaseModel):
    """A page of the feed, and its format."""

    since: Annotated[
        str | None,
        Query(
            max_length=60,
            description="The cursor from a response or a change's id; `0` for the beginning. By default, now.",
        ),
    ] = None
    agents: Annotated[
        list[Annotated[str, Query(max_length=200)]] | None, _values("agent", "Changes to one of these agents.")
    ] = None
    accounts: Annotated[
        list[Annotated[str, Query(max_length=42)]] | None,
        _values("account", "Changes that involve one of these accounts."),
    ] = None
    tags: Annotated[
        list[Annotated[str, Query(max_length=1_000)]] | None,
        _values("tag", "Feedback or validations with one of these tags."),
    ] = None
    kinds: Annotated[list[ChangeKind] | None, _values("kind", "Changes of these kinds.")] = None
    limit: Annotated[int, Query(ge=1, le=AT_ONCE, description="The maximum number of changes.")] = _DEFAULT
    wait: Annotated[float, Query(ge=0, le=30, description="The seconds to wait for a change if there is none yet.")] = (
        0.0
    )
    list_format: Annotated[FeedFormat, Query(alias="format", description="The format.")] = FeedFormat.JSON


@router.get("/v1/changes", responses=_ANSWERS)
async def read_changes(
    request: Request,
    query: Annotated[ChangesQuery, Query()],
    last_event_id: Annotated[
        str | None,
        Header(
            description="The cursor at which a stream resumes; it overrides `since`. A stream that cannot resume there "
            "starts with new changes, after a `reset` event. It reports no error, because browsers would not reconnect."
        ),
    ] = None,
) -> Response:
    """Return the changes after a cursor, in order. Events removed by a reorganisation are retracted.

    With JSON Lines, the last line contains the cursor. A stream of server-sent events ends after ten minutes, after
    which you should reconnect. If a stream cannot resume at `Last-Event-ID`, its first event is `reset`: read
    everything again, and continue from the cursor in that event.
    """
    service, feed = service_of(request), _feed_of(request)
    subjects = (query.agents or (), query.accounts or (), query.tags or (), query.kinds or ())
    chosen = parse_filter(await service.registries_briefly(), *subjects)
    since, limit, is_stream = query.since, query.limit, query.list_format is FeedFormat.EVENTS
    if is_stream:
        if query.wait:
            raise InvalidArgumentError("remove the parameter wait, because streams always wait")
        since = last_event_id or since
    cursor = since if since is not None else await service.read_briefly(last_cursor)
    if not is_stream and not query.wait:
        return _answer(await feed.read(cursor, chosen, limit), query.list_format)
    with ExitStack() as stack:
        stack.enter_context(feed.place(network_of(request.scope, service.settings.proxy_networks)))
        if not is_stream:
            return _answer(await feed.wait(cursor, chosen, limit, query.wait), query.list_format)
        reset = None
        try:
            first = await feed.read(cursor, chosen, limit)  # rejects an invalid `since` before the stream begins
        except FeedCursorError as problem:
            if not last_event_id:
                raise
            reset = Reset(problem.reason, str(problem), await service.read_briefly(last_cursor))
            first = await feed.read(reset.cursor, chosen, limit)
        return _Stream(_events(feed, first, chosen, limit, reset), stack.pop_all())


def _feed_of(request: Request) -> Feed:
    feed: Feed = request.app.state.feed
    return feed


def _answer(page: FeedPage, list_format: FeedFormat) -> Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if list_format is FeedFormat.JSON:
        body = adapter(Changes).dump_json(Changes(page.items, page.cursor, page.is_end))
        return Response(body, headers=headers, media_type=JSON)
    end = json_lines(ChangesEnd, (ChangesEnd(page.cursor, page.is_end),))
    return Response(json_lines(FeedChange, page.items) + end, headers=headers, media_type=JSON_LINES)


async def _events(
    feed: Feed, page: FeedPage, chosen: FeedFilter, limit: int, reset: Reset | None
) -> AsyncIterator[bytes]:
    end = time.monotonic() + STREAM_SECONDS
    yield b"retry: 1000\n\n"
    if reset is not None:
        yield b"id: %s\nevent: reset\ndata: %s\n\n" % (reset.cursor.encode(), adapter(Reset).dump_json(reset))
    while True:
        for change in page.items:
            line = json_lines(FeedChange, (change,)).rstrip(b"\n")
            yield b"id: %s\nevent: change\ndata: %s\n\n" % (change.id.encode(), line)
        yield b"id: %s\n\n" % page.cursor.encode()  # clients store it, but receive no event
        if (left := end - time.monotonic()) <= 0:
            return
        try:
            page = await feed.wait(page.cursor, chosen, limit, min(BEAT_SECONDS, left))
        except (BilateralError, ProblemError):
            return  # the client reconnects, and gets the error then


class _Stream(StreamingResponse):
    """A stream that releases its slot when it ends, even if the client disconnects before the first chunk.

    Args:
        place: The stream's slot among the waiting requests.
    """

    def __init__(self, parts: AsyncIterator[bytes], place: ExitStack) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        super().__init__(parts, headers=headers, media_type=EVENTS)
        self._parts = parts
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            async with aclosing(self._parts):  # type: ignore[type-var]  # it is a generator
                await super().__call__(scope, receive, send)

"""A route that streams does not declare the extension: the application does not start."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse
from fastapi.testclient import TestClient
from flask import Blueprint, Flask, Response, stream_with_context
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.x402 import Reputation8004ResourceServerExtension, StreamingRouteError, declare_8004_reputation
from bilateral.x402.proof.fields import is_stream
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.wsgi import protect_flask
from tests.x402.world import SIGNING_KEY, resource_server, route


def lines() -> Iterator[str]:
    yield "snow"


async def later() -> AsyncIterator[str]:
    yield "snow"


def whole():
    return {"weather": "snow"}


def answered():
    return StreamingResponse(iter([b"snow"]))


def annotated() -> StreamingResponse:
    return answered()


@functools.wraps(lines)
def wrapped():
    return lines()


class Callable:
    """An endpoint that is an object."""

    def __call__(self) -> Iterator[str]:
        yield "snow"


def with_class(app):
    app.get("/stream/{city}", response_class=StreamingResponse)(answered)


def with_events(app):
    app.get("/stream/{city}", response_class=EventSourceResponse)(later)


def included(app):
    inner, outer = APIRouter(prefix="/{city}"), APIRouter()
    inner.get("")(lines)
    outer.include_router(inner, prefix="/stream")
    app.include_router(outer)


def mounted(app):
    sub = FastAPI()
    sub.get("/{city}")(later)
    app.mount("/stream", sub)


def mounted_in_a_router(app):
    router = APIRouter()
    router.get("/{city}", response_class=StreamingResponse)(answered)
    sub = FastAPI()
    sub.include_router(router)
    app.mount("/stream", GZipMiddleware(sub))


def of_starlette(app):
    sub = Starlette(routes=[Mount("/stream", routes=[Route("/{city:path}", annotated)])])
    app.mount("/", sub)


STREAMS = {
    "response class": with_class,
    "events": with_events,
    "generator": lambda app: app.get("/stream/{city}")(lines),
    "asynchronous generator": lambda app: app.get("/stream/{city}")(later),
    "annotation": lambda app: app.get("/stream/{city}", response_model=None)(annotated),
    "wrapped generator": lambda app: app.get("/stream/{city}")(wrapped),
    "partial": lambda app: app.get("/stream/{city}")(functools.partial(lines)),
    "callable object": lambda app: app.get("/stream/{city}")(Callable()),
    "included routers": included,
    "mounted application": mounted,
    "mounted behind middleware": mounted_in_a_router,
    "mounted routes of Starlette": of_starlette,
}


@pytest.fixture
def declared(token, seller, agent, deployment):
    return route(token.address, seller.address, declare_8004_reputation(agent, deployment))


@pytest.fixture
def protect(facilitator, declared):
    """Puts the middleware around an application for one pattern of routes."""

    def make(app, pattern):
        kind = x402ResourceServerSync if isinstance(app, Flask) else x402ResourceServer
        server = resource_server(kind, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
        if isinstance(app, Flask):
            protect_flask(app, {pattern: declared}, server)
        else:
            app.add_middleware(ReputationMiddleware, routes={pattern: declared}, server=server)
        return app

    return make


@pytest.mark.parametrize("kind", STREAMS)
def test_streaming_route_is_refused_at_start(protect, kind):
    app = FastAPI()
    STREAMS[kind](app)
    protect(app, "GET /stream/*")
    with pytest.raises(StreamingRouteError, match=r"GET /stream/\{city.*\} streams its responses"), TestClient(app):
        pass


@pytest.mark.parametrize(
    ("pattern", "is_refused"),
    [
        ("GET /stream/*", True),
        ("/stream/:city", True),
        ("/stream/Oslo", True),
        ("GET /", False),
        ("POST /stream/*", False),
        ("/stream/Oslo/now", False),
    ],
)
def test_streaming_route_is_refused_if_it_declares_the_extension(protect, pattern, is_refused):
    app = FastAPI()
    with_class(app)
    app.get("/")(whole)
    protect(app, pattern)
    if is_refused:
        with pytest.raises(StreamingRouteError), TestClient(app):
            pass
    else:
        with TestClient(app) as client:
            assert client.get("/stream/Oslo").text == "snow"


@pytest.mark.parametrize("pattern", ["GET /s/a", "GET /s/a/b", "GET /s/*", "/s/:first/:second"])
@pytest.mark.parametrize("kind", ["FastAPI", "Flask"])
def test_streaming_route_whose_parameter_takes_slashes_is_refused(protect, kind, pattern):
    app = FastAPI() if kind == "FastAPI" else Flask("shop")
    app.get("/s/{rest:path}" if kind == "FastAPI" else "/s/<path:rest>")(lines)
    with pytest.raises(StreamingRouteError, match=r"GET /s/\{rest:path\} streams"), TestClient(protect(app, pattern)):
        pass


@pytest.mark.parametrize("pattern", ["GET /s/a/b", "GET /t/a"])
def test_streaming_route_whose_parameter_takes_no_slash_starts(protect, pattern):
    app = FastAPI()
    app.get("/s/{rest}")(lines)
    with TestClient(protect(app, pattern)) as client:
        assert client.get("/s/a").status_code == 200


def test_application_without_streams_starts(protect):
    app, sub, router = FastAPI(), FastAPI(), APIRouter()
    for app_ in (app, sub, router):
        app_.get("/whole")(whole)
    app.include_router(router, prefix="/router")
    app.mount("/sub", GZipMiddleware(sub))
    with TestClient(protect(app, "GET /*")) as client:
        assert [client.get(path + "/whole").status_code for path in ("", "/router", "/sub")] == [402, 402, 402]


def test_application_that_is_wrapped_by_hand_is_looked_at(facilitator, declared):
    app = FastAPI()
    with_class(app)
    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    wrapped_app = ReputationMiddleware(app, routes={"GET /stream/*": declared}, server=server)
    with pytest.raises(StreamingRouteError), TestClient(wrapped_app):
        pass


def flask_app(*, blueprint=False, view=lines):
    app = Flask("shop")
    if blueprint:
        made = Blueprint("streams", "streams", url_prefix="/stream")
        made.get("/<string:city>")(view)
        app.register_blueprint(made)
    else:
        app.get("/stream/<city>")(view)
    return app


@pytest.mark.parametrize("view", [lines, stream_with_context(lines), wrapped], ids=["generator", "context", "wrapped"])
@pytest.mark.parametrize("blueprint", [False, True], ids=["application", "blueprint"])
def test_streaming_view_of_flask_is_refused_at_start(protect, view, blueprint):
    with pytest.raises(StreamingRouteError, match=r"GET /stream/\{city\} streams its responses"):
        protect(flask_app(blueprint=blueprint, view=view), "GET /stream/*")


def test_streaming_view_of_flask_that_is_added_later_refuses_paid_requests_alone(protect):
    app = protect(Flask("shop"), "GET /stream/*")
    app.get("/stream/<city>")(lines)
    app.get("/free")(lambda: "snow")
    for _ in range(2):
        refused = app.test_client().get("/stream/Oslo")
        assert (refused.status_code, refused.json) == (503, {"error": "streaming_route"})
        assert app.test_client().get("/free").text == "snow"


def test_flask_without_streams_starts(protect):
    app = Flask("shop")
    app.get("/whole")(lambda: Response("snow"))
    app.get("/free/<city>", endpoint="free")(lambda city: iter([city]))
    app = protect(app, "GET /whole")
    assert app.test_client().get("/free/Oslo").text == "Oslo"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream; charset=utf-8", True),
        ("application/jsonl", True),
        ("application/x-ndjson", True),
        ("multipart/x-mixed-replace; boundary=frame", True),
        ("application/json", False),
        ("text/plain", False),
        ("", False),
    ],
)
def test_content_types_of_streams_are_known(content_type, expected):
    assert is_stream(content_type) is expected

"""Responses with web pages. Each is also available as JSON: append `.json` to the path, or set the `Accept` header."""

import gzip
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, Final

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from starlette.convertors import IntegerConvertor, register_url_convertor

from bilateral.api.answers import ProblemError, answer, problem_of, tagged
from bilateral.api.guard import origin_of
from bilateral.api.service import Service, service_of
from bilateral.core.errors import BilateralError
from bilateral.explorer import rendering
from bilateral.explorer.networks import chain_of
from bilateral.index.errors import ChainNotIndexedError, MissingChainError
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.reading.missing_chains import without_missing_chains
from bilateral.index.reading.registries import AgentKey

_HTML: Final = "text/html; charset=utf-8"
_MOST_DIGITS: Final = 78
"""The number of decimal digits in a 256-bit number."""

_OF_PROGRAMS: Final = ("/v1", "/api", "/graphql", "/mcp", "/assets", "/healthz", "/readyz", "/metrics", "/openapi.json")
"""The paths whose problems are sent as JSON, even if a browser requests them."""

SECURITY: Final = {
    "Content-Security-Policy": rendering.POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept",
}
"""The headers that are sent with every page."""


class _Number(IntegerConvertor):
    """A number in a path. Its digits are limited, because Python refuses to parse thousands of them."""

    regex = f"[0-9]{{1,{_MOST_DIGITS}}}"


register_url_convertor("number", _Number())


def page_answer(
    request: Request, kind: Any, read: Callable[[], Any], render: Callable[[rendering.Frame, Any], str]
) -> Response:
    """Respond with a page as HTML or JSON. Clients that request HTML also receive problems as pages.

    While a database server is not responding, the HTML page lists the affected chains and shows the rows of all other
    chains. JSON requests for affected chains fail.
    """
    if _wants_json(request):
        response = answer(request, kind, read())
        response.headers["Vary"] = "Accept"
        return response
    try:
        body = _rendered(request, read, render)
    except (ProblemError, BilateralError) as error:
        return _problem(request, problem_of(error))
    return html(request, body)


def page(
    router: APIRouter, path: str, render: str | Callable[[rendering.Frame, Any], str]
) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
    """Turn a function that reads a page's content into two routes: one for the page, and one for JSON at `.json`."""
    html_of = rendering.template(render) if isinstance(render, str) else render

    def decorate(read: Callable[..., Any]) -> Callable[..., Response]:
        signature = inspect.signature(read, eval_str=True)

        @wraps(read)
        def answered(request: Request, **parameters: Any) -> Response:
            return page_answer(request, signature.return_annotation, partial(read, request, **parameters), html_of)

        answered.__signature__ = signature.replace(return_annotation=Response)  # type: ignore[attr-defined]
        for place in (f"{path}.json", path):  # the last part of a page's own path may also match `.json`
            router.get(place, include_in_schema=False)(answered)
        return answered

    return decorate


def _rendered(request: Request, read: Callable[[], Any], render: Callable[[rendering.Frame, Any], str]) -> str:
    """Return a page as HTML, without the rows of chains whose server is not responding."""
    frame, reader = _frame(request), service_of(request).reader
    try:
        return render(frame, read())
    except MissingChainError as problem:
        missing = reader.missing
        try:
            with without_missing_chains():
                page = read()
        except ProblemError:  # not found, because its chain is left out
            raise problem from None
        return render(replace(frame, missing=tuple(sorted(missing | reader.missing))), page)


async def problem_page(request: Request, problem: ProblemError) -> Response | None:
    """Return a problem as a page, even for unknown paths; None unless a browser expects a page."""
    path = request.url.path
    wants_page = "text/html" in request.headers.get("accept", "") and request.method in ("GET", "HEAD")
    if (
        not wants_page
        or path.endswith(".json")
        or any(f"{path}/".startswith(f"{of_program}/") for of_program in _OF_PROGRAMS)
    ):
        return None
    return await to_thread.run_sync(_problem, request, problem)


def _frame(request: Request) -> rendering.Frame:
    settings = service_of(request).settings
    acts = frozenset(map(int, settings.nodes))
    return rendering.Frame(request.url.path, request.url.query, origin_of(request.scope, settings), acts)


def _problem(request: Request, problem: ProblemError) -> Response:
    # The footer reads the database, which a busy or failing service should not do again.
    progress = () if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR else _progress(request)
    body = rendering.render_problem(_frame(request), problem.status, problem.detail, progress)
    return Response(body, problem.status, {**SECURITY, **problem.headers, "Cache-Control": "no-store"}, _HTML)


def _progress(request: Request) -> tuple[ChainProgress, ...]:
    """Return the chains' progress; an empty tuple if the database is not responding."""
    try:
        return tuple(service_of(request).progress.get())
    except BilateralError:
        return ()


def html(request: Request, body: str) -> Response:
    """Respond with HTML."""
    response = tagged(request, body.encode(errors="replace"), _HTML)
    response.headers.update(SECURITY)
    return compressed(request, response)


def indexed_chain(service: Service, network: str) -> int:
    """Return the id of the indexed chain that a path names."""
    chain_id, registries = chain_of(network), service.registries()
    if chain_id is None or chain_id not in registries.by_chain:
        raise ChainNotIndexedError(network if chain_id is None else chain_id, registries.chains)
    return chain_id


def agent_of(service: Service, network: str, agent_id: int) -> AgentKey:
    """Return the key of the agent in a path. See `indexed_chain` for errors."""
    return service.agent_key(f"{indexed_chain(service, network)}:{agent_id}")


def _wants_json(request: Request) -> bool:
    """Check whether a request is for JSON, by its path or because it accepts JSON but not HTML."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or ("application/json" in accepted and "text/html" not in accepted)


_LEVEL: Final = 5
"""The compression level. A 78 kB page takes 1 ms; a higher level would save only 1 % more."""

_LEAST: Final = 1_000
"""The minimum body size, in bytes, for compression to save a network packet."""


def compressed(request: Request, response: Response) -> Response:
    """Compress a response's body if the client accepts gzip. Its ETag becomes weak (RFC 9110, 8.8.3.3)."""
    varied = response.headers.get("Vary")
    response.headers["Vary"] = f"{varied}, Accept-Encoding" if varied else "Accept-Encoding"
    if len(response.body) < _LEAST or not _takes_gzip(request.headers.get("accept-encoding", "")):
        return response
    response.body = gzip.compress(bytes(response.body), _LEVEL, mtime=0)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Length"] = str(len(response.body))
    if tag := response.headers.get("ETag"):
        response.headers["ETag"] = f"W/{tag}"
    return response


def _takes_gzip(accepted: str) -> bool:
    for entry in accepted.split(","):
        name, _, weight = entry.replace(" ", "").lower().partition(";q=")
        if name == "gzip":
            return not weight or bool(weight.strip("0."))
    return False

"""Routes of the documentation site."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response

from bilateral.api.answers import JSON, tagged
from bilateral.api.pages import SECURITY, compressed
from bilateral.api.problems import known, not_found
from bilateral.api.site import Site

router = APIRouter(prefix="/docs", include_in_schema=False, default_response_class=Response)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the archives of an application.

    Args:
        app: The application.
    """
    app.state.site = Site(app.state.service.settings.docs)
    yield


@router.get("")
@router.get("/")
def first_page(request: Request) -> Response:
    """Lead to the newest version; without documentation, to the page of the HTTP API."""
    versions = request.app.state.site.versions
    place = f"/docs/{versions[0]}/" if versions else "/openapi"
    return Response(None, HTTPStatus.TEMPORARY_REDIRECT, {**SECURITY, "Location": place, "Cache-Control": "no-cache"})


@router.get("/versions.json")
def versions(request: Request) -> Response:
    """List the versions, the newest first, in the form that the site's selector reads."""
    listed = [{"version": version, "title": version, "aliases": []} for version in request.app.state.site.versions]
    return tagged(request, msgspec.json.encode(listed), JSON)


@router.get("/{version}")
def version(request: Request, version: str) -> Response:
    """Lead to the first page of a version."""
    if version not in request.app.state.site.versions:
        raise not_found("documentation", version)
    return Response(None, HTTPStatus.TEMPORARY_REDIRECT, {**SECURITY, "Location": f"/docs/{version}/"})


@router.get("/{version}/{path:path}")
def file(request: Request, version: str, path: str) -> Response:
    """Return a file of a version, under the same policy as all pages: nothing inline, and nothing of others."""
    content = known(request.app.state.site.read(version, path), "documentation", f"{version}/{path}"[:200])
    response = compressed(request, tagged(request, *content))
    for name, value in SECURITY.items():
        if name != "Vary":
            response.headers[name] = value
    return response

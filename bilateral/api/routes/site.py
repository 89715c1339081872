"""Routes that serve the documentation site."""

import re
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import Path
from typing import Final

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response

from bilateral.api.answers import JSON, existing, missing, tagged
from bilateral.api.pages import SECURITY, compressed
from bilateral.core.errors import InvalidArgumentError

router = APIRouter(prefix="/docs", include_in_schema=False, default_response_class=Response)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open an application's documentation archives."""
    app.state.site = Site(app.state.service.settings.docs)
    yield


@router.get("")
@router.get("/")
def first_page(request: Request) -> Response:
    """Redirect to the newest version or, if there is no documentation, to the HTTP API page."""
    versions = request.app.state.site.versions
    place = f"/docs/{versions[0]}/" if versions else "/openapi"
    return Response(None, HTTPStatus.TEMPORARY_REDIRECT, {**SECURITY, "Location": place, "Cache-Control": "no-cache"})


@router.get("/versions.json")
def versions(request: Request) -> Response:
    """List the versions, newest first, in the format that the site's version selector expects."""
    listed = [{"version": version, "title": version, "aliases": []} for version in request.app.state.site.versions]
    return tagged(request, msgspec.json.encode(listed), JSON)


@router.get("/{version}")
def version(request: Request, version: str) -> Response:
    """Redirect to the first page of a version."""
    if version not in request.app.state.site.versions:
        raise missing("documentation", version)
    return Response(None, HTTPStatus.TEMPORARY_REDIRECT, {**SECURITY, "Location": f"/docs/{version}/"})


@router.get("/{version}/{path:path}")
def file(request: Request, version: str, path: str) -> Response:
    """Return a file from a version, with the same security policy as all pages: nothing inline or from other hosts."""
    content = existing(request.app.state.site.read(version, path), "documentation", f"{version}/{path}"[:200])
    response = compressed(request, tagged(request, *content))
    for name, value in SECURITY.items():
        if name != "Vary":
            response.headers[name] = value
    return response


_ARCHIVE: Final = re.compile(r"bilateral-docs-([0-9A-Za-z][0-9A-Za-z.+-]{0,63})\.zip")
_TEXT: Final = ("application/javascript", "application/json", "image/svg+xml")
_PLAIN: Final = "text/plain; charset=utf-8"
"""The media type of unknown files, which browsers display but never run."""


class Site:
    """The versions of the documentation. Files are looked up by name in an archive, so a path cannot lead outside it.

    Args:
        folder: The folder with the archives; None if there is no documentation.

    Attributes:
        versions: The versions, newest first.

    Raises:
        InvalidArgumentError: The folder does not contain an archive, or an archive cannot be read.
    """

    def __init__(self, folder: str | None) -> None:
        self._archives: dict[str, zipfile.ZipFile] = {}
        if folder is not None:
            for path in sorted(Path(folder).glob("*.zip")):
                if match := _ARCHIVE.fullmatch(path.name):
                    self._archives[match[1]] = _opened(path)
            if not self._archives:
                raise InvalidArgumentError(f"api.docs: {folder!r} has no bilateral-docs-<version>.zip")
        self.versions = tuple(sorted(self._archives, key=_order, reverse=True))

    def read(self, version: str, path: str) -> tuple[bytes, str] | None:
        """Return a file and its media type; None if there is none."""
        archive = self._archives.get(version)
        name = path or "index.html"
        if archive is None or name not in archive.NameToInfo or name.endswith("/"):
            return None
        kind = guess_type(name)[0] or _PLAIN
        has_charset = "charset" in kind or not (kind.startswith("text/") or kind in _TEXT)
        return archive.read(name), kind if has_charset else f"{kind}; charset=utf-8"


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as problem:
        raise InvalidArgumentError(f"api.docs: {str(path)!r} cannot be read: {problem}") from None


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key for versions. Numbers sort numerically, and a release follows its release candidates."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return (*((1, int(part), "") if part.isdigit() else (-1, 0, part) for part in parts), (0, 0, ""))

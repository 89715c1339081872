"""Pages of other origins may read, and may not write (CORS)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.middleware.cors import CORSMiddleware

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

READING_POSTS: Final = ("/graphql", "/api/v1/search", "/v1/checks", "/mcp")
"""The paths, with all below them, at which POST only reads."""

_HEADERS: Final = (
    *("Content-Type", "If-None-Match", "Accept"),
    *("MCP-Protocol-Version", "MCP-Session-Id", "MCP-Method", "MCP-Name", "Last-Event-ID"),  # of clients of /mcp
)
_EXPOSED: Final = ("ETag", "Link", "Retry-After", "Content-Disposition", "Index-State")


class CrossOriginReads:
    """Allows pages of every origin to read, without credentials.

    Args:
        app: The application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        common = {"allow_origins": ("*",), "allow_headers": _HEADERS, "expose_headers": _EXPOSED, "max_age": 86_400}
        self._reads = CORSMiddleware(app, allow_methods=("GET", "HEAD"), **common)  # type: ignore[arg-type]
        self._posts = CORSMiddleware(app, allow_methods=("GET", "HEAD", "POST"), **common)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, and mark the answers to reads."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _may_post(scope["path"]):
            await self._posts(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._reads(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _may_post(path: str) -> bool:
    return any(path == reading or path.startswith(f"{reading}/") for reading in READING_POSTS)

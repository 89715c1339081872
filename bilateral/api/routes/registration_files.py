"""The route of the registration files that the operator keeps for visitors."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response

from bilateral.api.answers import JSON
from bilateral.api.file_store import PATH, PENDING
from bilateral.api.problems import known
from bilateral.api.service import service_of

router = APIRouter(include_in_schema=False, default_response_class=Response)

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of a file: its name is its hash, and its texts are the words of a stranger."""


@router.get(f"{PATH}/{{name}}.json")
def read_registration_file(request: Request, name: str) -> Response:
    """Return a registration file that this service keeps, by its keccak-256 hash."""
    folder = service_of(request).settings.store
    places = () if folder is None or not _NAME.fullmatch(name) else (Path(folder), Path(folder) / PENDING, Path(folder))
    content = None
    for place in places:  # a file may be moved meanwhile, so the first place comes twice
        if content is None:
            with suppress(OSError):
                content = (place / f"{name}.json").read_bytes()
    return Response(known(content, "file", name), headers=_HEADERS, media_type=JSON)

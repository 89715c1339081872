"""The store of the operator: registration files of visitors, which the service publishes below `/files`.

Anybody may have a file stored, so the number is bounded. Files that no indexed agent names after an hour make room.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from bilateral.api.problems import ProblemError
from bilateral.documents import FolderStore
from bilateral.index.tables.schema import agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bilateral.api.service import Service
    from bilateral.documents import StoredDocument

PATH: Final = "/files"
"""The path below which the service publishes the files."""

MOST: Final = 10_000
"""Files of a store. One address may ask for 1,200 a minute, and the longest has some 100 kB: that is a gigabyte."""

_UNCLAIMED_SECONDS: Final = 3_600
"""The age from which a file that no agent names is removed: to sign and to mine takes minutes."""

_AT_ONCE: Final = 400
"""URIs of one statement, so that no statement grows with the store."""


@dataclass(frozen=True)
class OperatorStore:
    """Stores registration files in the folder of the settings `store` and `store_url`.

    Attributes:
        service: The service, whose index says which files agents name.
        folder: The folder.
        url: The URL at which the files are published.
        most: The largest number of files.
    """

    service: Service
    folder: Path
    url: str
    most: int = MOST

    @classmethod
    def of(cls, service: Service) -> OperatorStore:
        """Return the store of the settings.

        Raises:
            ProblemError: The operator has none.
        """
        settings = service.settings
        if settings.store is None or settings.store_url is None:
            detail = "this service keeps no files: leave `keep` out, and the chain keeps the file"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "no_store", detail)
        return cls(service, Path(settings.store), settings.store_url)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document, see `bilateral.documents.Store`.

        Raises:
            ProblemError: The store is full.
            UnreachableDocumentError: The folder cannot be written.
        """
        paths = list(self.folder.glob("*.json"))
        if len(paths) >= self.most and len(paths) - self._make_room(paths) >= self.most:
            detail = "the store of this service is full: leave `keep` out, and the chain keeps the file"
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "store_full", detail)
        return FolderStore(self.folder, self.url).put(content)

    def _make_room(self, paths: Sequence[Path]) -> int:
        """Remove old files that no agent names, and return their number."""
        end, removed = time.time() - _UNCLAIMED_SECONDS, 0
        old = [path for path in paths if path.stat().st_mtime < end]
        for begin in range(0, len(old), _AT_ONCE):
            some = {f"{self.url.rstrip('/')}/{path.name}": path for path in old[begin : begin + _AT_ONCE]}
            named = set(self.service.read(_named, tuple(some)))
            for uri in some.keys() - named:
                some[uri].unlink(missing_ok=True)
                removed += 1
        return removed


def _named(connection: Connection, uris: Sequence[str]) -> tuple[str, ...]:
    """Return those of some URIs that agents name as those of their files."""
    return tuple(connection.execute(select(agent.c.uri).where(agent.c.uri.in_(uris)).distinct()).scalars())

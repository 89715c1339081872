"""The operator's store for visitors' registration files, which the service publishes under `/files`.

An account must sign each file to store, and can store a few per hour. Files remain in a separate folder until
an indexed agent refers to them. The number of such files is limited, and the oldest are evicted. Files to which an
agent has referred do not count towards the limit, because each of them cost an agent's owner a transaction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, Final

from sqlalchemy import Connection, select

from bilateral.api.answers import ProblemError
from bilateral.api.service import Service
from bilateral.core.signatures.messages import Address, String, TypedMessage, Uint64
from bilateral.documents import FolderStore, StoredDocument, document_hash
from bilateral.index.agents.tables import agent

PATH: Final = "/files"
"""The path under which the service publishes the files."""

PENDING: Final = "pending"
"""The subfolder for files to which no agent has referred yet."""

MOST: Final = 10_000
"""The maximum number of files to which no agent has referred: about a gigabyte in total, at up to about 100 kB each."""

OF_ACCOUNT: Final = 10
"""The maximum number of files that one account can store per hour. Each process counts separately."""

_UNCLAIMED_SECONDS: Final = 1_200
"""The age, in seconds, at which an unreferenced file may be evicted. Signing and mining take minutes."""

_AT_ONCE: Final = 400
"""The maximum number of URIs per statement, so that statements do not grow with the store."""


@dataclass(frozen=True)
class KeptFile(TypedMessage):
    """A registration file that an account asks the service to store.

    Attributes:
        account: The signing account.
        file: The exact text of the file.
        deadline: The Unix time until which the service accepts the signature.
    """

    domain_name: ClassVar[str] = "BilateralFiles"

    account: Address
    file: String
    deadline: Uint64


@dataclass(frozen=True)
class OperatorStore:
    """Stores registration files according to the settings `store` and `store_url`.

    Attributes:
        service: The service whose index shows which files agents refer to.
        account: The account that signed the file to store.
        url: The URL at which the files are published.
        most: The maximum number of files to which no agent refers.
    """

    service: Service
    account: str
    folder: Path
    url: str
    most: int = MOST

    @classmethod
    def of(cls, service: Service, account: str) -> OperatorStore:
        """Return the store that the settings configure."""
        settings = service.settings
        if settings.store is None or settings.store_url is None:
            detail = "this service does not store files: omit `keep` to store the file on chain"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "no_store", detail)
        return cls(service, account, Path(settings.store), settings.store_url)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document (see `bilateral.documents.Store`)."""
        name, pending = f"{document_hash(content).hex()}.json", self.folder / PENDING
        if (self.folder / name).exists():
            return StoredDocument(f"{self.url.rstrip('/')}/{name}", content)
        if not (pending / name).exists():
            self._require_place(pending)
        return FolderStore(pending, self.url).put(content)

    def _require_place(self, pending: Path) -> None:
        instead = "omit `keep` to store the file on chain"
        paths = list(pending.glob("*.json"))
        if len(paths) >= self.most and len(paths) - self._make_room(paths) >= self.most:
            detail = f"this service's store is full: {instead}, or try again in a few minutes"
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "store_full", detail)
        if not self.service.stored_files.add(self.account, OF_ACCOUNT):
            detail = f"{self.account} has had {OF_ACCOUNT} files stored within an hour: {instead}, or wait"
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_files", detail)

    def _make_room(self, paths: Sequence[Path]) -> int:
        end, removed = time.time() - _UNCLAIMED_SECONDS, 0
        for begin in range(0, len(paths), _AT_ONCE):
            some = {f"{self.url.rstrip('/')}/{path.name}": path for path in paths[begin : begin + _AT_ONCE]}
            claimed = set(self.service.read(_claimed, tuple(some)))
            for uri, path in some.items():
                with suppress(FileNotFoundError):  # another process may have been faster
                    if uri in claimed:
                        path.replace(self.folder / path.name)
                    elif path.stat().st_mtime < end:
                        path.unlink()
                    else:
                        continue
                    removed += 1
        return removed


def _claimed(connection: Connection, uris: Sequence[str]) -> tuple[str, ...]:
    return tuple(connection.execute(select(agent.c.uri).where(agent.c.uri.in_(uris)).distinct()).scalars())

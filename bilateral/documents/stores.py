"""Stores, which put a document at a URI: the URI itself, a folder, a web server. See `ipfs_stores` for IPFS."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bilateral.core.errors import UnreachableDocumentError
from bilateral.core.text import quoted
from bilateral.core.values.arguments import checked_class
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.hashing import document_hash, verify_hash
from bilateral.documents.http import HttpSession, Limits, Network, without_query


@dataclass(frozen=True)
class StoredDocument:
    """A document in a store.

    Attributes:
        uri: The URI at which it is loaded.
        content: The bytes that were stored.
    """

    uri: str
    content: bytes

    @property
    def hash(self) -> bytes:
        """The keccak-256 hash of the stored bytes, as for `feedbackHash`."""
        return document_hash(self.content)


class Store(Protocol):
    """A place for documents, each of which has a URI there."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document.

        Args:
            content: The bytes, which are stored unchanged.

        Raises:
            DocumentError: The store failed.
        """


@checked_class
@dataclass(frozen=True)
class DataUriStore:
    """Stores a document in its own URI, and so on chain. It needs no server, and costs gas for each byte."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document, see `Store`."""
        return StoredDocument(encode_data_uri(content), content)


@checked_class
@dataclass(frozen=True)
class FolderStore:
    """Stores documents as files named by their hashes, so that no document changes under its URI.

    Attributes:
        folder: The folder, created if it is missing.
        base_url: The URL at which a web server publishes the folder. URIs are `file:` URIs when left out.
    """

    folder: Path
    base_url: str | None = None

    def put(self, content: bytes) -> StoredDocument:
        """Store a document, see `Store`. A file appears whole or not at all.

        Raises:
            UnreachableDocumentError: The folder cannot be written.
        """
        path = self.folder.absolute() / f"{document_hash(content).hex()}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as draft:
                try:
                    draft.write(content)
                    draft.flush()
                    Path(draft.name).chmod(
                        0o644
                    )  # only its owner reads a temporary file; the web server is another user
                    Path(draft.name).replace(path)
                finally:
                    Path(draft.name).unlink(missing_ok=True)
        except OSError as error:
            raise UnreachableDocumentError(f"{quoted(str(self.folder))} cannot be written: {error.strerror}") from None
        return StoredDocument(f"{self.base_url.rstrip('/')}/{path.name}" if self.base_url else path.as_uri(), content)


@checked_class
@dataclass(frozen=True)
class HttpPutStore:
    """Stores one document by a PUT to a URL, such as a presigned URL of S3 or another object store.

    The document is then loaded from its public URL and compared, so that the chain names no URL that does not work.

    Attributes:
        upload_url: The URL for the PUT. Its query may be a signature, which neither errors nor logs show.
        public_url: The URL for readers; the upload URL without its query when left out.
        headers: Headers to send, such as those that the signature covers.
        limits: The limits for the document.
        network: The settings of connections.
    """

    upload_url: str = field(repr=False)  # it holds a signature
    public_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may hold secrets
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document, see `Store`.

        Raises:
            UnreachableDocumentError: The server refuses the document, or does not deliver it.
            HashMismatchError: The public URL delivers another document.
            DocumentTimeoutError: The time is over.
        """
        public_url = self.public_url or without_query(self.upload_url)
        network = self.network.trusting(self.upload_url, public_url)
        headers = {"Content-Type": "application/json"} | dict(self.headers)
        with HttpSession(self.limits, network) as session:
            session.put(self.upload_url, content, headers)
            verify_hash(session.get(public_url), document_hash(content))
        return StoredDocument(public_url, content)

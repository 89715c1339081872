"""Where documents are put, so that a URI leads to them: into the URI itself, a folder, or IPFS."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from bilateral.arguments import checked_class
from bilateral.documents.cid import Cid
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.encoding import decode_object
from bilateral.documents.hashing import document_hash
from bilateral.documents.http import HttpSession, Limits, Network, host_of, quoted_url
from bilateral.documents.unixfs import read_file
from bilateral.errors import CidMismatchError, UnreachableDocumentError
from bilateral.text import quoted


@dataclass(frozen=True)
class StoredDocument:
    """A document that has been put somewhere, and what the chain is to say about it.

    Attributes:
        uri: Leads to the document.
        content: Its bytes, exactly those that were stored.
    """

    uri: str
    content: bytes

    @property
    def hash(self) -> bytes:
        """The keccak-256 hash of the stored bytes, for `feedbackHash`."""
        return document_hash(self.content)


class Store(Protocol):
    """Puts documents where a URI leads to them."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document.

        Args:
            content: Its bytes, which are stored as they are.

        Raises:
            DocumentError: It could not be stored.
        """


@checked_class
@dataclass(frozen=True)
class DataUriStore:
    """Stores a document in its own URI, and so on chain: nothing to run, nothing to lose, dear when long."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document, see `Store`."""
        return StoredDocument(encode_data_uri(content), content)


@checked_class
@dataclass(frozen=True)
class FolderStore:
    """Stores documents as files, each named by its hash, so that none ever changes under its URI.

    Attributes:
        folder: The folder; made where it is missing.
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
                    Path(draft.name).chmod(0o644)  # a temporary file is its owner's alone, a web server is another
                    Path(draft.name).replace(path)
                finally:
                    Path(draft.name).unlink(missing_ok=True)
        except OSError as error:
            raise UnreachableDocumentError(f"{quoted(str(self.folder))} cannot be written: {error.strerror}") from None
        return StoredDocument(f"{self.base_url.rstrip('/')}/{path.name}" if self.base_url else path.as_uri(), content)


@checked_class
@dataclass(frozen=True)
class KuboStore:
    """Stores documents in IPFS through the HTTP API of Kubo, or of a service that offers the same.

    What the API claims is not believed: the document is read back by the CID that it gave, and compared.

    Attributes:
        api_url: The API's URL. It may have a private address, because the program's user names it, and a name and
            password, which are sent as Basic authentication and shown nowhere.
        headers: Headers to send, such as `Authorization`.
        limits: What storing one document may cost; its redirects are none.
        network: How connections are made.
    """

    api_url: str = field(default="http://127.0.0.1:5001", repr=False)  # it may hold a password
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they hold secrets
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document and pin it, see `Store`.

        Raises:
            UnreachableDocumentError: The API does not answer as Kubo does.
            CidMismatchError: The API stored something else.
            DocumentTimeoutError: It takes longer than the limit.
        """
        network = replace(self.network, trusted=self.network.trusted | {host_of(self.api_url)})
        with HttpSession(self.limits, network) as session:
            cid = self._add(session, content)
            stored = read_file(lambda block: self._block(session, block), cid, (), max(len(content), self.limits.bytes))
        if stored != content:
            raise CidMismatchError(str(Cid.of_raw(content)), str(cid))
        return StoredDocument(f"ipfs://{cid}", content)

    def _add(self, session: HttpSession, content: bytes) -> Cid:
        """Add a file, and take the CID from the last line of the answer."""
        answer = session.post(
            self._command("add"),
            params={"cid-version": "1", "raw-leaves": "true", "pin": "true"},
            files={"file": ("document.json", content, "application/json")},
            headers=self.headers,
        )
        try:
            return Cid.parse(decode_object(answer.splitlines()[-1])["Hash"])
        except (ValueError, IndexError, KeyError, TypeError):
            raise UnreachableDocumentError(f"{quoted_url(self.api_url)} does not answer as Kubo's API does") from None

    def _block(self, session: HttpSession, cid: Cid) -> bytes:
        """Read a block back."""
        return session.post(
            self._command("block/get"), params={"arg": str(cid)}, headers=self.headers, limit=2 * self.limits.bytes
        )

    def _command(self, name: str) -> str:
        """The URL of a command of the API."""
        return f"{self.api_url.rstrip('/')}/api/v0/{name}"

"""Stores that make documents available at a URI: in the URI itself, in a folder, on a web server, or on IPFS.

IPFS services are not trusted: the CID that a service returns is checked against the document, which is read back if
necessary. The IPFS stores (a node with Kubo's API, a pinning service, and Pinata) need the extra `ipfs`.
"""

from __future__ import annotations  # so that error messages can quote the annotations

import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from bilateral.core.errors import CidMismatchError, UnreachableDocumentError, UnsupportedUriError
from bilateral.core.text import quoted
from bilateral.core.text.encoding import decode_object
from bilateral.core.values.arguments import checked_class
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.hashing import document_hash, verify_hash
from bilateral.documents.http import HttpSession, Limits, Network, quoted_url, without_query
from bilateral.documents.ipfs import Cid, read_file
from bilateral.documents.loader import Loader

_NAME: Final = "document.json"
_POLL_SECONDS: Final = 0.5
"""The interval at which to poll a pin's status. Services take seconds to pin a document."""

_REQUEST = re.compile(r"[\w.~-]{1,256}", re.ASCII)


@dataclass(frozen=True)
class StoredDocument:
    """A stored document and its URI.

    Attributes:
        uri: The URI from which the document can be loaded.
        content: The bytes that were stored.
    """

    uri: str
    content: bytes

    @property
    def hash(self) -> bytes:
        """The keccak-256 hash of the stored bytes, for use as `feedbackHash`, for example."""
        return document_hash(self.content)


class Store(Protocol):
    """A place to store documents, which assigns a URI to each document."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document.

        Args:
            content: The bytes, which are stored unchanged.

        Raises:
            DocumentError: The document could not be stored.
        """


@checked_class
@dataclass(frozen=True)
class DataUriStore:
    """Stores a document in its own URI, and thus on chain. This needs no server, but each byte costs gas."""

    def put(self, content: bytes) -> StoredDocument:
        """Store a document. See `Store`."""
        return StoredDocument(encode_data_uri(content), content)


@checked_class
@dataclass(frozen=True)
class FolderStore:
    """Stores documents as files named after their hash, so that the document at a URI never changes.

    Attributes:
        folder: The folder, which is created if it is missing.
        base_url: The URL at which a web server publishes the folder. If omitted, documents get `file:` URIs.
    """

    folder: Path
    base_url: str | None = None

    def put(self, content: bytes) -> StoredDocument:
        """Store a document. See `Store`. Files are written atomically.

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
                    # Only their owner can read temporary files, but the web server runs as a different user.
                    Path(draft.name).chmod(0o644)
                    Path(draft.name).replace(path)
                finally:
                    Path(draft.name).unlink(missing_ok=True)
        except OSError as error:
            raise UnreachableDocumentError(f"{quoted(str(self.folder))} cannot be written: {error.strerror}") from None
        return StoredDocument(f"{self.base_url.rstrip('/')}/{path.name}" if self.base_url else path.as_uri(), content)


@checked_class
@dataclass(frozen=True)
class HttpPutStore:
    """Stores one document with a PUT request to a URL, such as a presigned URL from S3 or another object store.

    The document is then loaded from its public URL and compared with the original, so that a broken URL never ends up
    on chain.

    Attributes:
        upload_url: The URL for the PUT request. Its query may be a signature, which is never shown in errors or logs.
        public_url: The URL from which the document can be loaded; by default, the upload URL without its query.
        headers: Headers to send, such as those that the signature covers.
        limits: The limits for the document.
        network: The settings of connections.
    """

    upload_url: str = field(repr=False)  # it contains a signature
    public_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may contain secrets
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document. See `Store`.

        Raises:
            UnreachableDocumentError: The server rejects the document, or does not deliver it.
            HashMismatchError: The public URL delivers a different document.
            DocumentTimeoutError: The time limit was exceeded.
        """
        public_url = self.public_url or without_query(self.upload_url)
        network = self.network.trusting(self.upload_url, public_url)
        headers = {"Content-Type": "application/json"} | dict(self.headers)
        with HttpSession(self.limits, network) as session:
            session.send("PUT", self.upload_url, content=content, headers=headers)
            verify_hash(session.get(public_url), document_hash(content))
        return StoredDocument(public_url, content)


@checked_class
@dataclass(frozen=True)
class KuboStore:
    """Stores documents on IPFS through the HTTP API of Kubo, or of a service that implements the same API.

    Attributes:
        api_url: The API's URL. The program's user chooses it, so it may have a private address. A user and password in
            the URL are sent as Basic authentication, and are never shown in errors or logs.
        headers: Headers to send, such as `Authorization`.
        limits: The limits for one document. Redirects are not followed.
        network: The settings of connections.
    """

    api_url: str = field(default="http://127.0.0.1:5001", repr=False)  # it may contain a password
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they contain secrets
    limits: Limits = field(default_factory=Limits)
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document and pin it. See `Store`.

        Raises:
            UnreachableDocumentError: The API is unreachable, or its responses differ from Kubo's.
            CidMismatchError: The API stored a different document.
            DocumentTimeoutError: The time limit was exceeded.
            MissingExtraError: libipld or protobuf is not installed.
        """
        with HttpSession(self.limits, self.network.trusting(self.api_url)) as session:
            answer = self._call(
                session,
                "add",
                params={"cid-version": "1", "raw-leaves": "true", "pin": "true"},
                files={"file": (_NAME, content, "application/json")},
            )
            try:
                cid = Cid.parse(decode_object(answer.splitlines()[-1])["Hash"])
            except (ValueError, IndexError, KeyError, TypeError):
                problem = f"{quoted_url(self.api_url)} did not return a valid Kubo API response"
                raise UnreachableDocumentError(problem) from None

            def block_of(cid: Cid) -> bytes:
                return self._call(session, "block/get", params={"arg": str(cid)}, limit=2 * self.limits.bytes)

            stored = read_file(block_of, cid, (), max(len(content), self.limits.bytes))
        if stored != content:
            raise CidMismatchError(str(Cid.of_raw(content)), str(cid))
        return StoredDocument(f"ipfs://{cid}", content)

    def addresses(self) -> list[str]:
        """Return the addresses at which a pinning service's nodes can reach this node.

        Raises:
            DocumentError: The same errors as `put`.
        """
        with HttpSession(self.limits, self.network.trusting(self.api_url)) as session:
            answer = decode_object(self._call(session, "id"))
        addresses = answer.get("Addresses")
        return [address for address in addresses if isinstance(address, str)] if isinstance(addresses, list) else []

    def _call(self, session: HttpSession, command: str, **request: Any) -> bytes:
        return session.send("POST", f"{self.api_url.rstrip('/')}/api/v0/{command}", headers=self.headers, **request)


@checked_class
@dataclass(frozen=True)
class PinningStore:
    """Stores documents on an IPFS node and has them pinned by a service that implements the IPFS Pinning Service API.

    The service fetches the document from the node, so the node must be reachable until the service has pinned it.

    Attributes:
        api_url: The service's URL, to which `/pins` is appended.
        token: The access token, which is sent as Bearer authentication and never shown in errors or logs.
        limits: The limits for one document. The time limit covers the wait for the pin.
        network: The settings of connections.
    """

    node: KuboStore
    api_url: str
    token: str = field(repr=False)
    limits: Limits = field(default_factory=lambda: Limits(seconds=120.0))
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document and have it pinned. See `Store`.

        Raises:
            UnreachableDocumentError: The node or the service is unreachable, or the service fails to pin the document.
            CidMismatchError: The node stored a different document, or the service pins a different CID.
            DocumentTimeoutError: The document was not pinned in time.
        """
        stored = self.node.put(content)
        cid = stored.uri.removeprefix("ipfs://")
        headers = {"Authorization": f"Bearer {self.token}"}
        pins = f"{self.api_url.rstrip('/')}/pins"
        pin = {"cid": cid, "name": _NAME, "origins": self.node.addresses()[:20]}  # 20 is the limit of the API
        with HttpSession(self.limits, self.network.trusting(self.api_url)) as session:
            status = self._status(session.send("POST", pins, json=pin, headers=headers), cid)
            while status["status"] in ("queued", "pinning"):
                time.sleep(_POLL_SECONDS)  # the session's deadline ends this loop
                status = self._status(session.get(f"{pins}/{status['requestid']}", headers=headers), cid)
        if status["status"] != "pinned":
            raise UnreachableDocumentError(
                f"{quoted_url(self.api_url)} did not pin {cid}: its status is {quoted(status['status'])}"
            )
        return stored

    def _status(self, content: bytes, cid: str) -> dict[str, str]:
        answer = decode_object(content)
        status, request, pin = answer.get("status"), answer.get("requestid"), answer.get("pin")
        pinned = pin.get("cid") if isinstance(pin, dict) else None
        is_text = all(isinstance(field, str) for field in (status, request, pinned))
        if not is_text or not _REQUEST.fullmatch(str(request)):
            problem = f"{quoted_url(self.api_url)} did not return a valid IPFS Pinning Service API response"
            raise UnreachableDocumentError(problem)
        if pinned != cid:
            raise CidMismatchError(cid, str(pinned))
        return {"status": str(status), "requestid": str(request)}


@checked_class
@dataclass(frozen=True)
class PinataStore:
    """Stores documents on public IPFS through Pinata's API.

    Attributes:
        token: Pinata's JWT, which is sent as Bearer authentication and never shown in errors or logs.
        upload_url: The URL for uploads to Pinata.
        gateway: The gateway from which a document is read back.
        limits: The limits for one document.
        network: The settings of connections.
    """

    token: str = field(repr=False)
    upload_url: str = "https://uploads.pinata.cloud/v3/files"
    gateway: str = "https://gateway.pinata.cloud"
    limits: Limits = field(default_factory=lambda: Limits(seconds=60.0))
    network: Network = field(default_factory=Network)

    def put(self, content: bytes) -> StoredDocument:
        """Store a document. See `Store`.

        Raises:
            UnreachableDocumentError: Pinata rejects the document, or its gateway does not deliver it.
            CidMismatchError: Pinata stored a different document.
            DocumentTimeoutError: The time limit was exceeded.
        """
        with HttpSession(self.limits, self.network.trusting(self.upload_url)) as session:
            answer = session.send(
                "POST",
                self.upload_url,
                data={"network": "public", "name": _NAME},
                files={"file": (_NAME, content, "application/json")},
                headers={"Authorization": f"Bearer {self.token}"},
            )
        try:
            cid = Cid.parse(decode_object(answer)["data"]["cid"])
        except (ValueError, KeyError, TypeError, UnsupportedUriError):
            raise UnreachableDocumentError(
                f"{quoted_url(self.upload_url)} did not return a valid Pinata API response"
            ) from None
        stored = StoredDocument(f"ipfs://{cid}", content)
        if cid != Cid.of_raw(content):  # the CID is of several blocks, or of a different layout
            loader = Loader(limits=self.limits, gateways=(self.gateway,), network=self.network)
            if loader.load(stored.uri).content != content:
                raise CidMismatchError(str(Cid.of_raw(content)), str(cid))
        return stored

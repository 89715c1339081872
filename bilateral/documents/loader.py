"""Loading of documents that strangers name, by any URI that is in use for agents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from bilateral.documents.cid import Cid
from bilateral.documents.data_uri import decode_data_uri
from bilateral.documents.feedback import FeedbackFile
from bilateral.documents.hashing import NO_HASH, document_hash, verify_hash
from bilateral.documents.http import UNKNOWN_VERSION, HttpSession, Limits, Network, Validators, host_of, quoted_url
from bilateral.documents.registration import RegistrationFile
from bilateral.documents.unixfs import read_file
from bilateral.errors import (
    CidMismatchError,
    DocumentError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    ForbiddenAddressError,
    TooManyRedirectsError,
    UnreachableDocumentError,
    UnsupportedUriError,
)
from bilateral.text import quoted

PUBLIC_GATEWAYS: Final = ("https://trustless-gateway.link", "https://ipfs.io")

Integrity: TypeAlias = Literal["inline", "cid", "hash"]

_BLOCK_OVERHEAD: Final = 64 * 1024  # links and framing of one dag-pb block beyond its content


@dataclass(frozen=True)
class Document:
    """A document as it was loaded.

    Attributes:
        uri: Its URI.
        content: Its bytes.
        integrity: The proof that its author published these bytes: the URI itself has them ("inline"), or its CID or
            its hash on chain was checked. None if there is only the server's word.
        validators: The marks of the server's version, for `Loader.load_changes`.
    """

    uri: str
    content: bytes
    integrity: Integrity | None

    validators: Validators = UNKNOWN_VERSION

    @property
    def hash(self) -> bytes:
        """The keccak-256 hash of the content."""
        return document_hash(self.content)

    def registration(self) -> RegistrationFile:
        """Read it as a registration file.

        Raises:
            MalformedDocumentError: It is not a registration file.
        """
        return RegistrationFile.from_bytes(self.content)

    def feedback(self) -> FeedbackFile:
        """Read it as a feedback file.

        Raises:
            MalformedDocumentError: It is not a feedback file.
        """
        return FeedbackFile.from_bytes(self.content)


@dataclass(frozen=True)
class Loader:
    """Loads documents by URI, and trusts neither their authors nor the servers.

    Attributes:
        limits: The limits for one document: bytes, seconds, redirects.
        gateways: IPFS gateways that deliver blocks, tried in order. They may have private addresses, because the
            program's user names them, not a stranger.
        files: The folder whose files `file:` URIs may load; by default they load no file. A stranger's URI on chain
            must not make a program read its own machine.
        network: The settings of connections. Set `allow_private` in tests and closed networks only.
    """

    limits: Limits = field(default_factory=Limits)
    gateways: Sequence[str] = field(default=PUBLIC_GATEWAYS, repr=False)  # they may hold passwords
    files: Path | None = None
    network: Network = field(default_factory=Network)

    def load(self, uri: str, expected_hash: bytes = NO_HASH) -> Document:
        """Load a document.

        Args:
            uri: A `data:`, `https:`, `http:`, `ipfs:` or `file:` URI.
            expected_hash: The hash on chain; zeros without one.

        Returns:
            The document. Its `integrity` names the check that it passed.

        Raises:
            UnsupportedUriError: The URI is malformed or of another scheme, or files are not allowed.
            ForbiddenAddressError: It leads, at once or by a redirect, to an address that is not public, or to a file
                outside the folder.
            UnreachableDocumentError: No server delivers it. With several gateways, the error is of the last one.
            TooManyRedirectsError: More redirects than the limit, or one from https to http.
            DocumentTimeoutError: It takes longer than the limit.
            DocumentTooLargeError: It is larger than the limit.
            CidMismatchError: A gateway delivers content of another CID.
            MalformedDocumentError: The CID does not name a file.
            HashMismatchError: It has another hash than expected.
        """
        document = self._load(uri, UNKNOWN_VERSION)
        if document is None:  # only a document that is known can be unchanged
            raise UnreachableDocumentError(f"{quoted(uri)} has no content")
        if verify_hash(document.content, expected_hash):
            return replace(document, integrity=document.integrity or "hash")
        return document

    def load_changes(self, uri: str, known: Validators) -> Document | None:
        """Load a document unless its server says that it did not change.

        Args:
            uri: As for `load`.
            known: The marks of the version that the caller has.

        Returns:
            The document; None if it did not change. Its hash is not checked.

        Raises:
            DocumentError: As `load`.
        """
        return self._load(uri, known)

    async def load_async(self, uri: str, expected_hash: bytes = NO_HASH) -> Document:
        """Load a document as `load` does, in a thread, so that it does not block the event loop."""
        return await asyncio.to_thread(self.load, uri, expected_hash)

    def load_file(self, path: Path) -> Document:
        """Load a file that the program's user names, from any folder.

        Raises:
            UnreachableDocumentError: It cannot be read.
            DocumentTooLargeError: It is larger than the limit.
        """
        try:
            with path.open("rb") as file:
                content = file.read(self.limits.bytes + 1)
        except OSError as error:
            raise UnreachableDocumentError(f"{quoted(str(path))} cannot be read: {error.strerror}") from None
        if len(content) > self.limits.bytes:
            raise DocumentTooLargeError(self.limits.bytes)
        return Document(path.absolute().as_uri(), content, None)

    def _load(self, uri: str, known: Validators) -> Document | None:
        """Load a document by its URI's scheme; return None if its server says that it did not change."""
        if not isinstance(uri, str):
            raise UnsupportedUriError(f"a URI is a text, not a {type(uri).__name__}")
        scheme, colon, _ = uri.partition(":")
        match scheme.lower() if colon else "":
            case "data":
                return Document(uri, decode_data_uri(uri, self.limits.bytes), "inline")
            case "ipfs":
                return Document(uri, self._load_ipfs(uri), "cid")
            case "http" | "https":
                with HttpSession(self.limits, self.network) as session:
                    answer = session.get_changes(uri, known)
                return None if answer.content is None else Document(uri, answer.content, None, answer.validators)
            case "file":
                return Document(uri, self._load_file_uri(uri), None)
        raise UnsupportedUriError(f"{quoted(uri)} is not a data, https, http, ipfs or file URI")

    def _load_file_uri(self, uri: str) -> bytes:
        """Load a file inside the folder. Links out of it are refused."""
        if self.files is None:
            raise UnsupportedUriError(f"{quoted(uri)}: this loader loads no files: give it their folder (files)")
        try:
            parts = urlsplit(uri)
        except ValueError:
            raise UnsupportedUriError(f"{quoted(uri)} is not a URI") from None
        if parts.netloc not in ("", "localhost"):
            raise UnsupportedUriError(f"{quoted(uri)} names a file of another machine")
        try:
            path = Path(url2pathname(parts.path)).resolve()
        except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links
            raise UnsupportedUriError(f"{quoted(uri)} is not a path") from None
        if not path.is_relative_to(self.files.resolve()) or (path.exists() and not path.is_file()):
            raise ForbiddenAddressError(uri, str(path))
        return self.load_file(path).content

    def _load_ipfs(self, uri: str) -> bytes:
        """Load a file of IPFS from the first gateway that delivers it. Each gateway has an equal share of the time."""
        cid, path = parse_ipfs_uri(uri)
        failure: DocumentError = UnreachableDocumentError("no IPFS gateway is named")
        for gateway in self.gateways:
            try:
                return self._load_from_gateway(gateway, cid, path)
            except (CidMismatchError, DocumentTimeoutError, UnreachableDocumentError) as error:
                failure = error
        raise failure

    def _load_from_gateway(self, gateway: str, cid: Cid, path: list[str]) -> bytes:
        """Load a file of IPFS block by block, as every trustless gateway offers."""
        network = replace(self.network, trusted=self.network.trusted | {host_of(gateway)})
        limits = replace(self.limits, seconds=self.limits.seconds / len(self.gateways))
        with HttpSession(limits, network) as session:

            def fetch(block: Cid) -> bytes:
                try:
                    return session.get(
                        f"{gateway.rstrip('/')}/ipfs/{block}?format=raw",
                        limit=self.limits.bytes + _BLOCK_OVERHEAD,
                        headers={"Accept": "application/vnd.ipld.raw"},
                    )
                # A fault in an unchecked block is the gateway's, not the document's.
                except DocumentTooLargeError as error:
                    problem = f"sends more than {error.limit} bytes as one block"
                except (ForbiddenAddressError, TooManyRedirectsError, UnsupportedUriError) as error:
                    problem = f"does not deliver a block: {error}"
                raise UnreachableDocumentError(f"the IPFS gateway {quoted_url(gateway)} {problem}")

            return read_file(fetch, cid, path, self.limits.bytes)


def parse_ipfs_uri(uri: str) -> tuple[Cid, list[str]]:
    """Split `ipfs://<cid>/<path>` into its CID and the names of its path.

    Raises:
        UnsupportedUriError: The URI does not have this form.
    """
    rest = uri.partition(":")[2].lstrip("/").removeprefix("ipfs/")
    cid, *path = rest.partition("?")[0].partition("#")[0].split("/")
    return Cid.parse(cid), [unquote(name) for name in path if name]

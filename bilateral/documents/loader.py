"""Load untrusted documents by any kind of URI that agents use."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from bilateral.core import errors
from bilateral.core.text import quoted
from bilateral.documents.data_uri import decode_data_uri, is_inline
from bilateral.documents.feedback import FeedbackFile
from bilateral.documents.hashing import NO_HASH, document_hash, verify_hash
from bilateral.documents.http import UNKNOWN_VERSION, HttpSession, Limits, Network, Validators, quoted_url
from bilateral.documents.ipfs import RAW, Cid, is_of_block, read_file
from bilateral.documents.registration import RegistrationFile

PUBLIC_GATEWAYS: Final = ("https://trustless-gateway.link", "https://ipfs.io")

Integrity: TypeAlias = Literal["inline", "cid", "hash"]

_CID: Final = r"(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{58})"
"""A pattern for file CIDs in their usual notation."""

_BARE_CID: Final = re.compile(rf"/?(?:ipfs/)?{_CID}(?:[/?#].*)?", re.DOTALL)
_GATEWAY_PATH: Final = re.compile(rf"(https?://[^/?#]+)/ipfs/({_CID})(/[^?#]*)?(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_GATEWAY_HOST: Final = re.compile(
    r"(https?://)(b[a-z2-7]{58})\.ipfs\.([^/?#]+)(/[^?#]*)?(\?[^#]*)?(?:#.*)?", re.IGNORECASE
)

_MIN_SECONDS: Final = 0.001  # a gateway that is tried after the deadline then fails with a timeout

_GATEWAY_FAILURES: Final = (errors.CidMismatchError, errors.DocumentTimeoutError, errors.UnreachableDocumentError)

_BAD_LINKS: Final = (errors.ForbiddenAddressError, errors.TooManyRedirectsError, errors.UnsupportedUriError)

_BLOCK_OVERHEAD: Final = 64 * 1024  # links and framing of one dag-pb block beyond its content


@dataclass(frozen=True)
class Document:
    """A loaded document.

    Attributes:
        content: The document's bytes.
        integrity: The proof that the author published these bytes: the URI itself contains them ("inline"), or they
            match the CID or the on-chain hash. None if only the server vouches for them.
        validators: The HTTP validators (`ETag`, `Last-Modified`) of this version, to pass to `Loader.load_changes`.
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
        """Read the document as a registration file.

        Raises:
            MalformedDocumentError: The document is not a registration file.
        """
        return RegistrationFile.from_bytes(self.content)

    def feedback(self) -> FeedbackFile:
        """Read the document as a feedback file.

        Raises:
            MalformedDocumentError: The document is not a feedback file.
        """
        return FeedbackFile.from_bytes(self.content)


@dataclass(frozen=True)
class Loader:
    """Loads documents by URI. Neither their authors nor the servers are trusted.

    Attributes:
        limits: The limits for one document: bytes, seconds, redirects.
        gateways: The IPFS gateways that deliver blocks, tried in order. They may have private addresses, because the
            program's user chooses them.
        files: The folder from which files may be loaded by `file:` URI. By default, no files are loaded, because an
            untrusted on-chain URI must not make a program read files on its own machine.
        network: The settings of connections. Set `allow_private` only in tests and closed networks.
    """

    limits: Limits = field(default_factory=Limits)
    gateways: Sequence[str] = field(default=PUBLIC_GATEWAYS, repr=False)  # the URLs may contain passwords
    files: Path | None = None
    network: Network = field(default_factory=Network)

    def load(self, uri: str, expected_hash: bytes = NO_HASH) -> Document:
        """Load a document.

        Args:
            uri: A `data:`, `https:`, `http:`, `ipfs:` or `file:` URI; a CID; or JSON, possibly in base64, which some
                agents use as their URI. Surrounding white space is ignored. IPFS files at a gateway's URL are also
                checked against their CID.
            expected_hash: The on-chain hash; all zeros if there is none.

        Returns:
            The document. Its `integrity` indicates which check it passed.

        Raises:
            UnsupportedUriError: The URI is malformed, its scheme is not supported, or loading files is not allowed.
            ForbiddenAddressError: The URI leads, directly or through a redirect, to an address that is not public, or
                to a file outside the folder.
            UnreachableDocumentError: No server delivers the document. If there are several gateways, the error is from
                the last one.
            TooManyRedirectsError: There are more redirects than the limit allows, or one leads from https to http.
            DocumentTimeoutError: Loading the document takes longer than the limit.
            DocumentTooLargeError: The document is larger than the limit.
            CidMismatchError: A gateway delivers content that does not match the CID.
            MalformedDocumentError: The CID does not identify a file.
            HashMismatchError: The document's hash differs from the expected hash.
        """
        document = self.load_changes(uri, UNKNOWN_VERSION)
        if document is None:  # only a cached document can be unchanged
            raise errors.UnreachableDocumentError(f"{quoted(uri)} has no content")
        if verify_hash(document.content, expected_hash):
            return replace(document, integrity=document.integrity or "hash")
        return document

    def load_changes(self, uri: str, cached: Validators) -> Document | None:
        """Load a document, unless the server reports that it has not changed.

        Args:
            cached: The validators of the version that the caller already has.

        Returns:
            The document, or None if it has not changed. The document's hash is not checked.

        Raises:
            DocumentError: The same errors as `load`.
        """
        if not isinstance(uri, str):
            raise errors.UnsupportedUriError(f"a URI must be a string, not {type(uri).__name__}")
        uri = uri.strip()
        match scheme_of(uri):
            case "data":
                return Document(uri, decode_data_uri(uri, self.limits.bytes), "inline")
            case "ipfs":
                cid, path = parse_ipfs_uri(uri)
                return Document(uri, self._load_ipfs(cid, path, self.gateways, self.limits.seconds), "cid")
            case "http" | "https":
                file = _file_at_gateway(uri)
                if file is not None:
                    return self._load_from_gateway_url(uri, cached, *file)
                return self._load_http(uri, cached, self.limits)
            case "file":
                return Document(uri, self._load_file_uri(uri), None)
        raise errors.UnsupportedUriError(f"{quoted(uri)} is not a data, https, http, ipfs or file URI")

    async def load_async(self, uri: str, expected_hash: bytes = NO_HASH) -> Document:
        """Load a document as `load` does, but in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.load, uri, expected_hash)

    def load_file(self, path: Path) -> Document:
        """Load a file that the program's user specified, from any folder.

        Raises:
            UnreachableDocumentError: The file cannot be read.
            DocumentTooLargeError: The document is larger than the limit.
        """
        try:
            with path.open("rb") as file:
                content = file.read(self.limits.bytes + 1)
        except OSError as error:
            raise errors.UnreachableDocumentError(f"{quoted(str(path))} cannot be read: {error.strerror}") from None
        if len(content) > self.limits.bytes:
            raise errors.DocumentTooLargeError(self.limits.bytes)
        return Document(path.absolute().as_uri(), content, None)

    def _load_http(self, uri: str, cached: Validators, limits: Limits) -> Document | None:
        with HttpSession(limits, self.network) as session:
            content, validators = session.get_changes(uri, cached)
        return None if content is None else Document(uri, content, None, validators)

    def _load_file_uri(self, uri: str) -> bytes:
        """Load a file inside the folder `files`. Links to files outside this folder are rejected."""
        if self.files is None:
            raise errors.UnsupportedUriError(
                f"{quoted(uri)}: this loader does not read local files: pass the folder that contains them as files=…"
            )
        try:
            parts = urlsplit(uri)
        except ValueError:
            raise errors.UnsupportedUriError(f"{quoted(uri)} is not a URI") from None
        if parts.netloc not in ("", "localhost"):
            raise errors.UnsupportedUriError(f"{quoted(uri)} refers to a file on another machine")
        try:
            path = Path(url2pathname(parts.path)).resolve()
        except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links
            raise errors.UnsupportedUriError(f"{quoted(uri)} is not a path") from None
        if not path.is_relative_to(self.files.resolve()) or (path.exists() and not path.is_file()):
            raise errors.ForbiddenAddressError(uri, str(path))
        return self.load_file(path).content

    def _load_from_gateway_url(
        self, uri: str, cached: Validators, cid: Cid, path: list[str], own: str
    ) -> Document | None:
        """Load an IPFS file by its CID, from the gateway in the URL or, if that fails, from any configured gateway."""
        deadline = time.monotonic() + self.limits.seconds
        document, failure = None, None
        try:
            document = self._load_http(uri, cached, replace(self.limits, seconds=self.limits.seconds / 2))
        except errors.DocumentError as error:
            failure = error
        if failure is None and (document is None or (not path and is_of_block(cid, document.content))):
            return document and replace(document, integrity="cid")
        gateways = dict.fromkeys((own, *self.gateways)) if failure is None else self.gateways
        try:
            return Document(uri, self._load_ipfs(cid, path, tuple(gateways), deadline - time.monotonic()), "cid")
        except _GATEWAY_FAILURES as error:
            if document is None:
                raise failure or error from None
            if cid.codec == RAW and not path:
                cid.verify(document.content)
        return document

    def _load_ipfs(self, cid: Cid, path: list[str], gateways: Sequence[str], seconds: float) -> bytes:
        """Load an IPFS file from the first gateway that delivers it. Gateways share the remaining time equally."""
        failure: errors.DocumentError = errors.UnreachableDocumentError("no IPFS gateway is configured")
        end = time.monotonic() + seconds
        for tried, gateway in enumerate(gateways):
            share = max(_MIN_SECONDS, (end - time.monotonic()) / (len(gateways) - tried))
            try:
                return self._load_from_gateway(gateway, cid, path, share)
            except _GATEWAY_FAILURES as error:
                failure = error
        raise failure

    def _load_from_gateway(self, gateway: str, cid: Cid, path: list[str], seconds: float) -> bytes:
        network = self.network.trusting(gateway) if gateway in self.gateways else self.network
        with HttpSession(replace(self.limits, seconds=seconds), network) as session:

            def fetch(block: Cid) -> bytes:
                try:
                    return session.get(
                        f"{gateway.rstrip('/')}/ipfs/{block}?format=raw",
                        limit=self.limits.bytes + _BLOCK_OVERHEAD,
                        headers={"Accept": "application/vnd.ipld.raw"},
                    )
                # The gateway, not the document, is to blame for a fault in an unchecked block.
                except errors.DocumentTooLargeError as error:
                    problem = f"sends more than {error.limit} bytes as one block"
                except _BAD_LINKS as error:
                    problem = f"does not deliver a block: {error}"
                raise errors.UnreachableDocumentError(f"the IPFS gateway {quoted_url(gateway)} {problem}")

            return read_file(fetch, cid, path, self.limits.bytes)


def scheme_of(uri: str) -> str:
    """Return the scheme by which a URI is loaded, in lower case: `data` for bare JSON, `ipfs` for a bare CID."""
    uri = uri.strip()
    if is_inline(uri):
        return "data"
    if _BARE_CID.fullmatch(uri):
        return "ipfs"
    scheme, colon, _ = uri.partition(":")
    return scheme.lower() if colon else ""


def _file_at_gateway(uri: str) -> tuple[Cid, list[str], str] | None:
    """Return the CID, path and gateway in a URL of an IPFS file at a gateway; None for any other URL."""
    if by_path := _GATEWAY_PATH.fullmatch(uri):
        gateway, cid, path = by_path[1], by_path[2], by_path[3]
    elif by_host := _GATEWAY_HOST.fullmatch(uri):
        gateway, cid, path = by_host[1] + by_host[3], by_host[2].lower(), by_host[4]
    else:
        return None
    try:
        return Cid.parse(cid), [unquote(name) for name in (path or "").split("/") if name], gateway
    # Without the extra, or with an unsupported CID, the file is not checked, like a file from any other server.
    except (errors.MissingExtraError, errors.UnsupportedUriError):
        return None


def parse_ipfs_uri(uri: str) -> tuple[Cid, list[str]]:
    """Split `ipfs://<cid>/<path>`, with or without the scheme, into the CID and the path segments."""
    rest = (uri[5:] if uri[:5].lower() == "ipfs:" else uri).lstrip("/").removeprefix("ipfs/")
    cid, *path = rest.partition("?")[0].partition("#")[0].split("/")
    return Cid.parse(cid), [unquote(name) for name in path if name]

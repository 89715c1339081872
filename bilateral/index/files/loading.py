"""Load one file, and return its content with a proof of the content's origin, or the reason for the failure."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bilateral.core import errors
from bilateral.documents import Document, Loader, Validators, document_hash, verify_hash
from bilateral.documents.http import host_of
from bilateral.documents.loader import scheme_of
from bilateral.index.files.reading import Reader, ReadRows, read_content
from bilateral.index.files.tables import Kind

_LOGGER: Final = logging.getLogger("bilateral.index")

IPFS_HOST: Final = "ipfs:"
"""The host name that represents all gateways, which share one set of limits."""

_MAX_HOST: Final = 300  # the width of the column
_MAX_PROBLEM: Final = 500  # characters: a URL, and the reason after it
_BUSY: Final = frozenset({429, 503})  # too many requests, and overload (RFC 6585, RFC 9110)


@dataclass(frozen=True)
class Loaded:
    """A file whose content was loaded.

    Attributes:
        content_hash: The content's keccak-256 hash.
        integrity: The proof that the file's author published the content: `inline`, `cid`, `hash`, or `variant` if the
            on-chain hash belongs to another form of the same document. None if only the server vouches for it.
        rows: The rows derived from the content.
        problem: A sentence that explains why the file's format is invalid; None if it is valid.
        validators: The server's cache validators for this version of the file, such as the ETag.
        readers: The additional readers that derived rows from the content.
    """

    content: bytes = field(repr=False)
    content_hash: bytes
    integrity: str | None
    rows: ReadRows = field(repr=False)
    problem: str | None
    validators: Validators
    readers: Sequence[Reader] = ()

    @property
    def is_final(self) -> bool:
        """True if the content can never change."""
        return self.integrity is not None


@dataclass(frozen=True)
class Unchanged:
    """A file that has not changed since it was last loaded."""


@dataclass(frozen=True)
class Failed:
    """A file that was not loaded.

    Attributes:
        reason: The reason, as a machine-readable code.
        problem: A sentence that explains the reason to people.
        is_final: True if trying to load the file again cannot help.
        is_of_host: True if the failure concerns the whole host, because the host is busy or not responding.
        is_own: True if this machine's DNS resolver or network failed, which says nothing about the file.
        wait_seconds: The wait that the host requests, in seconds; None if it requests none.
    """

    reason: str
    problem: str
    is_final: bool = False
    is_of_host: bool = False
    is_own: bool = False
    wait_seconds: int | None = None


Outcome: TypeAlias = Loaded | Unchanged | Failed


def load_file(  # noqa: PLR0913, PLR0917  # a file's columns, and who reads it
    loader: Loader,
    kind: Kind,
    uri: str,
    expected_hash: bytes | None,
    stored: Validators,
    readers: Sequence[Reader] = (),
) -> Outcome:
    """Load a file, and return the outcome."""
    try:
        document = loader.load_changes(uri, stored)
        return Unchanged() if document is None else _read(kind, document, expected_hash, readers)
    except (errors.DocumentError, errors.MissingExtraError) as problem:
        return failure_of(uri, problem)
    except Exception as problem:
        _LOGGER.exception("file=%s outcome=unexpected_error", kind)
        return Failed("unexpected_error", f"this program cannot read the file: {type(problem).__name__}")


def host_of_file(uri: str) -> str | None:
    """Return the host from which the file at a URI is fetched; None if the URI needs no host or has none."""
    scheme = scheme_of(uri)
    if "\N{REPLACEMENT CHARACTER}" in uri:
        raise errors.UnsupportedUriError("the URI contains NUL, U+FFFD or bytes that are not UTF-8")
    if scheme == "data":
        return None
    if scheme == "ipfs":
        return IPFS_HOST
    if scheme not in ("http", "https"):
        raise errors.UnsupportedUriError("files are only fetched from https, http, ipfs and data URIs")
    host, port = host_of(uri.strip())
    name = f"{host}:{port}"
    if len(name) > _MAX_HOST:
        raise errors.UnsupportedUriError("the host name is too long")
    return name


def _read(kind: Kind, document: Document, expected_hash: bytes | None, readers: Sequence[Reader]) -> Loaded:
    integrity: str | None = document.integrity
    try:
        if expected_hash is not None and verify_hash(document.content, expected_hash):
            integrity = integrity or "hash"
    except errors.HashMismatchError as mismatch:
        if mismatch.variant is None:
            raise
        integrity = "variant"
    content_hash, problem = document_hash(document.content), None
    rows: ReadRows = {}
    try:
        rows = read_content(kind, content_hash, document.content, readers)
    except errors.MalformedDocumentError as malformed:
        problem = _sentence(malformed)
    return Loaded(document.content, content_hash, integrity, rows, problem, document.validators, readers)


def failure_of(uri: str, problem: errors.BilateralError) -> Failed:
    """Return the outcome for a file that could not be loaded."""
    scheme = scheme_of(uri)
    is_of_content = isinstance(
        problem, (errors.DocumentTooLargeError, errors.HashMismatchError, errors.MalformedDocumentError)
    )
    is_fixed = scheme == "data" or (scheme == "ipfs" and is_of_content)
    status = problem.status if isinstance(problem, errors.RefusedDocumentError) else None
    is_silent = isinstance(problem, (errors.DocumentTimeoutError, errors.UnreachableDocumentError)) and status is None
    return Failed(
        reason=problem.reason,
        problem=_sentence(problem),
        is_final=is_fixed or isinstance(problem, errors.UnsupportedUriError),
        is_of_host=scheme != "ipfs" and (is_silent or status in _BUSY),
        is_own=isinstance(problem, errors.OwnNetworkError),
        wait_seconds=problem.wait_seconds if isinstance(problem, errors.RefusedDocumentError) else None,
    )


def _sentence(problem: errors.BilateralError) -> str:
    return str(problem)[:_MAX_PROBLEM].replace("\0", "\N{REPLACEMENT CHARACTER}")

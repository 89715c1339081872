"""Errors related to registration and feedback files."""

from dataclasses import InitVar
from typing import Literal, TypeAlias

from bilateral.core.errors.base import BilateralError, FormattedError
from bilateral.core.text import quoted


class DocumentError(BilateralError):
    """A registration or feedback file cannot be read, trusted or stored."""

    reason = "document"


class MalformedDocumentError(DocumentError, ValueError):
    """A document violates its format: it is not a JSON object, or has a missing or mistyped field."""

    reason = "malformed_document"


class UnsupportedUriError(DocumentError, ValueError):
    """A URI is malformed, or its scheme is not supported."""

    reason = "unsupported_uri"


class ForbiddenAddressError(DocumentError):
    """A URI resolves to an address that is not public: this machine, its network, or a cloud metadata service.

    Attributes:
        host: The host as written in the URI.
        address: The host's address.
    """

    reason = "forbidden_address"

    def __init__(self, host: str, address: str) -> None:
        super().__init__(f"{quoted(host)} resolves to {address}, which is not a public address")
        self.host = host
        self.address = address


class DocumentTooLargeError(FormattedError, DocumentError):
    """A document is larger than the limit.

    Attributes:
        limit: The limit, in bytes.
    """

    reason = "document_too_large"
    template = "the document exceeds the limit of {limit} bytes"
    limit: int


Phase: TypeAlias = Literal["resolve", "connect", "tls", "first_byte", "body"]
"""The phases of a request, in order."""


class DocumentTimeoutError(FormattedError, DocumentError, TimeoutError):
    """A document did not arrive in time.

    Attributes:
        seconds: The overall time limit, which covers name lookups, connections, redirects, IPFS blocks and content.
        phase: The phase of the request that did not finish.
    """

    reason = "document_timeout"
    template = "the document did not arrive within {seconds:g} seconds"
    seconds: float
    phase: Phase = "body"


class TooManyRedirectsError(DocumentError):
    """A server redirects more often than the limit allows, or from https to http."""

    reason = "too_many_redirects"


class UnreachableDocumentError(DocumentError):
    """No server delivered the document: unknown host, failed connection, untrusted certificate, or error status."""

    reason = "unreachable_document"


class HostNotFoundError(UnreachableDocumentError):
    """A hostname does not exist, or has no address."""

    reason = "host_not_found"


class ConnectionRefusedDocumentError(UnreachableDocumentError):
    """A host has addresses, but no server accepts connections on its port."""

    reason = "connection_refused"


class OwnNetworkError(UnreachableDocumentError):
    """This machine has no route to the host. The host may still be reachable from elsewhere."""

    reason = "own_network"


class ResolverError(OwnNetworkError):
    """This machine's DNS resolver fails or is overloaded. The host may still exist and respond."""

    reason = "resolver_failed"


class ResolverTimeoutError(DocumentTimeoutError, ResolverError):
    """This machine's DNS resolver does not respond in time."""

    reason = "resolver_failed"
    phase: Phase = "resolve"


class TlsError(UnreachableDocumentError):
    """No TLS connection can be established."""

    reason = "tls"


class UnknownAuthorityError(TlsError):
    """A certificate was issued by an authority that this machine does not trust."""

    reason = "certificate_authority"


class ExpiredCertificateError(TlsError):
    """A certificate has expired, or is not valid yet."""

    reason = "certificate_expired"


class CertificateNameError(TlsError):
    """A certificate was issued for another host."""

    reason = "certificate_name"


class SelfSignedCertificateError(TlsError):
    """A certificate is self-signed."""

    reason = "certificate_self_signed"


class EncodedAnswerError(FormattedError, UnreachableDocumentError):
    """A response has a content encoding that was not requested."""

    reason = "unasked_encoding"
    template = "the response has the content encoding {encoding_text}, which was not requested"
    encoding_text: InitVar[str]


class BrokenAnswerError(UnreachableDocumentError):
    """A response is not HTTP, or ends before it is complete."""

    reason = "broken_answer"


class HeadersTooLargeError(BrokenAnswerError):
    """The headers of a response exceed the limit."""

    reason = "headers_too_large"


class RefusedDocumentError(FormattedError, UnreachableDocumentError):
    """A server responds with an error status.

    Attributes:
        wait_seconds: The number of seconds that the server tells clients to wait before the next request; None if it
            specifies none.
    """

    template = "{url_text} returned status {status}"
    url_text: InitVar[str]
    status: int
    wait_seconds: int | None = None


class HashMismatchError(DocumentError):
    """A document does not match its on-chain hash.

    Attributes:
        content: The document.
        expected: The on-chain hash.
        actual: The keccak-256 hash of the document.
        variant: The alternative serialisation or digest of the document that yields the expected hash; None if no known
            variant does. If set, the author published this content but hashed different bytes.
    """

    reason = "hash_mismatch"

    def __init__(self, content: bytes, expected: bytes, actual: bytes, variant: str | None) -> None:
        explanation = f"; the expected hash is that of {variant}" if variant else ""
        super().__init__(f"the document's hash is 0x{actual.hex()}, but 0x{expected.hex()} was expected{explanation}")
        self.content = content
        self.expected = expected
        self.actual = actual
        self.variant = variant


class CidMismatchError(FormattedError, DocumentError):
    """A gateway delivered content that does not match its CID.

    Attributes:
        expected: The requested CID.
        actual: The CID of the delivered content.
    """

    reason = "cid_mismatch"
    template = "the content's CID is {actual}, but {expected} was requested"
    expected: str
    actual: str

"""The exceptions of the package. Each class carries a `reason`, which programs can compare and which never changes."""

from __future__ import annotations

from typing import ClassVar

from bilateral.text import quoted


class BilateralError(Exception):
    """Base of every exception that the package raises on purpose.

    Attributes:
        reason: What went wrong, for machines: lower case with underscores, stable from release to release.
    """

    reason: ClassVar[str] = "error"


class MalformedIdentifierError(BilateralError, ValueError):
    """A text is not the identifier that it is taken for.

    Attributes:
        kind: The identifier that was expected.
        text: The text that was given, whole.
        problem: What is wrong with it.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: str, problem: str) -> None:
        """Compose the message from what was expected, what was given and what is wrong with it."""
        super().__init__(f"{quoted(text)} is not {kind}: {problem}")
        self.kind = kind
        self.text = text
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """A value has no exact form in the registry, or lies outside what its tag measures. It is never rounded."""

    reason = "unrepresentable_value"


class DocumentError(BilateralError):
    """A registration or feedback file cannot be read, trusted or stored."""

    reason = "document"


class MalformedDocumentError(DocumentError, ValueError):
    """A document is not what its format says: no JSON object, a field of the wrong type, a required field missing."""

    reason = "malformed_document"


class UnsupportedUriError(DocumentError, ValueError):
    """A URI is malformed, or of a scheme that is not loaded here."""

    reason = "unsupported_uri"


class ForbiddenAddressError(DocumentError):
    """A URI leads to an address that is not public, such as the machine itself, its network or a cloud's metadata.

    Attributes:
        host: The host as the URI names it.
        address: The address that the host stands for.
    """

    reason = "forbidden_address"

    def __init__(self, host: str, address: str) -> None:
        """Compose the message from the host and its address."""
        super().__init__(f"{quoted(host)} leads to {address}, which is not a public address")
        self.host = host
        self.address = address


class DocumentTooLargeError(DocumentError):
    """A document is larger than the limit.

    Attributes:
        limit: The limit, in bytes.
    """

    reason = "document_too_large"

    def __init__(self, limit: int) -> None:
        """Compose the message from the limit."""
        super().__init__(f"the document exceeds the limit of {limit} bytes")
        self.limit = limit


class DocumentTimeoutError(DocumentError, TimeoutError):
    """A document did not arrive in time.

    Attributes:
        seconds: The time that was allowed for everything: names, connections, redirects, blocks and content.
    """

    reason = "document_timeout"

    def __init__(self, seconds: float) -> None:
        """Compose the message from the time allowed."""
        super().__init__(f"the document did not arrive within {seconds:g} seconds")
        self.seconds = seconds


class TooManyRedirectsError(DocumentError):
    """A server redirects more often than the limit allows, or from https to http."""

    reason = "too_many_redirects"


class UnreachableDocumentError(DocumentError):
    """No server delivers the document: no such name, no connection, an untrusted certificate, or an error status."""

    reason = "unreachable_document"


class HashMismatchError(DocumentError):
    """A document is not the one whose hash is on chain.

    Attributes:
        content: The document.
        expected: The hash on chain.
        actual: The keccak-256 hash of the document.
        variant: The known other serialisation or digest of the same document that has the expected hash, if one has.
            The content then is what its author meant, though not byte for byte what the author hashed.
    """

    reason = "hash_mismatch"

    def __init__(self, content: bytes, expected: bytes, actual: bytes, variant: str | None) -> None:
        """Compose the message from both hashes."""
        known = f"; the expected hash is that of {variant}" if variant else ""
        super().__init__(f"the document's hash is 0x{actual.hex()}, but 0x{expected.hex()} was expected{known}")
        self.content = content
        self.expected = expected
        self.actual = actual
        self.variant = variant


class CidMismatchError(DocumentError):
    """A gateway delivers content that is not what the CID identifies.

    Attributes:
        expected: The CID that was asked for.
        actual: The CID of what was delivered.
    """

    reason = "cid_mismatch"

    def __init__(self, expected: str, actual: str) -> None:
        """Compose the message from both identifiers."""
        super().__init__(f"the content's CID is {actual}, but {expected} was asked for")
        self.expected = expected
        self.actual = actual


class DeploymentRecordError(BilateralError, ValueError):
    """A deployment record cannot be read, or records no identity registry."""

    reason = "deployment_record"


class UnexpectedAnswerError(BilateralError):
    """What is at a registry's address does not answer as the registry does."""

    reason = "unexpected_answer"


class MalformedAuthorizationError(BilateralError, ValueError):
    """A text or some bytes are no authorisation of feedback (FeedbackAuth)."""

    reason = "malformed_authorization"

    def __init__(self, problem: str) -> None:
        """Compose the message from the problem."""
        super().__init__(f"not an authorisation of feedback (five words of 32 bytes and a signature): {problem}")

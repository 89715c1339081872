"""The root of the exceptions, and those about what a caller gives."""

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
        text: The text that was given, whole; of what is no text, its type.
        problem: What is wrong with it.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        """Compose the message from what was expected, what was given and what is wrong with it."""
        given = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(given)} is not {kind}: {problem}")
        self.kind = kind
        self.text = given
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """A value has no exact form in the registry, or lies outside what its tag measures. It is never rounded."""

    reason = "unrepresentable_value"


class MalformedAuthorizationError(BilateralError, ValueError):
    """A text or some bytes are no authorisation of feedback (FeedbackAuth)."""

    reason = "malformed_authorization"

    def __init__(self, problem: str) -> None:
        """Compose the message from the problem."""
        super().__init__(f"not an authorisation of feedback (five words of 32 bytes and a signature): {problem}")


class InvalidArgumentError(BilateralError, ValueError):
    """An argument is ambiguous, missing, or does not fit what it is for."""

    reason = "invalid_argument"

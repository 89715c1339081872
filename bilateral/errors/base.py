"""The root of the exceptions, and those about arguments and installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


class BilateralError(Exception):
    """Base of every exception that the package raises on purpose.

    Attributes:
        reason: The kind of error, for programs: lower case with underscores, stable from release to release.
    """

    reason: ClassVar[str] = "error"


class MalformedIdentifierError(BilateralError, ValueError):
    """A text is not a valid identifier of the expected kind.

    Attributes:
        kind: The identifier that was expected.
        text: The whole text; for a value of another type, the name of its type.
        problem: The reason why it is invalid.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        """Compose the message from the expected kind, the text and the problem."""
        given = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(given)} is not {kind}: {problem}")
        self.kind = kind
        self.text = given
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """The registry cannot store a value exactly, or the value is out of range for its tag. Values are never rounded."""

    reason = "unrepresentable_value"


class MalformedAuthorizationError(BilateralError, ValueError):
    """A feedback authorisation (FeedbackAuth) is invalid."""

    reason = "malformed_authorization"

    def __init__(self, problem: str) -> None:
        """Compose the message from the problem."""
        super().__init__(f"invalid feedback authorisation (five words of 32 bytes and a signature): {problem}")


class InvalidArgumentError(BilateralError, ValueError):
    """An argument is invalid, missing, or contradicts another."""

    reason = "invalid_argument"


class MissingExtraError(BilateralError, ImportError):
    """An optional part of the package needs distributions that are not installed.

    Attributes:
        extra: The extra that installs them.
        modules: The modules that are missing.
    """

    reason = "missing_extra"

    def __init__(self, extra: str, modules: Sequence[str]) -> None:
        """Compose the message from the extra and the missing modules."""
        super().__init__(f"{', '.join(modules)} missing: install them with pip install 'bilateral[{extra}]'")
        self.extra = extra
        self.modules = tuple(modules)

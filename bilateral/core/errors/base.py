"""The base class of the package's exceptions, and errors for invalid arguments and missing extras."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from importlib.util import find_spec
from typing import Any, ClassVar, dataclass_transform

from bilateral.core.text import quoted


class BilateralError(Exception):
    """Base class of every exception that the package raises intentionally.

    Attributes:
        reason: The machine-readable kind of error, in snake_case. It is stable across releases.
    """

    reason: ClassVar[str] = "error"


@dataclass_transform(eq_default=False)
class FormattedError(BilateralError):
    """An error that is declared as fields and a message template that uses them. Bytes are shown in hexadecimal.

    A field that is an `InitVar` appears in the message, but is not an attribute.
    """

    template: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self, *message_only: Any) -> None:
        attributes = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        names = [name for name in self.__dataclass_fields__ if name not in attributes]  # type: ignore[attr-defined]
        values = attributes | dict(zip(names, message_only, strict=True))
        formatted = {name: f"0x{value.hex()}" if isinstance(value, bytes) else value for name, value in values.items()}
        super().__init__(self.template.format_map(formatted))


class InvalidArgumentError(BilateralError, ValueError):
    """An argument is invalid or missing, or conflicts with another argument."""

    reason = "invalid_argument"


class MissingExtraError(BilateralError, ImportError):
    """An optional part of the package requires Python distributions that are not installed.

    Attributes:
        extra: The extra that installs the missing modules.
        modules: The missing modules.
    """

    reason = "missing_extra"

    def __init__(self, extra: str, modules: Sequence[str]) -> None:
        super().__init__(f"{', '.join(modules)} must be installed: run pip install 'bilateral[{extra}]'")
        self.extra = extra
        self.modules = tuple(modules)


def require_modules(extra: str, *names: str) -> None:
    """Check that an extra's modules are installed, without importing them.

    Args:
        *names: The modules' import names.

    Raises:
        MissingExtraError: Some modules are missing.
    """
    if missing := [name for name in names if find_spec(name) is None]:
        raise MissingExtraError(extra, missing)


class MalformedIdentifierError(BilateralError, ValueError):
    """A string is not a valid identifier of the expected kind.

    Attributes:
        kind: The expected kind of identifier.
        text: The whole string; for a value that is not a string, the name of its type.
        problem: The reason why the string is invalid.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        formatted = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(formatted)} is not {kind}: {problem}")
        self.kind = kind
        self.text = formatted
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """The registry cannot store a value exactly, or the value is out of range for its tag. Values are never rounded."""

    reason = "unrepresentable_value"


class MalformedAuthorizationError(FormattedError, ValueError):
    """A feedback authorisation (FeedbackAuth) is invalid."""

    reason = "malformed_authorization"
    template = "invalid feedback authorisation (expected five 32-byte words and a signature): {problem}"
    problem: InitVar[str]


class EnvelopeMismatchError(BilateralError, ValueError):
    """The envelopes with a client's and a server's sealed ratings do not belong together.

    Attributes:
        field: The field in which the envelopes differ.
    """

    reason = "envelope_mismatch"

    def __init__(self, field: str, ours: object, theirs: object) -> None:
        client, server = (value.hex() if isinstance(value, bytes) else value for value in (ours, theirs))
        super().__init__(
            f"the client's envelope has {field} {client}, but the server's has {server}: "
            "request an envelope for this interaction"
        )
        self.field = field


class SealMismatchError(FormattedError, ValueError):
    """An opening (a rating and its salt) does not match the seal in an envelope.

    Attributes:
        seal: The seal of the envelope.
        opening: The hash of the opening.
    """

    reason = "seal_mismatch"
    template = (
        "the opening's hash {opening} does not match the envelope's seal {seal}: use the salt and the rating that "
        "were sealed"
    )
    seal: bytes
    opening: bytes


class AlreadySealedError(FormattedError, ValueError):
    """A different rating has already been sealed for this interaction, and a second one would contradict it."""

    reason = "already_sealed"
    template = "a different rating is already sealed for interaction {interaction}: use that rating"
    interaction: InitVar[bytes]

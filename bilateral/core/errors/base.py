"""The root of the exceptions, and those about arguments and installation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from bilateral.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


class BilateralError(Exception):
    """Base of every exception that the package raises on purpose.

    Attributes:
        reason: The kind of error, for programs: lower case with underscores, stable from release to release.
    """

    reason: ClassVar[str] = "error"


@dataclass_transform(eq_default=False)
class FormattedError(BilateralError):
    """An error that is declared by its fields. Its message is the template, filled with them; bytes are hexadecimal.

    A field that is an `InitVar` appears in the message, but is no attribute.
    """

    template: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Make the constructor."""
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self, *message_only: Any) -> None:
        """Fill the template."""
        attributes = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        names = [name for name in self.__dataclass_fields__ if name not in attributes]  # type: ignore[attr-defined]
        values = attributes | dict(zip(names, message_only, strict=True))
        shown = {name: f"0x{value.hex()}" if isinstance(value, bytes) else value for name, value in values.items()}
        super().__init__(self.template.format_map(shown))


class MalformedIdentifierError(BilateralError, ValueError):
    """A text is not a valid identifier of the expected kind.

    Attributes:
        kind: The identifier that was expected.
        text: The whole text; for a value of another type, the name of its type.
        problem: The reason why it is invalid.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        shown = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(shown)} is not {kind}: {problem}")
        self.kind = kind
        self.text = shown
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """The registry cannot store a value exactly, or the value is out of range for its tag. Values are never rounded."""

    reason = "unrepresentable_value"


class MalformedAuthorizationError(BilateralError, ValueError):
    """A feedback authorisation (FeedbackAuth) is invalid."""

    reason = "malformed_authorization"

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid feedback authorisation (five words of 32 bytes and a signature): {problem}")


class EnvelopeMismatchError(BilateralError, ValueError):
    """Two envelopes of blind ratings do not belong together.

    Attributes:
        field: The field in which they differ.
    """

    reason = "envelope_mismatch"

    def __init__(self, field: str, ours: object, theirs: object) -> None:
        client, server = (value.hex() if isinstance(value, bytes) else value for value in (ours, theirs))
        super().__init__(
            f"the client's envelope has {field} {client}, the server's has {server}: "
            "ask for an envelope of this interaction"
        )
        self.field = field


class SealMismatchError(BilateralError, ValueError):
    """An opening does not belong to an envelope.

    Attributes:
        seal: The seal of the envelope.
        opening: The hash of the opening.
    """

    reason = "seal_mismatch"

    def __init__(self, seal: bytes, opening: bytes) -> None:
        super().__init__(
            f"the opening has the hash 0x{opening.hex()}, the envelope's seal is 0x{seal.hex()}: "
            "open with the salt and the rating that were sealed"
        )
        self.seal = seal
        self.opening = opening


class AlreadySealedError(BilateralError, ValueError):
    """Another rating is already sealed for this interaction. A second one would contradict the first."""

    reason = "already_sealed"

    def __init__(self, interaction: bytes) -> None:
        super().__init__(f"another rating is already sealed for interaction 0x{interaction.hex()}: use the sealed one")


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
        super().__init__(f"{', '.join(modules)} missing: install them with pip install 'bilateral[{extra}]'")
        self.extra = extra
        self.modules = tuple(modules)


def require_modules(extra: str, *names: str) -> None:
    """Check that the modules of an extra are installed. None of them is imported.

    Args:
        *names: The names by which they are imported.

    Raises:
        MissingExtraError: Some are missing.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(extra, missing)

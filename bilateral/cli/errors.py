"""What went wrong, for people and machines: the exit code by kind of error, and the error as text or JSON."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from bilateral import errors
from bilateral.errors import BilateralError
from bilateral.reverts import ContractRevertError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExitCode(IntEnum):
    """The exit code of a command."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2
    INPUT = 3
    REFUSED = 4
    NODE = 5
    DOCUMENT = 6
    KEY = 7
    DEPLOYMENT = 8
    UNSETTLED = 9
    INTERRUPTED = 130


class KeyUnavailableError(BilateralError):
    """There is no key to sign with, or it cannot be had as it was given."""

    def __init__(self, reason: str, message: str, **arguments: str) -> None:
        """Say for machines and for people what is the matter, and with what."""
        super().__init__(message)
        self.reason = reason  # type: ignore[misc]  # of this error, where other classes have one for all
        self.arguments = arguments


class UsageProblemError(BilateralError):
    """The command line is not one that a command takes."""

    reason = "usage"


class InterruptionError(BilateralError):
    """The user interrupted a command."""

    reason = "interrupted"

    def __init__(self, note: str = "", hash: str | None = None) -> None:  # noqa: A002  # what everybody calls it
        """Say what is on its way."""
        super().__init__(f"interrupted. {note}" if note else "interrupted")
        self.hash = hash


_CODES: Final[tuple[tuple[ExitCode, tuple[type[BilateralError], ...]], ...]] = (
    (ExitCode.USAGE, (UsageProblemError,)),
    (ExitCode.INTERRUPTED, (InterruptionError,)),
    (
        ExitCode.INPUT,
        (
            errors.InvalidArgumentError,
            errors.MalformedAuthorizationError,
            errors.MalformedIdentifierError,
            errors.UnrepresentableValueError,
        ),
    ),
    (
        ExitCode.REFUSED,
        (
            ContractRevertError,
            errors.InsufficientFundsError,
            errors.NotAgentOwnerError,
            errors.TransactionFailedError,
        ),
    ),
    (
        ExitCode.NODE,
        (
            errors.MalformedNodeAnswerError,
            errors.NodeError,
            errors.NodeTimeoutError,
            errors.NodeUnreachableError,
        ),
    ),
    (ExitCode.DOCUMENT, (errors.DocumentError,)),
    (ExitCode.KEY, (KeyUnavailableError, errors.MissingSignerError, errors.SignerFailedError)),
    (
        ExitCode.DEPLOYMENT,
        (
            errors.DeploymentRecordError,
            errors.MissingRegistryError,
            errors.UnexpectedAnswerError,
            errors.UnknownDeploymentError,
            errors.WrongChainError,
        ),
    ),
    (ExitCode.UNSETTLED, (errors.TransactionError, errors.BatchInterruptedError)),
)
"""The exit code of each kind of error; the first that fits counts."""

_NOT_ARGUMENTS: Final = frozenset({"advice", "arguments", "content", "data", "error", "raw", "reason"})


def exit_code(error: BilateralError) -> ExitCode:
    """The exit code of a command that ends with an error."""
    return next((code for code, kinds in _CODES if isinstance(error, kinds)), ExitCode.UNEXPECTED)


def arguments_of(error: BilateralError) -> Mapping[str, Any]:
    """What an error is about, by name: what the registry refused, the hash of a transaction, and the like."""
    arguments = getattr(error, "arguments", None)
    if arguments is not None:
        return dict(arguments)
    return {name: value for name, value in vars(error).items() if name not in _NOT_ARGUMENTS}

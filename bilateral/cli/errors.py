"""What went wrong, for people and machines: the exit code by kind of error, and the error as text or JSON."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from bilateral import errors
from bilateral.errors import BilateralError
from bilateral.reverts import ContractRevertError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    UNWRITTEN = 10
    INTERRUPTED = 130
    READER_LEFT = 141


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
    """The user interrupted a command.

    Attributes:
        hashes: The hashes of what was sent, and of what may have been.
    """

    reason = "interrupted"

    def __init__(self, sent: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        """Say what is on its way.

        Args:
            sent: The hashes of what was sent.
            notes: What the client says of a transaction in whose sending it was interrupted.
        """
        on_its_way = f"Sent, and may still take effect: {', '.join(sent)}." if sent else ""
        super().__init__(" ".join(["interrupted.", *notes, on_its_way]).strip())
        noted = re.findall(r"\b0x[0-9a-f]{64}\b", " ".join(notes))
        self.hashes = tuple(dict.fromkeys([*sent, *noted]))


class UnwrittenError(BilateralError):
    """The standard output does not take a result."""

    reason = "unwritten"

    def __init__(self, why: str) -> None:
        """Compose the message from what the system says."""
        super().__init__(f"the result cannot be written: {why}")


class ReaderLeftError(UnwrittenError):
    """The program that was to read a result has ended."""

    reason = "reader_left"


_CODES: Final[tuple[tuple[ExitCode, tuple[type[BilateralError], ...]], ...]] = (
    (ExitCode.USAGE, (UsageProblemError,)),
    (ExitCode.INTERRUPTED, (InterruptionError,)),
    (ExitCode.READER_LEFT, (ReaderLeftError,)),
    (ExitCode.UNWRITTEN, (UnwrittenError,)),
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

_NOT_ARGUMENTS: Final = frozenset({"advice", "arguments", "content", "data", "error", "raw", "reason", "transaction"})


_IN_COMMANDS: Final[dict[type[BilateralError], str]] = {
    errors.MissingRegistryError: "the deployment on chain {chain_id} has no {registry} registry: "
    "name a record that has it by --deployment",
    errors.UnknownDeploymentError: "where the registries of chain {chain_id} are is not known: "
    "name their deployment record by --deployment",
}
"""What errors say here, where what the SDK advises cannot be done."""


def message_of(error: BilateralError) -> str:
    """What an error says to whoever uses commands."""
    return _IN_COMMANDS.get(type(error), "").format_map(vars(error)) or str(error)


def exit_code(error: BilateralError) -> ExitCode:
    """The exit code of a command that ends with an error."""
    return next((code for code, kinds in _CODES if isinstance(error, kinds)), ExitCode.UNEXPECTED)


def arguments_of(error: BilateralError) -> Mapping[str, Any]:
    """What an error is about, by name: what the registry refused, the hash of a transaction, and the like."""
    arguments = getattr(error, "arguments", None)
    if arguments is not None:
        return dict(arguments)
    return {name: value for name, value in vars(error).items() if name not in _NOT_ARGUMENTS}


def transaction_of(error: BaseException | None) -> str | None:
    """The hash of the transaction that an error is about; if it names none, that of what caused the error."""
    if not isinstance(error, BilateralError):
        return None
    named = getattr(error, "transaction", None) or getattr(error, "hash", None)
    return named or transaction_of(error.__cause__)

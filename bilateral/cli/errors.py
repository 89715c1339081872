"""Exit codes by kind of error, and errors as text or JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NoReturn

from bilateral.buyers.errors import BuyerServiceFailedError, BuyerServiceRefusedError, CredentialRefusedError
from bilateral.buyers.private.errors import (
    ArtifactMismatchError,
    MemberListError,
    NotAMemberError,
    ProverFailedError,
    ProverMissingError,
    TierProofRefusedError,
    TooFewMembersError,
)
from bilateral.checks.errors import CheckError
from bilateral.core import errors
from bilateral.core.errors import BilateralError
from bilateral.core.errors import solana as solana_errors
from bilateral.dev.anvil import AnvilEndedError, AnvilMissingError
from bilateral.index import errors as index_errors


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
    DATABASE = 11
    CAUTION = 12
    DECLINE = 13
    UNANSWERED = 14
    INTERRUPTED = 130
    READER_LEFT = 141
    TERMINATED = 143


class Stopped(KeyboardInterrupt):  # a request, not an error
    """A signal asks the process to end, as a supervisor or a closed terminal does.

    Attributes:
        was_raised: True once it was. Typer makes it the exit code of a user's interruption.
    """

    was_raised = False


def stop_by_signal(*_: object) -> NoReturn:
    """Stop the command, so that it still names the transactions that it sent.

    Raises:
        Stopped: Always.
    """
    Stopped.was_raised = True
    raise Stopped


class KeyUnavailableError(BilateralError):
    """A key to sign with is missing or cannot be read, or a keystore cannot be written."""

    def __init__(self, reason: str, message: str, **arguments: str) -> None:
        super().__init__(message)
        self.reason = reason  # type: ignore[misc]  # of this error, where other classes have one for all
        self.arguments = arguments


class UsageProblemError(BilateralError):
    """The command line is malformed, or lacks an option."""

    reason = "usage"


def named_option(option: str, variable: str) -> str:
    """Return an option, with its environment variable if that is set: people may not have written the option.

    Args:
        variable: The environment variable.
    """
    return f"{option} (the environment variable {variable} is set)" if os.environ.get(variable) else option


class MistakeError(BilateralError):
    """A bug of this program, for machines. People see the traceback."""

    reason = "internal_error"

    def __init__(self, mistake: BaseException) -> None:
        super().__init__(f"a bug in bilateral, please report it: {type(mistake).__name__}: {mistake}")
        self.arguments = {"exception": type(mistake).__name__}


class InterruptionError(BilateralError):
    """The user interrupted a command.

    Attributes:
        hashes: The hashes of transactions that were sent, or may have been.
    """

    reason = "interrupted"

    def __init__(self, sent: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        pending = f"Sent, and may still take effect: {', '.join(sent)}." if sent else ""
        super().__init__(" ".join([f"{self.reason}.", *notes, pending]).strip())
        noted = re.findall(r"\b0x[0-9a-f]{64}\b", " ".join(notes))
        self.hashes = tuple(dict.fromkeys([*sent, *noted]))


class TerminationError(InterruptionError):
    """A signal ended a command."""

    reason = "terminated"


class UnwrittenError(BilateralError):
    """The standard output does not take a result."""

    reason = "unwritten"

    def __init__(self, why: str) -> None:
        super().__init__(f"the result cannot be written: {why}")


class ReaderLeftError(UnwrittenError):
    """The program that reads the output has ended."""

    reason = "reader_left"


_CODES: Final[tuple[tuple[ExitCode, tuple[type[BilateralError], ...]], ...]] = (
    (
        ExitCode.USAGE,
        (
            UsageProblemError,
            errors.MissingExtraError,
            ProverMissingError,
            ArtifactMismatchError,
            ProverFailedError,
            AnvilMissingError,
        ),
    ),
    (ExitCode.UNEXPECTED, (MistakeError,)),
    (ExitCode.TERMINATED, (TerminationError,)),
    (ExitCode.INTERRUPTED, (InterruptionError,)),
    (ExitCode.READER_LEFT, (ReaderLeftError,)),
    (ExitCode.UNWRITTEN, (UnwrittenError,)),
    (
        ExitCode.INPUT,
        (
            errors.AlreadySealedError,
            errors.EnvelopeMismatchError,
            errors.InvalidArgumentError,
            errors.MalformedAuthorizationError,
            errors.MalformedIdentifierError,
            errors.SealMismatchError,
            errors.UnrepresentableValueError,
        ),
    ),
    (
        ExitCode.REFUSED,
        (
            BuyerServiceRefusedError,
            CredentialRefusedError,
            TierProofRefusedError,
            TooFewMembersError,
            NotAMemberError,
            errors.FeeLimitError,
            errors.InsufficientFundsError,
            errors.IndexMismatchError,
            errors.NotAgentOwnerError,
            errors.PaymentSettledHereError,
            errors.TransactionFailedError,
            solana_errors.AgentRefusedError,
            solana_errors.SolanaPaymentError,
            solana_errors.SolanaWriteError,
        ),
    ),
    (
        ExitCode.NODE,
        (
            AnvilEndedError,
            BuyerServiceFailedError,
            errors.MalformedNodeAnswerError,
            errors.MissingReceiptError,
            errors.NodeError,
            errors.NodeTimeoutError,
            errors.NodeUnreachableError,
            index_errors.ChainChangedError,
            index_errors.EndpointLagsError,
            index_errors.FinalizedBlockError,
            index_errors.EndpointLiesError,
            index_errors.EndpointRefusesError,
            index_errors.FirstBlockAheadError,
            index_errors.MissingLogsError,
            index_errors.NoEndpointError,
            solana_errors.SolanaError,
        ),
    ),
    (
        ExitCode.DATABASE,
        (
            index_errors.AnalysisOutdatedError,
            index_errors.CursorMovedError,
            index_errors.DatabaseUnavailableError,
            index_errors.EarlierRegistryError,
            index_errors.NewerSchemaError,
            index_errors.NotIndexedError,
            index_errors.OlderSchemaError,
            index_errors.OtherFirstBlockError,
            index_errors.OtherRegistriesError,
            index_errors.QueryTimeoutError,
            index_errors.ReadersBusyError,
            index_errors.MisplacedChainError,
            index_errors.ShardError,
        ),
    ),
    (ExitCode.UNANSWERED, (CheckError,)),
    (ExitCode.DOCUMENT, (errors.DocumentError, MemberListError)),
    (ExitCode.KEY, (KeyUnavailableError, errors.MissingSignerError, errors.SignerFailedError)),
    (
        ExitCode.DEPLOYMENT,
        (
            errors.DeploymentRecordError,
            errors.MissingFunctionError,
            errors.MissingRegistryError,
            errors.UnexpectedAnswerError,
            errors.UnknownChainError,
            errors.UnknownDeploymentError,
            errors.WrongChainError,
            errors.WrongIdentityRegistryError,
        ),
    ),
    (
        ExitCode.UNSETTLED,
        (errors.AgentUnsettledError, errors.BatchInterruptedError, errors.SealUnsettledError, errors.TransactionError),
    ),
)
"""The exit code of each kind of error; the first that fits counts."""

_CODES_OF_EXTRAS: Final = {"feedback_refused": ExitCode.REFUSED, "aggregator_failed": ExitCode.NODE}
"""The exit codes of errors whose classes need an extra, by their reasons."""

_NOT_ARGUMENTS: Final = frozenset(
    {"advice", "arguments", "content", "data", "error", "is_final", "raw", "reason", "transaction"}
)


_IN_COMMANDS: Final[dict[type[BilateralError], str]] = {
    errors.MissingRegistryError: "the deployment on chain {chain_id} has no {registry} registry: "
    "name a record that has it by --deployment, or deploy {contract} (docs/deployed-registries.md)",
    errors.UnknownDeploymentError: "the registries of chain {chain_id} are unknown: "
    "name their deployment record by --deployment",
}
"""Messages that replace those of the SDK, whose advice names arguments of Python."""


def message_of(error: BilateralError) -> str:
    """Return the message of an error for users of commands."""
    message = _IN_COMMANDS.get(type(error), "").format_map(vars(error)) or str(error)
    if isinstance(error, errors.FeeLimitError):
        message = message.replace("max_fee_per_gas", "--max-fee-per-gas").replace("max_cost", "--max-cost")
    if isinstance(error, errors.IndexMismatchError):
        message = message.replace("last_index", "--last-index").replace("index_limit", "--index-limit")
    return message


def exit_code(error: BilateralError) -> ExitCode:
    """Return the exit code of a command that ends with an error."""
    code = next((code for code, kinds in _CODES if isinstance(error, kinds)), None)
    if code is None:
        from bilateral.core.contracts.reverts import ContractRevertError  # noqa: PLC0415  # slow to import

        other = _CODES_OF_EXTRAS.get(error.reason, ExitCode.UNEXPECTED)
        code = ExitCode.REFUSED if isinstance(error, ContractRevertError) else other
    return code


def arguments_of(error: BilateralError) -> Mapping[str, Any]:
    """Return the values that an error is about, by name, such as the arguments of a revert."""
    arguments = getattr(error, "arguments", None)
    if arguments is not None:
        return dict(arguments)
    return {name: value for name, value in vars(error).items() if name not in _NOT_ARGUMENTS}


def transaction_of(error: BaseException | None) -> str | None:
    """Return the hash of the transaction that an error, or else its cause, is about."""
    if not isinstance(error, BilateralError):
        return None
    named = getattr(error, "transaction", None) or getattr(error, "hash", None)
    return named or transaction_of(error.__cause__)


def unknown_chain(chain_id: int) -> UsageProblemError:
    """Return the error that the database has no rows of a chain."""
    return UsageProblemError(f"the database has no chain {chain_id}; see bilateral index status")

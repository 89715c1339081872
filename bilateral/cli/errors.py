"""The exit code for each kind of error, and the formatting of errors as text or JSON."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import InitVar
from enum import IntEnum
from typing import Any, Final, NoReturn

from bilateral.checks.errors import CheckError
from bilateral.core import errors
from bilateral.core.errors import BilateralError, FormattedError


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


class Stopped(KeyboardInterrupt):  # a request rather than an error
    """A signal requested that the process exit, for example from a supervisor or a closed terminal.

    Attributes:
        was_raised: True once raised, to distinguish a signal from Ctrl-C, because Typer catches both.
    """

    was_raised = False


def stop_by_signal(*_: object) -> NoReturn:
    """Stop the command, which then reports the transactions that it has sent."""
    Stopped.was_raised = True
    raise Stopped


class KeyUnavailableError(BilateralError):
    """A signing key is missing or cannot be read, or a keystore cannot be written."""

    reason = "key_unavailable"

    def __init__(self, reason: str, message: str, **arguments: str) -> None:
        super().__init__(message)
        self.reason = reason  # type: ignore[misc]  # of this error
        self.arguments = arguments


class UsageProblemError(BilateralError):
    """The command line is malformed, or an option is missing."""

    reason = "usage"


def option_with_variable(option: str, variable: str) -> str:
    """Return an option's name, with its environment variable if set, because the user may not have typed the option."""
    return f"{option} (the environment variable {variable} is set)" if os.environ.get(variable) else option


class MistakeError(BilateralError):
    """A bug in this program, as reported in JSON. Without --json, users see the traceback."""

    reason = "internal_error"

    def __init__(self, mistake: BaseException) -> None:
        super().__init__(f"this is a bug in bilateral; please report it: {type(mistake).__name__}: {mistake}")
        self.arguments = {"exception": type(mistake).__name__}


class InterruptionError(BilateralError):
    """The user interrupted a command.

    Attributes:
        hashes: The hashes of the transactions that were sent or may have been sent.
    """

    reason = "interrupted"

    def __init__(self, sent: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        pending = f"Transactions sent, which may still take effect: {', '.join(sent)}." if sent else ""
        super().__init__(" ".join([f"{self.reason}.", *notes, pending]).strip())
        self.hashes = tuple(dict.fromkeys([*sent, *re.findall(r"\b0x[0-9a-f]{64}\b", " ".join(notes))]))


class TerminationError(InterruptionError):
    """A signal terminated a command."""

    reason = "terminated"


class UnwrittenError(FormattedError):
    """The result cannot be written to the standard output."""

    reason = "unwritten"
    template = "the result cannot be written: {why}"
    why: InitVar[str]


class ReaderLeftError(UnwrittenError):
    """The program that was reading the output has exited."""

    reason = "reader_left"


_REASONS: Final = {
    ExitCode.USAGE: "usage missing_extra prover_missing artifact_mismatch prover_failed anvil_missing",
    ExitCode.TERMINATED: "terminated",
    ExitCode.INTERRUPTED: "interrupted",
    ExitCode.READER_LEFT: "reader_left",
    ExitCode.UNWRITTEN: "unwritten",
    ExitCode.INPUT: "already_sealed envelope_mismatch invalid_argument malformed_authorization malformed_identifier "
    "seal_mismatch unrepresentable_value",
    ExitCode.REFUSED: "service_refused credential_refused proof_refused too_few_members not_a_member fee_limit "
    "insufficient_funds index_mismatch not_agent_owner payment_settled_here transaction_failed agent_refused "
    "solana_payment solana_write feedback_refused reverted",
    ExitCode.NODE: "anvil_ended service_failed malformed_node_answer missing_receipt node_error node_timeout "
    "node_unreachable chain_changed endpoint_lags finalized_block_missing endpoint_lies endpoint_refuses "
    "first_block_ahead missing_logs no_endpoint solana aggregator_failed",
    ExitCode.DATABASE: "analysis_outdated cursor_moved database_unavailable earlier_registry newer_schema not_indexed "
    "older_schema other_first_block other_registries query_timeout busy misplaced_chain wrong_shard",
    ExitCode.DOCUMENT: "document member_list_invalid",
    ExitCode.KEY: "key_unavailable missing_signer signer_failed",
    ExitCode.DEPLOYMENT: "deployment_record missing_function missing_registry unexpected_answer unknown_chain "
    "unknown_deployment wrong_chain wrong_identity_registry",
    ExitCode.UNSETTLED: "agent_unsettled batch_interrupted seal_unsettled transaction",
}
_CODES: Final = {reason: code for code, reasons in _REASONS.items() for reason in reasons.split()}
"""The exit code for each error class, including its subclasses."""

_NOT_ARGUMENTS: Final = frozenset(
    {"advice", "arguments", "content", "data", "error", "is_final", "raw", "reason", "transaction"}
)


_IN_COMMANDS: Final[dict[type[BilateralError], str]] = {
    errors.MissingRegistryError: "the deployment on chain {chain_id} has no {registry} registry: "
    "pass a record that contains one as --deployment, or deploy {contract} (docs/deployed-registries.md)",
    errors.UnknownDeploymentError: "the registries of chain {chain_id} are unknown: "
    "pass their deployment record as --deployment",
}
"""Messages that replace those of the SDK if its advice refers to Python arguments."""


def message_of(error: BilateralError) -> str:
    """Return an error's message, phrased in terms of the command line."""
    message = _IN_COMMANDS.get(type(error), "").format_map(vars(error)) or str(error)
    if isinstance(error, errors.FeeLimitError):
        message = message.replace("max_fee_per_gas", "--max-fee-per-gas").replace("max_cost", "--max-cost")
    if isinstance(error, errors.IndexMismatchError):
        message = message.replace("last_index", "--last-index").replace("index_limit", "--index-limit")
    return message


def exit_code(error: BilateralError) -> ExitCode:
    """Return the exit code of a command that ends with an error."""
    if isinstance(error, CheckError):
        return ExitCode.UNANSWERED
    reasons = (getattr(kind, "reason", "") for kind in type(error).__mro__)
    return next((_CODES[reason] for reason in reasons if reason in _CODES), ExitCode.UNEXPECTED)


def arguments_of(error: BilateralError) -> Mapping[str, Any]:
    """Return the values to which an error refers, by name, such as a revert's arguments."""
    arguments = getattr(error, "arguments", None)
    if arguments is not None:
        return dict(arguments)
    return {name: value for name, value in vars(error).items() if name not in _NOT_ARGUMENTS}


def transaction_of(error: BaseException | None) -> str | None:
    """Return the hash of the transaction to which an error or its cause refers."""
    if not isinstance(error, BilateralError):
        return None
    transaction = getattr(error, "transaction", None) or getattr(error, "hash", None)
    return transaction or transaction_of(error.__cause__)


def unknown_chain(chain_id: int) -> UsageProblemError:
    """Return the error for a database that contains no rows for a chain."""
    return UsageProblemError(f"the database has no chain {chain_id}: list its chains with `bilateral index status`")

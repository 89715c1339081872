"""What the tests asserted: errors with all their arguments, reason texts, events with all their fields.

It also makes `ape.reverts` mean what it says. By itself that lets pass, where a custom error is expected, any reason
text, any other custom error if the expected one was taken from a contract type rather than from an instance, and any
argument whose name the error does not have.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from ape.exceptions import ContractLogicError, CustomError
from ape.pytest.contextmanagers import RevertsContextManager
from eth_utils import keccak

if TYPE_CHECKING:
    from ethpm_types.abi import ErrorABI, EventABI

ASSERTED: set[str] = set()
"""Names, as `error_name`, `event_name` and `reason_name` make them, of what the tests of this process asserted."""


def error_name(signature: str) -> str:
    """Name an error by its selector, as the compiler's syntax tree does.

    Args:
        signature: For example `AlreadyRated(uint256,uint256)`.

    Returns:
        The name.
    """
    return f"error {keccak(text=signature)[:4].hex()}"


def event_name(signature: str) -> str:
    """Name an event by its topic, as the compiler's syntax tree does.

    Args:
        signature: For example `FeedbackRevoked(uint256,address,uint64)`.

    Returns:
        The name.
    """
    return f"event {keccak(text=signature).hex()}"


def reason_name(text: str) -> str:
    """Name a reason text.

    Args:
        text: For example `Not authorized`.

    Returns:
        The name.
    """
    return f'reason "{text}"'


class LoggedEvent(tuple[str, dict[str, Any]]):
    """An event of a transaction, as `(name, {field: value})`, that notes when it was compared with its equal."""

    abi: EventABI

    def __new__(cls, name: str, arguments: dict[str, Any], abi: EventABI) -> LoggedEvent:
        """Make one.

        Args:
            name: The event's name.
            arguments: All its fields.
            abi: Its ABI.

        Returns:
            The event.
        """
        event = super().__new__(cls, (name, arguments))
        event.abi = abi
        return event

    def __eq__(self, other: object) -> bool:
        """Compare as a tuple, which means every field."""
        equal = super().__eq__(other)
        if equal is True:
            ASSERTED.add(event_name(self.abi.selector))
        return equal

    def __ne__(self, other: object) -> bool:
        """Compare as a tuple."""
        return not self == other

    __hash__ = tuple.__hash__


def require_exact_revert(expected: Any, arguments: dict[str, Any], actual: BaseException | None) -> None:
    """Note what a test asserted about a revert that Ape has accepted, and refuse what Ape should not have accepted.

    Args:
        expected: What the test passed to `ape.reverts`: a text, a pattern or an error.
        arguments: The error's arguments that the test gave.
        actual: What was raised.

    Raises:
        AssertionError: If nothing was expected, if another error was raised, or if the error has no such argument.
    """
    if expected is None:
        raise AssertionError("A revert is asserted with its error: ape.reverts(registry.SomeError, argument=...)")
    if isinstance(expected, str):
        ASSERTED.add(reason_name(expected))
    abi: ErrorABI | None = getattr(expected, "abi", None)
    if abi is None:
        return
    if not isinstance(actual, CustomError) or actual.abi.selector != abi.selector:
        raise AssertionError(f"Expected {abi.selector} but got {actual!r}")
    names = {argument.name for argument in abi.inputs}
    if not arguments.keys() <= names:
        raise AssertionError(f"{abi.selector} has no arguments {sorted(arguments.keys() - names)}")
    if arguments.keys() == names:
        ASSERTED.add(error_name(abi.selector))


def make_reverts_exact() -> None:
    """Let `ape.reverts` check by `require_exact_revert` what it has accepted."""
    accept = RevertsContextManager.__exit__

    @wraps(accept)
    def accept_exactly(
        self: RevertsContextManager,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: Any,
    ) -> bool:
        accepted = accept(self, exc_type, exc_value, traceback)
        if isinstance(exc_value, ContractLogicError) and self.dev_message is None:
            require_exact_revert(self.expected_message, self.error_inputs, exc_value)
        return accepted

    RevertsContextManager.__exit__ = accept_exactly

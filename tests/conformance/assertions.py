"""Records the assertions of the tests: errors with all arguments, reason texts, events with all fields.

It also makes `ape.reverts` strict. For an expected custom error, Ape itself accepts any reason text, any other custom
error if the expected one comes from a contract type and not from an instance, and any unknown argument name.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any

import ape
from ape.exceptions import ContractLogicError, CustomError
from ape.pytest.contextmanagers import RevertsContextManager
from eth_utils import keccak

if TYPE_CHECKING:
    from ethpm_types.abi import ErrorABI, EventABI

_UNDECODED = re.compile(r"custom error 0x([0-9a-f]{8})(?:: (.*))?\Z", re.DOTALL)
_OF_CONSTRUCTOR = re.compile("0x([0-9a-f]{8})((?:[0-9a-f]{64})*)")
_WORDS = re.compile("(?:[0-9a-f]{64})*")

ASSERTED: set[str] = set()
"""The names of all assertions in this process, as `error_name`, `event_name` and `reason_name` return them."""


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


def _raised_arguments(abi: ErrorABI, actual: BaseException | None) -> dict[str, Any]:
    """The arguments of an error that was raised, which must be the expected one."""
    if isinstance(actual, CustomError) and actual.abi.selector == abi.selector:
        return actual.inputs
    # Ape does not decode the errors of views: they stand in the client's message, in hexadecimal, or as text where the
    # bytes happen to be UTF-8. Nor those of constructors, whose message is the bytes in hexadecimal.
    undecoded = _UNDECODED.search(str(getattr(actual, "base_err", None))) or _OF_CONSTRUCTOR.fullmatch(str(actual))
    if not undecoded or error_name(abi.selector) != f"error {undecoded[1]}":
        raise AssertionError(f"Expected {abi.selector} but got {actual!r}")
    data = undecoded[2] or ""
    arguments: dict[str, Any] = ape.networks.ethereum.decode_calldata(
        abi, bytes.fromhex(data) if _WORDS.fullmatch(data) else data.encode()
    )
    return arguments


def require_exact_revert(expected: Any, arguments: dict[str, Any], actual: BaseException | None) -> None:
    """Note what a test asserted about a revert that Ape has accepted, and refuse what Ape should not have accepted.

    Args:
        expected: The argument of `ape.reverts`: a text, a pattern or an error.
        arguments: The error's arguments that the test gave.
        actual: The raised error.

    Raises:
        AssertionError: If nothing was expected, or if another error or other arguments were raised.
    """
    if expected is None:
        raise AssertionError("A revert is asserted with its error: ape.reverts(registry.SomeError, argument=...)")
    if isinstance(expected, str):
        ASSERTED.add(reason_name(expected))
    abi: ErrorABI | None = getattr(expected, "abi", None)
    if abi is None:
        return
    raised = _raised_arguments(abi, actual)
    if not arguments.keys() <= raised.keys():
        raise AssertionError(f"{abi.selector} has no arguments {sorted(arguments.keys() - raised.keys())}")
    different = {name: raised[name] for name, value in arguments.items() if raised[name] != value}
    if different:
        raise AssertionError(f"Expected {abi.selector} with {arguments}, but its arguments are {different}")
    if arguments.keys() == raised.keys():
        ASSERTED.add(error_name(abi.selector))


def make_reverts_exact() -> None:
    """Make `ape.reverts` check accepted reverts with `require_exact_revert`."""
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

"""What a registry's refusal means: the error, its arguments, a reason for machines, and what to do about it."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import is_address, to_checksum_address

from bilateral.advice import ADVICE, TEXTS
from bilateral.contracts import Registry, selectors
from bilateral.errors import BilateralError
from bilateral.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_REASON_TEXT: Final = bytes.fromhex("08c379a0")  # Error(string)
_PANIC: Final = bytes.fromhex("4e487b71")  # Panic(uint256)
_WORD: Final = 32


class ContractRevertError(BilateralError):
    """A registry refused.

    Attributes:
        error: The error's name in Solidity, or the text of `Error(string)`; empty where the registry gave nothing.
        arguments: The error's arguments by name; addresses are checksummed.
        reason: The error in lower case with underscores.
        advice: What to do about it; empty where that is not known.
        data: The data of the revert, whole.
        __cause__: For a refused batch of ratings, the refusal of the one because of which it was.
        transaction: The hash of the transaction that was refused in a block; None if the refusal was foreseen, and
            nothing was sent.
    """

    transaction: str | None = None

    def __init__(self, error: str, arguments: Mapping[str, Any], reason: str, advice: str, data: bytes) -> None:
        """Compose the message from the error, its arguments and the advice."""
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
        named = f"{error}({shown})" if arguments else _shown(error) or "no reason given"
        super().__init__(f"the registry refuses: {named}" + (f". {advice}" if advice else ""))
        self.error = error
        self.arguments = MappingProxyType(dict(arguments))
        self.reason = reason  # type: ignore[misc]  # of this refusal, where other classes have one for all
        self.advice = advice
        self.data = data


def decode_revert(data: bytes) -> ContractRevertError:
    """Make an exception of what a registry reverted with.

    Args:
        data: The data of the revert, as a node returns it.

    Returns:
        The exception, to be raised. It is made of any data: a contract may revert with whatever it likes.
    """
    selector, payload = data[:4], data[4:]
    try:
        if selector == _REASON_TEXT:
            text = decode(["string"], payload, strict=False)[0]
            reason, advice = TEXTS.get(text, ("reverted", ""))
            return ContractRevertError(text, {}, reason, advice, data)
        if selector == _PANIC and len(payload) == _WORD:
            code = decode(["uint256"], payload)[0]
            return ContractRevertError("Panic", {"code": code}, "panic", "", data)
        entry = _errors().get(selector)
        if entry is not None:
            types = [_type(part) for part in entry["inputs"]]
            values = map(_checksummed, types, decode(types, payload))
            arguments = dict(zip((part["name"] for part in entry["inputs"]), values, strict=True))
            inner = _inner(entry["name"], arguments)
            advice = f"Take that rating out of the batch: {inner}" if inner else ADVICE.get(entry["name"], "")
            refusal = ContractRevertError(entry["name"], arguments, _snake(entry["name"]), advice, data)
            refusal.__cause__ = inner
            return refusal
    except (DecodingError, OverflowError, UnicodeDecodeError):
        pass  # the data only begins like one of our errors
    return ContractRevertError("", {"data": data} if data else {}, "reverted", "", data)


@cache
def _errors() -> Mapping[bytes, Mapping[str, Any]]:
    """The custom errors of all registries by selector."""
    return {selector: entry for registry in Registry for selector, entry in selectors(registry, "error").items()}


def _inner(error: str, arguments: Mapping[str, Any]) -> ContractRevertError | None:
    """The refusal of the one rating because of which a batch was refused; None for any other error."""
    is_of_batch = error == "RatingRefused" and arguments["reason"][:4] != _selector(error)
    return decode_revert(arguments["reason"]) if is_of_batch else None


def _selector(error: str) -> bytes:
    """The selector of an error that the registries declare once."""
    return next(selector for selector, entry in _errors().items() if entry["name"] == error)


def _type(part: Mapping[str, Any]) -> str:
    """The ABI type of an argument."""
    return str(part["type"])


def _checksummed(kind: str, value: Any) -> Any:
    """An argument as the package gives it."""
    return to_checksum_address(value) if kind == "address" and is_address(value) else value


def _snake(name: str) -> str:
    """`SignatureExpired` as `signature_expired`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _shown(value: Any) -> str:
    """An argument in a message, on which a stranger may have decided."""
    text = f"0x{value.hex()}" if isinstance(value, bytes) else printable(str(value))
    return text if len(text) <= 140 else f"{text[:140]}…"  # noqa: PLR2004  # a line or two

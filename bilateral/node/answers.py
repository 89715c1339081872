"""Parse and validate a node's responses."""

import re
from typing import Any, Final, NoReturn

from bilateral.core.contracts.codec import ContractRevertError, decode_revert
from bilateral.core.errors import MalformedNodeAnswerError, NodeError

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_REVERT_CODE: Final = 3  # the code of JSON-RPC by which Geth and others report a revert


def quantity(answer: Any) -> int:
    """Parse a number in hexadecimal notation."""
    if not isinstance(answer, str) or not _QUANTITY.fullmatch(answer):
        malformed("a number")
    return int(answer, 16)


def data(answer: Any) -> bytes:
    """Parse bytes in hexadecimal notation."""
    if not isinstance(answer, str) or not _DATA.fullmatch(answer):
        malformed("bytes in hexadecimal digits")
    return bytes.fromhex(answer[2:])


def record(answer: Any) -> dict[str, Any]:
    """Return a response after checking that it is an object."""
    if not isinstance(answer, dict):
        malformed("an object")
    return answer


def records(answer: Any) -> list[dict[str, Any]]:
    """Return a response after checking that it is a list of objects."""
    if not isinstance(answer, list):
        malformed("a list")
    return [record(item) for item in answer]


def malformed(expected: str) -> NoReturn:
    """Raise the error for a response in an unexpected format."""
    raise MalformedNodeAnswerError(f"the node's response is not {expected}")


def revert_of(error: NodeError) -> ContractRevertError | None:
    """Return the contract revert that a node reports; None if the node reports a different error.

    Nodes report reverts in different ways: with code 3 or only in the message, and with the revert data either on its
        own or inside an object.
    """
    revert_data = _revert_data(error.data)
    if revert_data is not None:
        return decode_revert(revert_data)
    if error.code == _REVERT_CODE or "revert" in error.node_message.lower():
        return decode_revert(b"")
    return None


def _revert_data(reported: object) -> bytes | None:
    """Find the revert data in an error's data, where it is alone, after a prefix, or inside an object."""
    if isinstance(reported, dict):
        return next(
            (revert_data for name in ("data", "result") if (revert_data := _revert_data(reported.get(name)))), None
        )
    if not isinstance(reported, str):
        return None
    text = reported.removeprefix("Reverted ").strip()
    return bytes.fromhex(text[2:]) if _DATA.fullmatch(text) else None

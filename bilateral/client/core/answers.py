"""What a node answers, taken for no more than it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from bilateral.errors import MalformedNodeAnswerError
from bilateral.reverts import decode_revert

if TYPE_CHECKING:
    from bilateral.errors import NodeError
    from bilateral.reverts import ContractRevertError

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_REVERT_CODE: Final = 3


def quantity(answer: Any) -> int:
    """A number, in the form of JSON-RPC.

    Raises:
        MalformedNodeAnswerError: It is none.
    """
    if not isinstance(answer, str) or not _QUANTITY.fullmatch(answer):
        malformed("a number")
    return int(answer, 16)


def data(answer: Any) -> bytes:
    """Bytes, in the form of JSON-RPC.

    Raises:
        MalformedNodeAnswerError: It is none.
    """
    if not isinstance(answer, str) or not _DATA.fullmatch(answer):
        malformed("bytes in hexadecimal digits")
    return bytes.fromhex(answer[2:])


def record(answer: Any) -> dict[str, Any]:
    """An object.

    Raises:
        MalformedNodeAnswerError: It is none.
    """
    if not isinstance(answer, dict):
        malformed("an object")
    return answer


def records(answer: Any) -> list[dict[str, Any]]:
    """A list of objects.

    Raises:
        MalformedNodeAnswerError: It is none.
    """
    if not isinstance(answer, list):
        malformed("a list")
    return [record(item) for item in answer]


def malformed(expected: str) -> NoReturn:
    """Say that a node's answer is not what its method has."""
    raise MalformedNodeAnswerError(f"the node answers with something else than {expected}")


def revert_of(error: NodeError) -> ContractRevertError | None:
    """The contract's refusal that a node reports, in whichever of the ways nodes have; None if it is another error.

    Args:
        error: The node's error.
    """
    found = _revert_data(error.data)
    if found is not None:
        return decode_revert(found)
    if error.code == _REVERT_CODE or "revert" in error.node_message.lower():
        return decode_revert(b"")
    return None


def _revert_data(reported: object) -> bytes | None:
    """The data of a revert among what comes with an error: bare, after a word, or within an object."""
    if isinstance(reported, dict):
        return next((found for name in ("data", "result") if (found := _revert_data(reported.get(name)))), None)
    if not isinstance(reported, str):
        return None
    text = reported.removeprefix("Reverted ").strip()
    return bytes.fromhex(text[2:]) if _DATA.fullmatch(text) else None

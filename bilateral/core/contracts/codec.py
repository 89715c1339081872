"""ABI encoding of calls to the registries, and decoding of their answers.

Anyone can put bytes that are not UTF-8 into a tag, a URI or a domain. They must not stop a reader, so strings are
decoded as bytes first and become `ChainText`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.abi import abi_to_signature
from eth_utils.crypto import keccak

from bilateral.core.contracts import Registry, abi
from bilateral.core.errors import UnexpectedAnswerError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import ChainText

_WORD: Final = 32  # bytes of a word of the contract ABI
_STRING = re.compile(r"\bstring\b")


def encode_call(registry: Registry, function: str, arguments: Sequence[Any]) -> bytes:
    """Encode a call of a registry.

    Args:
        function: The function's name. Overloads are distinguished by the number of arguments.

    Returns:
        The call's data.
    """
    entry = _function(registry, function, len(arguments))
    selector = keccak(text=abi_to_signature(entry))[:4]  # type: ignore[arg-type]
    return selector + encode([_type(part) for part in entry["inputs"]], arguments)


def decode_result(registry: Registry, function: str, data: bytes) -> tuple[Any, ...]:
    """Decode the result of a call of a registry.

    Args:
        function: The function's name. All its overloads return the same types.
        data: The returned data.

    Returns:
        The values: text as `ChainText`, addresses in checksum form, structs as dictionaries.

    Raises:
        UnexpectedAnswerError: The data does not match the function. Most likely another contract is at the address.
    """
    return _decode(_function(registry, function)["outputs"], data, f"{registry} answers {function}")


@cache
def _function(registry: Registry, name: str, count: int | None = None) -> Mapping[str, Any]:
    """Return a function of a registry by name and number of arguments; any of its overloads without a number."""
    return next(
        entry
        for entry in abi(registry)
        if entry["type"] == "function" and entry["name"] == name and count in (None, len(entry["inputs"]))
    )


def _type(part: Mapping[str, Any]) -> str:
    kind = str(part["type"])
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(map(_type, part['components']))}){kind.removeprefix('tuple')}"


def _decode(parts: Sequence[Mapping[str, Any]], data: bytes, subject: str) -> tuple[Any, ...]:
    problem = UnexpectedAnswerError(f"{subject} in an unexpected form ({len(data)} bytes)")
    if len(data) < _WORD * len(parts):  # Ape, if it is in the process, makes eth-abi read zeros beyond the end
        raise problem
    try:
        values = decode([_STRING.sub("bytes", _type(part)) for part in parts], data)
    except (DecodingError, OverflowError):
        raise problem from None
    return tuple(map(_value, parts, values))


def _value(part: Mapping[str, Any], value: Any) -> Any:
    kind = str(part["type"])
    if kind.endswith("]"):
        element = {**part, "type": kind[: kind.rindex("[")]}
        return [_value(element, inner) for inner in value]
    if kind == "tuple":
        return {
            inner["name"]: _value(inner, inner_value)
            for inner, inner_value in zip(part["components"], value, strict=True)
        }
    if kind == "string":
        return ChainText(value)
    return checksummed(value) if kind == "address" else value

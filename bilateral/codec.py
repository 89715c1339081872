"""Calls to the registries and what comes back, in ABI form.

Anybody can put any bytes into a tag, a URI, a domain or a name, also such as are no text. Reading somebody's entry must
not fail because of them, so text is decoded here and not by the ABI library: what cannot be decoded is replaced, and
says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.abi import abi_to_signature
from eth_utils.crypto import keccak

from bilateral.contracts import Registry, selectors
from bilateral.errors import UnexpectedAnswerError
from bilateral.identifiers import checksummed
from bilateral.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STRING = re.compile(r"\bstring\b")


class ChainText(str):
    """A text from the chain. It is a `str` in which every byte that is no UTF-8 has been replaced by U+FFFD.

    Attributes:
        raw: The bytes on chain.
    """

    raw: bytes
    __slots__ = ("raw",)

    def __new__(cls, raw: bytes) -> Self:
        """Decode the bytes."""
        text = super().__new__(cls, raw.decode(errors="replace"))
        text.raw = raw
        return text

    @property
    def is_valid(self) -> bool:
        """Whether nothing had to be replaced: the bytes are UTF-8."""
        return self.raw == self.encode()

    @property
    def printable(self) -> str:
        """The text with nothing in it that acts on a terminal."""
        return printable(self)


def encode_call(registry: Registry, signature: str, arguments: Sequence[Any]) -> bytes:
    """Encode a call of a registry.

    Args:
        registry: The registry.
        signature: The function's signature, as `ownerOf(uint256)`.
        arguments: Its arguments.

    Returns:
        The call's data.
    """
    entry = _function(registry, signature)
    return _selector(signature) + encode([_type(part) for part in entry["inputs"]], arguments)


def decode_result(registry: Registry, signature: str, data: bytes) -> tuple[Any, ...]:
    """Decode what a call of a registry returned.

    Args:
        registry: The registry.
        signature: The function's signature.
        data: What was returned.

    Returns:
        The values: text as `ChainText`, addresses in checksum form, structs as dictionaries.

    Raises:
        UnexpectedAnswerError: It is not what the function returns; most likely there is no such registry there.
    """
    return _decode(_function(registry, signature)["outputs"], data, f"{registry} answers {signature}")


def decode_log(registry: Registry, topics: Sequence[bytes], data: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Decode an event of a registry.

    Args:
        registry: The registry that logged it.
        topics: The log's topics.
        data: The log's data.

    Returns:
        The event's name and its fields by name, as `decode_result` gives them; an indexed text is its hash. None if it
        is no event that the registry is known to have.

    Raises:
        UnexpectedAnswerError: It is a known event in a form that it never has.
    """
    entry = selectors(registry, "event").get(topics[0]) if topics else None
    if entry is None:
        return None
    what = f"{registry} logs {entry['name']}"
    indexed = [part for part in entry["inputs"] if part["indexed"]]
    if len(topics) != 1 + len(indexed):
        raise UnexpectedAnswerError(f"{what} with {len(topics)} topics")
    as_logged = [{**part, "type": "bytes32"} if _is_dynamic(part) else part for part in indexed]
    found = dict(zip((part["name"] for part in indexed), _decode(as_logged, b"".join(topics[1:]), what), strict=True))
    others = [part for part in entry["inputs"] if not part["indexed"]]
    found |= zip((part["name"] for part in others), _decode(others, data, what), strict=True)
    return entry["name"], {part["name"]: found[part["name"]] for part in entry["inputs"]}


def _function(registry: Registry, signature: str) -> Mapping[str, Any]:
    """A function of a registry by its signature."""
    entry = selectors(registry, "function")[_selector(signature)]
    assert abi_to_signature(entry) == signature  # type: ignore[arg-type]  # noqa: S101  # no two functions share a selector
    return entry


def _selector(signature: str) -> bytes:
    """The selector of a function."""
    return keccak(text=signature)[:4]


def _type(part: Mapping[str, Any]) -> str:
    """The ABI type of a part, with its components if it is a struct."""
    kind = str(part["type"])
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(map(_type, part['components']))}){kind.removeprefix('tuple')}"


def _decode(parts: Sequence[Mapping[str, Any]], data: bytes, what: str) -> tuple[Any, ...]:
    """Decode values, taking text as bytes first."""
    try:
        values = decode([_STRING.sub("bytes", _type(part)) for part in parts], data)
    except (DecodingError, OverflowError):
        raise UnexpectedAnswerError(f"{what} in an unexpected form ({len(data)} bytes)") from None
    return tuple(map(_value, parts, values))


def _value(part: Mapping[str, Any], value: Any) -> Any:
    """A decoded value as the package gives it."""
    kind = str(part["type"])
    if kind.endswith("]"):
        element = {**part, "type": kind[: kind.rindex("[")]}
        return [_value(element, inner) for inner in value]
    if kind == "tuple":
        return {inner["name"]: _value(inner, it) for inner, it in zip(part["components"], value, strict=True)}
    if kind == "string":
        return ChainText(value)
    return checksummed(value) if kind == "address" else value


def _is_dynamic(part: Mapping[str, Any]) -> bool:
    """Whether an indexed value is logged as its hash."""
    return part["type"] in ("string", "bytes") or part["type"].startswith("tuple") or part["type"].endswith("]")

"""Logs as a node reports them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.identifiers import checksummed

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_MAX_TOPICS: Final = 4  # LOG4 is the EVM's last instruction for logs


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The position of a log in the chain.

    Attributes:
        address: The contract that emitted the log, in checksum form.
        block_hash: The hash of the log's block: 0x and 64 lower-case digits.
        transaction_hash: The hash of the log's transaction, in the same form.
        log_index: The log's index within the block, from 0.
        block_timestamp: The time of the log's block, in Unix seconds; None if the node omits it from logs, as many
            nodes do.
    """

    address: str
    block_number: int
    block_hash: str
    transaction_hash: str
    log_index: int
    block_timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class RawLog:
    """A log as a node returned it, before it is decoded.

    Attributes:
        position: The log's position in the chain.
        topics: The log's topics, 32 bytes each; at most four.
    """

    position: LogPosition
    topics: tuple[bytes, ...]
    data: bytes

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """Parse a log from a JSON-RPC result (`eth_getLogs`, `eth_getTransactionReceipt`)."""
        try:
            position = LogPosition(
                checksummed(entry["address"]),
                _quantity(entry["blockNumber"]),
                _hash(entry["blockHash"]),
                _hash(entry["transactionHash"]),
                _quantity(entry["logIndex"]),
                _time(entry.get("blockTimestamp")),
            )
            log = cls(position, _topics(entry["topics"]), _data(entry["data"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"[:200]
            raise MalformedNodeAnswerError(f"the node returned a log that cannot be decoded: {problem}") from None
        if entry.get("removed"):
            raise MalformedNodeAnswerError("the node returned a log that a reorganisation removed")
        return log


def _topics(words: object) -> tuple[bytes, ...]:
    if not isinstance(words, list) or len(words) > _MAX_TOPICS:
        raise ValueError("not a list of at most four topics")
    return tuple([bytes.fromhex(_hash(word)[2:]) for word in words])


def _quantity(text: str) -> int:
    if not _QUANTITY.fullmatch(text):
        raise ValueError("not a quantity")
    return int(text, 16)


def _time(value: object) -> int | None:
    """Return the time in a log; None if the node omits the time, or sends 0 or an invalid value."""
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return int(value, 16) or None
    return value if type(value) is int and value > 0 else None


def _hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise ValueError("not 32 bytes in hexadecimal digits")
    return text.lower()


def _data(text: str) -> bytes:
    """Decode bytes in JSON-RPC notation. `bytes.fromhex` alone would also accept spaces."""
    value = bytes.fromhex(text[2:])
    if text[:2] != "0x" or 2 * len(value) + 2 != len(text):
        raise ValueError("not bytes in hexadecimal digits")
    return value

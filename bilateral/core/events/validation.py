"""Events of the validation registry (ERC-8004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilateral.core.events.base import Event

if TYPE_CHECKING:
    from bilateral.core.text import ChainText


@dataclass(frozen=True, slots=True)
class ValidationRequest(Event):
    """An agent's owner asked a validator to check its work.

    Attributes:
        request_uri: The URI of the request file.
        request_hash: The request's id: the keccak-256 hash of that file.
    """

    validator_address: str
    agent_id: int
    request_uri: ChainText
    request_hash: bytes

    abi_name: ClassVar = "ValidationRequest"


@dataclass(frozen=True, slots=True)
class ValidationResponse(Event):
    """A validator responded.

    Attributes:
        request_hash: The request's id.
        response: 0 to 100.
        response_uri: The URI of the evidence; may be empty.
        response_hash: The keccak-256 hash of the evidence; zeros without one.
        tag: The validator's category; may be empty.
    """

    validator_address: str
    agent_id: int
    request_hash: bytes
    response: int
    response_uri: ChainText
    response_hash: bytes
    tag: ChainText

    abi_name: ClassVar = "ValidationResponse"

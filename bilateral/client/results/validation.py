"""Validation of an agent's work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from bilateral.core.identifiers import AgentId
    from bilateral.core.text import ChainText


@dataclass(frozen=True)
class ValidationRequested:
    """A validation was requested.

    Attributes:
        request_hash: The request's name from now on.
        agent: The agent whose work is to be validated.
        validator: Who is asked.
        uri: The URI of the validator's material.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    uri: ChainText


@dataclass(frozen=True)
class ValidationAnswered:
    """A validator answered.

    Attributes:
        agent: The agent whose work was validated.
        validator: Who answered.
        response: 0 to 100.
        uri: The URI of the evidence; may be empty.
        hash: The hash of the evidence; zeros if there is none.
        tag: The validator's category; may be empty.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    response: int
    uri: ChainText
    hash: bytes
    tag: ChainText


@dataclass(frozen=True)
class ValidationStatus:
    """A request and its last answer, as the registry stores them.

    Attributes:
        validator: Who was asked.
        response: The last answer, 0 to 100; 0 while there is none.
        response_hash: The hash that came with it; zeros if none did.
        tag: The tag that came with it; may be empty.
        last_update: When it came; when the request came while there is none.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    response: int
    response_hash: bytes
    tag: ChainText
    last_update: datetime

    @property
    def is_surely_answered(self) -> bool:
        """True if the registry's record shows an answer. An answer of 0 with neither hash nor tag leaves no trace."""
        return self.response != 0 or bool(self.tag) or any(self.response_hash)


@dataclass(frozen=True)
class ValidationSummary:
    """The average of an agent's last answers.

    Attributes:
        count: The number of answered requests that count.
        average: The average, cut to a whole number by the registry; None if none counts.
        tag: The tag that counts; empty: any.
        validators: The validators that count; empty: all.
    """

    agent: AgentId
    count: int
    average: Decimal | None
    tag: str
    validators: tuple[str, ...]

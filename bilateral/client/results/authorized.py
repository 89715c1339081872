"""Feedback that the agent's owner has authorised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from bilateral.core.identifiers import AgentId
    from bilateral.core.text import ChainText


@dataclass(frozen=True)
class AuthorizedFeedbackEntry:
    """One feedback that the agent's owner had authorised.

    Attributes:
        client: Who gave it.
        score: 0 to 100.
        tag1: The first tag; empty if there is none.
        tag2: The second tag, likewise.
        position: Its position among all of the agent's, from 0; None right after it was given.
        given_at: The time of its block; None right after it was given.
        uri: The URI of its file; None where it was read from the registry, which does not store it.
        hash: The hash of that file, likewise.
    """

    agent: AgentId
    client: str
    score: int
    tag1: ChainText
    tag2: ChainText
    position: int | None = None
    given_at: datetime | None = None
    uri: ChainText | None = None
    hash: bytes | None = None


@dataclass(frozen=True)
class AuthorizedSummary:
    """The average of all authorised feedback of an agent.

    Attributes:
        count: The number of entries.
        average: The average score, cut to a whole number by the registry; None if there is none.
    """

    agent: AgentId
    count: int
    average: Decimal | None

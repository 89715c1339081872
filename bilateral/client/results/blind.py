"""Blind ratings on chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilateral.core.identifiers import AgentId, FeedbackId
    from bilateral.core.signatures.blind_ratings import RatingState


@dataclass(frozen=True)
class BlindStatus:
    """The state of a server's rating of a client.

    Attributes:
        state: None, open, sealed or blind.
        pair_hash: The hash of the stored pair; 0 without one.
        is_feedback_open: True if the feedback of the stored pair is open.
    """

    client: AgentId
    server: AgentId
    state: RatingState
    pair_hash: int
    is_feedback_open: bool


@dataclass(frozen=True)
class SealedRatings:
    """A pair that was sealed.

    Attributes:
        interaction: The id of the interaction, 32 bytes.
    """

    client: AgentId
    server: AgentId
    interaction: bytes


@dataclass(frozen=True)
class OpenedRatings:
    """Blind ratings that were opened.

    Attributes:
        interaction: The id of the interaction, 32 bytes.
        rating: The server's rating; None if only the feedback was opened.
        feedback: The client's feedback; None if only the rating was opened.
    """

    client: AgentId
    server: AgentId
    interaction: bytes
    rating: int | None
    feedback: FeedbackId | None

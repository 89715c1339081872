"""Ratings that servers give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilateral.core.identifiers import AgentId


class RatingKind(StrEnum):
    """As what an agent was rated by a server."""

    CLIENT = "client"
    VALIDATOR = "validator"


@dataclass(frozen=True)
class Rating:
    """A rating by a server (EIP-8004a), which is final.

    Attributes:
        kind: As what the subject was rated.
        subject: The client or validator.
        rating: 0 to 100; None if the server has not rated the subject.
    """

    kind: RatingKind
    subject: AgentId
    server: AgentId
    rating: int | None

    @property
    def has_rating(self) -> bool:
        """True if the server gave one."""
        return self.rating is not None

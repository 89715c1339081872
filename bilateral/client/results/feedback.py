"""Open feedback."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilateral.core.values.summaries import Summary

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from bilateral.core.errors import DocumentError
    from bilateral.core.identifiers import AgentId, FeedbackId
    from bilateral.core.text import ChainText
    from bilateral.core.values import FeedbackValue
    from bilateral.documents import FeedbackFile


@dataclass(frozen=True)
class FeedbackEvent:
    """The part of a feedback that only its event holds.

    Attributes:
        endpoint: The endpoint that was used; may be empty.
        uri: The URI of the feedback file; may be empty.
        hash: The hash of that file; zeros if there is none.
        block: The number of its block.
        transaction: The hash of its transaction.
        given_at: The time of its block; None where nobody asked for it.
    """

    endpoint: ChainText
    uri: ChainText
    hash: bytes
    block: int
    transaction: str
    given_at: datetime | None = None


@dataclass(frozen=True)
class FeedbackEntry:
    """One feedback.

    Attributes:
        id: The feedback, with agent and client.
        stored: The value as the registry stores it.
        tag1: What is measured.
        tag2: The qualifier.
        is_revoked: True if its client revoked it.
        event: The fields that only the event holds; None if they were not asked for.
        file: The feedback file; None if it is missing, was not asked for, or cannot be loaded.
        file_problem: The error that kept the file from being loaded. If its hash on chain is that of another
            serialisation of the same content, `file` is set, and this is the `HashMismatchError` that names it.
    """

    id: FeedbackId
    stored: FeedbackValue
    tag1: ChainText
    tag2: ChainText
    is_revoked: bool = False
    event: FeedbackEvent | None = None
    file: FeedbackFile | None = None
    file_problem: DocumentError | None = None

    @property
    def value(self) -> Decimal:
        """The value, with all of its decimals."""
        return self.stored.human

    @property
    def tags(self) -> tuple[ChainText, ...]:
        """The tags that it has."""
        return tuple(tag for tag in (self.tag1, self.tag2) if tag)

    @property
    def text(self) -> str:
        """The client's words in the file; a stranger's text. Empty without any."""
        return (self.file.text or self.file.comment or "") if self.file else ""


@dataclass(frozen=True)
class FeedbackResponse:
    """An answer to a feedback.

    Attributes:
        responder: Who answered.
        uri: The URI of the answer.
        hash: The hash of its content; zeros without one.
    """

    feedback: FeedbackId
    responder: str
    uri: ChainText
    hash: bytes


@dataclass(frozen=True)
class FeedbackRevocation:
    """A feedback was revoked."""

    feedback: FeedbackId


@dataclass(frozen=True)
class VoidedSignatures:
    """A client voided its signed feedback.

    Attributes:
        deadline: The latest voided deadline. New signatures need a later one.
    """

    client: str
    deadline: datetime


@dataclass(frozen=True)
class ReputationSummary:
    """The average of the feedback that chosen clients gave.

    Attributes:
        count: The number of entries that count.
        value: The average as the registry computes it, times `10 ** decimals`, rounded toward zero. It fits 128 bits,
            and may exceed the 1e38 to which a single value is limited.
        decimals: The most frequent number of decimals, the fewest on a tie; the most decimals that fit if `value` would
            exceed 128 bits with these; 0 without feedback.
        tag1: The first tag that feedback must have; empty: any.
        tag2: The second tag, likewise.
        reviewers: Whose feedback counts.
        is_everybody: True if no reviewers were named, so that every client counts. Anybody can
            give any amount of feedback, so such a summary says nothing about an agent that somebody cares to promote.
        first_tags: The first tags of the feedback that counts, the most frequent first; None if they were not read.
        is_computed_here: True if the node refused the registry's computation as too large, so that the client read the
            feedback and computed the same average.
    """

    agent: AgentId
    count: int
    value: int
    decimals: int
    tag1: str
    tag2: str
    reviewers: tuple[str, ...]
    is_everybody: bool
    first_tags: tuple[ChainText, ...] | None = None
    is_computed_here: bool = field(default=False, compare=False)

    @property
    def mixed_tags(self) -> tuple[ChainText, ...]:
        """The different first tags that the average mixes, so that it compares different measures; else empty."""
        return self.first_tags if self.first_tags is not None and len(self.first_tags) > 1 else ()

    @property
    def average(self) -> Decimal | None:
        """The average, with all of its decimals; None if nothing counts."""
        return Summary(self.count, self.value, self.decimals).average

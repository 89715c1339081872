"""Open feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilateral.summaries import Summary

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from bilateral.codec import ChainText
    from bilateral.documents import FeedbackFile
    from bilateral.errors import DocumentError
    from bilateral.identifiers import AgentId, FeedbackId
    from bilateral.values import FeedbackValue


@dataclass(frozen=True)
class FeedbackEvent:
    """What of a feedback is in its event only.

    Attributes:
        endpoint: What was used; may be empty.
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
        is_revoked: Whether its client revoked it.
        event: What only the event has; None if it was not asked for.
        file: The feedback file; None if there is none, it was not asked for, or it cannot be had.
        file_problem: Why the file cannot be had. Where its hash on chain is that of another serialisation of the same
            content, `file` is there nevertheless, and this is the `HashMismatchError` that names the variant.
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
        """What the client says in the file; a stranger's text. Empty if nothing."""
        return (self.file.text or self.file.comment or "") if self.file else ""


@dataclass(frozen=True)
class FeedbackResponse:
    """An answer to a feedback.

    Attributes:
        feedback: The feedback.
        responder: Who answered.
        uri: The URI of the answer.
        hash: The hash of what is there; zeros if there is none.
    """

    feedback: FeedbackId
    responder: str
    uri: ChainText
    hash: bytes


@dataclass(frozen=True)
class FeedbackRevocation:
    """A feedback was revoked.

    Attributes:
        feedback: The feedback.
    """

    feedback: FeedbackId


@dataclass(frozen=True)
class ReputationSummary:
    """The average of the feedback that chosen clients gave.

    Attributes:
        agent: The agent.
        count: How much feedback counts.
        value: The average as the registry computes it, times `10 ** decimals`: cut, not rounded. It may exceed what a
            single value is limited to, and even the 128 bits in which the registry itself could tell it.
        decimals: The most frequent number of decimals, the fewest on a tie; 0 if nothing counts.
        tag1: The first tag that feedback must have; empty: any.
        tag2: The second tag, likewise.
        reviewers: Whose feedback counts.
        is_everybody: Whether that is everybody who ever gave feedback, because no reviewers were named. Anybody can
            give any amount of feedback, so such a summary says nothing about an agent that somebody cares to promote.
    """

    agent: AgentId
    count: int
    value: int
    decimals: int
    tag1: str
    tag2: str
    reviewers: tuple[str, ...]
    is_everybody: bool

    @property
    def average(self) -> Decimal | None:
        """The average, with all of its decimals; None if nothing counts."""
        return Summary(self.count, self.value, self.decimals).average

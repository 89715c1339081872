"""What the client returns: frozen, typed, and safe to make of whatever strangers have put on chain.

Values are `Decimal`, moments are `datetime` in UTC, addresses are in checksum form, texts are `ChainText`. Nothing here
fails to be made because of somebody else's entry: a document that cannot be had is None, and its problem stands beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bilateral.identifiers import AccountId, GlobalAgentId
from bilateral.summaries import Summary

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from bilateral.codec import ChainText
    from bilateral.documents import FeedbackFile, RegistrationFile
    from bilateral.errors import DocumentError
    from bilateral.identifiers import AgentId, FeedbackId
    from bilateral.values import FeedbackValue


@dataclass(frozen=True)
class Agent:
    """An agent as the chain and its registration file describe it.

    Attributes:
        id: The agent, with its chain.
        registry: Its identity registry.
        owner: Who owns its token.
        wallet: The wallet that receives its payments; None if it has none.
        uri: The URI of its registration file; may be empty.
        domain: Its domain; empty if it has none.
        file: The registration file; None if it was not asked for or cannot be had.
        file_problem: Why the file cannot be had. With a hash mismatch of a known variant, never the case here, None.
    """

    id: AgentId
    registry: AccountId
    owner: str
    wallet: str | None
    uri: ChainText
    domain: ChainText
    file: RegistrationFile | None = None
    file_problem: DocumentError | None = None

    @property
    def global_id(self) -> GlobalAgentId:
        """The agent, unmistakable among all registries."""
        return GlobalAgentId(self.registry, str(self.id.token_id))

    @property
    def name(self) -> str | None:
        """The name that its file gives; a stranger's text, see `bilateral.text.printable`."""
        return self.file.name if self.file else None

    @property
    def description(self) -> str | None:
        """What it does, according to its file; a stranger's text."""
        return self.file.description if self.file else None

    @property
    def image(self) -> str | None:
        """The URI of its picture, according to its file; a stranger's text."""
        return self.file.image if self.file else None

    @property
    def is_confirmed(self) -> bool:
        """Whether its file names this agent among its registrations: without that, anybody may point to any file."""
        return self.file is not None and self.file.registration_of(self.global_id) is not None


@dataclass(frozen=True)
class Registered:
    """An agent was registered.

    Attributes:
        agent: The new agent.
        owner: Its owner, who is its wallet too.
        uri: The URI of its registration file.
        metadata: The metadata that it was registered with, in order.
        domain: The domain; empty unless it was registered by `new_agent`.
    """

    agent: AgentId
    owner: str
    uri: ChainText
    metadata: tuple[tuple[ChainText, bytes], ...] = ()
    domain: str = ""


@dataclass(frozen=True)
class AgentUriSet:
    """The URI of an agent's registration file was replaced.

    Attributes:
        agent: The agent.
        uri: The URI now.
        updated_by: Who replaced it.
    """

    agent: AgentId
    uri: ChainText
    updated_by: str


@dataclass(frozen=True)
class AgentWalletChanged:
    """An agent's wallet was set or unset.

    Attributes:
        agent: The agent.
        wallet: The wallet now; None if it has none.
    """

    agent: AgentId
    wallet: str | None


@dataclass(frozen=True)
class MetadataChanged:
    """A metadata value of an agent was set.

    Attributes:
        agent: The agent.
        key: The key.
        value: The value now.
    """

    agent: AgentId
    key: ChainText
    value: bytes


@dataclass(frozen=True)
class AgentTransferred:
    """An agent has another owner, and no wallet until that owner sets one.

    Attributes:
        agent: The agent.
        former_owner: Who had it.
        owner: Who has it.
    """

    agent: AgentId
    former_owner: str
    owner: str


@dataclass(frozen=True)
class DirectoryEntry:
    """An agent as the directory (August 2025) describes it.

    Attributes:
        agent: The agent.
        domain: Its domain as it was given; empty if it has none.
        address: Its wallet, or its owner if it has no wallet.
    """

    agent: AgentId
    domain: ChainText
    address: str


@dataclass(frozen=True)
class PrimaryAgentChosen:
    """An account chose the agent that it speaks as.

    Attributes:
        account: The account.
        agent: The agent.
    """

    account: str
    agent: AgentId


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
        server: The server.
        rating: 0 to 100; None if the server has not rated the subject.
    """

    kind: RatingKind
    subject: AgentId
    server: AgentId
    rating: int | None

    @property
    def has_rating(self) -> bool:
        """Whether there is one."""
        return self.rating is not None


@dataclass(frozen=True)
class AuthorizedFeedbackEntry:
    """One feedback that the agent's owner had authorised.

    Attributes:
        agent: The agent.
        client: Who gave it.
        score: 0 to 100.
        tag1: The first tag; empty if there is none.
        tag2: The second tag, likewise.
        position: Where it stands among all of the agent's, from 0; None right after it was given.
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
        agent: The agent.
        count: How much there is.
        average: The average score, cut to a whole number by the registry; None if there is none.
    """

    agent: AgentId
    count: int
    average: Decimal | None


@dataclass(frozen=True)
class ValidationRequested:
    """A validation was requested.

    Attributes:
        request_hash: The request's name from now on.
        agent: The agent whose work is to be validated.
        validator: Who is asked.
        uri: Where the validator finds what it needs.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    uri: ChainText


@dataclass(frozen=True)
class ValidationAnswered:
    """A validator answered.

    Attributes:
        request_hash: The request.
        agent: The agent whose work was validated.
        validator: Who answered.
        response: 0 to 100.
        uri: Where the evidence is; may be empty.
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
        request_hash: The request.
        agent: The agent.
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
        """Whether the registry's record shows an answer. An answer of 0 with neither hash nor tag leaves no trace."""
        return self.response != 0 or bool(self.tag) or any(self.response_hash)


@dataclass(frozen=True)
class ValidationSummary:
    """The average of an agent's last answers.

    Attributes:
        agent: The agent.
        count: How many answered requests count.
        average: The average, cut to a whole number by the registry; None if none counts.
        tag: The tag that counts; empty: any.
        validators: The validators that count; empty: all.
    """

    agent: AgentId
    count: int
    average: Decimal | None
    tag: str
    validators: tuple[str, ...]


@dataclass(frozen=True)
class Rater:
    """Who an address that gave feedback is (best practices, "Agent-as-Rater").

    Attributes:
        address: The address.
        agent: The agent that it speaks as; None if it speaks as none.
    """

    address: str
    agent: Agent | None

    @property
    def name(self) -> str | None:
        """The agent's name; a stranger's text."""
        return self.agent.name if self.agent else None

    @property
    def image(self) -> str | None:
        """The URI of the agent's picture; a stranger's text."""
        return self.agent.image if self.agent else None

"""The client's results: immutable, typed, and safe to create from any untrusted on-chain data.

Values are `Decimal`, times are `datetime` in UTC, addresses are in checksum form, and strings are `ChainText`. Invalid
data from third parties never raises an error: a document that cannot be loaded is None, and the result contains the
reason.
"""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from bilateral.core.contracts.buyer_terms import BuyerRole, BuyerTier, NotCounted
from bilateral.core.errors import DocumentError
from bilateral.core.identifiers import AccountId, AgentId, FeedbackId, GlobalAgentId
from bilateral.core.text import ChainText
from bilateral.core.values import FeedbackValue
from bilateral.core.values.summaries import Summary
from bilateral.documents import FeedbackFile, RegistrationFile


@dataclass(frozen=True)
class Agent:
    """An agent, as described on chain and in its registration file.

    Attributes:
        id: The agent's id, which includes its chain.
        registry: The agent's identity registry.
        owner: The owner of the agent's token.
        wallet: The wallet that receives the agent's payments; None if the agent has no wallet.
        uri: The URI of the agent's registration file; may be empty.
        domain: The agent's domain; empty if the agent has none.
        file: The registration file; None if it was not requested or cannot be loaded.
        file_problem: The error that occurred while loading the file; None if there was none.
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
        """The agent's id, unique across all registries."""
        return GlobalAgentId(self.registry, str(self.id.token_id))

    @property
    def name(self) -> str | None:
        """The name in the agent's file. It is untrusted text: see `bilateral.core.text.printable`."""
        return self.file.name if self.file else None

    @property
    def description(self) -> str | None:
        """The description in the agent's file, which is untrusted text."""
        return self.file.description if self.file else None

    @property
    def image(self) -> str | None:
        """The picture's URI in the agent's file, which is untrusted text."""
        return self.file.image if self.file else None

    @property
    def is_confirmed(self) -> bool:
        """True if the file lists this agent among its registrations. Otherwise, the file may belong to someone else."""
        return self.file is not None and self.file.registration_of(self.global_id) is not None


@dataclass(frozen=True)
class Registered:
    """The result of registering an agent.

    Attributes:
        agent: The new agent.
        owner: The agent's owner, which is initially also the agent's wallet.
        uri: The URI of the agent's registration file.
        metadata: The metadata set at registration, in the order of the events.
        domain: The domain; empty unless the agent was registered with `new_agent`.
    """

    agent: AgentId
    owner: str
    uri: ChainText
    metadata: tuple[tuple[ChainText, bytes], ...] = ()
    domain: str = ""


@dataclass(frozen=True)
class AgentUriSet:
    """The result of replacing the URI of an agent's registration file.

    Attributes:
        uri: The new URI.
        updated_by: The account that replaced the URI.
    """

    agent: AgentId
    uri: ChainText
    updated_by: str


@dataclass(frozen=True)
class AgentWalletChanged:
    """The result of setting or removing an agent's wallet.

    Attributes:
        wallet: The new wallet; None if the wallet was unset.
    """

    agent: AgentId
    wallet: str | None


@dataclass(frozen=True)
class MetadataChanged:
    """The result of setting an agent's metadata value.

    Attributes:
        value: The new value.
    """

    agent: AgentId
    key: ChainText
    value: bytes


@dataclass(frozen=True)
class AgentTransferred:
    """The result of transferring an agent. The agent has no wallet until the new owner sets one.

    Attributes:
        former_owner: The previous owner.
        owner: The new owner.
    """

    agent: AgentId
    former_owner: str
    owner: str


@dataclass(frozen=True)
class FeedbackEvent:
    """The part of a feedback entry that only its event contains.

    Attributes:
        endpoint: The endpoint that was used; may be empty.
        uri: The URI of the feedback file; may be empty.
        hash: The hash of the feedback file; all zeros if there is none.
        block: The number of the entry's block.
        transaction: The hash of the entry's transaction.
        given_at: The time of the entry's block; None if it was not requested.
    """

    endpoint: ChainText
    uri: ChainText
    hash: bytes
    block: int
    transaction: str
    given_at: datetime | None = None


@dataclass(frozen=True)
class FeedbackEntry:
    """A feedback entry as read from the registry, optionally with its event and its file.

    Attributes:
        id: The feedback's id, which includes the agent and the client.
        stored: The value as the registry stores it.
        tag1: What is measured.
        tag2: The qualifier.
        is_revoked: True if the client revoked the entry.
        event: The fields that only the event contains; None if they were not requested.
        file: The feedback file; None if it is missing, was not requested, or cannot be loaded.
        file_problem: The error that prevented the file from being loaded; None if there is none. If the on-chain hash
            matches only another serialisation of the same content, `file` is set, and this is a `HashMismatchError`
            that identifies that serialisation.
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
        """The value, with all its decimals."""
        return self.stored.human

    @property
    def tags(self) -> tuple[ChainText, ...]:
        """The non-empty tags of the entry."""
        return tuple(tag for tag in (self.tag1, self.tag2) if tag)

    @property
    def text(self) -> str:
        """The client's comment in the file, which is untrusted text; empty if there is none."""
        return (self.file.text or self.file.comment or "") if self.file else ""


@dataclass(frozen=True)
class FeedbackResponse:
    """A response that somebody appended to a feedback entry.

    Attributes:
        responder: The account that responded.
        uri: The URI of the response.
        hash: The hash of the response's content; all zeros if there is none.
    """

    feedback: FeedbackId
    responder: str
    uri: ChainText
    hash: bytes


@dataclass(frozen=True)
class FeedbackRevocation:
    """The result of revoking a feedback entry."""

    feedback: FeedbackId


@dataclass(frozen=True)
class ReputationSummary:
    """The average of the feedback from selected clients.

    Attributes:
        count: The number of feedback entries in the average.
        value: The average as the registry computes it, multiplied by `10 ** decimals` and rounded toward zero. It fits
            in 128 bits, but may exceed 1e38, the limit for a single feedback value.
        decimals: The number of decimals in `value`: the most frequent number among the entries (in a tie, the lowest),
            or fewer if `value` would otherwise exceed 128 bits; 0 if there is no feedback.
        tag1: The first tag that feedback must have; an empty string matches any tag.
        tag2: The second tag that feedback must have; an empty string matches any tag.
        reviewers: The clients whose feedback is included.
        is_everybody: True if no reviewers were passed, so that feedback from every client is included. Anyone can give
            any amount of feedback, so such a summary is meaningless if somebody wants to promote the agent.
        first_tags: The first tags of the included feedback, most frequent first; None if they were not read.
        is_computed_here: True if the node rejected the registry's computation as too large, and the SDK computed the
            same average instead.
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
        """The first tags if the averaged feedback has several, and so measures different things; otherwise empty."""
        return self.first_tags if self.first_tags is not None and len(self.first_tags) > 1 else ()

    @property
    def average(self) -> Decimal | None:
        """The average, with all its decimals; None if there is no feedback."""
        return Summary(self.count, self.value, self.decimals).average


@dataclass(frozen=True)
class SettledRecord:
    """The payments of a buyer that the registry itself settled.

    Attributes:
        payments: The number of payments.
        volume: The sum of the payments' amounts, in millionths of a dollar.
        first_payment_at: The time of the first payment; None if there are no payments.
        last_payment_at: The time of the last payment; None if there are no payments.
        minimum_sellers: A lower bound for the number of different sellers that the buyer paid; at most 96.
    """

    payments: int
    volume: int
    first_payment_at: datetime | None
    last_payment_at: datetime | None
    minimum_sellers: int


@dataclass(frozen=True)
class AttestedRecord:
    """The facts about a buyer that the attestor recorded.

    Attributes:
        payments: The number of payments.
        volume: The sum of the payments' amounts, in millionths of a dollar.
        first_payment_at: The time of the earliest payment; None if there are no payments.
        last_payment_at: The time of the latest payment; None if there are no payments.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of the reviews' scores.
        feedback_sellers: The number of sellers that gave feedback on the buyer.
        feedback_sum: The sum of the sellers' votes.
        disputes: The number of disputes.
    """

    payments: int
    volume: int
    first_payment_at: datetime | None
    last_payment_at: datetime | None
    reviews: int
    review_sum: int
    feedback_sellers: int
    feedback_sum: int
    disputes: int


@dataclass(frozen=True)
class BuyerRecords:
    """A buyer's settled and attested records, which are never combined.

    Attributes:
        buyer: The account.
        settled: The settled record.
        attested: The attested record.
    """

    buyer: str
    settled: SettledRecord
    attested: AttestedRecord


@dataclass(frozen=True)
class BuyerStanding:
    """A buyer's score and tier.

    Attributes:
        score: The score, from 0 to 100.
    """

    score: int
    tier: BuyerTier


@dataclass(frozen=True)
class SettledPayment:
    """A payment that the registry settled.

    Attributes:
        buyer: The account that paid.
        seller: The agent that was paid; None if the paid account has no primary agent.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the payment authorisation.
        refusal: The reason why the payment does not count toward the buyer's record; None if it counts.
    """

    buyer: str
    seller: AgentId | None
    amount: int
    nonce: bytes
    refusal: NotCounted | None

    @property
    def is_counted(self) -> bool:
        """True if the payment counts toward the buyer's record."""
        return self.refusal is None


@dataclass(frozen=True)
class Anchor:
    """A Merkle root of buyers' states, as posted in the registry.

    Attributes:
        epoch: The epoch, counted from 1.
        root: The root, 32 bytes.
    """

    epoch: int
    root: bytes


@dataclass(frozen=True)
class RoleHolder:
    """The holder of a role, and the successor that the holder nominated.

    Attributes:
        nominee: The nominated successor; None if there is none.
    """

    role: BuyerRole
    holder: str
    nominee: str | None

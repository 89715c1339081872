"""The facts on which a check is based, whatever their source.

An index, an EVM node and a node of a non-EVM chain all yield the same `Facts`. A fact that a source cannot determine
is `Unknown`, with the reason. `judge` decides from the facts and a policy alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Any, Final, Literal, Self, TypeAlias

from bilateral.checks.endpoint_facts import MeasurementFacts
from bilateral.checks.verdicts import AsOf, BuyerRecord, Code, EventEvidence, FoundFindings, ProvenTier
from bilateral.core.values.bounds import SHARES, lower_bound
from bilateral.core.values.failures import FailureCount
from bilateral.core.values.standing import Side, Standing

_HUNDREDTH: Final = Decimal("0.01")

Proof: TypeAlias = Literal["both_ways", "claimed"]


class Source(StrEnum):
    """The sources of facts."""

    INDEX = "index"
    NODE = "node"
    FOREIGN_NODE = "foreign_node"


class FileState(StrEnum):
    """The states of a file."""

    WAITING = "waiting"
    LOADED = "loaded"
    MALFORMED = "malformed"
    FAILED = "failed"


@dataclass(frozen=True)
class Unknown:
    """A fact that the source cannot determine, with the reason to display."""

    reason: str


@dataclass(frozen=True)
class Payment:
    """A payment requested by a server. It is on the agent's chain if `chain_id` is None."""

    pay_to: str
    chain_id: int | None = None


@dataclass(frozen=True)
class Change:
    """A change to an agent's owner or wallet.

    Attributes:
        seconds: The number of seconds since the change; None if the change is only known to lie within the policy's
            `recent_days`.
    """

    seconds: int | None = None
    event: EventEvidence | None = None


@dataclass(frozen=True)
class AgentFacts:
    """An agent.

    Attributes:
        is_wallet_proven: False if the owner set the wallet without proof that its key holder agreed.
        age_days: The number of full days since the agent's registration.
        existed: Whether the agent already existed `minimum_age_days` ago, if its exact age is unknown; None if this was
            not checked.
        owner_event: The last event that changed the agent's owner; None if the agent still has its first owner.
        wallet_event: The last event that changed the agent's wallet; None if the agent still has its first wallet.
    """

    owner: str | None
    wallet: str | None
    age_days: int | Unknown
    is_wallet_proven: bool = True
    existed: bool | Unknown | None = None
    registered: EventEvidence | None = None
    owner_event: EventEvidence | None = None
    wallet_event: EventEvidence | None = None
    owner_change: Change | Unknown | None = None
    wallet_change: Change | Unknown | None = None


@dataclass(frozen=True)
class Observation:
    """A file as observed by a source.

    Attributes:
        number: The observation's number in the index; 0 if the file was not fetched, or if there is no index.
        integrity: The proof that the file's author published its content; None if only the server vouches for that
            content.
        problem: A machine-readable reason for the last failure; None if there was none.
    """

    number: int
    uri: str
    state: FileState
    content_hash: bytes | None = None
    integrity: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Domain:
    """A domain that hosts one of the agent's services, or under which it is registered (ERC-8004 of August 2025).

    Attributes:
        host: The host, with the port unless it is 443.
        is_denied: True if the domain lists other agents but not this agent.
        file: The file in which the domain lists agents; None if the registration file itself is hosted on the domain.
        is_registered: True if the agent is registered under the domain but has no service there.
    """

    host: str
    is_proven: bool
    is_denied: bool
    file: Observation | None
    is_registered: bool = False

    @property
    def is_read(self) -> bool:
        """True if the domain's file was read and could therefore confirm or deny the agent."""
        return self.file is None or self.file.state is FileState.LOADED


@dataclass(frozen=True)
class Domains:
    """An agent's domains.

    Attributes:
        domains: The services' domains, followed by the registered domain.
        registered: The registered domain, as a string; empty if there is none.
        is_host: False if `registered` is not a host name.
    """

    domains: tuple[Domain, ...] = ()
    registered: str = ""
    event: EventEvidence | None = None
    is_host: bool = True


@dataclass(frozen=True)
class OtherRegistration:
    """One of the agent's registrations in other registries, according to its file.

    Attributes:
        proof: `both_ways` if the two agents' files refer to each other, `claimed` if only this agent's file refers to
            the other.
        problem: Why the registration is claimed but not proven; empty if it is proven.
    """

    agent: str
    proof: Proof
    problem: str = ""


@dataclass(frozen=True)
class RegistrationFacts:
    """An agent's registration file.

    Attributes:
        active: True if the file declares that the agent is in service; None if it does not state this.
        x402_support: True if the file declares x402 support; None if it does not state this.
    """

    file: Observation
    name: str | None = None
    description: str | None = None
    active: bool | Unknown | None = None
    x402_support: bool | Unknown | None = None
    is_confirmed: bool = False
    names_agents: bool = False
    other_registrations: tuple[OtherRegistration, ...] = ()


@dataclass(frozen=True)
class Approval:
    """An account that the owner approved and that has never owned the agent.

    Attributes:
        is_reviewer: True if the account has given feedback to any agent.
    """

    account: str
    event: EventEvidence
    is_reviewer: bool


@dataclass(frozen=True)
class Line:
    """An agent's ratings under one tag, from all raters.

    Attributes:
        side: The agent's role: `server`, `client` or `validator`.
        tag: The tag (untrusted text).
        rating: The mean over all raters of each rater's mean, from 0 to 100; None for a tag without a scale.
        lower_bound: The lower confidence bound of `rating`; None for a tag without a scale.
    """

    registry: str
    side: str
    tag: str
    count: int
    raters: int
    mean: Decimal
    rating: Decimal | None
    lower_bound: Decimal | None


@dataclass(frozen=True)
class Counted:
    """The ratings that count under a policy.

    Attributes:
        share_sum: The sum over all raters of each rater's mean rating, as a share of the tag's scale, in millionths.
        own: The number of ratings from the agent's own accounts, which do not count.
        left_out: The number of ratings from raters that the policy does not trust.
    """

    count: int = 0
    raters: int = 0
    share_sum: int = 0
    own: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, tallies: Mapping[Any, tuple[int, int]]) -> Self:
        """Summarise ratings from each rater's number of ratings and sum of shares of the tag's scale."""
        share_sum = sum(shares // count for count, shares in tallies.values())
        return cls(sum(count for count, _ in tallies.values()), len(tallies), share_sum)

    @property
    def rating(self) -> Decimal | None:
        """The mean over all raters of each rater's mean, 0 to 100, truncated to hundredths; None without ratings."""
        return mean_percent(self.share_sum, self.raters) if self.raters else None

    @property
    def lower_bound(self) -> Decimal | None:
        """The rating's lower confidence bound; None without ratings."""
        return bound_percent(self.share_sum, self.raters) if self.raters else None

    def is_below(self, minimum: Decimal) -> bool:
        """Return True if the unrounded rating is below a minimum."""
        return self.share_sum * 100 < minimum * self.raters * SHARES


def mean_percent(share_sum: int, raters: int) -> Decimal:
    """Return the mean of the raters' shares as a percentage, truncated to hundredths."""
    return (Decimal(share_sum * 10_000 // (raters * SHARES)) / 100).quantize(_HUNDREDTH)


def bound_percent(share_sum: int, raters: int) -> Decimal:
    """Return the lower confidence bound of the raters' mean share as a percentage, truncated to hundredths."""
    return Decimal(repr(lower_bound(share_sum, raters, (0, 100)))).quantize(_HUNDREDTH, ROUND_FLOOR)


@dataclass(frozen=True)
class RatingFacts:
    """An agent's ratings.

    Attributes:
        counted: The ratings that count under the policy.
        is_vetted: True if the policy restricts whose ratings count.
    """

    counted: Counted = Counted()
    is_vetted: bool = False
    evidence: tuple[EventEvidence, ...] = ()
    own_evidence: tuple[EventEvidence, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class ValidationFacts:
    """The validations of a server's work that count under the policy.

    Attributes:
        mean: The mean response, 0 to 100; None if there are no responses.
    """

    count: int = 0
    validators: int = 0
    mean: Decimal | None = None
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class RatingBy:
    """A server's rating of a client."""

    server: str
    rating: int
    event: EventEvidence


@dataclass(frozen=True)
class FeedbackSummary:
    """A summary of the newest feedback that a client has given.

    Attributes:
        is_cut: True if the client may have given more entries than were read.
        scaled: The number of unrevoked entries whose tag has a scale.
        scaled_agents: The number of agents rated in these entries.
    """

    count: int = 0
    is_cut: bool = False
    agents: int = 0
    revoked: int = 0
    scaled: int = 0
    scaled_agents: int = 0
    lowest: int = 0
    highest: int = 0
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class AccountAge:
    """The age of an account without an agent.

    Attributes:
        days: The number of days since the account first gave feedback or made a payment; None if it has done neither.
    """

    days: int | None = None
    event: EventEvidence | None = None


@dataclass(frozen=True)
class ClientFacts:
    """Facts that exist only for clients.

    Attributes:
        rating_by_asker: The requesting server's rating of the client; None if there is none.
        shared_account: An account that the client and the requesting server have or had in common; None if there is
            none.
        account_age: The age of the account; None if the age of its agent or a proven tier counts instead.
        failures: The client's failed settlements with the requesting server; None if they are not counted.
    """

    rating_by_asker: RatingBy | None = None
    rated_by: tuple[RatingBy, ...] = ()
    shared_account: str | None = None
    shared_events: tuple[EventEvidence, ...] = ()
    feedback: FeedbackSummary = FeedbackSummary()
    account_age: AccountAge | None = None
    record: BuyerRecord | None = None
    tier_proof: ProvenTier | None = None
    failures: FailureCount | None = None


_NO_FINDINGS: Final = FoundFindings()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts that a check is based on.

    Attributes:
        as_of: The block, and the other values needed to reproduce the answer.
        account: The account being checked, which is the agent's wallet for a server.
        refusal: If the registry has disowned the agent, the reason code and sentence that alone decide the check; None
            otherwise.
        payment: The payment requested by a server; None if none was specified.
        amount: The requested amount, in whole payment tokens; None if unknown.
        approvals: The accounts that the owner approved, newest first.
        standing: The agent's standing from a trust analysis; None if no standing counts.
        measurements: The watchtower measurements; None if no watchtower is used.
        analysis_lack: Why no current trust analysis supports the decision; None if one does or if none is needed.
        details: Additional figures from the source that do not affect the decision.
        unknown: The facts that the source cannot determine, for display.
    """

    source: Source
    side: Side
    as_of: AsOf
    name: str | None = None
    account: str | None = None
    refusal: tuple[Code, str] | None = None
    agent: AgentFacts | None = None
    payment: Payment | None = None
    amount: Decimal | None = None
    registration: RegistrationFacts | None = None
    uri_event: EventEvidence | None = None
    domains: Domains | Unknown = Domains()
    approvals: tuple[Approval, ...] | Unknown = ()
    ratings: RatingFacts | Unknown = RatingFacts()
    findings: FoundFindings | Unknown = _NO_FINDINGS
    standing: Standing | None = None
    analysis_lack: str | None = None
    validations: ValidationFacts | Unknown = ValidationFacts()
    measurements: MeasurementFacts | None = None
    client: ClientFacts | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

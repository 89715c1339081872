"""Verdicts and their reasons, with evidence from events, files, trust analysis and buyers' records."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, Self, TypeAlias

DAY: Final = 86_400  # seconds; Unix time ignores leap seconds


class Verdict(StrEnum):
    """The one-word answer."""

    ACCEPT = "accept"
    CAUTION = "caution"
    DECLINE = "decline"


class Severity(StrEnum):
    """A reason's weight. The gravest reason decides."""

    NOTE = "note"
    """The reason does not affect the verdict."""

    CAUTION = "caution"
    """The reason rules out the verdict `accept`."""

    DECLINE = "decline"
    """The reason makes the verdict `decline`."""


class Code(StrEnum):
    """The reason codes. `docs/checks.md` explains each of them."""

    severity: Severity  # used unless the policy overrides it

    def __new__(cls, code: str, severity: Severity) -> Self:
        """Create a reason's code."""
        member = str.__new__(cls, code)
        member._value_, member.severity = code, severity
        return member

    PAY_TO_DIFFERS = "pay_to_differs", Severity.DECLINE
    NO_WALLET = "no_wallet", Severity.DECLINE
    WALLET_CHANGED = "wallet_changed", Severity.CAUTION
    OWNER_CHANGED = "owner_changed", Severity.CAUTION
    OTHER_CHAIN = "other_chain", Severity.CAUTION
    AUTHORITY_MISMATCH = "authority_mismatch", Severity.DECLINE
    WALLET_UNPROVEN = "wallet_unproven", Severity.NOTE
    ALSO_PROVEN = "also_proven", Severity.NOTE
    ALSO_CLAIMED = "also_claimed", Severity.NOTE
    TOO_YOUNG = "too_young", Severity.CAUTION

    NO_FILE = "no_file", Severity.CAUTION
    FILE_NOT_LOADED = "file_not_loaded", Severity.CAUTION
    FILE_UNREACHABLE = "file_unreachable", Severity.CAUTION
    FILE_MALFORMED = "file_malformed", Severity.CAUTION
    FILE_HASH_DIFFERS = "file_hash_differs", Severity.DECLINE
    FILE_UNPROTECTED = "file_unprotected", Severity.NOTE
    FILE_UNCONFIRMED = "file_unconfirmed", Severity.CAUTION
    FILE_OF_OTHER_AGENT = "file_of_other_agent", Severity.DECLINE
    INACTIVE = "inactive", Severity.CAUTION
    PAYMENT_NOT_OFFERED = "payment_not_offered", Severity.NOTE
    DOMAIN_PROVEN = "domain_proven", Severity.NOTE
    DOMAIN_UNPROVEN = "domain_unproven", Severity.NOTE
    DOMAIN_DENIED = "domain_denied", Severity.CAUTION

    NO_RATINGS = "no_ratings", Severity.CAUTION
    FEW_RATERS = "few_raters", Severity.CAUTION
    LOW_RATING = "low_rating", Severity.DECLINE
    UNCERTAIN_RATING = "uncertain_rating", Severity.CAUTION
    UNVETTED_RATERS = "unvetted_raters", Severity.CAUTION
    OWN_RATINGS = "own_ratings", Severity.CAUTION
    RATED_BY_US = "rated_by_us", Severity.NOTE
    LOW_RATING_BY_US = "low_rating_by_us", Severity.DECLINE

    TOO_FEW_VALIDATIONS = "too_few_validations", Severity.DECLINE
    LOW_VALIDATION = "low_validation", Severity.DECLINE
    REVIEWER_APPROVED = "reviewer_approved", Severity.CAUTION
    STRANGER_APPROVED = "stranger_approved", Severity.NOTE

    NO_AGENT = "no_agent", Severity.CAUTION
    ONLY_LOWEST = "only_lowest", Severity.CAUTION
    ONLY_HIGHEST = "only_highest", Severity.NOTE
    RELATED = "related", Severity.CAUTION
    LOW_BUYER_SCORE = "low_buyer_score", Severity.DECLINE
    TIER_PROVEN = "tier_proven", Severity.NOTE
    FAILED_SETTLEMENTS = "failed_settlements", Severity.CAUTION

    NOT_MEASURED = "not_measured", Severity.NOTE
    NEVER_ALIVE = "never_alive", Severity.CAUTION
    UNREACHABLE = "unreachable", Severity.CAUTION
    UNSTABLE = "unstable", Severity.CAUTION
    PRICE_CHANGED = "price_changed", Severity.NOTE
    PAY_TO_CHANGED = "pay_to_changed", Severity.CAUTION
    PAY_TO_ROTATES = "pay_to_rotates", Severity.NOTE
    KEYS_CHANGED = "keys_changed", Severity.CAUTION
    FREE_OF_CHARGE = "free_of_charge", Severity.NOTE

    NOT_ANALYSED = "not_analysed", Severity.CAUTION
    FINDING = "finding", Severity.CAUTION
    HELD_BACK = "held_back", Severity.DECLINE
    CONTESTED = "contested", Severity.CAUTION
    STAKE_ABOVE_EVIDENCE = "stake_above_evidence", Severity.CAUTION


@dataclass(frozen=True)
class EventEvidence:
    """An event on the chain.

    Attributes:
        event: The event's name in Solidity.
        registry: The contract that emitted the event.
        block: The event's block number.
        log_index: The event's position in the block.
        transaction: The event's transaction hash.
    """

    event: str
    registry: str
    block: int
    log_index: int
    transaction: str


@dataclass(frozen=True)
class FileEvidence:
    """A file as observed by the index.

    Attributes:
        file: The file's number in the answer's `untrusted.files`, which contains its URI.
        state: `waiting`, `loaded`, `malformed` or `failed`.
        content_hash: The keccak-256 hash of the file's content; None if there is no content.
        integrity: The proof that the file's author published its content; None if only the server vouches for that
            content.
        problem: A machine-readable reason for the last failure; None if there was none.
    """

    file: int
    state: str
    content_hash: str | None
    integrity: str | None
    problem: str | None


Evidence: TypeAlias = EventEvidence | FileEvidence


@dataclass(frozen=True)
class Reason:
    """A reason for a verdict.

    Attributes:
        code: The code, for programs.
        severity: The reason's weight.
        sentence: The reason in words, for people and models. It contains no untrusted text; domains are identified by
            their number in `untrusted.domains`.
        evidence: A few of the events and files that the reason is based on.
    """

    code: Code
    severity: Severity
    sentence: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class AsOf:
    """An answer's block on its chain, and the other values needed to reproduce the answer.

    Attributes:
        chain: The chain: its number in an index's answer, or its CAIP-2 id in a node's answer.
        block: The block or slot; None if the agent was rejected.
        history: The hash of the block that contains the last event up to this block; None before the first event.
        time: The time of that event, in Unix seconds.
        files: The number of the newest file observation that was used; 0 if none was used.
        payments: The block of the newest payment that was used.
        analysis: The number of the newest trust analysis that was used.
        measurements: The number of the newest endpoint measurement that was used; 0 if none was used.
    """

    chain: int | str
    block: int | None
    history: str | None = None
    time: int | None = None
    files: int = 0
    payments: int = 0
    analysis: int = 0
    measurements: int = 0


@dataclass(frozen=True)
class Finding:
    """A trust analysis finding about an account.

    Attributes:
        detector: The detector that reported the finding.
        sentence: The claim in one plain sentence.
        severity: The finding's weight; None to use the policy's.
        evidence: A few of the underlying events.
    """

    finding: str
    account: str
    detector: str
    sentence: str
    severity: Severity | None = None
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class FoundFindings:
    """The findings about the accounts of a check.

    Attributes:
        findings: The findings, strongest first.
        analysis: The number of the newest analysis that was read, needed to reproduce an answer; 0 if there is none.
        suspicion: The highest suspicion among the accounts; None if no analysis ranks any of them.
    """

    findings: tuple[Finding, ...] = ()
    analysis: int = 0
    suspicion: float | None = None


@dataclass(frozen=True)
class BuyerRecord:
    """A buyer's record.

    Attributes:
        payments: The number of payments by the buyer.
        first_at: The time of the buyer's first payment, in Unix seconds; None if unknown.
        first: The buyer's first payment.
        newest: The block of the newest payment or refund that counts, needed to reproduce an answer; 0 if there is
            none.
        evidence: A few of the underlying events.
    """

    score: Decimal
    payments: int
    first_at: int | None = None
    first: EventEvidence | None = None
    newest: int = 0
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class ProvenTier:
    """A tier that a client proved privately to the requesting server; verified by `TierVerifier.check`.

    Attributes:
        tier: The minimum tier of the buyer to whom the account belongs.
        epoch: The UTC day of the proof, in days since the Unix epoch.
    """

    tier: str
    epoch: int


_VERDICTS: Final = {Severity.DECLINE: Verdict.DECLINE, Severity.CAUTION: Verdict.CAUTION, Severity.NOTE: Verdict.ACCEPT}
_RANKS: Final = {severity: rank for rank, severity in enumerate(_VERDICTS)}


def sorted_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Sort reasons, gravest first. Reasons of equal severity keep their order."""
    return tuple(sorted(reasons, key=lambda reason: _RANKS[reason.severity]))


def verdict_of(reasons: Iterable[Reason]) -> Verdict:
    """Return the verdict that follows from the gravest reason, or `accept` if there are no reasons."""
    return _VERDICTS[min((reason.severity for reason in reasons), key=_RANKS.__getitem__, default=Severity.NOTE)]

"""Providers of evidence: the findings of trust analysis and the records of buyers, whichever program computes them.

A check passes the connection, the chain, the accounts and the block. Only facts as of that block may come back, so that
an answer can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from bilateral.checks.verdicts import EventEvidence, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bilateral.checks.from_index.as_of_block import AsOfBlock


@dataclass(frozen=True)
class Finding:
    """A finding of trust analysis about an account.

    Attributes:
        detector: The detector that made it.
        sentence: The claim in one plain sentence.
        severity: Its weight; None for that of the policy.
        evidence: The events that it rests on, at most a few.
    """

    finding: str
    account: str
    detector: str
    sentence: str
    severity: Severity | None = None
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class FoundFindings:
    """The findings about some accounts.

    Attributes:
        findings: The findings, the strongest first.
        analysis: The number of the newest analysis that was looked at, to repeat an answer; 0 without one.
        suspicion: The greatest suspicion of one of the accounts; None if no analysis ranks one.
    """

    findings: tuple[Finding, ...] = ()
    analysis: int = 0
    suspicion: float | None = None


class Findings(Protocol):
    """A source of findings."""

    def __call__(self, connection: Connection, as_of: AsOfBlock, accounts: Sequence[str]) -> FoundFindings:
        """Return the findings about some accounts as of a block."""


@dataclass(frozen=True)
class BuyerRecord:
    """The record of a buyer.

    Attributes:
        payments: The number of its payments.
        first_at: The time of its first payment, in Unix seconds; None if unknown.
        first: The first payment.
        newest: The block of the newest payment or return that counts, to repeat an answer; 0 without one.
        evidence: The events that it rests on, at most a few.
    """

    score: Decimal
    payments: int
    first_at: int | None = None
    first: EventEvidence | None = None
    newest: int = 0
    evidence: tuple[EventEvidence, ...] = ()


@dataclass(frozen=True)
class ProvenTier:
    """A tier that a client proved privately to the server that asks, after `TierVerifier.check`.

    Attributes:
        tier: The tier that the buyer behind the account has at least.
        epoch: The UTC day of the proof, in days since the beginning of Unix time.
    """

    tier: str
    epoch: int


class BuyerRecords(Protocol):
    """A source of buyers' records."""

    def __call__(self, connection: Connection, as_of: AsOfBlock, account: str) -> BuyerRecord | None:
        """Return the record of a buyer as of a block; None if there is none."""

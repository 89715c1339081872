"""Payments that were verified but did not settle, for a reason on the payer's side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FailureReason(StrEnum):
    """A reason on the payer's side why a verified payment did not settle."""

    INSUFFICIENT_BALANCE = "insufficient_balance"
    INSUFFICIENT_ALLOWANCE = "insufficient_allowance"
    AUTHORIZATION_CANCELED = "authorization_canceled"


@dataclass(frozen=True)
class FailureCount:
    """A payer's failed settlements, as recorded by one seller.

    Attributes:
        number: The number of failures. Each payment authorization is counted once.
        last_at: The time of the last failure, in Unix seconds; None if there is none.
        reasons: The number of failures for each reason.
    """

    number: int = 0
    last_at: float | None = None
    reasons: Mapping[FailureReason, int] = field(default_factory=dict)

"""Verified payments that did not settle because of what their payer did after the verification."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FailureReason(StrEnum):
    """The acts of a payer that prevent a verified payment from settling."""

    INSUFFICIENT_BALANCE = "insufficient_balance"
    INSUFFICIENT_ALLOWANCE = "insufficient_allowance"
    AUTHORIZATION_CANCELED = "authorization_canceled"


@dataclass(frozen=True)
class FailureCount:
    """The failed settlements of a payer recorded by one seller.

    Attributes:
        number: Their number. Each authorization counts once.
        last_at: The time of the last one, in Unix seconds; None without one.
        reasons: The number of each reason.
    """

    number: int = 0
    last_at: float | None = None
    reasons: Mapping[FailureReason, int] = field(default_factory=dict)

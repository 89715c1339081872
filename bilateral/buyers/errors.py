"""Refusals of messages about buyers, and failures of services for them."""

from __future__ import annotations

from typing import Any

from bilateral.core.errors import BilateralError
from bilateral.core.text import quoted


class BuyerRefusalError(Exception):
    """A message is refused.

    Attributes:
        status: The HTTP status that fits.
        code: The reason for programs: lower case with underscores, stable from release to release.
        detail: The reason for people.
        retry_seconds: The seconds after which another try may do better; None if it may not.
        members: Further members of the answer.
    """

    def __init__(
        self, status: int, code: str, detail: str, *, retry_seconds: int | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_seconds = retry_seconds
        self.members = members


class CredentialRefusedError(BilateralError):
    """A credential is not for this use.

    Attributes:
        reason: `credential_of_another`, `policy_mismatch`, `scope_mismatch`, `epoch_over` or `tier_too_low`.
        field: The field of the credential that does not fit.
        expected: The expected value, or the lowest one.
    """

    reason = "credential_refused"

    def __init__(self, reason: str, field: str, value: object, expected: object) -> None:
        required = f"{expected} or higher" if reason == "tier_too_low" else expected
        super().__init__(f"the credential's {field} is {value}, not {required}: ask for another credential")
        self.reason = reason  # type: ignore[misc]  # each instance has its own reason
        self.field = field
        self.value = value
        self.expected = expected


class BuyerServiceRefusedError(BilateralError):
    """A service refuses a request.

    Attributes:
        status: The HTTP status.
        code: The service's reason for programs; empty if it names none.
        detail: Its reason for people.
    """

    reason = "service_refused"

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"the service refuses with status {status}: {quoted(detail)}")
        self.status = status
        self.code = code
        self.detail = detail


class BuyerServiceFailedError(BilateralError):
    """A service cannot be reached, or does not answer as one."""

    reason = "service_failed"

"""Errors for rejected messages and tier proofs, and for buyer services that fail."""

from dataclasses import InitVar
from http import HTTPStatus
from typing import Any, Final

from bilateral.core.errors import BilateralError, FormattedError
from bilateral.core.text import quoted


class BuyerRefusalError(Exception):
    """A message was rejected.

    Attributes:
        status: The matching HTTP status.
        code: The machine-readable reason: lower case with underscores, stable across releases.
        detail: The human-readable reason.
        retry_seconds: How many seconds to wait before a retry may succeed; None if no retry can succeed.
        members: Additional JSON fields of the error response.
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
    """A credential is not valid for this use.

    Attributes:
        reason: `credential_of_another`, `policy_mismatch`, `scope_mismatch`, `epoch_over` or `tier_too_low`.
        field: The field of the credential that does not match.
        expected: The expected value, or the lowest acceptable value.
    """

    reason = "credential_refused"

    def __init__(self, reason: str, field: str, value: object, expected: object) -> None:
        required = f"{expected} or higher" if reason == "tier_too_low" else expected
        super().__init__(f"the credential's {field} is {value}, not {required}: request a new credential")
        self.reason = reason  # type: ignore[misc]  # each instance has its own reason
        self.field = field
        self.value = value
        self.expected = expected


class BuyerServiceRefusedError(BilateralError):
    """A service rejected a request.

    Attributes:
        status: The HTTP status.
        code: The service's machine-readable reason; empty if there is none.
        detail: The service's human-readable reason.
    """

    reason = "service_refused"

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"the service rejected the request with status {status}: {quoted(detail)}")
        self.status = status
        self.code = code
        self.detail = detail


class BuyerServiceFailedError(BilateralError):
    """A service could not be reached, or its response was invalid."""

    reason = "service_failed"


_STATUSES: Final = {
    "proof_malformed": HTTPStatus.UNPROCESSABLE_ENTITY,
    "tier_already_used": HTTPStatus.CONFLICT,
    "verifier_busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "proof_header_too_large": HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "proof_header_invalid": HTTPStatus.BAD_REQUEST,
}


class TierProofRefusedError(BilateralError):
    """A private tier proof was rejected.

    Attributes:
        reason: `policy_mismatch`, `epoch_over`, `tier_too_low`, `unknown_root`, `proof_malformed`, `proof_refused`,
            `tier_already_used`, `verifier_busy`, `proof_header_too_large` or `proof_header_invalid`.
        status: The matching HTTP status. With a rejected proof, a purchase still succeeds, but without a discount.
    """

    reason = "proof_refused"

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(f"the tier proof was rejected: {problem}")
        self.reason = reason  # type: ignore[misc]  # each instance has its own reason
        self.status = int(_STATUSES.get(reason, HTTPStatus.FORBIDDEN))


class TooFewMembersError(FormattedError):
    """A tier's group has too few members to hide which of them created a proof.

    Attributes:
        members: The number of members in the group.
        least: The minimum number of members.
    """

    reason = "too_few_members"
    template = (
        "the group has only {members} members, too few to hide a proof's author: wait until it has {least}, "
        "prove a lower tier, or allow small groups"
    )
    members: int
    least: int


class NotAMemberError(BilateralError):
    """No member of the group in the day's list has this secret."""

    reason = "not_a_member"


class MemberListError(FormattedError):
    """A published list of members is invalid, or does not match the chain.

    Attributes:
        place: The part of the list that is invalid.
    """

    reason = "member_list_invalid"
    template = "the member list is invalid: {place}: {problem}"
    place: str
    problem: InitVar[str]


class ProverMissingError(BilateralError):
    """Node.js or the prover's npm packages are not installed."""

    reason = "prover_missing"


class ArtifactMismatchError(BilateralError):
    """A prover file does not match its pinned hash. No secrets were passed to the prover."""

    reason = "artifact_mismatch"


class ProverFailedError(BilateralError):
    """The prover exited without a result."""

    reason = "prover_failed"

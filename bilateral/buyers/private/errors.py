"""Errors of private tiers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from bilateral.core.errors import BilateralError

_STATUSES: Final = {
    "proof_malformed": HTTPStatus.UNPROCESSABLE_ENTITY,
    "tier_already_used": HTTPStatus.CONFLICT,
    "verifier_busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "proof_header_too_large": HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "proof_header_invalid": HTTPStatus.BAD_REQUEST,
}


class TierProofRefusedError(BilateralError):
    """A private proof of a tier is refused.

    Attributes:
        reason: `policy_mismatch`, `epoch_over`, `tier_too_low`, `unknown_root`, `proof_malformed`, `proof_refused`,
            `tier_already_used`, `verifier_busy`, `proof_header_too_large` or `proof_header_invalid`.
        status: The HTTP status that fits. The normal price holds; the purchase is not an error.
    """

    reason = "proof_refused"

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(f"the proof of a tier is refused: {problem}")
        self.reason = reason  # type: ignore[misc]  # each instance has its own reason
        self.status = int(_STATUSES.get(reason, HTTPStatus.FORBIDDEN))


class TooFewMembersError(BilateralError):
    """The group of a tier is so small that a proof would hide its author badly.

    Attributes:
        members: The members of the group.
        least: The least number.
    """

    reason = "too_few_members"

    def __init__(self, members: int, least: int) -> None:
        super().__init__(
            f"the group has {members} members, and a proof hides its author among them alone: wait until it has "
            f"{least}, prove a lower tier, or allow small groups"
        )
        self.members = members
        self.least = least


class NotAMemberError(BilateralError):
    """The list has no member with this secret in the group."""

    reason = "not_a_member"


class MemberListError(BilateralError):
    """A published list of members is not what it must be, or not what the chain says.

    Attributes:
        place: The part of the list that is wrong.
    """

    reason = "member_list_invalid"

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"the list of members is not valid: {place}: {problem}")
        self.place = place


class ProverMissingError(BilateralError):
    """Node, or the prover's package, is not installed."""

    reason = "prover_missing"


class ArtifactMismatchError(BilateralError):
    """A file of the prover is not the pinned one. Nothing secret was given to it."""

    reason = "artifact_mismatch"


class ProverFailedError(BilateralError):
    """The prover ends without an answer."""

    reason = "prover_failed"

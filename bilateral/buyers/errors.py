"""Refusals of messages about buyers."""

from __future__ import annotations

from typing import Any


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
        """Compose the refusal."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_seconds = retry_seconds
        self.members = members

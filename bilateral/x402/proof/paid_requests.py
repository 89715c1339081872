"""A paid request with its answer, as the client saw both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bilateral.x402.proof.profiles import Profile, profile_among


@dataclass(frozen=True)
class PaidRequest:
    """A paid request as its client saw it.

    Attributes:
        payment: The payment payload that the client sent, as a JSON object.
        settlement: `PAYMENT-RESPONSE`, decoded; None if it is missing or malformed.
        request: The request's body, decoded.
        response: The response's body, decoded; None if it cannot be decoded.
        target: Method and URL.
        is_body_lost: True if the server has not kept the body of an answer that was fetched again, only its proof.
        unpaid_status: The status of an error without `PAYMENT-RESPONSE` after which the server does not settle.
            None for any other answer.
    """

    payment: dict[str, Any]
    settlement: dict[str, Any] | None
    request: bytes
    response: bytes | None
    target: str = ""
    is_body_lost: bool = False
    unpaid_status: int | None = None

    @property
    def accepted(self) -> dict[str, Any]:
        """The terms that the client accepted."""
        accepted = self.payment.get("accepted")
        return accepted if isinstance(accepted, dict) else {}

    @property
    def network(self) -> str:
        """The network on which the client paid (CAIP-2)."""
        return str(self.accepted.get("network"))

    @property
    def profile(self) -> Profile:
        """The profile of the server's statement; that of its declaration if there is no statement."""
        return profile_among((self.settlement or {}).get("extensions"), self.payment.get("extensions"))

    @property
    def declaration(self) -> Any:
        """The server's declaration, as the client sent it back."""
        extensions = self.payment.get("extensions")
        return extensions.get(self.profile.key) if isinstance(extensions, dict) else None

    @property
    def path_and_query(self) -> str:
        """The request's path and query, without the method and the host."""
        url = self.target.partition(" ")[2]
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

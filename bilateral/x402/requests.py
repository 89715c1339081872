"""The adapter for requests.

session = verifying_session(client, verifier)
response = session.get(url)
verification_of(response).is_verified
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import requests
from requests.adapters import HTTPAdapter
from x402.http.clients.requests import x402HTTPAdapter

from bilateral.x402.transports import paid_request

if TYPE_CHECKING:
    from x402 import x402ClientSync

    from bilateral.x402.verdicts import Verification
    from bilateral.x402.verifier import Verifier

_RESULT: Final = "bilateral_x402_verification"


def verifying_session(
    client: x402ClientSync, verifier: Verifier, session: requests.Session | None = None
) -> requests.Session:
    """Return a session that pays by the SDK's client and checks each proof.

    Args:
        client: The SDK's client, from `protect_client`.
        verifier: Checks the proofs.
        session: The session to change; by default a new one.
    """
    session = session or requests.Session()
    for prefix in ("https://", "http://"):
        session.mount(prefix, _Verifying(client, verifier))
    return session


def verification_of(response: requests.Response) -> Verification | None:
    """Return the verification of a response; None if nothing was paid for it."""
    return cast("Verification | None", getattr(response, _RESULT, None))


class _Verifying(HTTPAdapter):
    """Checks the proof of each paid answer."""

    def __init__(self, client: x402ClientSync, verifier: Verifier) -> None:
        super().__init__()
        self._paying, self._verifier = x402HTTPAdapter(client), verifier

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, pay if it must be paid, and check the proof."""
        response = self._paying.send(request, *arguments, **options)
        sent = response.request if response.request is not None else request
        body = request.body or b""
        paid = paid_request(
            sent.headers.get("PAYMENT-SIGNATURE"),
            f"{request.method} {request.url}",
            {str(name): str(value) for name, value in request.headers.items()},
            body.encode() if isinstance(body, str) else bytes(body),
            {name: value for name, value in response.headers.items() if name.lower() != "content-encoding"},
            response.content,  # requests has decoded it
        )
        if paid is not None:
            setattr(response, _RESULT, self._verifier.verify(paid))
        return response

    def close(self) -> None:
        """Close the connections."""
        self._paying.close()
        super().close()

"""The transport for httpx.

transport = verifying_transport(client, verifier)
async with httpx.AsyncClient(transport=transport) as http:
    response = await http.get(url)
    verification_of(response).is_verified
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import httpx
from x402.http.clients.httpx import x402AsyncTransport

from bilateral.x402.transports import RESULT, paid_request

if TYPE_CHECKING:
    from x402 import x402Client

    from bilateral.x402.verdicts import Verification
    from bilateral.x402.verifier import AsyncVerifier

_SENT: Final = "bilateral.x402.payment"


def verifying_transport(
    client: x402Client, verifier: AsyncVerifier, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncBaseTransport:
    """Return a transport that pays by the SDK's client and checks each proof.

    Args:
        client: The SDK's client, from `protect_client`.
        verifier: Checks the proofs.
        transport: The transport below; by default httpx's own.
    """
    return _Verifying(client, verifier, transport or httpx.AsyncHTTPTransport())


def verification_of(response: httpx.Response) -> Verification | None:
    """Return the verification of a response; None if nothing was paid for it."""
    return cast("Verification | None", response.extensions.get(RESULT))


class _Recording(httpx.AsyncBaseTransport):
    """Notes the payment that the SDK sends."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = request.extensions.get(_SENT)
        if isinstance(sent, list) and "payment-signature" in request.headers:
            sent.append(request.headers["payment-signature"])
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Verifying(httpx.AsyncBaseTransport):
    """Checks the proof of each paid answer."""

    def __init__(self, client: x402Client, verifier: AsyncVerifier, transport: httpx.AsyncBaseTransport) -> None:
        self._paying, self._verifier = x402AsyncTransport(client, _Recording(transport)), verifier

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent: list[str] = []
        request.extensions = {**request.extensions, _SENT: sent}
        response = await self._paying.handle_async_request(request)
        if not sent:
            return response
        raw = b"".join([chunk async for chunk in cast("httpx.AsyncByteStream", response.stream)])
        await response.aclose()
        paid = paid_request(
            sent[-1], f"{request.method} {request.url}", request.headers, request.content, response.headers, raw
        )
        extensions = {name: value for name, value in response.extensions.items() if name != "network_stream"}
        if paid is not None:
            extensions[RESULT] = await self._verifier.verify(paid)
        return httpx.Response(response.status_code, headers=response.headers, stream=_Bytes(raw), extensions=extensions)

    async def aclose(self) -> None:
        await self._paying.aclose()


class _Bytes(httpx.AsyncByteStream):
    """A body that was read already, still in its content encoding."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    async def __aiter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        yield self._raw

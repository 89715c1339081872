"""Transports for httpx, asynchronous and blocking.

Example:
    async with httpx.AsyncClient(transport=verifying_transport(client, verifier)) as http:
        response = await http.get(url)
        verification_of(response).is_verified

    with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http:
        try:
            response = http.get(url)
        except LostAnswerError as lost:
            response = fetch_lost_answer_sync(http, lost)
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import httpx
from x402 import x402Client, x402ClientSync
from x402.http.clients.httpx import PaymentError

from bilateral.x402.clients import answer_limits
from bilateral.x402.clients.answer_limits import AnswerLimits, ReadBody
from bilateral.x402.clients.purchase import Payer, Reply, json_of, make, make_async, purchase
from bilateral.x402.clients.transports import RESULT, PaidCall, payment_among
from bilateral.x402.proof.errors import LostAnswerError
from bilateral.x402.proof.verdicts import Verification
from bilateral.x402.proof.verifier import AsyncVerifier, Verifier


def verifying_transport(
    client: x402Client,
    verifier: AsyncVerifier,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    limits: AnswerLimits | None = None,
) -> httpx.AsyncBaseTransport:
    """Return a transport that pays through the SDK client and checks each proof.

    Args:
        client: The SDK client returned by `protect_client`.
        verifier: Checks the proofs.
        transport: The underlying transport; by default httpx's own.
        limits: Limits for each answer; by default 32 MiB and two minutes.
    """
    bounded = answer_limits.AsyncBoundedTransport(transport or httpx.AsyncHTTPTransport(), limits or AnswerLimits())
    return _AsyncVerifying(Payer(client, verifier, PaymentError), bounded)


def verifying_sync_transport(
    client: x402ClientSync,
    verifier: Verifier,
    transport: httpx.BaseTransport | None = None,
    *,
    limits: AnswerLimits | None = None,
) -> httpx.BaseTransport:
    """Return a transport for `httpx.Client` that pays through the SDK client and checks each proof.

    Like the asynchronous transport, this transport raises the SDK's `PaymentError` if a payment is not made.

    Args:
        client: The SDK client returned by `protect_client`.
        verifier: Checks the proofs.
        transport: The underlying transport; by default httpx's own.
        limits: Limits for each answer; by default 32 MiB and two minutes.
    """
    bounded = answer_limits.BoundedTransport(transport or httpx.HTTPTransport(), limits or AnswerLimits())
    return _Verifying(Payer(client, verifier, PaymentError), bounded)


async def fetch_lost_answer(http: httpx.AsyncClient, lost: LostAnswerError) -> httpx.Response:
    """Fetch a lost answer with a client whose transport is `verifying_transport`. See `LostAnswerError`."""
    return await http.request(lost.method, lost.url, headers=lost.headers, content=lost.body)


def fetch_lost_answer_sync(http: httpx.Client, lost: LostAnswerError) -> httpx.Response:
    """Fetch a lost answer with a client whose transport is `verifying_sync_transport`. See `LostAnswerError`."""
    return http.request(lost.method, lost.url, headers=lost.headers, content=lost.body)


def verification_of(response: httpx.Response) -> Verification | None:
    """Return a response's verification, or None if nothing was paid for it."""
    return cast("Verification | None", response.extensions.get(RESULT))


class _Wire:
    """One request over an underlying transport, with or without an event loop."""

    def __init__(self, request: httpx.Request, handle: Callable[[httpx.Request], Any]) -> None:
        self._request, self._handle = request, handle

    def send(self, headers: Mapping[str, str]) -> Any:
        if not headers:
            return self._handle(self._request)
        exposed = {"Access-Control-Expose-Headers": "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE"}
        request, merged = self._request, {**self._request.headers, **headers, **exposed}
        return self.resend(PaidCall(request.method, str(request.url), merged, request.content))

    def resend(self, call: PaidCall) -> Any:
        method, url, headers, body = call.parts
        extensions = self._request.extensions  # they include the timeouts
        return self._handle(httpx.Request(method, url, headers=headers, content=body, extensions=extensions))

    # Prices and paid answers were read by the transport below.

    def read(self, response: httpx.Response) -> Reply:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if answer_limits.DAMAGED in response.extensions:
            headers["content-encoding"] = response.extensions[answer_limits.DAMAGED]
        return Reply(response.status_code, headers, cast("ReadBody", response.stream).raw, response)

    def json(self, response: httpx.Response) -> Any:
        response.read()
        return json_of(response)

    def close(self, response: httpx.Response) -> None:
        response.close()


class _Verifying(httpx.BaseTransport):
    """Pays, and checks the proof of each paid answer."""

    def __init__(self, payer: Payer, transport: httpx.BaseTransport) -> None:
        self._payer, self._transport = payer, transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()  # it may have to be sent again
        wire = _Wire(request, self._transport.handle_request)
        return _answer(*make(purchase(self._payer, wire, _call(request))))

    def close(self) -> None:
        self._transport.close()


class _AsyncVerifying(httpx.AsyncBaseTransport):
    """The asynchronous counterpart of `_Verifying`."""

    def __init__(self, payer: Payer, transport: httpx.AsyncBaseTransport) -> None:
        self._payer, self._transport = payer, transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()  # it may have to be sent again
        wire = _Wire(request, self._transport.handle_async_request)
        return _answer(*await make_async(purchase(self._payer, wire, _call(request))))

    async def aclose(self) -> None:
        await self._transport.aclose()


def _call(request: httpx.Request) -> PaidCall:
    """Read a request's body, and return the request without the chunked transfer header."""
    if request.headers.pop("Transfer-Encoding", None) is not None:
        request.headers["Content-Length"] = str(len(request.content))
    payment = payment_among(request.headers)
    left_out = {"host", *(name.lower() for name in payment)}  # httpx converts names to lower case
    headers = {name: value for name, value in request.headers.items() if name not in left_out}
    return PaidCall(request.method, str(request.url), headers, request.content, payment)


def _answer(reply: Reply, verification: Verification | None, is_paid: bool) -> httpx.Response:
    """Return the response from a purchase. A response that was paid for has been read and includes its verification."""
    response = cast("httpx.Response", reply.response)
    if not is_paid:
        return response
    extensions = {name: value for name, value in response.extensions.items() if name != "network_stream"}
    if verification is not None:
        extensions[RESULT] = verification
    body = ReadBody(reply.body)
    return httpx.Response(response.status_code, headers=response.headers, stream=body, extensions=extensions)

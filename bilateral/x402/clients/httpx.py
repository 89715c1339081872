"""The transports for httpx: for event loops, and for programs that block.

transport = verifying_transport(client, verifier)
async with httpx.AsyncClient(transport=transport) as http:
    response = await http.get(url)
    verification_of(response).is_verified

with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http:
    try:
        response = http.get(url)
    except LostAnswerError as lost:
        response = fetch_lost_answer_sync(http, lost)
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import httpx
from x402 import x402Client, x402ClientSync
from x402.http import x402HTTPClient, x402HTTPClientSync
from x402.http.clients.httpx import PaymentError, x402AsyncTransport

from bilateral.x402.clients.answer_limits import AnswerLimits
from bilateral.x402.clients.bounded_httpx import DAMAGED, AsyncBoundedTransport, BoundedTransport, ReadBody
from bilateral.x402.clients.outstanding import PaidCall, outstanding_payments
from bilateral.x402.clients.transports import RESULT, payment_among, price_problem
from bilateral.x402.proof.errors import LostAnswerError
from bilateral.x402.proof.undelivered import (
    LookUp,
    Pay,
    Reply,
    Resend,
    Step,
    Verify,
    purchase,
    run,
    run_async,
)
from bilateral.x402.proof.verdicts import Verification
from bilateral.x402.proof.verifier import AsyncVerifier, Verifier

_SENT: Final = "bilateral.x402.payment"


def verifying_transport(
    client: x402Client,
    verifier: AsyncVerifier,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    limits: AnswerLimits | None = None,
) -> httpx.AsyncBaseTransport:
    """Return a transport that pays by the SDK's client and checks each proof.

    Args:
        client: The SDK's client, from `protect_client`.
        verifier: Checks the proofs.
        transport: The transport below; by default httpx's own.
        limits: The limits for an answer; 32 MiB and two minutes by default.
    """
    bounded = AsyncBoundedTransport(transport or httpx.AsyncHTTPTransport(), limits or AnswerLimits())
    return _Verifying(client, verifier, bounded)


def verifying_sync_transport(
    client: x402ClientSync,
    verifier: Verifier,
    transport: httpx.BaseTransport | None = None,
    *,
    limits: AnswerLimits | None = None,
) -> httpx.BaseTransport:
    """Return a transport for `httpx.Client` that pays by the SDK's client and checks each proof.

    A refused payment raises the SDK's `PaymentError`, as the transport for event loops does.

    Args:
        client: The SDK's client, from `protect_client`.
        verifier: Checks the proofs.
        transport: The transport below; by default httpx's own.
        limits: The limits for an answer; 32 MiB and two minutes by default.
    """
    bounded = BoundedTransport(transport or httpx.HTTPTransport(), limits or AnswerLimits())
    return _VerifyingSync(client, verifier, bounded)


async def fetch_lost_answer(http: httpx.AsyncClient, lost: LostAnswerError) -> httpx.Response:
    """Fetch a lost answer by a client whose transport is `verifying_transport`. See `LostAnswerError`."""
    return await http.request(lost.method, lost.url, headers=lost.headers, content=lost.body)


def fetch_lost_answer_sync(http: httpx.Client, lost: LostAnswerError) -> httpx.Response:
    """Fetch a lost answer by a client whose transport is `verifying_sync_transport`. See `LostAnswerError`."""
    return http.request(lost.method, lost.url, headers=lost.headers, content=lost.body)


def verification_of(response: httpx.Response) -> Verification | None:
    """Return the verification of a response; None if nothing was paid for it."""
    return cast("Verification | None", response.extensions.get(RESULT))


class _Recording(httpx.AsyncBaseTransport):
    """Notes the payment that the SDK sends."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent, payment = request.extensions.get(_SENT), payment_among(request.headers)
        if isinstance(sent, list) and payment:
            sent.append(payment)
        response = await self._inner.handle_async_request(request)
        problem = _price_problem(request, response)
        if problem is not None:
            await response.aclose()
            raise PaymentError(problem)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Verifying(httpx.AsyncBaseTransport):
    """Checks the proof of each paid answer."""

    def __init__(self, client: x402Client, verifier: AsyncVerifier, transport: httpx.AsyncBaseTransport) -> None:
        self._recording, self._payments = _Recording(transport), outstanding_payments(client)
        self._paying, self._verifier = x402AsyncTransport(_OneSignature(client), self._recording), verifier

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()  # it may have to be sent again
        _state_length(request)
        return _answer(*await run_async(purchase(self._payments, _call(request)), partial(self._perform, request)))

    async def _perform(self, request: httpx.Request, step: Step) -> Any:
        """Perform a step of a purchase."""
        match step:
            case Pay(sent):
                request.extensions = {**request.extensions, _SENT: sent}
                response = await self._paying.handle_async_request(request)
                return await self._reply(response) if sent else _unread(response)
            case Resend(call):  # the SDK would pay once more for a payment that is refused
                return await self._reply(await self._recording.handle_async_request(_request(call, request)))
            case LookUp(payment, seconds):
                return await self._verifier.find_settlement(payment, seconds=seconds)
            case Verify(paid):
                return await self._verifier.verify(paid)

    async def _reply(self, response: httpx.Response) -> Reply:
        """Read an answer."""
        raw = b"".join([chunk async for chunk in cast("httpx.AsyncByteStream", response.stream)])
        await response.aclose()
        return _reply(response, raw)

    async def aclose(self) -> None:
        await self._paying.aclose()


class _VerifyingSync(httpx.BaseTransport):
    """Pays, and checks the proof of each paid answer. The SDK has no such transport for `httpx.Client`."""

    def __init__(self, client: x402ClientSync, verifier: Verifier, transport: httpx.BaseTransport) -> None:
        self._client, self._http, self._verifier = client, x402HTTPClientSync(client), verifier
        self._transport, self._payments = transport, outstanding_payments(client)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()  # it may have to be sent again
        _state_length(request)
        return _answer(*run(purchase(self._payments, _call(request)), partial(self._perform, request)))

    def _perform(self, request: httpx.Request, step: Step) -> Any:
        """Perform a step of a purchase."""
        match step:
            case Pay(sent):
                return self._pay(request, sent)
            case Resend(call):
                return self._reply(self._transport.handle_request(_request(call, request)))
            case LookUp(payment, seconds):
                return self._verifier.find_settlement(payment, seconds=seconds)
            case Verify(paid):
                return self._verifier.verify(paid)

    def close(self) -> None:
        self._transport.close()

    def _pay(self, request: httpx.Request, sent: list[dict[str, str]]) -> Reply:
        """Send a request, and once more with a payment if it must be paid."""
        response = self._transport.handle_request(request)
        problem = price_problem(response.status_code, response.headers)
        if problem is not None:
            response.close()
            raise PaymentError(problem)
        if response.status_code != httpx.codes.PAYMENT_REQUIRED:
            return _unread(response)
        try:
            response.read()
            required = self._http.get_payment_required_response(response.headers.get, _json(response))
            hooked = self._http.handle_payment_required(required, str(request.url))
            if hooked:
                unpaid = self._transport.handle_request(_again(request, hooked))
                if unpaid.status_code != httpx.codes.PAYMENT_REQUIRED:
                    return _unread(unpaid)
                unpaid.close()
            payment = self._client.create_payment_payload(required)
            headers = self._http.encode_payment_signature_header(payment)
            sent.append(payment_among(headers))
            paid = self._transport.handle_request(_again(request, headers))
            self._http.process_payment_result(payment, paid.headers.get, paid.status_code)
            return self._reply(paid)
        except PaymentError:
            raise
        except Exception as error:
            raise PaymentError(f"Failed to handle payment: {error}") from error

    @staticmethod
    def _reply(response: httpx.Response) -> Reply:
        """Read an answer."""
        raw = b"".join(cast("httpx.SyncByteStream", response.stream))
        response.close()
        return _reply(response, raw)


class _OneSignature(x402HTTPClient):
    """Runs the hooks after a failed payment, and signs no other one for them: the failed one may still be settled."""

    async def process_payment_result(self, *arguments: Any, **options: Any) -> Any:
        return replace(await super().process_payment_result(*arguments, **options), recovered=False)


def _price_problem(request: httpx.Request, response: httpx.Response) -> str | None:
    """Return the reason not to pay for a request; None if it was paid, or its price can be read."""
    return None if payment_among(request.headers) else price_problem(response.status_code, response.headers)


def _json(response: httpx.Response) -> Any:
    """Return a body as JSON; None if it is not."""
    try:
        return response.json()
    except ValueError:
        return None


def _state_length(request: httpx.Request) -> None:
    """Replace the header of a body in pieces, which was read: sent again, it would have both headers."""
    if request.headers.pop("Transfer-Encoding", None) is not None:
        request.headers["Content-Length"] = str(len(request.content))


def _again(request: httpx.Request, headers: dict[str, str]) -> httpx.Request:
    """Return a request with further headers."""
    merged = {**request.headers, **headers, "Access-Control-Expose-Headers": "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE"}
    return httpx.Request(
        request.method, request.url, headers=merged, content=request.content, extensions=request.extensions
    )


def _call(request: httpx.Request) -> PaidCall:
    """Return a request that was read, with its payment if it has one."""
    payment = payment_among(request.headers)
    left_out = {"host", *(name.lower() for name in payment)}  # httpx writes names small
    headers = {name: value for name, value in request.headers.items() if name not in left_out}
    return PaidCall(request.method, str(request.url), headers, request.content, payment)


def _request(call: PaidCall, request: httpx.Request) -> httpx.Request:
    """Return the request of a call, with the limits of time of another one."""
    method, url, headers, body = call.parts
    return httpx.Request(method, url, headers=headers, content=body, extensions=request.extensions)


def _reply(response: httpx.Response, raw: bytes) -> Reply:
    """Return an answer for the purchase."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if DAMAGED in response.extensions:
        headers["content-encoding"] = response.extensions[DAMAGED]
    return Reply(response.status_code, headers, raw, response)


def _unread(response: httpx.Response) -> Reply:
    """Return an answer without a payment, whose body the program reads as it comes."""
    return Reply(response.status_code, {}, b"", response)


def _answer(reply: Reply, verification: Verification | None, is_paid: bool) -> httpx.Response:
    """Return the response of a purchase; of a paid one, whose body was read already, with its verification."""
    response = cast("httpx.Response", reply.response)
    if not is_paid:
        return response
    extensions = {name: value for name, value in response.extensions.items() if name != "network_stream"}
    if verification is not None:
        extensions[RESULT] = verification
    return httpx.Response(
        response.status_code, headers=response.headers, stream=ReadBody(reply.body), extensions=extensions
    )

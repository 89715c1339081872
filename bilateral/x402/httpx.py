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

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import httpx
from x402.http import x402HTTPClientSync
from x402.http.clients.httpx import PaymentError, x402AsyncTransport

from bilateral.x402.answer_limits import AnswerLimits
from bilateral.x402.bounded_httpx import DAMAGED, AsyncBoundedTransport, BoundedTransport, ReadBody
from bilateral.x402.errors import LostAnswerError
from bilateral.x402.transports import RESULT, is_body_lost, paid_request, payment_among, price_problem
from bilateral.x402.undelivered import Parts, Undelivered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from x402 import x402Client, x402ClientSync
    from x402.schemas import PaymentRequired
    from x402.schemas.v1 import PaymentRequiredV1

    from bilateral.x402.paid_requests import PaidRequest
    from bilateral.x402.verdicts import Verification
    from bilateral.x402.verifier import AsyncVerifier, Verifier

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
        self._recording = _Recording(transport)
        self._paying, self._verifier = x402AsyncTransport(client, self._recording), verifier

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()  # it may have to be sent again
        _state_length(request)
        sent: list[dict[str, str]] = []
        request.extensions = {**request.extensions, _SENT: sent}
        is_again = bool(payment_among(request.headers))
        try:
            # The SDK would pay once more for a payment that is refused.
            transport = self._recording if is_again else self._paying
            response = await transport.handle_async_request(request)
            if not sent:
                return response
            raw = b"".join([chunk async for chunk in cast("httpx.AsyncByteStream", response.stream)])
            await response.aclose()
        except (PaymentError, httpx.TransportError) as error:
            if sent:
                raise _lost(request, sent[-1], error) from error
            raise
        undelivered = Undelivered.of(sent[-1], response.status_code, response.headers)
        if undelivered is not None:
            seconds = None if undelivered.is_settling else 0
            settlement = await self._verifier.find_settlement(undelivered.payment, seconds=seconds)
            lost = undelivered.error(_parts(request, sent[-1]), settlement)
            if lost is not None:
                raise lost
        paid = _paid(sent[-1], request, response, raw, is_again=is_again)
        return _answer(response, raw, None if paid is None else await self._verifier.verify(paid))

    async def aclose(self) -> None:
        await self._paying.aclose()


class _VerifyingSync(httpx.BaseTransport):
    """Pays, and checks the proof of each paid answer. The SDK has no such transport for `httpx.Client`."""

    def __init__(self, client: x402ClientSync, verifier: Verifier, transport: httpx.BaseTransport) -> None:
        self._client, self._http, self._verifier = client, x402HTTPClientSync(client), verifier
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()  # it may have to be sent again
        _state_length(request)
        payment = payment_among(request.headers)
        if payment:
            return self._verified(request, payment, request, is_again=True)
        response = self._transport.handle_request(request)
        problem = _price_problem(request, response)
        if problem is not None:
            response.close()
            raise PaymentError(problem)
        if response.status_code != httpx.codes.PAYMENT_REQUIRED:
            return response
        sent: list[dict[str, str]] = []
        try:
            response.read()
            required = self._http.get_payment_required_response(response.headers.get, _json(response))
            hooked = self._http.handle_payment_required(required, str(request.url))
            if hooked:
                unpaid = self._transport.handle_request(_again(request, hooked))
                if unpaid.status_code != httpx.codes.PAYMENT_REQUIRED:
                    return unpaid
                unpaid.close()
            return self._pay(request, required, sent)
        except LostAnswerError:
            raise
        except Exception as error:
            if sent:
                raise _lost(request, sent[-1], error) from error
            if isinstance(error, PaymentError):
                raise
            raise PaymentError(f"Failed to handle payment: {error}") from error

    def close(self) -> None:
        self._transport.close()

    def _pay(
        self, request: httpx.Request, required: PaymentRequired | PaymentRequiredV1, sent: list[dict[str, str]]
    ) -> httpx.Response:
        """Send a request with a payment, and once more if a hook recovers a failed one.

        Args:
            request: The request.
            required: The payment that the server asks for.
            sent: Takes each payment before it is sent.
        """
        is_recovered = False
        while True:
            payment = self._client.create_payment_payload(required)
            headers = self._http.encode_payment_signature_header(payment)
            sent.append(payment_among(headers))
            response = self._transport.handle_request(_again(request, headers))
            result = self._http.process_payment_result(payment, response.headers.get, response.status_code)
            if is_recovered or not result.recovered:
                break
            response.close()
            is_recovered = True
        return self._verified(request, sent[-1], response)

    def _verified(
        self,
        request: httpx.Request,
        sent: dict[str, str],
        answer: httpx.Response | httpx.Request,
        *,
        is_again: bool = False,
    ) -> httpx.Response:
        """Return an answer with its verification.

        Args:
            request: The request.
            sent: The payment.
            answer: The answer; or the request that gets it.
            is_again: True if the payment was sent before.
        """
        with _losing(request, sent):
            response = self._transport.handle_request(answer) if isinstance(answer, httpx.Request) else answer
            raw = b"".join(cast("httpx.SyncByteStream", response.stream))
            response.close()
        undelivered = Undelivered.of(sent, response.status_code, response.headers)
        if undelivered is not None:
            seconds = None if undelivered.is_settling else 0
            settlement = self._verifier.find_settlement(undelivered.payment, seconds=seconds)
            lost = undelivered.error(_parts(request, sent), settlement)
            if lost is not None:
                raise lost
        paid = _paid(sent, request, response, raw, is_again=is_again)
        return _answer(response, raw, None if paid is None else self._verifier.verify(paid))


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


@contextmanager
def _losing(request: httpx.Request, payment: dict[str, str]) -> Iterator[None]:
    """Name the loss of an answer that was paid for."""
    try:
        yield
    except httpx.TransportError as error:
        raise _lost(request, payment, error) from error


def _lost(request: httpx.Request, payment: dict[str, str], error: Exception) -> LostAnswerError:
    return LostAnswerError(*_parts(request, payment), str(error) or type(error).__name__)


def _parts(request: httpx.Request, payment: dict[str, str]) -> Parts:
    """Return method, URL, headers and body of a request with its payment."""
    left_out = {"host", *(name.lower() for name in payment)}  # httpx writes names small
    headers = {name: value for name, value in request.headers.items() if name not in left_out} | payment
    return request.method, str(request.url), headers, request.content


def _paid(
    payment: dict[str, str], request: httpx.Request, response: httpx.Response, raw: bytes, *, is_again: bool
) -> PaidRequest | None:
    """Return a paid request for the verifier; None if nothing was paid."""
    target = f"{request.method} {request.url}"
    is_lost = is_again and is_body_lost(response.status_code, raw)
    headers, status = response.headers.copy(), response.status_code
    if DAMAGED in response.extensions:
        headers["content-encoding"] = response.extensions[DAMAGED]
    return paid_request(
        payment, target, request.headers, request.content, headers, raw, status=status, is_body_lost=is_lost
    )


def _answer(response: httpx.Response, raw: bytes, verification: Verification | None) -> httpx.Response:
    """Return a response whose body was read already, with its verification."""
    extensions = {name: value for name, value in response.extensions.items() if name != "network_stream"}
    if verification is not None:
        extensions[RESULT] = verification
    return httpx.Response(response.status_code, headers=response.headers, stream=ReadBody(raw), extensions=extensions)

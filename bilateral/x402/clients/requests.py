"""The adapter for requests.

session = verifying_session(client, verifier)
response = session.get(url)
verification_of(response).is_verified
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, cast

import requests
import urllib3
from requests.adapters import HTTPAdapter
from x402 import x402ClientSync
from x402.http import x402HTTPClientSync
from x402.http.clients.requests import PaymentError, x402HTTPAdapter

from bilateral.x402.clients.answer_limits import (
    CHUNK,
    AnswerLimitError,
    AnswerLimits,
    AnswerTimeoutError,
    Meter,
    too_large,
    within,
)
from bilateral.x402.clients.outstanding import PaidCall, outstanding_payments
from bilateral.x402.clients.transports import payment_among, price_problem
from bilateral.x402.proof.bodies import decode_body
from bilateral.x402.proof.errors import BodyTooLargeError, LostAnswerError, UnsupportedBodyError
from bilateral.x402.proof.undelivered import LookUp, Pay, Reply, Resend, Step, Verify, purchase, run
from bilateral.x402.proof.verdicts import Verification
from bilateral.x402.proof.verifier import Verifier

_RESULT: Final = "bilateral_x402_verification"


def verifying_session(
    client: x402ClientSync,
    verifier: Verifier,
    session: requests.Session | None = None,
    *,
    limits: AnswerLimits | None = None,
) -> requests.Session:
    """Return a session that pays by the SDK's client and checks each proof.

    Args:
        client: The SDK's client, from `protect_client`.
        verifier: Checks the proofs.
        session: The session to change; by default a new one.
        limits: The limits for an answer; 32 MiB and two minutes by default. Every answer is read whole.
    """
    session = session or requests.Session()
    for prefix in ("https://", "http://"):
        session.mount(prefix, _Verifying(client, verifier, limits or AnswerLimits()))
    return session


def fetch_lost_answer(session: requests.Session, lost: LostAnswerError) -> requests.Response:
    """Fetch a lost answer by a session from `verifying_session`. See `LostAnswerError`."""
    return session.request(lost.method, lost.url, headers=lost.headers, data=lost.body)


def verification_of(response: requests.Response) -> Verification | None:
    """Return the verification of a response; None if nothing was paid for it."""
    return cast("Verification | None", getattr(response, _RESULT, None))


_SENT: Final[ContextVar[list[dict[str, str]] | None]] = ContextVar("bilateral_x402_sent", default=None)
"""The payments that were sent for the request of this context."""


class _Recording(HTTPAdapter):
    """Notes the payment that the SDK sends, and reads each answer within limits."""

    limits = AnswerLimits()

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request. Raise the SDK's `PaymentError` for a price that cannot be read strictly."""
        sent, payment = _SENT.get(), payment_among(request.headers)
        if sent is not None and payment:
            sent.append({name: str(value) for name, value in payment.items()})
        send = super().send
        try:
            response = within(
                self.limits, lambda: _read(send(request, *arguments, **options), self.limits), requests.Response.close
            )
        except AnswerTimeoutError as error:
            raise requests.ReadTimeout(str(error), request=request) from error
        except AnswerLimitError as error:
            raise requests.ConnectionError(str(error), request=request) from error
        problem = None if payment else price_problem(response.status_code, response.headers)
        if problem is not None:
            response.close()
            raise PaymentError(problem)
        return response


class _Paying(x402HTTPAdapter, _Recording):
    """The SDK's adapter, whose requests are noted."""

    def __init__(self, client: x402ClientSync, limits: AnswerLimits) -> None:
        super().__init__(_OneSignature(client))
        self.limits = limits

    def send_again(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request with its payment. The SDK would pay once more for a payment that is refused."""
        return _Recording.send(self, request, *arguments, **options)


class _OneSignature(x402HTTPClientSync):
    """Runs the hooks after a failed payment, and signs no other one for them: the failed one may still be settled."""

    def process_payment_result(self, *arguments: Any, **options: Any) -> Any:
        return replace(super().process_payment_result(*arguments, **options), recovered=False)


class _Verifying(HTTPAdapter):
    """Checks the proof of each paid answer."""

    def __init__(self, client: x402ClientSync, verifier: Verifier, limits: AnswerLimits) -> None:
        super().__init__()
        self._paying, self._verifier = _Paying(client, limits), verifier
        self._payments = outstanding_payments(client)

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, pay if it must be paid, and check the proof."""
        body, payment = _whole_body(request), payment_among(request.headers)
        headers = {str(name): str(value) for name, value in request.headers.items() if name not in payment}
        call = PaidCall(request.method or "", request.url or "", headers, body, payment)

        def perform(step: Step) -> Any:
            match step:
                case Pay(sent):
                    return self._pay(request, sent, *arguments, **options)
                case Resend(again):
                    copy = request.copy()
                    copy.method, copy.url, copied_headers, copy.body = again.parts
                    copy.headers = requests.structures.CaseInsensitiveDict(copied_headers)
                    return _reply(self._paying.send_again(copy, *arguments, **options))
                case LookUp(message, seconds):
                    return self._verifier.find_settlement(message, seconds=seconds)
                case Verify(paid):
                    return self._verifier.verify(paid)

        reply, verification, _ = run(purchase(self._payments, call), perform)
        response = cast("requests.Response", reply.response)
        if verification is not None:
            setattr(response, _RESULT, verification)
        return response

    def _pay(
        self, request: requests.PreparedRequest, sent: list[dict[str, str]], *arguments: Any, **options: Any
    ) -> Reply:
        """Send a request, and once more with a payment if it must be paid."""
        token = _SENT.set(sent)
        try:
            return _reply(self._paying.send(request, *arguments, **options))
        finally:
            _SENT.reset(token)

    def close(self) -> None:
        self._paying.close()
        super().close()


def _reply(response: requests.Response) -> Reply:
    """Return an answer for the purchase. requests has decoded its body."""
    headers = {name.lower(): value for name, value in response.headers.items() if name.lower() != "content-encoding"}
    return Reply(response.status_code, headers, response.content, response)


def _read(response: requests.Response, limits: AnswerLimits) -> requests.Response:
    """Read the whole body of an answer. A damaged body stays as it was sent."""
    meter = Meter(limits)
    try:
        raw = b"".join(meter.count(piece) for piece in response.raw.stream(CHUNK, decode_content=False))
        decoded = decode_body(raw, response.headers.get("content-encoding", ""), limits.bytes)
    except BodyTooLargeError:
        raise too_large(limits) from None
    except UnsupportedBodyError:
        decoded = raw
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error, request=response.request) from error
    finally:
        response.close()
    # The library has no other way to give an answer its body.
    response._content, response._content_consumed = decoded, True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def _whole_body(request: requests.PreparedRequest) -> bytes:
    """Return a request's body. A file or an iterator is read into the request: it may have to be sent again."""
    body: Any = request.body or b""
    if isinstance(body, (bytes, bytearray, str)):
        return body.encode() if isinstance(body, str) else bytes(body)
    pieces = [body.read()] if hasattr(body, "read") else body
    whole = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    request.headers.pop("Transfer-Encoding", None)
    request.body = whole
    request.prepare_content_length(whole)
    request._body_position = None  # type: ignore[attr-defined]  # noqa: SLF001  # a redirection must not rewind the file
    return whole

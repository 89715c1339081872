"""The adapter for Requests, the HTTP library.

Example:
    response = verifying_session(client, verifier).get(url)
    verification_of(response).is_verified
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import requests
import urllib3
from requests.adapters import HTTPAdapter
from x402 import x402ClientSync
from x402.http.clients.requests import PaymentError

from bilateral.x402.clients import answer_limits
from bilateral.x402.clients.purchase import Payer, Reply, json_of, make, purchase
from bilateral.x402.clients.transports import PaidCall, payment_among
from bilateral.x402.proof.errors import BodyTooLargeError, LostAnswerError, UnsupportedBodyError
from bilateral.x402.proof.fields import decode_body
from bilateral.x402.proof.verdicts import Verification
from bilateral.x402.proof.verifier import Verifier

_RESULT: Final = "bilateral_x402_verification"


def verifying_session(
    client: x402ClientSync,
    verifier: Verifier,
    session: requests.Session | None = None,
    *,
    limits: answer_limits.AnswerLimits | None = None,
) -> requests.Session:
    """Return a session that pays through the SDK client and checks each proof.

    Args:
        client: The SDK client returned by `protect_client`.
        verifier: Checks the proofs.
        session: The session to change; by default a new one.
        limits: Limits for each answer; by default 32 MiB and two minutes. Each answer is read in full.
    """
    session = session or requests.Session()
    for prefix in ("https://", "http://"):
        session.mount(prefix, _Verifying(Payer(client, verifier, PaymentError), limits or answer_limits.AnswerLimits()))
    return session


def fetch_lost_answer(session: requests.Session, lost: LostAnswerError) -> requests.Response:
    """Fetch a lost answer with a session from `verifying_session`. See `LostAnswerError`."""
    return session.request(lost.method, lost.url, headers=lost.headers, data=lost.body)


def verification_of(response: requests.Response) -> Verification | None:
    """Return a response's verification, or None if nothing was paid for it."""
    return cast("Verification | None", getattr(response, _RESULT, None))


class _Verifying(HTTPAdapter):
    """Pays, reads each answer within limits, and checks the proof of each paid answer."""

    def __init__(self, payer: Payer, limits: answer_limits.AnswerLimits) -> None:
        super().__init__()
        self._payer, self._limits = payer, limits

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, pay if payment is required, and check the proof."""
        send, limits = super().send, self._limits

        def bounded(sent: requests.PreparedRequest) -> requests.Response:
            try:
                read = lambda: _read(send(sent, *arguments, **options), limits)  # noqa: E731
                return answer_limits.within(limits, read, requests.Response.close)
            except answer_limits.AnswerTimeoutError as error:
                raise requests.ReadTimeout(str(error), request=sent) from error
            except answer_limits.AnswerLimitError as error:
                raise requests.ConnectionError(str(error), request=sent) from error

        body, payment = _whole_body(request), payment_among(request.headers)
        headers = {str(name): str(value) for name, value in request.headers.items() if name not in payment}
        call = PaidCall(request.method or "", request.url or "", headers, body, payment)
        reply, verification, _ = make(purchase(self._payer, _Wire(request, bounded), call))
        response = cast("requests.Response", reply.response)
        if verification is not None:
            setattr(response, _RESULT, verification)
        return response


class _Wire:
    """One request. Its responses have already been read."""

    def __init__(
        self, request: requests.PreparedRequest, handle: Callable[[requests.PreparedRequest], requests.Response]
    ) -> None:
        self._request, self._handle = request, handle

    def send(self, headers: Mapping[str, str]) -> requests.Response:
        if not headers:
            return self._handle(self._request)
        request = self._request.copy()
        request.headers.update(headers)
        request.headers["Access-Control-Expose-Headers"] = "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE"
        return self._handle(request)

    def resend(self, call: PaidCall) -> requests.Response:
        request = self._request.copy()
        request.method, request.url, headers, request.body = call.parts
        request.headers = requests.structures.CaseInsensitiveDict(headers)
        return self._handle(request)

    def read(self, response: requests.Response) -> Reply:
        names = {name.lower(): value for name, value in response.headers.items()}
        headers = {name: value for name, value in names.items() if name != "content-encoding"}  # the body is decoded
        return Reply(response.status_code, headers, response.content, response)

    def json(self, response: requests.Response) -> Any:
        return json_of(response)

    def close(self, response: requests.Response) -> None:
        response.close()


def _read(response: requests.Response, limits: answer_limits.AnswerLimits) -> requests.Response:
    """Read the whole body of an answer. A body that cannot be decoded is left unchanged."""
    meter = answer_limits.Meter(limits)
    try:
        raw = b"".join(meter.count(piece) for piece in response.raw.stream(answer_limits.CHUNK, decode_content=False))
        decoded = decode_body(raw, response.headers.get("content-encoding", ""), limits.bytes)
    except BodyTooLargeError:
        raise answer_limits.too_large(limits) from None
    except UnsupportedBodyError:
        decoded = raw
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error, request=response.request) from error
    finally:
        response.close()
    # The library has no public way to set a response's body.
    response._content, response._content_consumed = decoded, True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def _whole_body(request: requests.PreparedRequest) -> bytes:
    """Return a request's body. Files and iterators are read into memory, because the request may be sent again."""
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

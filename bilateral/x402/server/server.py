"""The server side: declares the extension, checks that a proof can be made before money moves, and signs the proof.

    from x402 import x402ResourceServer
    from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation, key_from_environment

    server = x402ResourceServer(facilitator)
    server.register_extension(Reputation8004ResourceServerExtension(key_from_environment("BILATERAL_X402_KEY")))
    routes = {"GET /weather": RouteConfig(..., extensions=declare_8004_reputation(42, deployment))}

The SDK swallows exceptions from hooks. The hooks that run before verification and settlement therefore reject anything
that could not be signed, and later hooks, which run after the client has paid, never raise.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from x402 import schemas
from x402.schemas import AbortResult, SettleContext, SettleResultContext, VerifyContext, VerifyResponse
from x402.schemas.hooks import RecoveredSettleResult, SkipSettleResult, SkipVerifyResult

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.payments import PaymentKind
from bilateral.x402.proof.answers import PaidAnswer
from bilateral.x402.proof.blind import BlindSealer
from bilateral.x402.proof.errors import BodyTooLargeError, InvalidKeyError, InvalidMessageError, TooManyPaymentsError
from bilateral.x402.proof.fields import MAX_BODY, optional_uri
from bilateral.x402.proof.keys import InteractionKey, RemoteKey
from bilateral.x402.proof.payments import payer_of
from bilateral.x402.proof.profiles import PROFILE_DRAFT, PROFILES
from bilateral.x402.proof.types import ClientAgent
from bilateral.x402.proof.verifier import Verifier
from bilateral.x402.server.exchange import CURRENT, Exchange, Reservations, exchange_of, is_tool_call, payment_key
from bilateral.x402.server.failures import FailedSettlements
from bilateral.x402.server.payment_checks import (
    PERMIT2_KINDS,
    check_nonce,
    find_settlement,
    is_free,
    payment_kind,
    payment_problem,
    settlement,
    settlement_on_chain,
    settlement_problem,
)
from bilateral.x402.server.signing import AnswerSigner

logger: logging.Logger = logging.getLogger("bilateral.x402")

T = TypeVar("T")

BEFORE_HANDLER: Final = "before-handler"
SETTLEMENT_PENDING: Final = "settlement_pending"


class Reputation8004ResourceServerExtension(AnswerSigner):
    """The extension to pass to `x402ResourceServer.register_extension`, also for the synchronous server.

    Args:
        key: The key that signs the interactions. The agent's registration file must list the corresponding public key.
            An ASGI server waits for a remote key in a thread, except during the checks before a payment.
        on_unsigned: Called with the problem when a paid answer is sent without a signature, so that you can raise an
            alarm.
        recheck_seconds: How many seconds a key that passed the check is assumed to work.
        reservations: Keeps track of the authorizations in use; by default in memory.
        limit: The maximum size of an MCP tool call or its result in bytes of canonical JSON. HTTP adapters have their
            own limits.
        blind: Seals ratings of clients, for routes that declare `blind`. If sealing fails, the answer is sent without
            the envelope.
        verifier: Looks up payments whose settlement failed, if the facilitator cannot report their outcome. The default
            is the verifier of the middleware's `Preflight`.
        failures: Counts the settlements that fail after the application has run; by default in memory.

    Raises:
        InvalidKeyError: The key failed to sign.
    """

    dynamic_info_fields: list[str] | None = [  # noqa: RUF012
        *("version", "registrations", "endpoint", "feedbackAggregator", "blind", "freeAnswers")
    ]
    """Fields that a client need not echo: the client verifies them on chain, and the server does not need them back."""

    transport_hooks = None

    def __init__(  # noqa: PLR0913  # settings, all but one with a default
        self,
        key: InteractionKey,
        *,
        on_unsigned: Callable[[str], None] | None = None,
        recheck_seconds: float = 10.0,
        reservations: Reservations | None = None,
        limit: int = MAX_BODY,
        blind: BlindSealer | None = None,
        verifier: Verifier | None = None,
        failures: FailedSettlements | None = None,
    ) -> None:
        self.verifier, self._limit = verifier, limit
        self._failures = FailedSettlements() if failures is None else failures
        self._reservations = reservations or Reservations()
        super().__init__(key, on_unsigned, recheck_seconds, blind)

    @property
    def hooks(self) -> Any:
        """The payment lifecycle hooks: this object. The type is `Any`, because the SDK's types lack `AbortResult`."""
        return self

    def enrich_declaration(self, declaration: Any, transport_context: Any) -> Any:  # noqa: ARG002  # the SDK's names
        """Return the declaration unchanged, because it is the same for every request."""
        return declaration

    def enrich_payment_required_response(self, declaration: Any, context: Any) -> None:
        """Leave the 402 response unchanged."""

    def on_before_verify(
        self, declaration: Any, context: VerifyContext
    ) -> AbortResult | SkipVerifyResult | Awaitable[AbortResult | None] | None:
        """Reject a payment whose answer could not be signed, before anything is verified.

        The nonces of Permit2 payments are looked up, because facilitators do not check them. The exception is a payment
        whose answer is still waiting for settlement: it was verified earlier, and its nonce may have been used since.
        """
        problem = self._problem(declaration, context)
        if problem is not None:
            return AbortResult(problem)
        if _unsettled(context) is not None:
            return SkipVerifyResult(VerifyResponse(is_valid=True, payer=payer_of(context.payment_payload.payload)))
        if self.verifier is None or payment_kind(context) not in PERMIT2_KINDS:
            return None
        return _off_loop(context, partial(check_nonce, self.verifier, context))

    def on_after_verify(self, _declaration: Any, context: schemas.VerifyResultContext) -> AbortResult | None:
        """Reserve a verified authorization, so that it pays for only one run of the application."""
        if not context.result.is_valid:
            return None
        exchange = _http_exchange(context)
        if exchange is not None and exchange.unsettled is not None:
            exchange.is_paid = True
            return None
        try:
            is_reserved = self._reservations.take(_payment_key(context), context.payment_payload)
        except TooManyPaymentsError as error:
            logger.error("payment refused: %s", error)  # noqa: TRY400  # no fault of the program
            return AbortResult(error.reason, str(error))
        except BilateralError:
            logger.exception("the store of reservations failed: refusing payments")
            return AbortResult("reservations_unavailable", "the service cannot take payments now: try again later")
        if not is_reserved:
            return AbortResult("payment_in_progress", "another request uses this authorization: sign a new one")
        if exchange is not None:
            exchange.is_paid = True
            exchange.abandonments.append(lambda: self._end(context, is_settled=True))
        return None

    def on_verified_payment_canceled(self, _declaration: Any, context: schemas.VerifiedPaymentCanceledContext) -> None:
        """Release the authorization of a request that failed and for which nothing was settled."""
        if not context.settled_phases:
            self._end(context, is_settled=False)

    def on_before_settle(
        self, _declaration: Any, context: SettleContext
    ) -> AbortResult | SkipSettleResult | Awaitable[SkipSettleResult | None] | None:
        """Refuse to settle an amount that was not agreed, or a payment whose answer cannot be signed.

        An answer cannot be signed if its bytes were not captured or have no canonical form. If settlement failed
        earlier, the chain is read first, because the payment may have been settled since.
        """
        if context.phase == BEFORE_HANDLER:
            is_tool = is_tool_call(context.transport_context)
            return AbortResult("settlement_before_tool_call") if is_tool else None
        exchange, problem = None, "response_not_signable"
        try:
            exchange = exchange_of(context.transport_context, self._limit)
        except BodyTooLargeError:
            problem = "response_too_large"
        except InvalidArgumentError:
            pass
        if exchange is not None and (exchange.response is not None or exchange.settlement is not None):
            problem = settlement_problem(context, self._reservations.pending_amount(_payment_key(context)))
        if exchange is None or problem:
            logger.error("the settlement of %s is refused: %s", context.requirements, problem)
            self._end(context, is_settled=True)
            self._failures.note(context, _payment_key(context), problem)
            return AbortResult(problem)
        if is_free(context):
            return settlement(context, "", "0")
        if exchange.unsettled is None or self.verifier is None:
            exchange.is_unsettled = True  # no hook is called after an exception in the facilitator
            return None
        return _off_loop(context, partial(settlement_on_chain, self.verifier, context))

    def on_settle_failure(
        self, _declaration: Any, context: schemas.SettleFailureContext
    ) -> RecoveredSettleResult | Awaitable[RecoveredSettleResult | None] | None:
        """Release the authorization of a payment that was definitely not settled.

        After an exception, or while a transaction is pending, the payment may still be settled. A Permit2 payment with
        the scheme `exact` that the facilitator could not settle may have been settled as well, because anyone can
        settle it.
        """
        if _unsettled(context) is not None:
            return None
        if type(context.error) is not Exception or SETTLEMENT_PENDING in str(context.error):
            self._reservations.set_pending(_payment_key(context), getattr(context.requirements, "amount", ""))
            self._end(context, is_settled=True)
            return None
        if payment_kind(context) is PaymentKind.PERMIT2_EXACT:
            return _off_loop(context, partial(self._recover, context))
        self._fail(context, is_paid=False)
        return None

    def _recover(self, context: schemas.SettleFailureContext) -> RecoveredSettleResult | None:
        """Return a settlement that someone else made, but only once. Without one, release an unused authorization."""
        exchange, verifier, settled = CURRENT.get(), self.verifier, None
        is_paid = None if verifier is None else find_settlement(verifier, context).is_paid
        # Other processes may run the application for the same payment, unless all reserve it in one place.
        is_exclusive = self._reservations.is_shared and context.phase != BEFORE_HANDLER
        if verifier is not None and is_paid is not False and is_exclusive and getattr(exchange, "is_unused", False):
            settled = settlement_on_chain(verifier, context)
        self._fail(context, is_paid=is_paid if settled is None else True)
        return None if settled is None else RecoveredSettleResult(settled.result)

    def _fail(self, context: schemas.SettleFailureContext, *, is_paid: bool | None) -> None:
        self._end(context, is_settled=is_paid is not False)
        if not is_paid:
            self._failures.note(context, _payment_key(context), str(context.error), self.verifier)
        exchange = CURRENT.get()
        if exchange is not None:
            exchange.is_unsettled = False

    def enrich_settlement_response(
        self, declaration: Any, context: SettleResultContext
    ) -> dict[str, Any] | Awaitable[dict[str, Any] | None] | None:
        """Sign the interaction ("Signature Protocol"). If the application has not run yet, the adapter signs later."""
        self._end(context, is_settled=True)
        self._failures.settled(_payment_key(context))
        try:
            exchange = exchange_of(context.transport_context, self._limit)
            if exchange is None:
                raise InvalidArgumentError("no adapter recorded the bodies")  # noqa: TRY301  # counted below
            if is_free(context):
                exchange.is_free = True
                return None
            exchange.is_settled = bool(context.result.transaction)
            if context.phase == BEFORE_HANDLER:
                exchange.settlement, exchange.is_paid = context.result, True
                exchange.declarations[self.key] = declaration
                return None
            is_slow = exchange.is_large or isinstance(self._key, RemoteKey) or self._blind is not None
            if exchange.is_on_loop and is_slow:
                return asyncio.to_thread(self.sign_or_count, declaration, context.result, exchange)
        except Exception as error:  # noqa: BLE001  # the client has paid: nothing may keep the answer back
            self.count_unsigned(type(error).__name__)
            return None
        return self.sign_or_count(declaration, context.result, exchange)

    def _problem(self, declaration: Any, context: VerifyContext) -> str | None:
        payload, network, problem = context.payment_payload, str(context.requirements.network), None
        try:
            if code := payment_problem(context):
                problem = code
            elif exchange_of(context.transport_context, self._limit) is None:
                logger.error("no adapter of bilateral.x402 captures the bodies of this route: payments are refused")
                problem = "no_adapter"
            elif self.profile.info_of(declaration).registration_on(network) is None:
                problem = "no_agent_on_payment_network"
            else:
                claim_of(payload)
                self._check_key()
        except InvalidMessageError as error:
            problem = f"invalid_client_agent: {error.field}"
        except BodyTooLargeError as error:
            problem = error.reason
        except InvalidArgumentError:
            problem = "request_not_signable"
        except InvalidKeyError:
            logger.exception("the signing key does not work")
            problem = "signer_unavailable"
        return problem

    def _end(self, context: Any, *, is_settled: bool) -> None:
        """End a reservation. No error is raised, because the client may have paid."""
        end = self._reservations.settle if is_settled else self._reservations.release
        try:
            end(_payment_key(context), context.payment_payload)
        except BilateralError:
            logger.exception("the store of reservations failed: an authorization stays reserved until it expires")


class ReputationDraftResourceServerExtension(Reputation8004ResourceServerExtension):
    """The extension for the upstream draft `reputation`. It can be registered alone or together with `8004-reputation`.

    The draft may change until it is released.

    Args:
        key: As for `Reputation8004ResourceServerExtension`.
        feedback_endpoint: The URL of a service that accepts feedback. The statement includes it.
        **options: As for `Reputation8004ResourceServerExtension`.

    Raises:
        InvalidKeyError: The key failed to sign.
        InvalidMessageError: The URL is malformed.
    """

    profile = PROFILE_DRAFT

    def __init__(self, key: InteractionKey, *, feedback_endpoint: str | None = None, **options: Any) -> None:
        super().__init__(key, **options)
        self.feedback_endpoint = optional_uri({"feedbackEndpoint": feedback_endpoint}, "feedbackEndpoint")


def claim_of(payload: Any) -> ClientAgent | None:
    """Return the agent that a client claims to be, in either profile, or None.

    Args:
        payload: The payment payload.

    Raises:
        InvalidMessageError: A field is missing or invalid.
    """
    extensions = getattr(payload, "extensions", None) or {}
    claims = (ClientAgent.of(extensions.get(key)) for key in PROFILES)
    return next((claim for claim in claims if claim is not None), None)


def _off_loop(context: Any, work: Callable[[], T]) -> T | Awaitable[T]:
    """Run work that waits for a node. If an event loop serves the request, run it in a thread."""
    exchange = _http_exchange(context)
    return asyncio.to_thread(work) if exchange is not None and exchange.is_on_loop else work()


def _http_exchange(context: Any) -> Exchange | None:
    return None if is_tool_call(context.transport_context) else CURRENT.get()


def _unsettled(context: Any) -> PaidAnswer | None:
    return getattr(_http_exchange(context), "unsettled", None)


def _payment_key(context: Any) -> bytes:
    requirements = context.requirements
    return payment_key(str(requirements.network), requirements.asset, context.payment_payload.payload)

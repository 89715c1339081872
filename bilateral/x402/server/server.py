"""The server's side: declare the extension, check before money moves that the proof can be made, sign.

    from x402 import x402ResourceServer
    from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation, key_from_environment

    server = x402ResourceServer(facilitator)
    server.register_extension(Reputation8004ResourceServerExtension(key_from_environment("BILATERAL_X402_KEY")))
    routes = {"GET /weather": RouteConfig(..., extensions=declare_8004_reputation(42, deployment))}

The SDK swallows exceptions of hooks, and the client has paid by then. So the hooks before verification and settlement
refuse what could not be signed, and no hook after it raises.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from prometheus_client import Counter
from x402 import schemas
from x402.schemas import AbortResult, SettleContext, SettleResponse, SettleResultContext, VerifyContext, VerifyResponse
from x402.schemas.hooks import SkipSettleResult, SkipVerifyResult

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.identifiers import TransactionRef
from bilateral.x402.proof.answers import PaidAnswer
from bilateral.x402.proof.blind import BlindSealer
from bilateral.x402.proof.errors import BodyTooLargeError, InvalidKeyError, InvalidMessageError, TooManyPaymentsError
from bilateral.x402.proof.fields import MAX_BODY, optional_uri
from bilateral.x402.proof.keys import InteractionKey, RemoteKey, check_key
from bilateral.x402.proof.payments import is_ambiguous, payer_of, unsupported_kind
from bilateral.x402.proof.profiles import PROFILE_8004, PROFILE_DRAFT, PROFILES, Profile
from bilateral.x402.proof.types import X402_VERSION, AgentRegistration, ClientAgent, InteractionData, ReputationInfo
from bilateral.x402.proof.verifier import Verifier
from bilateral.x402.server.exchange import CURRENT, Exchange, Reservations, exchange_of, is_tool_call, payment_key
from bilateral.x402.server.failures import FailedSettlements

logger: logging.Logger = logging.getLogger("bilateral.x402")

SIGNED: Final = Counter("x402_signed_responses", "Paid answers that carry a signed proof", ["profile"])
UNSIGNED: Final = Counter("x402_unsigned_responses", "Paid answers that went out without a proof", ["profile"])

BEFORE_HANDLER: Final = "before-handler"
SETTLEMENT_PENDING: Final = "settlement_pending"
WITHOUT_TRANSACTIONS: Final = frozenset({"batch-settlement"})
"""Schemes whose payments have no transaction of their own, so that no task reference names one."""


class Reputation8004ResourceServerExtension:
    """The extension for `x402ResourceServer.register_extension`; also for the synchronous server.

    Args:
        key: Signs the interactions. Its public key belongs into the agent's registration file. An ASGI server waits
            for a remote key in a thread, but for its checks before payments.
        on_unsigned: Called with a problem when a paid answer goes out without a signature, to raise an alarm.
        recheck_seconds: The time for which a checked key counts as working.
        reservations: The authorizations in use; by default in memory.
        limit: The most bytes of an MCP tool call or its result, in canonical JSON. Adapters for HTTP have their own.
        blind: Seals ratings of clients, for routes that declare `blind`. A failure costs the client nothing but the
            envelope.
        verifier: Looks up payments whose settlement failed, if the facilitator cannot say how they ended. By default
            the verifier of the middleware's `Preflight`.
        failures: Counts the settlements that fail after the application has run; by default in memory.

    Raises:
        InvalidKeyError: The key does not sign.
    """

    dynamic_info_fields: list[str] | None = ["version", "registrations", "endpoint", "feedbackAggregator", "blind"]  # noqa: RUF012
    """Fields that a client need not echo. It verifies them on chain, so the server never needs its own words back."""

    transport_hooks = None

    profile: Profile = PROFILE_8004
    """The form of the messages."""

    feedback_endpoint: str | None = None

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
        self._blind, self.verifier = blind, verifier
        self._failures = FailedSettlements() if failures is None else failures
        self._key, self._on_unsigned, self._recheck, self._limit = key, on_unsigned, recheck_seconds, limit
        self._reservations = reservations or Reservations()
        self._working_until = float("-inf")
        self.signed_responses = self.unsigned_responses = 0
        for counter in (SIGNED, UNSIGNED):
            counter.labels(self.key)  # shown from the start, as 0
        self._check_key()

    @property
    def key(self) -> str:
        """The extension's key in messages."""
        return self.profile.key

    @property
    def public_key(self) -> str:
        """The public key for the agent's registration file."""
        return self._key.public_key

    @property
    def hooks(self) -> Any:
        """The hooks of the payment's life, which are this object's methods. The SDK's types know no `AbortResult`."""
        return self

    def enrich_declaration(self, declaration: Any, transport_context: Any) -> Any:  # noqa: ARG002  # the SDK's names
        """Return the declaration unchanged: it is the same for each request."""
        return declaration

    def enrich_payment_required_response(self, declaration: Any, context: Any) -> None:
        """Leave the 402 response as it is."""

    def on_before_verify(self, declaration: Any, context: VerifyContext) -> AbortResult | SkipVerifyResult | None:
        """Refuse a payment whose answer could not be signed, before anything is verified.

        A payment with an answer that waits for its settlement was verified before. Its nonce may be used by now.
        """
        problem = self._problem(declaration, context)
        if problem is not None:
            return AbortResult(problem)
        if _unsettled(context) is None:
            return None
        return SkipVerifyResult(VerifyResponse(is_valid=True, payer=payer_of(context.payment_payload.payload)))

    def on_after_verify(self, _declaration: Any, context: schemas.VerifyResultContext) -> AbortResult | None:
        """Reserve a verified authorization, so that it pays for one run of the application."""
        if not context.result.is_valid:
            return None
        exchange = None if is_tool_call(context.transport_context) else exchange_of(None, self._limit)
        if exchange is not None and exchange.unsettled is not None:
            exchange.is_paid = True
            return None
        try:
            is_reserved = self._reservations.take(_payment_key(context), context.payment_payload)
        except TooManyPaymentsError as error:
            logger.error("a payment is refused: %s", error)  # noqa: TRY400  # no fault of the program
            return AbortResult(error.reason, str(error))
        except BilateralError:
            logger.exception("the store of reservations fails: payments are refused")
            return AbortResult("reservations_unavailable", "the service cannot take payments now")
        if not is_reserved:
            return AbortResult("payment_in_progress", "this authorization pays for another request")
        if exchange is not None:
            exchange.is_paid = True
            exchange.abandonments.append(lambda: self._end(context, is_settled=True))
        return None

    def on_verified_payment_canceled(self, _declaration: Any, context: schemas.VerifiedPaymentCanceledContext) -> None:
        """Release the authorization of a request that failed. Nothing was settled."""
        if not context.settled_phases:
            self._end(context, is_settled=False)

    def on_before_settle(
        self, _declaration: Any, context: SettleContext
    ) -> AbortResult | SkipSettleResult | Awaitable[SkipSettleResult | None] | None:
        """Refuse to settle if the answer cannot be signed: its bytes were not captured, or have no canonical form.

        A payment whose settlement failed before may have been settled meanwhile, which the chain shows.
        """
        if context.phase == BEFORE_HANDLER:
            is_tool = is_tool_call(context.transport_context)
            return AbortResult("settlement_before_tool_call") if is_tool else None
        try:
            exchange = exchange_of(context.transport_context, self._limit)
        except BodyTooLargeError:
            return AbortResult("response_too_large")
        except InvalidArgumentError:
            exchange = None
        if exchange is None or (exchange.response is None and exchange.settlement is None):
            return AbortResult("response_not_signable")
        if exchange.unsettled is None or self.verifier is None:
            exchange.is_unsettled = True  # an exception of the facilitator reaches no hook
            return None
        look_up = partial(_settlement_on_chain, self.verifier, context)
        return asyncio.to_thread(look_up) if exchange.is_on_loop else look_up()

    def on_settle_failure(self, _declaration: Any, context: schemas.SettleFailureContext) -> None:
        """Release the authorization of a payment that certainly was not settled.

        After an exception, or while a transaction is pending, the payment may still be settled.
        """
        if _unsettled(context) is not None:
            return
        if type(context.error) is Exception and SETTLEMENT_PENDING not in str(context.error):
            self._end(context, is_settled=False)
            self._failures.note(context, _payment_key(context), self.verifier)
            exchange = CURRENT.get()
            if exchange is not None:
                exchange.is_unsettled = False
        else:
            self._end(context, is_settled=True)

    def enrich_settlement_response(
        self, declaration: Any, context: SettleResultContext
    ) -> dict[str, Any] | Awaitable[dict[str, Any] | None] | None:
        """Sign the interaction ("Signature Protocol"). If the settlement came first, the adapter signs later."""
        self._end(context, is_settled=True)
        self._failures.settled(_payment_key(context))
        try:
            exchange = exchange_of(context.transport_context, self._limit)
            if exchange is None:
                raise InvalidArgumentError("no adapter captured the bodies")  # noqa: TRY301  # counted below
            exchange.is_settled = True
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

    def sign_or_count(self, declaration: Any, settlement: SettleResponse, exchange: Exchange) -> dict[str, Any] | None:
        """Sign a settled exchange. A failure is counted."""
        try:
            return self.sign(declaration, settlement, exchange)
        except Exception as error:  # noqa: BLE001  # the client has paid: nothing may keep the answer back
            self.count_unsigned(type(error).__name__)
            return None

    def sign(self, declaration: Any, settlement: SettleResponse, exchange: Exchange) -> dict[str, Any]:
        """Sign a settled exchange.

        Args:
            declaration: The declaration that the client got.
            exchange: The exchange, with both bodies.

        Returns:
            The statement as a JSON object.

        Raises:
            InvalidArgumentError: The exchange has no response, or the declaration no agent on the payment's network.
            InvalidKeyError: The key does not sign.
        """
        network = str(settlement.network)
        info = self.profile.info_of(declaration)
        registration = info.registration_on(network)
        if registration is None or exchange.response is None:
            raise InvalidArgumentError("there is no agent on the payment's network, or no response")
        task_ref = f"{network}:{settlement.transaction}"
        TransactionRef.parse(task_ref)
        hashes = self.profile.hashes(task_ref, exchange.request, exchange.target, exchange.response)
        statement = InteractionData(
            network=registration.chain,
            agent_id=registration.agent.agent,
            task_ref=task_ref,
            interaction_hash=hashes.interaction,
            signature=self._key.sign(hashes.interaction),
            timestamp=int(time.time()),
            agent_registry=registration.agent.registry,
            data_hash=hashes.data,
            public_key=bytes.fromhex(self._key.public_key),
            algorithm=self._key.algorithm,
            feedback_endpoint=self.feedback_endpoint,
            sealed_rating=self._sealed_rating(info, registration, settlement),
        )
        written = self.profile.statement_object(statement)
        exchange.is_signed = True
        self.signed_responses += 1
        SIGNED.labels(self.key).inc()
        return written

    def _sealed_rating(
        self, info: ReputationInfo, registration: AgentRegistration, settlement: SettleResponse
    ) -> dict[str, Any] | None:
        """Return the envelope of a blind rating; None if none is due. A failure is logged: the client has paid."""
        if self._blind is None or info.blind is None or not settlement.payer:
            return None
        try:
            return self._blind.envelope(info.blind, registration, settlement.payer, settlement.transaction)
        except Exception:
            logger.exception("a paid response has no envelope for a blind rating")
            return None

    def count_unsigned(self, problem: str) -> None:
        """Count, log and report a paid answer that goes out without a signature."""
        self.unsigned_responses += 1
        UNSIGNED.labels(self.key).inc()
        self._working_until = float("-inf")
        logger.error("a paid response has no signature: %s", problem)
        if self._on_unsigned is not None:
            try:
                self._on_unsigned(problem)
            except Exception:
                logger.exception("the alarm for unsigned responses failed")

    def _check_key(self) -> None:
        if time.monotonic() >= self._working_until:
            check_key(self._key)
            self._working_until = time.monotonic() + self._recheck

    def _problem(self, declaration: Any, context: VerifyContext) -> str | None:
        payload, terms = context.payment_payload, context.requirements
        network, problem = str(terms.network), None
        kind = unsupported_kind(terms.scheme, network, terms.extra, payload.payload)
        kind = "scheme_without_transaction" if terms.scheme in WITHOUT_TRANSACTIONS else kind
        try:
            if payload.x402_version != X402_VERSION:
                problem = "unsupported_x402_version"
            elif is_ambiguous(payload.payload, network):
                problem = "ambiguous_payment"
            elif kind:
                problem = kind
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
        """End a reservation. It raises nothing, because the client may have paid."""
        end = self._reservations.settle if is_settled else self._reservations.release
        try:
            end(_payment_key(context), context.payment_payload)
        except BilateralError:
            logger.exception("the store of reservations fails: an authorization stays in progress until its time ends")


class ReputationDraftResourceServerExtension(Reputation8004ResourceServerExtension):
    """The extension for the upstream draft `reputation`. Register it beside the other one, or alone.

    The draft may change until it is released.

    Args:
        key: As `Reputation8004ResourceServerExtension`.
        feedback_endpoint: The URL of a service that takes feedback, for the statement.
        **options: As `Reputation8004ResourceServerExtension`.

    Raises:
        InvalidKeyError: The key does not sign.
        InvalidMessageError: The URL is malformed.
    """

    profile = PROFILE_DRAFT

    def __init__(self, key: InteractionKey, *, feedback_endpoint: str | None = None, **options: Any) -> None:
        super().__init__(key, **options)
        self.feedback_endpoint = optional_uri({"feedbackEndpoint": feedback_endpoint}, "feedbackEndpoint")


def claim_of(payload: Any) -> ClientAgent | None:
    """Return the agent that a client claims to be, in either profile; None if it claims none.

    Args:
        payload: The payment payload.

    Raises:
        InvalidMessageError: A field is missing or invalid.
    """
    extensions = getattr(payload, "extensions", None) or {}
    claims = (ClientAgent.of(extensions.get(key)) for key in PROFILES)
    return next((claim for claim in claims if claim is not None), None)


def _settlement_on_chain(verifier: Verifier, context: SettleContext) -> SkipSettleResult | None:
    terms, payload = context.requirements, context.payment_payload.payload
    accepted = terms.model_dump(mode="json", by_alias=True)
    transaction = verifier.find_settling_transaction({"accepted": accepted, "payload": payload})
    if transaction is None:
        return None
    settled = SettleResponse(success=True, transaction=transaction, network=str(terms.network), payer=payer_of(payload))
    return SkipSettleResult(settled)


def _unsettled(context: Any) -> PaidAnswer | None:
    exchange = None if is_tool_call(context.transport_context) else CURRENT.get()
    return None if exchange is None else exchange.unsettled


def _payment_key(context: Any) -> bytes:
    requirements = context.requirements
    return payment_key(str(requirements.network), requirements.asset, context.payment_payload.payload)

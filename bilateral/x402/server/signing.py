"""Signatures on paid answers: each settled exchange is either signed or counted as unsigned."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import Counter
from x402.schemas import SettleResponse

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import TransactionRef
from bilateral.x402.proof.blind import BlindSealer
from bilateral.x402.proof.keys import InteractionKey, check_key
from bilateral.x402.proof.profiles import PROFILE_8004, Profile
from bilateral.x402.proof.types import AgentRegistration, InteractionData, ReputationInfo
from bilateral.x402.server.exchange import Exchange

logger = logging.getLogger("bilateral.x402")

SIGNED: Final = Counter("x402_signed_responses", "Paid answers with a signed proof", ["profile"])
UNSIGNED: Final = Counter("x402_unsigned_responses", "Paid answers sent without a proof", ["profile"])


class AnswerSigner:
    """Signs paid answers with an agent's key."""

    profile: Profile = PROFILE_8004
    """The profile, which determines the format of the messages."""

    feedback_endpoint: str | None = None

    def __init__(
        self,
        key: InteractionKey,
        on_unsigned: Callable[[str], None] | None,
        recheck_seconds: float,
        blind: BlindSealer | None,
    ) -> None:
        self._key, self._on_unsigned, self._recheck, self._blind = key, on_unsigned, recheck_seconds, blind
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

    def sign_or_count(self, declaration: Any, settlement: SettleResponse, exchange: Exchange) -> dict[str, Any] | None:
        """Sign a settled exchange, or count its answer as unsigned if signing fails."""
        try:
            return self.sign(declaration, settlement, exchange)
        except Exception as error:  # noqa: BLE001  # the client has paid: nothing may keep the answer back
            self.count_unsigned(type(error).__name__)
            return None

    def sign(self, declaration: Any, settlement: SettleResponse, exchange: Exchange) -> dict[str, Any]:
        """Sign a settled exchange.

        Args:
            declaration: The declaration that the client received.
            exchange: The exchange, with both bodies.

        Returns:
            The statement as a JSON object.

        Raises:
            InvalidArgumentError: The settlement has no transaction, the exchange has no response, or the declaration
                has no agent on the payment's network.
            InvalidKeyError: The key failed to sign.
        """
        network = str(settlement.network)
        info = self.profile.info_of(declaration)
        registration = info.registration_on(network)
        if registration is None or exchange.response is None:
            raise InvalidArgumentError("no agent is on the payment's network, or there is no response to sign")
        if not settlement.transaction:
            raise InvalidArgumentError("the settlement contains no transaction, so there is nothing to sign")
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
        """Return the envelope of a blind rating, or None if none is due. Failures are only logged."""
        if self._blind is None or info.blind is None or not settlement.payer:
            return None
        try:
            return self._blind.envelope(info.blind, registration, settlement.payer, settlement.transaction)
        except Exception:
            logger.exception("a paid response has no envelope for a blind rating")
            return None

    def count_unsigned(self, problem: str) -> None:
        """Count, log and report a paid answer that is sent without a signature."""
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

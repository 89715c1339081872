"""Blind ratings in paid requests: the server's sealed rating (envelope) in the answer, and the client's check of it.

The server seals its rating before it knows whether the client is satisfied, so it cannot restrict the exchange of
ratings to satisfied clients.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from bilateral.client import Client
from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations import blind
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.signatures.blind_messages import SignedEnvelope
from bilateral.core.signatures.blind_ratings import RatingState, SealedRating
from bilateral.core.text import printable
from bilateral.node.steps import Operation
from bilateral.x402.proof.readers import RegistryReader
from bilateral.x402.proof.types import AgentRegistration, BlindTerms, InteractionData, ReputationInfo
from bilateral.x402.proof.verdicts import EnvelopeCheck, Outcome, Payment

_MOST_BYTES: Final = 16_384
"""The maximum envelope size in bytes. Most envelopes need about 800, but a contract's signature may be long."""


class BlindSealer:
    """Seals a server's ratings of its clients (planned for the second version of EIP-8004a). Threads may share it.

    Args:
        client: The server's SDK client. The primary agent of the client's signer gives the ratings.
        vault: Stores the openings of the server's ratings, and counts each client's paid interactions.
        rate: Given a client's account and the payment's transaction, returns the client's rating from 0 to 100, or None
            if the client should not be rated yet.
    """

    def __init__(self, client: Client, vault: BlindVault, rate: Callable[[str, str], int | None]) -> None:
        self._client, self._vault, self._rate = client, vault, rate

    def envelope(
        self, terms: BlindTerms, registration: AgentRegistration, payer: str, transaction: str
    ) -> dict[str, Any] | None:
        """Return the envelope for a paid interaction.

        Args:
            transaction: The settlement's transaction, which is the interaction's id.

        Returns:
            The envelope as a JSON object. None if nothing was paid (scheme `upto`), if the payer has no primary agent
            or has already been rated, or if the payer should not be rated yet.
        """
        if not transaction:
            return None
        interaction = bytes.fromhex(transaction.removeprefix("0x"))
        if self._vault.count_interaction(registration.agent.registry, payer, interaction) < terms.after:
            return None
        client_id = self._client.runner.run(blind.speaks_as(self._client.state, payer))
        server = registration.agent.agent_id
        if client_id in (0, server.token_id):
            return None
        if self._client.get_blind_status(client_id, server).state is not RatingState.NONE:
            return None
        rating = self._rate(payer, transaction)
        if rating is None:
            return None
        signed = self._client.seal_rating(
            self._vault, client_id, rating, client=payer, interaction=interaction, lifetime=terms.lifetime
        )
        envelope: dict[str, Any] = json.loads(signed.to_json())
        return envelope


def check_envelope(
    reader: RegistryReader, info: ReputationInfo, statement: InteractionData | None, payment: Payment | None
) -> Operation[EnvelopeCheck | None]:
    """Check a paid answer's envelope: its format, sides, payment, deadline and signature."""
    terms, state = info.blind, getattr(reader, "state", None)
    if terms is None or state is None or statement is None or payment is None:
        return None
    value, registration = statement.sealed_rating, reader.trusted_registration(info)
    if value is None:
        # Only the server knows how many interactions it has counted, unless the first one is due.
        outcome = Outcome.FAILED if terms.after == 1 else Outcome.UNCHECKED
        return EnvelopeCheck(outcome, "the server declares blind ratings, but its answer has no envelope")
    try:
        signed = _read(value)
        transaction = statement.payment.transaction.removeprefix("0x").lower()
        _compare("server_id", signed.envelope.server_id, registration.agent.agent_id.token_id)
        _compare("client", signed.envelope.client, payment.payer)
        _compare("interaction", signed.envelope.interaction.hex(), transaction)
        yield from blind.verify(state, signed)
    except InvalidArgumentError as error:
        return EnvelopeCheck(Outcome.FAILED, printable(str(error)))
    except BilateralError as error:
        return EnvelopeCheck(Outcome.UNCHECKED, printable(f"{type(error).__name__}: {error}"))
    return EnvelopeCheck(Outcome.PASSED, envelope=signed)


def _compare(name: str, value: object, expected: object) -> None:
    if value != expected:
        raise InvalidArgumentError(f"{name}: the envelope has {value}, but this payment has {expected}")


def _read(value: Any) -> SignedEnvelope:
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"sealedRating: expected an object, not {type(value).__name__}")
    text = json.dumps(value)
    if len(text) > _MOST_BYTES:
        raise InvalidArgumentError(f"sealedRating: {len(text)} bytes exceed the limit of {_MOST_BYTES}")
    signed = SignedEnvelope.from_json(text)
    if not isinstance(signed.envelope, SealedRating):
        raise InvalidArgumentError("sealedRating: expected a server's envelope, not a client's")
    return signed

"""The relay for blind ratings: collects both sides' envelopes (sealed ratings) and openings, and submits them together.

An opening reveals a sealed rating, and is secret until the relay sends it. Openings never appear in a response or a
log, and are deleted once both ratings are on chain or can no longer be submitted. A restart loses no progress, because
each pair's state can be read from the chain.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from sqlalchemy import Engine, Row, select, update

from bilateral.client import Client
from bilateral.client.operations import blind, registries
from bilateral.client.operations.blind import BlindStatus, pair_of
from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedDocumentError, SealMismatchError
from bilateral.core.identifiers import ChainId, GlobalAgentId
from bilateral.core.signatures.blind_messages import FeedbackOpening, Opening, SignedEnvelope, read_opening, require_fit
from bilateral.core.signatures.blind_ratings import Envelope, Pair, RatingState, SealedFeedback
from bilateral.core.text.encoding import decode_object
from bilateral.core.values import FeedbackValue
from bilateral.node.steps import Operation, Rpc
from bilateral.x402.aggregator.evidence import find_payments
from bilateral.x402.aggregator.messages import RelayedPair
from bilateral.x402.aggregator.records import cost_of, reading
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError, invalid
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.aggregator.tables import PairState, blind_pair
from bilateral.x402.proof import fields as read
from bilateral.x402.proof.errors import InvalidMessageError

_LEAST_SECONDS: Final = 60
"""The minimum remaining validity of an envelope, in seconds, because a transaction may not be mined immediately."""

_KEY: Final = ("client_id", "client", "server_id", "server", "interaction")
_NO_OPENINGS: Final = {"client_opening": None, "server_opening": None}
_OPENED: Final[dict[str, Any]] = {"state": PairState.OPENED, "problem": None, **_NO_OPENINGS}


MAX_BYTES: Final = 65_536
"""The maximum message size in bytes. Feedback texts and contract signatures may be long."""


@dataclass(frozen=True)
class BlindMessage:
    """One side's message in a pair of blind ratings: its envelope (sealed rating) and its opening.

    Attributes:
        network: The registry's chain.
        signed: The signed envelope.
    """

    network: ChainId
    signed: SignedEnvelope
    opening: Opening

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Parse a message from bytes."""
        if len(content) > MAX_BYTES:
            raise invalid("", f"{len(content)} bytes exceed the limit of {MAX_BYTES}")
        try:
            fields = decode_object(content)
            network = read.chain(fields, "network")
            parts = {name: json.dumps(read.record(fields.get(name), name)) for name in ("envelope", "opening")}
        except MalformedDocumentError as error:
            raise invalid("", f"the request is not a JSON object: {error}") from None
        except InvalidMessageError as error:
            raise FeedbackRefusedError.of_field(error) from None
        name = "envelope"
        try:
            signed = SignedEnvelope.from_json(parts[name])
            name = "opening"
            opening = read_opening(parts[name])
            require_fit(signed.envelope, opening)
        except (InvalidArgumentError, SealMismatchError) as error:
            raise invalid(name, str(error)) from None
        return cls(network, signed, opening)

    @property
    def side(self) -> str:
        """The side that sent the message: `client` or `server`."""
        return "client" if isinstance(self.signed.envelope, SealedFeedback) else "server"


class BlindRelay:
    """Relays blind ratings on one chain.

    Args:
        client: An SDK client for the chain, with the sponsor's signer. Only the worker uses it; requests use a separate
            client.
        charge: Called with each transaction's cost, in wei.
        clock: Returns the time, in Unix seconds.
    """

    def __init__(
        self,
        engine: Engine,
        chain: SponsoredChain,
        client: Client,
        *,
        charge: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine, self._chain, self._client, self._charge, self._clock = engine, chain, client, charge, clock

    def accept(self, message: BlindMessage) -> tuple[RelayedPair, bool]:
        """Check one side's message, and store it."""
        envelope, side = message.signed.envelope, message.side
        table, key = blind_pair, self._key(envelope)
        with reading(self._engine) as connection:
            row = connection.execute(select(table).where(*key)).one_or_none()
        if row is not None and _holds(row, side, envelope):  # the sender lost the response and sends again
            return public(row), False
        self._client.runner.run(self._check(message))
        values = {f"{side}_envelope": message.signed.to_json(), f"{side}_opening": message.opening.to_json()}
        with self._engine.begin() as connection:
            row = connection.execute(select(table).where(*key).with_for_update()).one_or_none()
            if row is None:
                identity = dict(zip(_KEY, envelope.common, strict=True))
                fixed = {"chain_id": self._chain.chain_id, "account": self._chain.account, "attempts": 0}
                now = {"next_at": self._clock(), "accepted_at": int(self._clock())}
                connection.execute(table.insert().values(**fixed, **identity, **now, **values, state=PairState.WAITING))
            elif _holds(row, side, envelope):
                return public(row), False
            else:
                change = update(table).where(*key, table.c.state == PairState.WAITING)
                connection.execute(change.values(**values, state=PairState.QUEUED, next_at=self._clock()))
            return public(connection.execute(select(table).where(*key)).one()), True

    def step(self, postpone: Callable[[int], float], budget_left: Callable[[], bool]) -> bool:
        """Process the pairs that are due, and send the transactions that their on-chain states require."""
        table = blind_pair
        mine = (table.c.chain_id == self._chain.chain_id, table.c.account == self._chain.account)
        is_open = table.c.state.in_([PairState.WAITING, PairState.QUEUED, PairState.SEALED])
        with reading(self._engine) as connection:
            rows = connection.execute(select(table).where(*mine, is_open, table.c.next_at <= self._clock())).all()
        for row in rows:
            try:
                changes = self._advance(row, budget_left)
            except BilateralError as failure:
                later = self._clock() + postpone(row.attempts)
                problem = f"{failure.reason}: it will be retried"
                changes = {"attempts": row.attempts + 1, "next_at": later, "problem": problem}
            with self._engine.begin() as connection:
                connection.execute(update(table).where(table.c.pair_id == row.pair_id).values(**changes))
        return bool(rows)

    def _advance(self, row: Row[Any], budget_left: Callable[[], bool]) -> dict[str, Any]:
        """Advance a pair according to its on-chain state, and return the changes to its database row."""
        signed = [SignedEnvelope.from_json(text) for text in (row.client_envelope, row.server_envelope) if text]
        if row.state == PairState.WAITING:
            is_expired = min(part.envelope.deadline for part in signed) < self._now()
            later = {"next_at": self._clock() + _LEAST_SECONDS}
            return _failed("the envelope expired before the other side sent its own") if is_expired else later
        pair, _ = pair_of(*signed)
        openings = [read_opening(text) for text in (row.client_opening, row.server_opening)]
        status = self._client.get_blind_status(pair.client_id, pair.server_id)
        if (verdict := self._verdict(pair, status, openings)) is not None:
            return verdict
        if not budget_left():
            return {"next_at": self._clock() + _LEAST_SECONDS, "problem": "today's budget is spent"}
        if status.state is RatingState.NONE and not self._chain.exchanges:
            self._send(self._client.seal_ratings(*signed))
            return {"state": PairState.SEALED, "problem": None, "next_at": self._clock()}
        if status.state is RatingState.NONE:
            self._send(self._client.exchange(signed, openings, accept_public_mempool=True))
            return _OPENED
        # Anyone who sees the openings in the mempool can open one side alone.
        openings = [opening for opening in openings if not _is_open(opening, status)]
        confirmations = self._chain.confirmations
        self._send(self._client.open_ratings(pair, openings, confirmations=confirmations, timeout=0))
        return _OPENED

    def _verdict(self, pair: Pair, status: BlindStatus, openings: Sequence[Opening]) -> dict[str, Any] | None:
        """Return the final changes to a pair's row, or None while work on the pair remains."""
        if status.state is RatingState.OPEN or status.pair_hash not in (0, pair.hash):
            return _failed("the server has already rated this client, or sealed a different pair")
        if status.state is RatingState.BLIND and status.pair_hash == 0:  # one transaction opened both ratings of a pair
            return _OPENED if self._has_feedback(pair, openings) else _failed("both sides opened a different pair")
        if status.state is RatingState.BLIND and status.is_feedback_open:
            return _OPENED
        if status.state is RatingState.NONE and min(pair.client_deadline, pair.server_deadline) < self._now():
            return _failed("an envelope has expired: create new ones")
        return None

    def _has_feedback(self, pair: Pair, openings: Sequence[Opening]) -> bool:
        entries = self._client.search_feedback(pair.server_id, reviewers=[pair.client], include_revoked=True)
        stored = {(entry.stored, entry.tag1, entry.tag2) for entry in entries}
        feedback = next(opening.feedback for opening in openings if isinstance(opening, FeedbackOpening))
        value = FeedbackValue(feedback.value, feedback.value_decimals)
        return (value, feedback.tag1, feedback.tag2) in stored

    def _send(self, handle: Any) -> None:
        handle.wait(confirmations=self._chain.confirmations)
        receipt = self._client.runner.run(_receipt(handle.hash))
        self._charge(cost_of(receipt))

    def _check(self, message: BlindMessage) -> Operation[None]:
        state, envelope = self._client.state, message.signed.envelope
        try:
            yield from blind.verify(state, message.signed)
        except InvalidArgumentError as error:
            raise invalid("envelope", str(error)) from None
        now = yield from registries.block_time()
        if envelope.deadline < int(now.timestamp()) + _LEAST_SECONDS:
            raise invalid("envelope.deadline", f"the envelope must remain valid for another {_LEAST_SECONDS} seconds")
        status = yield from blind.status(state, envelope.client_id, envelope.server_id)
        if status.state is not RatingState.NONE:
            problem = f"the server's rating of this client is {status.state.name.lower()} on chain"
            raise FeedbackRefusedError(Code.ALREADY_SEALED, problem)
        agent = GlobalAgentId(self._chain.deployment.agent_registry, str(envelope.server_id))
        yield from find_payments(state, self._chain, f"0x{envelope.interaction.hex()}", envelope.client, agent)

    def _now(self) -> int:
        return int(self._client.runner.run(registries.block_time()).timestamp())

    def _key(self, envelope: Envelope) -> list[Any]:
        identity = zip(_KEY, envelope.common, strict=True)
        mine = [blind_pair.c.chain_id == self._chain.chain_id]
        return mine + [blind_pair.c[name] == value for name, value in identity]


def _receipt(transaction: str) -> Operation[Any]:
    return (yield Rpc("eth_getTransactionReceipt", (transaction,)))


def _failed(problem: str) -> dict[str, Any]:
    return {"state": PairState.FAILED, "problem": problem, **_NO_OPENINGS}


def _holds(row: Row[Any], side: str, envelope: Envelope) -> bool:
    """Return True if a pair's row already contains this envelope for the given side."""
    stored_text = row._mapping[f"{side}_envelope"]
    if stored_text is None:
        return False
    if SignedEnvelope.from_json(stored_text).envelope != envelope:
        raise FeedbackRefusedError(
            Code.ALREADY_SEALED, "this service already stores a different envelope from this side"
        )
    return True


def _is_open(opening: Opening, status: BlindStatus) -> bool:
    return status.is_feedback_open if isinstance(opening, FeedbackOpening) else status.state is RatingState.BLIND


def public(row: Row[Any]) -> RelayedPair:
    """Return a pair without its openings."""
    sides = (("client", row.client_envelope), ("server", row.server_envelope))
    return RelayedPair(
        id=row.pair_id,
        chain_id=row.chain_id,
        client_id=str(row.client_id),
        server_id=str(row.server_id),
        interaction=f"0x{bytes(row.interaction).hex()}",
        state=str(row.state),
        missing=tuple(side for side, envelope in sides if envelope is None),
        problem=row.problem,
    )

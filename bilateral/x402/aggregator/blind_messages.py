"""The messages between a side of blind ratings and a relay: one side in, the state of the pair out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError, SealMismatchError
from bilateral.core.identifiers import ChainId
from bilateral.core.signatures.blind_messages import Opening, SignedEnvelope, read_opening, require_fit
from bilateral.core.signatures.blind_ratings import SealedFeedback
from bilateral.core.text.encoding import decode_object
from bilateral.x402.aggregator.refusals import FeedbackRefusedError, invalid
from bilateral.x402.proof import fields as read
from bilateral.x402.proof.errors import InvalidMessageError

MAX_BYTES: Final = 65_536
"""The most bytes of a message: the texts of a feedback and a contract's signature may be long."""


@dataclass(frozen=True)
class BlindMessage:
    """One side of a pair: its envelope and its opening.

    Attributes:
        network: The chain of the registry.
        signed: The envelope.
    """

    network: ChainId
    signed: SignedEnvelope
    opening: Opening

    @classmethod
    def from_bytes(cls, content: bytes) -> BlindMessage:
        """Read a message."""
        if len(content) > MAX_BYTES:
            raise invalid("", f"{len(content)} bytes exceed the limit of {MAX_BYTES}")
        try:
            fields = decode_object(content)
            network = read.chain(fields, "network")
            parts = {name: json.dumps(read.record(fields.get(name), name)) for name in ("envelope", "opening")}
        except MalformedDocumentError as error:
            raise invalid("", f"this is not a JSON object: {error}") from None
        except InvalidMessageError as error:
            raise FeedbackRefusedError.of_field(error) from None
        try:
            signed = SignedEnvelope.from_json(parts["envelope"])
        except InvalidArgumentError as error:
            raise invalid("envelope", str(error)) from None
        try:
            opening = read_opening(parts["opening"])
            require_fit(signed.envelope, opening)
        except (InvalidArgumentError, SealMismatchError) as error:
            raise invalid("opening", str(error)) from None
        return cls(network, signed, opening)

    @property
    def side(self) -> str:
        """The side that sent it: `client` or `server`."""
        return "client" if isinstance(self.signed.envelope, SealedFeedback) else "server"


@dataclass(frozen=True)
class RelayedPair:
    """A pair as anybody may see it: without openings.

    Attributes:
        id: Its number.
        state: `waiting`, `queued`, `sealed`, `opened` or `failed`.
        missing: The sides that the relay waits for.
        problem: The reason of a failure or delay.
    """

    id: int
    chain_id: int
    client_id: str
    server_id: str
    interaction: str
    state: str
    missing: tuple[str, ...]
    problem: str | None

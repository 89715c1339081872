"""Signed envelopes, and the openings of their seals, in the JSON form that client and server exchange."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self, TypeAlias

from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError, SealMismatchError
from bilateral.core.signatures.blind_ratings import BlindFeedback, Envelope, SealedFeedback, SealedRating, rating_seal
from bilateral.core.text.encoding import decode_object

_HEX: Final = re.compile(r"0x([0-9a-fA-F]{2})*")
_BYTES_FIELDS: Final = {"interaction", "seal", "salt", "feedback_hash"}
_NUMBER_FIELDS: Final = {"client_id", "server_id", "deadline", "value", "value_decimals"}


@dataclass(frozen=True)
class SignedEnvelope:
    """An envelope with the signature of its creator, the client or the server.

    Attributes:
        signature: The signature: 65 bytes from a key, or any bytes that a contract accepts (ERC-1271).
    """

    envelope: SealedFeedback | SealedRating
    signature: bytes

    def to_json(self) -> str:
        """Return the envelope as JSON text, to send to the other side or to a relayer."""
        kind = type(self.envelope).__name__
        return json.dumps({"kind": kind, **_plain(self.envelope), "signature": "0x" + self.signature.hex()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the output of `to_json`. The signature is not checked."""
        value = _object(text, "a signed envelope")
        kinds = {kind.__name__: kind for kind in (SealedFeedback, SealedRating)}
        kind, signature = value.pop("kind", None), value.pop("signature", None)
        if not isinstance(kind, str) or kind not in kinds:
            raise InvalidArgumentError(f"kind: expected one of {', '.join(kinds)}")
        return cls(kinds[kind](**_fields(kinds[kind], value)), _bytes("signature", signature))


@dataclass(frozen=True)
class FeedbackOpening:
    """The feedback and salt that open a client's seal. Keep them secret until both envelopes are sealed on chain.

    Attributes:
        salt: The salt, 32 bytes.
    """

    feedback: BlindFeedback
    salt: bytes

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments that open the seal, converted to Solidity's types."""
        return self.feedback.arguments, self.salt

    def seal_for(self, envelope: Envelope) -> bytes:
        """Return the seal that commits to this opening, for an envelope with the given sides."""
        return self.feedback.seal(self.salt, envelope.client, envelope.server_id)

    def to_json(self) -> str:
        """Return the opening as JSON text."""
        return json.dumps(
            {"kind": "FeedbackOpening", "feedback": _plain(self.feedback), "salt": "0x" + self.salt.hex()}
        )


@dataclass(frozen=True)
class RatingOpening:
    """The rating and salt that open a server's seal. Keep them secret until the client's feedback has been opened.

    Attributes:
        salt: The salt, 32 bytes.
    """

    rating: int
    salt: bytes

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments that open the seal, converted to Solidity's types."""
        return self.rating, self.salt

    def seal_for(self, envelope: Envelope) -> bytes:
        """Return the seal that commits to this opening, for an envelope with the given sides."""
        return rating_seal(self.rating, self.salt, envelope.client_id, envelope.server_id)

    def to_json(self) -> str:
        """Return the opening as JSON text."""
        return json.dumps({"kind": "RatingOpening", "rating": self.rating, "salt": "0x" + self.salt.hex()})


Opening: TypeAlias = FeedbackOpening | RatingOpening


def read_opening(text: str | bytes) -> Opening:
    """Read the output of an opening's `to_json`."""
    value = _object(text, "an opening")
    kind = value.pop("kind", None)
    content = {"FeedbackOpening": "feedback", "RatingOpening": "rating"}.get(str(kind))
    if content is None or set(value) != {content, "salt"}:
        raise InvalidArgumentError("an opening must have kind, salt, and either feedback or rating")
    salt = _bytes("salt", value["salt"])
    if content == "rating":
        rating = RatingOpening(value["rating"], salt)
        rating_seal(rating.rating, salt, 1, 2)  # validates both fields; the agents' ids do not matter here
        return rating
    if not isinstance(value["feedback"], dict):
        raise InvalidArgumentError("feedback: expected an object")
    return FeedbackOpening(BlindFeedback(**_fields(BlindFeedback, value["feedback"])), salt)


def require_fit(envelope: Envelope, opening: Opening) -> None:
    """Check that an opening matches an envelope's seal."""
    kind = SealedFeedback if isinstance(opening, FeedbackOpening) else SealedRating
    hashed = opening.seal_for(envelope)
    if not isinstance(envelope, kind) or hashed != envelope.seal:
        raise SealMismatchError(envelope.seal, hashed)


def _plain(value: Any) -> dict[str, Any]:
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: "0x" + value.hex() if isinstance(value, bytes) else value for name, value in values.items()}


def _object(text: str | bytes, name: str) -> dict[str, Any]:
    try:
        return dict(decode_object(text if isinstance(text, bytes) else text.encode()))
    except (MalformedDocumentError, UnicodeEncodeError):
        raise InvalidArgumentError(f"this is not {name}: expected a JSON object") from None


def _fields(kind: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    for name in (*names, *value):
        if name not in value or name not in names:
            raise InvalidArgumentError(f"{name}: the field is {'missing' if name in names else 'unknown'}")
    return {name: _bytes(name, value[name]) if name in _BYTES_FIELDS else _typed(name, value[name]) for name in names}


def _typed(name: str, value: object) -> object:
    expected = int if name in _NUMBER_FIELDS else str
    if not isinstance(value, expected) or isinstance(value, bool):
        raise InvalidArgumentError(f"{name}: expected {'a whole number' if expected is int else 'a string'}")
    return value


def _bytes(name: str, value: object) -> bytes:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise InvalidArgumentError(f"{name}: expected 0x and an even number of hexadecimal digits")
    return bytes.fromhex(value[2:])

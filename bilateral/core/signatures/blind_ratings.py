"""Blind ratings: the envelopes that both sides sign, their seals, and the pair that the registry stores.

The Solidity interface `IBlindRatings` documents the protocol. A seal is the hash of a rating and a random salt.
"""

from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final, Self

from eth_abi.abi import encode
from eth_utils.address import is_checksum_address
from eth_utils.crypto import keccak

from bilateral.core.errors import EnvelopeMismatchError, InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures.messages import Account, Bytes32, TypedMessage, Uint256
from bilateral.core.values import FeedbackValue
from bilateral.core.values.arguments import is_whole

HASH_BYTES: Final = 32
"""The length of salts, seals and interaction ids, in bytes."""

MAX_RATING: Final = 100  # EIP-8004a rates from 0 to 100

MAX_SERVER_LIFETIME: Final = 14 * 86_400
"""The longest lifetime, in seconds, of a server's envelope that the SDK signs. It lets clients be offline for two
weeks."""

MAX_CLIENT_LIFETIME: Final = 3_600
"""The longest lifetime, in seconds, of a client's envelope that the SDK signs. It is short, because a relayer receives
the envelope immediately."""

CLIENT_SILENCE_SECONDS: Final = 14 * 86_400
"""How many seconds after the client's deadline a server may open its rating even if the client's feedback is still
sealed."""

_FEEDBACK_TYPE: Final = "(int128,uint8,string,string,string,string,bytes32)"
_PAIR_TYPE: Final = "(bytes32,uint256,address,uint256,address,bytes32,uint256,bytes32,uint256)"
_WIDTH: Final = 256  # bits of a word of the EVM


class RatingState(IntEnum):
    """The state of a server's rating of a client, numbered as in the contract."""

    NONE = 0
    """Not rated."""
    OPEN = 1
    """Rated openly."""
    SEALED = 2
    """Sealed on chain, but not yet opened."""
    BLIND = 3
    """Opened after it was sealed, or exchanged for the client's feedback in one transaction."""


@dataclass(frozen=True)
class Envelope(TypedMessage):
    """The sealed rating of a client or a server, bound to these two sides and to one interaction.

    Attributes:
        client_id: The client's agent: the primary agent of the account `client`.
        client: The account that gives the feedback.
        server_id: The server's agent: the primary agent of the account `server`.
        server: The account that rates the client.
        interaction: The id of the paid interaction, 32 bytes; see `payment_interaction`.
        seal: The hash of the rating and its salt, 32 bytes.
        deadline: The last second at which the registry accepts the envelope, in Unix time.
    """

    client_id: Uint256
    client: Account
    server_id: Uint256
    server: Account
    interaction: Bytes32
    seal: Bytes32
    deadline: Uint256

    domain_name: ClassVar[str] = "ERC8004ReputationRegistry"

    def __post_init__(self) -> None:
        for name in ("client_id", "server_id", "deadline"):
            value = getattr(self, name)
            if not is_whole(value) or not 0 < value < 1 << _WIDTH:
                raise InvalidArgumentError(f"{name} must be from 1 to 2^{_WIDTH} - 1, not {value!r}")
        for name in ("client", "server"):
            if not is_checksum_address(getattr(self, name)):
                raise InvalidArgumentError(f"{name} must be an EIP-55 checksummed address")
        for name in ("interaction", "seal"):
            _require_hash(getattr(self, name), name)
        if self.client_id == self.server_id:
            raise InvalidArgumentError(
                f"client_id and server_id are both {self.client_id}: an agent cannot rate itself"
            )

    @property
    def common(self) -> tuple[int, str, int, str, bytes]:
        """The fields that are equal in both envelopes of a pair: both sides and the interaction."""
        return self.client_id, self.client, self.server_id, self.server, self.interaction


@dataclass(frozen=True)
class SealedFeedback(Envelope):
    """The client's envelope, which the account `client` signs."""

    @property
    def signer(self) -> str:
        """The account that must have signed the envelope."""
        return self.client


@dataclass(frozen=True)
class SealedRating(Envelope):
    """The server's envelope, which the account `server` signs."""

    @property
    def signer(self) -> str:
        """The account that must have signed the envelope."""
        return self.server


@dataclass(frozen=True)
class BlindFeedback:
    """A client's feedback about the server in a pair. The feedback gets its index when it is opened.

    Attributes:
        value: The value, times `10 ** value_decimals`; from -10**38 to 10**38.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.
        endpoint: The endpoint that was used; may be empty.
        feedback_uri: The URI of the feedback file; may be empty.
        feedback_hash: The keccak-256 hash of the feedback file, 32 bytes; all zeros if not provided.
    """

    value: int
    value_decimals: int = 0
    tag1: str = ""
    tag2: str = ""
    endpoint: str = ""
    feedback_uri: str = ""
    feedback_hash: bytes = bytes(HASH_BYTES)

    def __post_init__(self) -> None:
        FeedbackValue(self.value, self.value_decimals)
        _require_hash(self.feedback_hash, "feedback_hash")
        for name in ("tag1", "tag2", "endpoint", "feedback_uri"):
            try:
                getattr(self, name).encode()
            except (AttributeError, UnicodeEncodeError):
                raise InvalidArgumentError(f"{name} must be a valid Unicode string") from None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The values of the fields, converted to Solidity's types."""
        return astuple(self)

    def seal(self, salt: bytes, client: str, server_id: int) -> bytes:
        """Hash this feedback for the client's envelope."""
        _require_hash(salt, "salt")
        types = ["bytes32", "address", "uint256", _FEEDBACK_TYPE]
        return keccak(encode(types, [salt, client, server_id, self.arguments]))


def rating_seal(rating: int, salt: bytes, client_id: int, server_id: int) -> bytes:
    """Hash a rating for the server's envelope."""
    if not is_whole(rating) or not 0 <= rating <= MAX_RATING:
        raise InvalidArgumentError(f"rating {rating!r} is out of range 0..{MAX_RATING}")
    _require_hash(salt, "salt")
    return keccak(encode(["bytes32", "uint8", "uint256", "uint256"], [salt, rating, client_id, server_id]))


def payment_interaction(token: str, payer: str, nonce: bytes, chain_id: int) -> bytes:
    """Return the id of an interaction from the nonce of its payment.

    An EIP-3009 nonce can be used once per token and payer. A Permit2 nonce can be used once per owner, regardless of
    the token, so `token` must then be Permit2's own address. A payment that moved nothing (scheme `upto`) has no id,
    because nobody paid.
    """
    _require_hash(nonce, "nonce")
    types = ["address", "address", "bytes32", "uint256"]
    return keccak(encode(types, [checksummed(token), checksummed(payer), nonce, chain_id]))


@dataclass(frozen=True)
class Pair:
    """Both envelopes of one interaction, combined into the registry's struct.

    Attributes:
        interaction: The id of the interaction, 32 bytes.
        client: The account that gives the feedback.
        server: The account that rates the client.
        client_seal: The hash of the feedback and its salt.
        client_deadline: The deadline of the client's envelope, in Unix time.
        server_seal: The hash of the rating and its salt.
        server_deadline: The deadline of the server's envelope, in Unix time.
    """

    interaction: bytes
    client_id: int
    client: str
    server_id: int
    server: str
    client_seal: bytes
    client_deadline: int
    server_seal: bytes
    server_deadline: int

    def __post_init__(self) -> None:
        _ = self.feedback_envelope, self.rating_envelope

    @classmethod
    def of(cls, feedback: SealedFeedback, rating: SealedRating) -> Self:
        """Combine the envelopes of both sides."""
        names = ("client_id", "client", "server_id", "server", "interaction")
        for name, theirs, ours in zip(names, rating.common, feedback.common, strict=True):
            if theirs != ours:
                raise EnvelopeMismatchError(name, ours, theirs)
        seals = (feedback.seal, feedback.deadline, rating.seal, rating.deadline)
        return cls(feedback.interaction, *feedback.common[:4], *seals)

    @property
    def common(self) -> tuple[int, str, int, str, bytes]:
        """The fields that are equal in both envelopes: both sides and the interaction."""
        return self.client_id, self.client, self.server_id, self.server, self.interaction

    @property
    def feedback_envelope(self) -> SealedFeedback:
        """The client's envelope."""
        return SealedFeedback(*self.common, self.client_seal, self.client_deadline)

    @property
    def rating_envelope(self) -> SealedRating:
        """The server's envelope."""
        return SealedRating(*self.common, self.server_seal, self.server_deadline)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The values of the fields, converted to Solidity's types."""
        return astuple(self)

    @property
    def hash(self) -> int:
        """The hash under which the registry stores the pair, with bit 0 cleared."""
        return int.from_bytes(keccak(encode([_PAIR_TYPE], [self.arguments]))) & ~1


def _require_hash(value: object, name: str) -> None:
    if not isinstance(value, bytes) or len(value) != HASH_BYTES:
        raise InvalidArgumentError(f"{name} must be {HASH_BYTES} bytes, not {_length(value)}")


def _length(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else type(value).__name__

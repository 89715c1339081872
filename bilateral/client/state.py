"""The types of the client's arguments (such as agents and signed messages), its state and its transactions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Protocol, Self, TypeAlias, TypeVar

from bilateral.core.contracts import Deployment, Registry
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError, NotSentError
from bilateral.core.events import Event
from bilateral.core.identifiers import AgentId, FeedbackId, GlobalAgentId, checksummed
from bilateral.core.signatures import Feedback, FeedbackAuth, encode_feedback_auth
from bilateral.core.signatures.messages import Signable
from bilateral.core.text.encoding import decode_object
from bilateral.core.values import FeedbackValue, HumanValue
from bilateral.core.values.arguments import checked, checked_class, is_whole
from bilateral.documents import DataUriStore, Loader, Store
from bilateral.node.logs import RangeLimit

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage


AgentLike: TypeAlias = AgentId | GlobalAgentId | int | str
"""An agent: `42`, `"84532:42"`, `"eip155:8453:0x8004…#247"`, or a parsed form (`bilateral.core.identifiers`)."""


_HASH = re.compile(r"(0x)?[0-9a-fA-F]{64}")


class TransactionSigner(Protocol):
    """A signer for an account: an eth-account `LocalAccount`, or any object with the same interface."""

    @property
    def address(self) -> str:
        """The account's address."""

    def sign_transaction(self, transaction: Any, /) -> Any:
        """Sign a transaction in web3.py's form. The result has `raw_transaction` and `hash`, both as bytes."""

    def sign_message(self, message: SignableMessage, /) -> Any:
        """Sign a message. The result has `signature`, 65 bytes."""


@checked_class
@dataclass(frozen=True)
class SignedFeedback:
    """Feedback that a client has signed, and that any account may send (`giveFeedbackBySig`).

    Attributes:
        feedback: The signed message.
        signature: The client's signature.
    """

    feedback: Feedback
    signature: bytes

    def to_json(self) -> str:
        """Return the signed feedback as text, for another account to send."""
        plain = asdict(self.feedback) | {"feedback_hash": "0x" + self.feedback.feedback_hash.hex()}
        return json.dumps(plain | {"signature": "0x" + self.signature.hex()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse the output of `to_json`.

        Raises:
            InvalidArgumentError: The text was not produced by `to_json`.
        """
        try:
            value = decode_object(text if isinstance(text, bytes) else text.encode())
            values = {field.name: value[field.name] for field in fields(Feedback)}
            values["feedback_hash"] = bytes.fromhex(values["feedback_hash"].removeprefix("0x"))
            signature = bytes.fromhex(value["signature"].removeprefix("0x"))
        except (ValueError, KeyError, TypeError, AttributeError, MalformedDocumentError) as error:
            raise InvalidArgumentError(f"this is not signed feedback: {error!r}") from None
        numbers = ("agent_id", "feedback_index", "value", "value_decimals", "deadline")
        if not all(isinstance(values[name], int if name in numbers else (str, bytes)) for name in values):
            raise InvalidArgumentError("this is not signed feedback: a field has the wrong type")
        return cls(Feedback(**values), signature)


@checked_class
@dataclass(frozen=True)
class FeedbackAuthorization:
    """An agent owner's authorisation for a client to rate the agent (FeedbackAuth).

    Attributes:
        auth: The signed message.
        signature: The owner's signature.
    """

    auth: FeedbackAuth
    signature: bytes

    @property
    def encoded(self) -> bytes:
        """The authorisation as the registry's `feedbackAuth` bytes, to be passed to the client."""
        return encode_feedback_auth(self.auth, self.signature)

    def __str__(self) -> str:
        return "0x" + self.encoded.hex()


@checked_class
@dataclass(frozen=True)
class ResponseLink:
    """The location of a response to feedback.

    Attributes:
        uri: The URI of the response, which must not be empty.
        hash: The keccak-256 hash of the content; all zeros if the URI itself commits to the content.
    """

    uri: str
    hash: bytes = bytes(32)


@checked_class
@dataclass(frozen=True)
class Signal:
    """A measurement by a watchtower, a service that probes agents (best practices, "Watchtower Monitoring").

    Attributes:
        agent_id: The agent that was measured.
        tag: `reachable`, `ownerVerified`, `uptime`, `successRate`, `responseTime`, `blocktimeFreshness` or `revenues`.
        value: The measured value, in the tag's unit.
        endpoint: The endpoint that was probed; may be empty.
        feedback_uri: The URI of a file with the evidence; may be empty.
        feedback_hash: The keccak-256 hash of the file; None if there is no hash.
    """

    agent_id: AgentLike
    tag: str
    value: HumanValue | FeedbackValue
    endpoint: str = ""
    feedback_uri: str = ""
    feedback_hash: bytes | str | None = None


@checked
def week_of(time: datetime) -> str:
    """Return the ISO week of a time, such as `2026-W47`, for use as the period of weekly signals."""
    year, week, _ = time.isocalendar()
    return f"{year}-W{week:02}"


def feedback_id(
    chain_id: int, feedback: FeedbackId | AgentId, client_address: str | None, feedback_index: int | None
) -> FeedbackId:
    """Return the feedback id from a `FeedbackId`, or from an agent, a client and an index counted from 0."""
    if isinstance(feedback, FeedbackId):
        if client_address is not None or feedback_index is not None:
            raise InvalidArgumentError("pass either a feedback id or agent, client and index, not both")
        return FeedbackId(feedback.agent.on(chain_id), feedback.client, feedback.on_chain_index)
    if client_address is None or feedback_index is None:
        raise InvalidArgumentError("pass a feedback id, or agent, client and index")
    return FeedbackId.from_index(feedback, client_address, feedback_index)


def hash_bytes(value: bytes | str | None, name: str) -> bytes:
    """Return a hash from 32 bytes, or from 0x and 64 hexadecimal digits; all zeros for None."""
    if value is None:
        return bytes(32)
    if isinstance(value, str) and _HASH.fullmatch(value):
        return bytes.fromhex(value.removeprefix("0x"))
    if isinstance(value, (bytes, bytearray)) and len(value) == 32:  # noqa: PLR2004  # a hash
        return bytes(value)
    raise InvalidArgumentError(f"{name} must be 32 bytes, or 0x and 64 hexadecimal digits")


def checked_uint(value: int, bits: int, name: str) -> int:
    """Check that a number fits in its Solidity type. A `bool` is not accepted."""
    if not is_whole(value) or not 0 <= value < 1 << bits:
        raise InvalidArgumentError(f"{name} must be a whole number from 0 to 2^{bits} - 1")
    return value


def distinct(items: Sequence[str]) -> tuple[str, ...]:
    """Return the items in order, without duplicates."""
    return tuple(dict.fromkeys(items))


class SignatureNeededError(Exception):
    """An account must sign a message before the operation can continue.

    Attributes:
        typed_data: The message, as `eth_signTypedData_v4` accepts it; None for a bytes message.
        message: The bytes, as `personal_sign` accepts them (EIP-191); None for a typed message.
    """

    def __init__(self, account: str, typed_data: dict[str, Any] | None, message: bytes | None = None) -> None:
        super().__init__(f"{account} must sign")
        self.account = account
        self.typed_data = typed_data
        self.message = message


@dataclass(frozen=True)
class _Signed:
    signature: bytes


class RemoteSigner:
    """A signer for an account whose key is not available. The client that uses it must be in dry-run mode.

    It returns a signature that was made in advance or, without one, raises an error that contains the message to sign.
    The client then raises a `SignerFailedError`, with that error as its cause.

    Args:
        address: The account.
        signature: The account's signature of the only message to be signed; None if it has not been made yet.
    """

    def __init__(self, address: str, signature: bytes | None = None) -> None:
        self.address = checksummed(address)
        self._signature = signature

    def sign_message(self, message: SignableMessage, /) -> _Signed:
        """Return the signature that was made in advance."""
        if self._signature is None:
            if isinstance(message, Signable):
                raise SignatureNeededError(self.address, message.typed_data)
            raise SignatureNeededError(self.address, None, bytes(message.body))
        return _Signed(self._signature)

    def sign_transaction(self, transaction: Any, /) -> NoReturn:
        """Raise an error, because the account's own wallet signs and sends transactions."""
        del transaction
        raise TypeError(
            "this client cannot send transactions, because its signer is remote: create it with dry_run=True"
        )


T = TypeVar("T")


@dataclass
class NonceMemory:
    """A client's next nonce, remembered because a node may not have received the client's last transaction yet.

    Attributes:
        next: The next nonce, as far as this client knows.
        updated_at: The time at which the next nonce was determined, according to the monotonic clock.
    """

    next: int = 0
    updated_at: float = float("-inf")


@dataclass
class ClientState:
    """The state shared by one client's operations.

    Attributes:
        requested: The deployment, or the name of a packaged deployment; None for the packaged one on the node's chain.
        pinned_chain: The chain that the caller specified; None to trust the node.
        signer: The signer of transactions and messages; None for a client that can only read.
        store: The store of documents.
        loader: The loader of documents.
        dry_run: True if writes are checked but not sent.
        is_collecting: True if writes are collected in a batch instead of being sent individually.
        poll_interval: Seconds between checks of whether a transaction is in a block.
        max_fee_per_gas: The maximum fee per gas that the client signs, in wei; None for the default limits.
        max_cost: The maximum cost of a transaction that the client signs, in wei; None for no limit.
        deployment: The deployment, once the node's chain id is known.
        nonces: The client's next nonce, and when it was determined.
        log_range: The observed limit on the block range that the node accepts in a request for logs.
        checked: The addresses at which the expected registry was found.
        is_chain_announced: True once the client has logged for which chain it signs, which it does if the chain is
            known only from the node.
        first_block: The block in which the identity registry was deployed; None until it is looked up.
    """

    requested: Deployment | Origin | None = None
    pinned_chain: int | None = None
    signer: TransactionSigner | None = None
    store: Store = field(default_factory=DataUriStore)
    loader: Loader = field(default_factory=Loader)
    dry_run: bool = False
    is_collecting: bool = False
    poll_interval: float = 1.0
    max_fee_per_gas: int | None = None
    max_cost: int | None = None
    deployment: Deployment | None = None
    nonces: NonceMemory = field(default_factory=NonceMemory)
    log_range: RangeLimit = field(default_factory=RangeLimit)
    checked: set[str] = field(default_factory=set)
    is_chain_announced: bool = False
    first_block: int | None = None


@dataclass(frozen=True)
class Sent(Generic[T]):
    """A transaction that was sent or, in a dry run, only prepared.

    Attributes:
        registry: The registry that the transaction calls.
        transaction: The transaction in web3.py's form.
        gas: The node's gas estimate.
        decode: The function that builds the result from the registry's events.
        hash: The transaction's hash; None if it was not sent.
        raw: The signed transaction; None if it was not signed.
        earlier: The hashes of the earlier equivalent transactions that this one replaces.
        nonce: The signer's next nonce, according to the node, when the transaction was prepared.
    """

    registry: Registry
    transaction: dict[str, Any]
    gas: int
    decode: Callable[[Sequence[Event]], T]
    hash: str | None = None
    raw: bytes | None = None
    earlier: tuple[str, ...] = ()
    nonce: int = 0


TIMEOUT: Final = 120.0
"""The default number of seconds to wait for a transaction: ten Ethereum blocks."""


class SentTransaction(Generic[T]):
    """The transaction that a write sends."""

    def __init__(self, sent: Sent[T] | None) -> None:
        self._sent = sent

    def mark_sent(self, sent: Sent[T]) -> None:
        """Record the transaction that a batch sent for this write."""
        self._sent = sent

    @property
    def hash(self) -> str | None:
        """The transaction's hash, 0x and 64 digits; None after a dry run, which sends nothing."""
        return None if self._sent is None else self._sent.hash

    @property
    def transaction(self) -> Mapping[str, Any]:
        """The transaction in web3.py's form: `to`, `data`, `nonce`, `gas`, fees in wei, `chainId`."""
        return MappingProxyType(self._require_sent().transaction)

    @property
    def gas(self) -> int:
        """The node's gas estimate. The transaction's gas limit is somewhat higher."""
        return self._require_sent().gas

    @property
    def raw_transaction(self) -> bytes | None:
        """The signed transaction, which may be sent again to any node; None if nothing was signed."""
        return None if self._sent is None else self._sent.raw

    def _require_sent(self) -> Sent[T]:
        if self._sent is None:
            raise NotSentError("the batch has not been sent yet")
        return self._sent

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.hash or 'not sent'}>"

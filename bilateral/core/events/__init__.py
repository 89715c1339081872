"""Every registry event as a frozen type, made from logs by `decode_log`.

The decoder is strict and fast, and made from the registries' ABIs. It accepts the encodings that eth-abi accepts in its
strict mode, and takes a tenth of web3.py's time. It differs in two things. It refuses a head that is cut, where eth-abi
reads a shorter number. A string that is not UTF-8 does not fail, but becomes a `ChainText` with its bytes: anybody
can put any bytes into a tag, and one entry must not stop a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeAlias

from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.logs import LogPosition, RawLog  # readers of the fields' types need them at run time
from bilateral.core.identifiers import checksummed
from bilateral.core.text import ChainText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Reader: TypeAlias = Callable[[bytes, int], Any]
    """Reads the value whose head is at a position of the data."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a registry.

    Attributes:
        position: Its place in the chain.
    """

    position: LogPosition

    abi_name: ClassVar[str]
    """The event's name in Solidity: that of the class, unless it says otherwise."""

    def __init_subclass__(cls) -> None:
        """Name the event."""
        if "abi_name" not in vars(cls):
            cls.abi_name = cls.__name__


class Undecodable(StrEnum):
    """A reason why a log is not decoded."""

    FOREIGN_ADDRESS = "foreign_address"
    """No registry has the address that emitted it."""

    UNKNOWN_EVENT = "unknown_event"
    """The registry's ABI has no event with its first topic, or it has no topic."""

    MALFORMED = "malformed"
    """Its topics or its data are not the ABI encoding of its event."""


@dataclass(frozen=True, slots=True)
class UndecodedLog:
    """A log from which no event can be made.

    Attributes:
        reason: The kind of problem, for programs.
        problem: The problem, for people.
    """

    log: RawLog
    reason: Undecodable
    problem: str

    @property
    def position(self) -> LogPosition:
        """Its place in the chain."""
        return self.log.position


@dataclass(frozen=True, slots=True)
class Transfer(Event):
    """An agent's token got an owner (ERC-721).

    Attributes:
        from_address: The former owner; the zero address at registration.
        to_address: The new owner.
    """

    from_address: str
    to_address: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class Approval(Event):
    """An account may transfer one token and act for its agent (ERC-721).

    Attributes:
        account: The approved account; the zero address if the approval ends.
    """

    owner: str
    account: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class ApprovalForAll(Event):
    """An account may act for all of an owner's agents, or no longer may (ERC-721).

    Attributes:
        operator: The account.
        is_approved: True if it may.
    """

    owner: str
    operator: str
    is_approved: bool


@dataclass(frozen=True, slots=True)
class MetadataUpdate(Event):
    """The token's URI changed (ERC-4906). `URIUpdated` carries the new one."""

    agent_id: int


@dataclass(frozen=True, slots=True)
class Registered(Event):
    """An agent was registered (ERC-8004).

    Attributes:
        agent_uri: The URI of its registration file; may be empty.
        owner: Its owner, who is its wallet too.
    """

    agent_id: int
    agent_uri: ChainText
    owner: str


@dataclass(frozen=True, slots=True)
class URIUpdated(Event):
    """The URI of an agent's registration file was replaced (ERC-8004).

    Attributes:
        new_uri: The new URI; may be empty.
        updated_by: The account that replaced it.
    """

    agent_id: int
    new_uri: ChainText
    updated_by: str


@dataclass(frozen=True, slots=True)
class MetadataSet(Event):
    """A metadata value of an agent was set (ERC-8004).

    Attributes:
        indexed_metadata_key: The keccak-256 hash of the key.
        metadata_key: The key. For `agentWallet` the value is the wallet's 20 bytes, or empty if the agent has none.
    """

    agent_id: int
    indexed_metadata_key: bytes
    metadata_key: ChainText
    metadata_value: bytes


@dataclass(frozen=True, slots=True)
class AgentRegistered(Event):
    """An agent was registered with a domain (August 2025).

    Attributes:
        agent_domain: Its domain, as given.
        agent_address: Its owner and wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str


@dataclass(frozen=True, slots=True)
class AgentUpdated(Event):
    """An agent's domain or address changed (August 2025).

    Attributes:
        agent_domain: Its domain now; empty if it has none.
        agent_address: Its wallet now, or its owner if it has no wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str


@dataclass(frozen=True, slots=True)
class AgentCountRaised(Event):
    """A proof raised a companion's count of agents.

    Attributes:
        agent_count: The highest id that was ever proven to exist.
    """

    agent_count: int


@dataclass(frozen=True, slots=True)
class PrimaryAgentSet(Event):
    """An account chose its primary agent: the agent that it rates as."""

    account: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class NewFeedback(Event):
    """A client gave feedback (ERC-8004).

    Attributes:
        feedback_index: The feedback's index among those of the client about the agent, from 1.
        value: The value, times `10 ** value_decimals`; within ±1e38.
        value_decimals: The number of decimals, 0 to 18.
        indexed_tag1: The keccak-256 hash of the first tag.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.
        endpoint: The endpoint that was used; may be empty.
        feedback_uri: The URI of the feedback file; may be empty.
        feedback_hash: The keccak-256 hash of that file; zeros without one.
    """

    agent_id: int
    client_address: str
    feedback_index: int
    value: int
    value_decimals: int
    indexed_tag1: bytes
    tag1: ChainText
    tag2: ChainText
    endpoint: ChainText
    feedback_uri: ChainText
    feedback_hash: bytes


@dataclass(frozen=True, slots=True)
class FeedbackRevoked(Event):
    """A client revoked its feedback (ERC-8004).

    Attributes:
        feedback_index: The feedback's index, from 1.
    """

    agent_id: int
    client_address: str
    feedback_index: int


@dataclass(frozen=True, slots=True)
class ResponseAppended(Event):
    """An account responded to a feedback (ERC-8004). Anyone may.

    Attributes:
        client_address: The client who gave the feedback.
        feedback_index: The feedback's index, from 1.
        responder: The account that responded.
        response_hash: The keccak-256 hash of the file there; zeros without one.
    """

    agent_id: int
    client_address: str
    feedback_index: int
    responder: str
    response_uri: ChainText
    response_hash: bytes


@dataclass(frozen=True, slots=True)
class SignaturesVoided(Event):
    """A client voided its signed feedback up to a deadline.

    Attributes:
        deadline: The latest voided deadline, in Unix time.
    """

    client_address: str
    deadline: int


@dataclass(frozen=True, slots=True)
class ClientRated(Event):
    """A server rated a client (EIP-8004a).

    Attributes:
        client_id: The client's agent.
        rating: 0 to 100.
    """

    client_id: int
    server_id: int
    rating: int


@dataclass(frozen=True, slots=True)
class ValidatorRated(Event):
    """A server rated a validator (EIP-8004a).

    Attributes:
        validator_id: The validator's agent.
        rating: 0 to 100.
    """

    validator_id: int
    server_id: int
    rating: int


@dataclass(frozen=True, slots=True)
class RatingsSealed(Event):
    """A client and a server sealed their ratings of each other (ours).

    Attributes:
        client_id: The client's agent.
    """

    client_id: int
    server_id: int
    interaction: bytes


@dataclass(frozen=True, slots=True)
class RatingsOpened(Event):
    """Blind ratings were opened (ours): the rating, the feedback, or both.

    Attributes:
        client_id: The client's agent.
        client: The account whose feedback belongs to the pair.
        feedback_index: The index of the opened feedback, from 1; 0 if only the rating was opened.
    """

    client_id: int
    server_id: int
    interaction: bytes
    client: str
    feedback_index: int


@dataclass(frozen=True, slots=True)
class AuthFeedback(Event):
    """A server authorised a client's feedback (August 2025).

    Attributes:
        agent_client_id: The client's agent.
        feedback_auth_id: The authorisation's id.
    """

    agent_client_id: int
    agent_server_id: int
    feedback_auth_id: bytes


@dataclass(frozen=True, slots=True)
class NewAuthorizedFeedback(Event):
    """A client gave feedback that the agent's owner had authorised (FeedbackAuth, event `NewFeedback`).

    Attributes:
        score: 0 to 100.
        tag1: The first tag, filled up with zeros to 32 bytes.
        tag2: The second tag, in the same form.
        file_uri: The URI of the feedback file; may be empty.
        file_hash: The keccak-256 hash of that file; zeros without one.
    """

    agent_id: int
    client_address: str
    score: int
    tag1: bytes
    tag2: bytes
    file_uri: ChainText
    file_hash: bytes

    abi_name: ClassVar = "NewFeedback"


@dataclass(frozen=True, slots=True)
class PaymentSettled(Event):
    """A payment was settled and counted. The next log is the token's `AuthorizationUsed`.

    Attributes:
        buyer: The account that paid.
        seller_id: The agent that was paid.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
    """

    buyer: str
    seller_id: int
    amount: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class PaymentNotCounted(Event):
    """A payment was settled, but not counted.

    Attributes:
        buyer: The account that paid.
        seller_id: The agent that was paid; 0: none.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
        reason: The number of the reason, see `bilateral.core.contracts.buyer_terms.NotCounted`.
    """

    buyer: str
    seller_id: int
    amount: int
    nonce: bytes
    reason: int


@dataclass(frozen=True, slots=True)
class PaymentAttested(Event):
    """The attestor recorded a payment.

    Attributes:
        payment: The payment in one word, which `bilateral.core.contracts.buyer_terms.AttestedPayment.from_word` reads.
    """

    payment: int


@dataclass(frozen=True, slots=True)
class FeedbackAttested(Event):
    """The attestor recorded the vote of a seller on a buyer.

    Attributes:
        buyer: The account that paid.
        seller: The account that was paid.
        score: The vote now, 0 to 100.
    """

    buyer: str
    seller: str
    score: int


@dataclass(frozen=True, slots=True)
class ReviewsAttested(Event):
    """The attestor set a buyer's reviews and disputes.

    Attributes:
        buyer: The account.
        reviews: The number of reviews that it gave.
        review_sum: The sum of their scores.
        disputes: The number of disputes.
    """

    buyer: str
    reviews: int
    review_sum: int
    disputes: int


@dataclass(frozen=True, slots=True)
class SuccessorNominated(Event):
    """The holder of a role nominated a successor.

    Attributes:
        role: The number of the role, see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        nominee: The successor; the zero address: the nomination was withdrawn.
    """

    role: int
    holder: str
    nominee: str


@dataclass(frozen=True, slots=True)
class RoleTaken(Event):
    """A role has a holder: at the deployment, and when a successor accepts.

    Attributes:
        role: The number of the role, see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        former_holder: The former holder; the zero address at the deployment.
        holder: The holder now.
    """

    role: int
    former_holder: str
    holder: str


@dataclass(frozen=True, slots=True)
class Anchored(Event):
    """The anchorer posted a root.

    Attributes:
        root: The Merkle root of the service's state.
    """

    epoch: int
    root: bytes


@dataclass(frozen=True, slots=True)
class TierRootsPosted(Event):
    """The attestor posted the roots of a day's groups of buyers by tier.

    Attributes:
        epoch: The UTC day, in days since the beginning of Unix time.
        policy: The hash of the scoring policy's name.
    """

    epoch: int
    policy: bytes


@dataclass(frozen=True, slots=True)
class ValidationRequest(Event):
    """An agent's owner asked a validator to check its work.

    Attributes:
        request_uri: The URI of the request file.
        request_hash: The request's id: the keccak-256 hash of that file.
    """

    validator_address: str
    agent_id: int
    request_uri: ChainText
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class ValidationResponse(Event):
    """A validator responded.

    Attributes:
        request_hash: The request's id.
        response: 0 to 100.
        response_uri: The URI of the evidence; may be empty.
        response_hash: The keccak-256 hash of the evidence; zeros without one.
        tag: The validator's category; may be empty.
    """

    validator_address: str
    agent_id: int
    request_hash: bytes
    response: int
    response_uri: ChainText
    response_hash: bytes
    tag: ChainText


WORD: Final = 32  # bytes of a word of the contract ABI

_FEEDBACK: Final = (NewFeedback, FeedbackRevoked, ResponseAppended, SignaturesVoided)

EVENTS: Final[Mapping[Registry, tuple[type[Event], ...]]] = {
    Registry.IDENTITY: (
        Transfer,
        Approval,
        ApprovalForAll,
        MetadataUpdate,
        Registered,
        URIUpdated,
        MetadataSet,
        AgentRegistered,
        AgentUpdated,
        PrimaryAgentSet,
    ),
    Registry.REPUTATION: _FEEDBACK,
    Registry.BIDIRECTIONAL: (*_FEEDBACK, ClientRated, ValidatorRated, AuthFeedback, RatingsSealed, RatingsOpened),
    Registry.AUTHORIZED: (NewAuthorizedFeedback,),
    Registry.VALIDATION: (ValidationRequest, ValidationResponse),
    Registry.COMPANION: (AgentRegistered, AgentUpdated, PrimaryAgentSet, AgentCountRaised),
    Registry.BUYERS: (
        PaymentSettled,
        PaymentNotCounted,
        PaymentAttested,
        FeedbackAttested,
        ReviewsAttested,
        SuccessorNominated,
        RoleTaken,
        Anchored,
    ),
    Registry.TIER_PROOFS: (TierRootsPosted,),
}
"""The types of each registry's events."""

_FIELD_NAMES: Final = {
    "from": "from_address",
    "to": "to_address",
    "id": "agent_id",
    "_tokenId": "agent_id",
    "fileuri": "file_uri",
    "filehash": "file_hash",
}
"""Names of the ABI that would puzzle, or that Python reserves. All others are only rewritten in snake_case."""

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class _MalformedError(ValueError):
    """The data are not the ABI encoding of the event."""


class _Decoder:
    """Decodes the logs of one event."""

    def __init__(self, event: type[Event], entry: Mapping[str, Any]) -> None:
        names = [field_name(part["name"]) for part in entry["inputs"]]
        declared = [field.name for field in fields(event)][1:]
        if names != declared:
            raise TypeError(f"{event.__name__} has the fields {declared}, its ABI has {names}")
        self._event = event
        self._topics = 1 + sum(part["indexed"] for part in entry["inputs"])
        self._head = WORD * (len(names) + 1 - self._topics)
        self._plan: list[tuple[bool, Reader, int]] = []
        at = {True: WORD, False: 0}
        for part in entry["inputs"]:
            is_indexed = part["indexed"]
            kind = "bytes32" if is_indexed and part["type"] in ("string", "bytes") else part["type"]
            self._plan.append((is_indexed, _reader(kind, self._head), at[is_indexed]))
            at[is_indexed] += WORD

    def decode(self, log: RawLog) -> Event | UndecodedLog:
        if len(log.topics) != self._topics:
            return UndecodedLog(log, Undecodable.MALFORMED, f"{len(log.topics)} topics instead of {self._topics}")
        data, topics = log.data, b"".join(log.topics)
        if len(data) < self._head:
            return UndecodedLog(log, Undecodable.MALFORMED, f"{len(data)} bytes of data, fewer than {self._head}")
        try:
            return self._event(
                log.position, *[read(topics if is_indexed else data, at) for is_indexed, read, at in self._plan]
            )
        except _MalformedError as problem:
            return UndecodedLog(log, Undecodable.MALFORMED, str(problem))


def decode_log(registry: Registry, log: RawLog) -> Event | UndecodedLog:
    """Make an event of a log that a registry emitted.

    Args:
        registry: The registry that has the log's address.

    Returns:
        The event, of one of the types of `EVENTS[registry]`; else the log with the reason why it is not decoded.
    """
    decoder = _decoders(registry).get(log.topics[0]) if log.topics else None
    if decoder is None:
        return UndecodedLog(log, Undecodable.UNKNOWN_EVENT, f"{registry} has no event with this first topic")
    return decoder.decode(log)


def decode_logs(registries: Mapping[str, Registry], logs: Iterable[RawLog]) -> Iterator[Event | UndecodedLog]:
    """Make events of the logs of several registries. No log is left out.

    Args:
        registries: The registry at each address, in checksum form.
        logs: The logs, in any order.

    Yields:
        For each log its event, or the log with the reason why it is not decoded.
    """
    for log in logs:
        registry = registries.get(log.position.address)
        if registry is None:
            problem = f"no registry is at {log.position.address}"
            yield UndecodedLog(log, Undecodable.FOREIGN_ADDRESS, problem)
        else:
            yield decode_log(registry, log)


def topic_of(registry: Registry, event: type[Event]) -> bytes:
    """Return the first topic of an event's logs.

    Args:
        registry: A registry that has the event.
        event: The event's type.
    """
    return next(topic for topic, entry in selectors(registry, "event").items() if entry["name"] == event.abi_name)


def field_name(abi_name: str) -> str:
    """Return the Python name of an event's parameter.

    Args:
        abi_name: Its name in the ABI, such as `agentURI`.
    """
    return _FIELD_NAMES.get(abi_name) or _BOUNDARY.sub("_", abi_name).lower()


@cache
def _decoders(registry: Registry) -> Mapping[bytes, _Decoder]:
    """Return a registry's decoders by first topic."""
    types = {event.abi_name: event for event in EVENTS[registry]}
    return {
        topic: _Decoder(types[entry["name"]], entry)
        for topic, entry in selectors(registry, "event").items()
        if entry["name"] in types
    }


def _reader(kind: str, head: int) -> Reader:
    """Return what reads values of an ABI type from data whose head has so many bytes."""
    if kind in ("string", "bytes"):
        return _tail_reader(head, ChainText if kind == "string" else bytes)
    if kind == "address":
        return _address
    if kind == "bytes32":
        return lambda data, at: data[at : at + WORD]
    if kind == "uint256":
        return lambda data, at: int.from_bytes(data[at : at + WORD])
    bits = 1 if kind == "bool" else int(kind.lstrip("uint"))
    limit = 1 << bits

    def read_unsigned(data: bytes, at: int) -> int:
        value = int.from_bytes(data[at : at + WORD])
        if value >= limit:
            _out_of_range(kind, value)
        return value

    def read_signed(data: bytes, at: int) -> int:
        value = int.from_bytes(data[at : at + WORD], signed=True)
        if not -limit <= 2 * value < limit:
            _out_of_range(kind, value)
        return value

    if kind == "bool":
        return lambda data, at: bool(read_unsigned(data, at))
    return read_unsigned if kind.startswith("u") else read_signed


def _tail_reader(head: int, made: Callable[[bytes], Any]) -> Reader:
    """Return what reads bytes whose position stands in the head."""

    def read(data: bytes, at: int) -> Any:
        start = int.from_bytes(data[at : at + WORD])
        if not head <= start <= len(data) - WORD:
            raise _MalformedError(f"offset {start} points outside of the {len(data)} bytes of data")
        start += WORD
        end = start + int.from_bytes(data[start - WORD : start])
        padded_end = end + (start - end) % WORD
        if padded_end > len(data):
            raise _MalformedError(f"{end - start} bytes at {start} end after the {len(data)} bytes of data")
        if end != padded_end and any(data[end:padded_end]):
            raise _MalformedError(f"the padding of the {end - start} bytes at {start} is not zero")
        return made(data[start:end])

    return read


def _address(data: bytes, at: int) -> str:
    """Read an address, in checksum form."""
    return _checksummed(data[at : at + WORD])


@lru_cache(maxsize=1 << 16)  # a checksum costs ten times the rest of the decoding, and few addresses give most events
def _checksummed(word: bytes) -> str:
    if any(word[:12]):
        _out_of_range("address", int.from_bytes(word))
    return checksummed("0x" + word[12:].hex())


def _out_of_range(kind: str, value: int) -> NoReturn:
    """Refuse a value that its type cannot hold."""
    raise _MalformedError(f"{value:#x} is out of range for {kind}")

"""Messages to and from an aggregator, mainly the feedback that a client posts.

The format is that of the upstream draft's `POST`, plus `sponsored`, which contains the client's signature for the
registry. The signature covers every on-chain argument, including the feedback file's hash, so an aggregator cannot
change anything.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import rfc8785
from eth_utils.crypto import keccak

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId, TransactionRef
from bilateral.core.signatures import Feedback
from bilateral.core.text.encoding import decode_object
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError, invalid
from bilateral.x402.clients.feedback import human_value
from bilateral.x402.proof import fields as read
from bilateral.x402.proof.errors import InvalidKeyError, InvalidMessageError
from bilateral.x402.proof.keys import to_registry_form
from bilateral.x402.proof.profiles import MAX_SIGNED_VALUE

MAX_BODIES: Final = 1024 * 1024
"""The maximum total size of both decoded bodies, in bytes."""

MAX_MESSAGE: Final = MAX_BODIES * 4 // 3 + 64 * 1024
"""The maximum size of a whole message, in bytes."""

MAX_TAG: Final = 128  # characters; tags are short, and the sponsor pays for their gas
MAX_FEEDBACK_URI: Final = 8192  # characters: a small file in a data URI, for which the sponsor pays gas
MAX_SIGNATURE: Final = 4096
"""The maximum size of a signature, in bytes. Contract wallets may have long signatures."""

_AGENT_SIGNATURE_BYTES: Final = (64, 65)  # r and s, or an Ed25519 signature; r, s and v
_UINT64: Final = 1 << 64  # one above the largest value
_UINT256: Final = 1 << 256  # one above the largest value


@dataclass(frozen=True)
class Bodies:
    """The decoded bodies of a paid request and its response.

    Attributes:
        request: The request's body.
        response: The response's body.
    """

    request: bytes
    response: bytes


@dataclass(frozen=True)
class Submission:
    """Feedback posted by a client.

    Attributes:
        agent: The rated agent.
        task_ref: The reference to the payment's transaction, exactly as it was hashed.
        interaction_hash: The hash that the agent signed.
        agent_signature: The agent's signature.
        reviewer: The client account that paid.
        reviewer_signature: The client's signature over the agent, the payment and the value ("Client Signature").
        feedback: The message that the client signed for the registry.
        signature: The client's signature over `feedback`.
        bodies: The bodies, if the client sent them.
        data_hash: The hash of both bodies in the profile `reputation`; None in the profile `8004-reputation`.
    """

    agent: GlobalAgentId
    task_ref: str
    interaction_hash: bytes
    agent_signature: bytes
    reviewer: AccountId
    reviewer_signature: bytes
    feedback: Feedback
    signature: bytes
    bodies: Bodies | None = None
    data_hash: bytes | None = None

    @property
    def payment(self) -> TransactionRef:
        """The payment's transaction."""
        return read.transaction({"taskRef": self.task_ref}, "taskRef")

    @property
    def payment_hash(self) -> bytes:
        """The payment's transaction hash."""
        return bytes.fromhex(self.payment.transaction.removeprefix("0x"))

    @property
    def registry_signature(self) -> bytes:
        """The signature in the registry's format: a key's signature ends in 27 or 28; a contract's is unchanged."""
        return registry_form(self.signature)

    @property
    def content_hash(self) -> bytes:
        """The hash of the whole message except the bodies. It stays the same if the message is sent again."""
        return keccak(rfc8785.dumps({**self.to_object(), "bodies": None}))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Parse a message from a request's body."""
        if len(content) > MAX_MESSAGE:
            raise invalid("body", f"{len(content)} bytes exceed the limit of {MAX_MESSAGE}")
        try:
            return cls.of(decode_object(content))
        except MalformedDocumentError as error:
            raise invalid("body", str(error)) from None
        except InvalidMessageError as error:
            raise FeedbackRefusedError.of_field(error) from None

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read a message. Unknown fields are ignored; invalid fields raise an `InvalidMessageError`."""
        fields = read.record(value, "body")
        data = read.record(fields.get("interactionData"), "interactionData")
        review = read.record(fields.get("review"), "review")
        sponsored = read.record(fields.get("sponsored"), "sponsored")
        path = "interactionData."
        registry = read.account(data, "agentRegistry", path)
        if not registry.chain.is_evm:
            raise FeedbackRefusedError(Code.UNSUPPORTED_NETWORK, f"feedback on {registry.chain} is not supported")
        agent = read.agent(registry, data, "agentId", path)
        task_ref = read.text(data, "taskRef", path)
        payment = read.transaction(data, "taskRef", path)
        network = read.chain(data, "networkId", path) if "networkId" in data else registry.chain
        reviewer = read.account(fields, "reviewerAddress")
        for name, chain in (
            ("interactionData.taskRef", payment.chain),
            ("interactionData.networkId", network),
            ("reviewerAddress", reviewer.chain),
        ):
            if chain != registry.chain:
                raise InvalidMessageError(name, "wrong_chain", f"{chain} is not {registry.chain}, the agent's chain")
        return cls(
            agent=agent,
            task_ref=task_ref,
            interaction_hash=read.hexadecimal(data, "interactionHash", 32, path=path),
            agent_signature=read.hexadecimal(data, "agentSignature", *_AGENT_SIGNATURE_BYTES, path=path),
            reviewer=reviewer,
            reviewer_signature=_signature(fields, "reviewerSignature"),
            feedback=_feedback(agent, reviewer, review, sponsored),
            signature=_signature(sponsored, "signature", "sponsored."),
            bodies=_bodies(fields.get("bodies")),
            data_hash=None if data.get("dataHash") is None else read.hexadecimal(data, "dataHash", 32, path=path),
        )

    def to_object(self) -> dict[str, Any]:
        """Return the message as a JSON object."""
        feedback, bodies = self.feedback, {}
        if self.bodies is not None:
            parts = {"request": self.bodies.request, "response": self.bodies.response}
            bodies = {"bodies": {name: base64.b64encode(part).decode() for name, part in parts.items()}}
        return {
            "interactionData": {
                "networkId": str(self.agent.registry.chain),
                "agentRegistry": str(self.agent.registry),
                "agentId": self.agent.agent,
                "taskRef": self.task_ref,
                "interactionHash": "0x" + self.interaction_hash.hex(),
                "agentSignature": self.agent_signature.hex(),
                **({} if self.data_hash is None else {"dataHash": "0x" + self.data_hash.hex()}),
            },
            "review": {
                "value": feedback.value,
                "valueDecimals": feedback.value_decimals,
                "tag1": feedback.tag1,
                "tag2": feedback.tag2,
                "endpoint": feedback.endpoint,
            },
            "reviewerAddress": str(self.reviewer),
            "reviewerSignature": "0x" + self.reviewer_signature.hex(),
            "reviewerSignatureAlgorithm": "secp256k1",
            "sponsored": {
                "feedbackURI": feedback.feedback_uri,
                "feedbackHash": "0x" + feedback.feedback_hash.hex(),
                "feedbackIndex": str(feedback.feedback_index),
                "deadline": str(feedback.deadline),
                "signature": "0x" + self.signature.hex(),
            },
            **bodies,
        }


def registry_form(signature: bytes) -> bytes:
    """Return a signature in the registry's format: a key's signature ends in 27 or 28; a contract's is unchanged."""
    try:
        return to_registry_form(signature)
    except InvalidKeyError:
        return signature


def _feedback(
    agent: GlobalAgentId, reviewer: AccountId, review: Mapping[str, Any], sponsored: Mapping[str, Any]
) -> Feedback:
    value = _number(review, "value", "review.", MAX_SIGNED_VALUE + 1)
    decimals = _number(review, "valueDecimals", "review.", 19) if "valueDecimals" in review else 0
    try:
        human_value(value, decimals)
    except ValueError as error:
        raise InvalidMessageError("review.value", "malformed", str(error)) from None
    file_hash = bytes(32)
    if sponsored.get("feedbackHash") is not None:
        file_hash = read.hexadecimal(sponsored, "feedbackHash", 32, path="sponsored.")
    return Feedback(
        agent_id=int(agent.agent),
        client_address=reviewer.address,  # type: ignore[arg-type]  # it is checksummed
        feedback_index=_number(sponsored, "feedbackIndex", "sponsored.", _UINT64),
        value=value,
        value_decimals=decimals,
        tag1=_optional(review, "tag1", "review.", MAX_TAG),
        tag2=_optional(review, "tag2", "review.", MAX_TAG),
        endpoint=_optional(review, "endpoint", "review.", read.MAX_URI),
        feedback_uri=_optional(sponsored, "feedbackURI", "sponsored.", MAX_FEEDBACK_URI),
        feedback_hash=file_hash,
        deadline=_number(sponsored, "deadline", "sponsored.", _UINT256),
    )


def _number(fields: Mapping[str, Any], name: str, path: str, end: int) -> int:
    """Read an integer below a limit, given as a JSON number or as a string of decimal digits."""
    value = fields.get(name)
    if value is None:
        raise InvalidMessageError(path + name, "missing", "the field is missing")
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 78:  # noqa: PLR2004  # 2^256
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidMessageError(path + name, "wrong_type", "expected a whole number")
    if not 0 <= value < end:
        raise InvalidMessageError(path + name, "malformed", f"the number is out of range 0..{end - 1}")
    return value


def _optional(fields: Mapping[str, Any], name: str, path: str, limit: int) -> str:
    """Read a string that may be missing or empty. Reject NUL, which neither databases nor the draft allows."""
    value = fields.get(name)
    if value is None or value == "":
        return ""
    text = read.text(fields, name, path, limit)
    if "\0" in text:
        raise InvalidMessageError(path + name, "malformed", "the text contains NUL")
    return text


def _signature(fields: Mapping[str, Any], name: str, path: str = "") -> bytes:
    """Read a signature of any length, because contracts define their own signature formats."""
    text = read.text(fields, name, path, 2 + 2 * MAX_SIGNATURE)
    try:
        content = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        content = b""
    if not content or any(character.isspace() for character in text):
        raise InvalidMessageError(path + name, "malformed", "expected hexadecimal digits")
    return content


def _bodies(value: Any) -> Bodies | None:
    if value is None:
        return None
    fields, contents = read.record(value, "bodies"), []
    for name in ("request", "response"):
        text = fields.get(name, "")
        if not isinstance(text, str):
            raise InvalidMessageError(f"bodies.{name}", "wrong_type", "expected base64 text")
        try:
            contents.append(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            raise InvalidMessageError(f"bodies.{name}", "malformed", "expected base64") from None
    if sum(map(len, contents)) > MAX_BODIES:
        raise InvalidMessageError("bodies", "too_long", f"the bodies together exceed the limit of {MAX_BODIES} bytes")
    return Bodies(*contents)


@dataclass(frozen=True)
class RelayedPair:
    """A pair of blind ratings as published by a relay, without openings.

    Attributes:
        id: The id that the aggregator assigned to the pair.
        state: `waiting`, `queued`, `sealed`, `opened` or `failed`.
        missing: The sides that have not sent their message yet.
        problem: The reason why the pair failed or is delayed.
    """

    id: int
    chain_id: int
    client_id: str
    server_id: str
    interaction: str
    state: str
    missing: tuple[str, ...]
    problem: str | None

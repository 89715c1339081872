"""Query a buyer service over HTTP, and send it signed messages about payments and sellers' services."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import httpx
from eth_account.messages import encode_defunct
from eth_utils.hexadecimal import encode_hex

from bilateral.buyers import messages
from bilateral.buyers.errors import BuyerServiceFailedError, BuyerServiceRefusedError
from bilateral.buyers.messages import content_hash, domain_of, text_hash
from bilateral.client.state import TransactionSigner
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential, policy_hash
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.core.identifiers import GlobalAgentId, checksummed
from bilateral.core.signatures import Domain, TypedMessage, signer_errors
from bilateral.core.text import quoted
from bilateral.core.text.encoding import decode_object
from bilateral.core.values.arguments import is_whole

_TIMEOUT: Final = 30.0
"""The timeout for requests to a buyer service. A payment has to wait for the response."""

_MESSAGE_ID: Final = re.compile(r"[0-9a-fA-F]{64}")
_SECONDS: Final = 300
"""How long a buyer's request is valid, in seconds. Services accept up to 600, and clocks may differ."""

_MAX_ANSWER: Final = 1 << 20  # bytes: enough for any page of the service, without filling the memory
_MAX_SCORE: Final = 100  # the Buyer Reputation Protocol scores from 0 to 100
PROVIDER: Final = "/api/buyer"
"""The URL path under which a service offers its records of buyers."""
_WORD: Final = 32  # bytes of a hash, and of a word of the contract ABI


@dataclass(frozen=True)
class PaymentProof:
    """The payment that a message is about (`proofOfPayment`).

    Attributes:
        buyer: The account that paid.
        seller: The global id of the paid agent, such as `eip155:8453:0x8004…#247`.
        payee: The account that was paid: the agent's wallet at the time of the payment.
        transaction_hash: The 32-byte hash of the payment's transaction.
        log_index: The index of the payment's log in its block. Required if several logs in the transaction match.
    """

    buyer: str
    seller: str
    payee: str
    transaction_hash: bytes
    log_index: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        object.__setattr__(self, "payee", checksummed(self.payee))
        if len(self.transaction_hash) != _WORD:
            raise InvalidArgumentError(f"a transaction hash must have 32 bytes, not {len(self.transaction_hash)}")
        domain_of_agent(self.seller)

    def signed(
        self,
        kind: Callable[..., TypedMessage],
        content: tuple[object, ...],
        fields: Mapping[str, Any],
        signer: TransactionSigner,
    ) -> dict[str, Any]:
        """Return the body of a signed message about the payment."""
        domain, agent_id = domain_of_agent(self.seller), int(GlobalAgentId.parse(self.seller).agent)
        sides = self.buyer, domain.verifying_contract, agent_id
        message = kind(*sides, *content, self.transaction_hash, domain.chain_id)
        accounts = {"fromAddress": self.buyer, "toAddress": self.payee, "chainId": domain.chain_id}
        position = {} if self.log_index is None else {"logIndex": self.log_index}
        proof = {"txHash": encode_hex(self.transaction_hash), **accounts, **position}
        return {**fields, "proofOfPayment": proof, "signature": signature_of(message, domain, signer)}


def domain_of_agent(seller: str) -> Domain:
    """Return the EIP-712 domain for messages about an agent."""
    registry = GlobalAgentId.parse(seller).registry
    if not registry.chain.is_evm:
        raise InvalidArgumentError(f"{quoted(seller)} is not an agent on an EVM chain")
    return Domain(registry.chain.evm_chain_id, registry.address)  # type: ignore[arg-type]  # it is checksummed


def signature_of(message: TypedMessage, domain: Domain, signer: TransactionSigner) -> str:
    """Sign a message, and return the signature in its JSON form: 0x and hexadecimal digits."""
    with signer_errors():
        return encode_hex(bytes(signer.sign_message(message.signable(domain)).signature))


@dataclass(frozen=True)
class ScoredPayment:
    """A score from 0 to 100 for one payment."""

    payment: PaymentProof
    score: int

    def __post_init__(self) -> None:
        if not is_whole(self.score) or not 0 <= self.score <= _MAX_SCORE:
            raise InvalidArgumentError(f"score {self.score!r} is out of range 0..{_MAX_SCORE}")


@dataclass(frozen=True)
class PaidFeedback(ScoredPayment):
    """A seller's feedback on the buyer who made a payment.

    Attributes:
        tags: Up to ten words.
        note: A comment, which the service may publish.
    """

    tags: tuple[str, ...] = ()
    note: str = ""
    path: ClassVar[str] = f"{PROVIDER}/feedback"

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the request body, signed by the wallet that was paid or by the agent's owner at that time."""
        content = self.score, content_hash(list(self.tags)), text_hash(self.note)
        sides = {"buyerAddress": self.payment.buyer, "sellerGlobalId": self.payment.seller}
        fields = {**sides, "score": self.score, "tags": list(self.tags), "note": self.note}
        return self.payment.signed(messages.BuyerFeedback, content, fields, signer)


@dataclass(frozen=True)
class PaidReview(ScoredPayment):
    """A buyer's review of the seller in one payment.

    Attributes:
        tag1: The main tag.
        tag2: The second tag.
        note: A comment, which the service may publish.
    """

    tag1: str = ""
    tag2: str = ""
    note: str = ""
    path: ClassVar[str] = "/api/review"

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the request body, signed by the buyer."""
        tags = {"tag1": self.tag1, "tag2": self.tag2}
        content = self.score, content_hash([self.tag1, self.tag2]), text_hash(self.note)
        fields = {"agentId": self.payment.seller, "score": self.score, **tags, "feedbackNote": self.note}
        return self.payment.signed(messages.AgentReview, content, fields, signer)


@dataclass(frozen=True)
class PaidDispute:
    """A seller's dispute about a payment, or the withdrawal of a dispute.

    Attributes:
        is_withdrawn: True to withdraw a dispute that was filed earlier.
    """

    payment: PaymentProof
    reason: str = ""
    is_withdrawn: bool = False

    @property
    def path(self) -> str:
        """The path for disputes about the buyer."""
        return f"{PROVIDER}/{self.payment.buyer}/disputes"

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the request body, signed by the wallet that was paid or by the agent's owner at that time."""
        state = "withdrawn" if self.is_withdrawn else "filed"
        fields = {"sellerGlobalId": self.payment.seller, "state": state, "reason": self.reason}
        return self.payment.signed(messages.BuyerDispute, (state, text_hash(self.reason)), fields, signer)


@dataclass(frozen=True)
class ServiceOffer:
    """A seller's service, with its price and buyer policy. It replaces any service published with the same name.

    Attributes:
        seller: The seller's global id, such as `eip155:8453:0x8004…#247`.
        name: The service's name.
        price: The price per call in dollars; None to publish no price.
        incentives: The policy for buyers (the JSON object `buyerIncentives`); None if the service has no policy.
        details: Additional fields of the request body, such as `serviceCategory` or `apiEndpoint`.
        issued_at: The message's time, in Unix seconds; now by default. A message with a later time replaces this one.
    """

    seller: str
    name: str
    price: Decimal | None = None
    incentives: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    issued_at: int | None = None
    path: ClassVar[str] = "/api/agent/enrichment"

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the request body, signed by the agent's owner, wallet or operator."""
        domain = domain_of_agent(self.seller)
        issued_at = int(time.time()) if self.issued_at is None else self.issued_at
        names = {"globalId": self.seller, "serviceName": self.name}
        body: dict[str, Any] = {**self.details, **names, "issuedAt": issued_at}
        if self.price is not None:
            body["pricePerCallUsdc"] = int(self.price) if self.price == int(self.price) else float(self.price)
        if self.incentives is not None:
            body["buyerIncentives"] = dict(self.incentives)
        agent_id = int(GlobalAgentId.parse(self.seller).agent)
        message = messages.AgentEnrichment(
            domain.verifying_contract, agent_id, content_hash(body), issued_at, domain.chain_id
        )
        return {**body, "signature": signature_of(message, domain, signer)}


@dataclass(frozen=True)
class MessageReply:
    """A buyer's reply to feedback or a dispute about the buyer. Each message may have one reply.

    Attributes:
        message_id: The message's id, which has 64 hexadecimal digits. See `ask_messages`.
        seller: The global id of the seller that sent the message.
        text: The reply.
    """

    message_id: str
    seller: str
    text: str
    path: ClassVar[str] = f"{PROVIDER}/replies"

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the request body, signed by the buyer."""
        domain = domain_of_agent(self.seller)
        if not _MESSAGE_ID.fullmatch(self.message_id):
            raise InvalidArgumentError(f"{quoted(self.message_id)} is not a message id: expected 64 hexadecimal digits")
        buyer: Any = checksummed(signer.address)
        message = messages.BuyerReply(buyer, bytes.fromhex(self.message_id), text_hash(self.text), domain.chain_id)
        signature = signature_of(message, domain, signer)
        return {"messageId": self.message_id.lower(), "text": self.text, "signature": signature}


def send(
    service: str,
    message: PaidFeedback | PaidReview | PaidDispute | ServiceOffer | MessageReply,
    signer: TransactionSigner,
    *,
    http: httpx.Client | None = None,
) -> Mapping[str, Any]:
    """Sign a message, and send it to a service. It is safe to retry, because the same message counts only once."""
    return answer_of("POST", f"{base_of(service)}{message.path}", http, json=message.signed(signer))


def ask_buyer(
    service: str,
    buyer: str,
    *,
    chain_id: int | None = None,
    policy: str | None = None,
    http: httpx.Client | None = None,
) -> Mapping[str, Any]:
    """Fetch a buyer's profile from a service."""
    query = {"chainId": chain_id, "policy": policy}
    return _ask(f"{base_of(service)}{PROVIDER}/{checksummed(buyer)}", query, http)


def ask_discount(
    service: str, buyer: str, seller: str, *, policy: str | None = None, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Query a service for the discount that a seller offers a buyer."""
    query = {"sellerGlobalId": seller, "policy": policy}
    return _ask(f"{base_of(service)}{PROVIDER}/{checksummed(buyer)}/discount", query, http)


def _ask(url: str, query: Mapping[str, object], http: httpx.Client | None) -> Mapping[str, Any]:
    return answer_of("GET", url, http, params={name: str(value) for name, value in query.items() if value is not None})


def ask_messages(
    service: str, chain_id: int, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> tuple[Mapping[str, Any], ...]:
    """Fetch the messages about the signer. A service shows these messages only to the buyer."""
    buyer, until = checksummed(signer.address), int(time.time()) + _SECONDS
    text = f"Show the payments of eip155:{chain_id}:{buyer} until {until}"
    with signer_errors():
        signature = bytes(signer.sign_message(encode_defunct(text=text)).signature)
    headers = {"X-Buyer-Until": str(until), "X-Buyer-Signature": encode_hex(signature)}
    query = {"expand": "messages", "chainId": str(chain_id)}
    answer = answer_of("GET", f"{base_of(service)}{PROVIDER}/{buyer}", http, params=query, headers=headers)
    return tuple(answer.get("messages") or ())


@dataclass(frozen=True)
class SignedCredential:
    """A credential signed by the registry's attestor.

    Attributes:
        signature: The 65-byte signature.
    """

    credential: TierCredential
    signature: bytes


def request_credential(  # noqa: PLR0913  # the fields of the wish
    service: str,
    holder: str,
    signer: TransactionSigner,
    *,
    chain_id: int,
    scope: bytes,
    policy: str = "brp-1.0",
    http: httpx.Client | None = None,
) -> SignedCredential:
    """As the buyer, request a credential that lets a different address prove the signer's tier."""
    if len(scope) != _WORD:
        raise InvalidArgumentError(f"a scope must have {_WORD} bytes, not {len(scope)}")
    accounts: tuple[Any, Any] = checksummed(signer.address), checksummed(holder)
    buyer, recipient = accounts
    expires_at = int(time.time()) + _SECONDS
    message = messages.CredentialRequest(*accounts, policy, scope, chain_id, expires_at)
    body = {
        "holder": recipient,
        "chainId": chain_id,
        "policy": policy,
        "scope": "0x" + scope.hex(),
        "expiresAt": expires_at,
        "signature": signature_of(message, domain_of(chain_id), signer),
    }
    answer = answer_of("POST", f"{base_of(service)}{PROVIDER}/{buyer}/credential", http, json=body)
    signed = _read_credential(answer)
    credential = signed.credential
    if (credential.holder, credential.scope, credential.policy) != (recipient, scope, policy_hash(policy)):
        raise BuyerServiceFailedError("the service returned a credential for a different holder, scope or policy")
    return signed


def _read_credential(answer: Mapping[str, Any]) -> SignedCredential:
    try:
        values = dict(answer["message"])
        words = {name: bytes.fromhex(values[name].removeprefix("0x")) for name in ("policy", "scope", "pseudonym")}
        times = int(values["issuedAt"]), int(values["validUntil"])
        policy, scope, pseudonym = words.values()
        tier = BuyerTier.of_level(values["tier"])
        credential = TierCredential(values["holder"], *times, policy, tier, scope, pseudonym)
        return SignedCredential(credential, bytes.fromhex(answer["signature"].removeprefix("0x")))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BuyerServiceFailedError(f"the service returned no valid credential: {problem}") from None


def base_of(service: str) -> str:
    """Return a service's URL without the path for buyers."""
    parts = urlsplit(service)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InvalidArgumentError(f"{quoted(service)} is not the http or https URL of a service")
    return service.rstrip("/").removesuffix(PROVIDER)


def answer_of(method: str, url: str, http: httpx.Client | None, **options: Any) -> Mapping[str, Any]:
    """Send a request to a service, and return its response."""
    try:
        with nullcontext(http) if http is not None else httpx.Client(timeout=_TIMEOUT) as client:
            return _read(client, method, url, options)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise BuyerServiceFailedError(f"the service {quoted(url)} did not respond: {type(error).__name__}") from error


def read_limited(response: httpx.Response, most: int, problem: str) -> bytes:
    """Read a response's body, and reject it if it is too large."""
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > most:
            raise BuyerServiceFailedError(f"{problem} {most} bytes")
    return bytes(content)


def _read(http: httpx.Client, method: str, url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    with http.stream(method, url, **options) as response:
        content = read_limited(response, _MAX_ANSWER, "the service's response exceeds the limit of")
    try:
        decoded = decode_object(content)
    except MalformedDocumentError as error:
        problem = f"the service's response ({response.status_code}) is invalid: {error}"
        raise BuyerServiceFailedError(problem) from None
    if response.is_success:
        return decoded
    detail = str(decoded.get("detail") or decoded.get("error") or decoded.get("title") or "without a reason")
    raise BuyerServiceRefusedError(response.status_code, str(decoded.get("code") or "")[:100], detail[:1000])

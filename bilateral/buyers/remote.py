"""Ask a service for buyers over HTTP, and send it feedback (sections 5.1 to 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from eth_utils.hexadecimal import encode_hex

from bilateral.buyers.errors import BuyerServiceFailedError, BuyerServiceRefusedError
from bilateral.buyers.messages import BuyerFeedback, content_hash, text_hash
from bilateral.client.inputs import TransactionSigner
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.core.identifiers import GlobalAgentId, checksummed
from bilateral.core.signatures import Domain, TypedMessage, signer_errors
from bilateral.core.text import quoted
from bilateral.core.text.encoding import decode_object
from bilateral.core.values.arguments import is_whole

_SECONDS: Final = 30.0
"""The longest wait for a service of buyers: a payment waits meanwhile."""

_MAX_ANSWER: Final = 1 << 20  # bytes; fewer could cut a page of the service, more only fill memory
_MAX_SCORE: Final = 100  # the Buyer Reputation Protocol scores from 0 to 100
PROVIDER: Final = "/api/buyer"
"""The path of buyers."""


@dataclass(frozen=True)
class ScoredPayment:
    """A score from 0 to 100 about one payment."""

    payment: PaymentProof
    score: int

    def __post_init__(self) -> None:
        if not is_whole(self.score) or not 0 <= self.score <= _MAX_SCORE:
            raise InvalidArgumentError(f"score {self.score!r} is out of range 0..{_MAX_SCORE}")


@dataclass(frozen=True)
class PaidFeedback(ScoredPayment):
    """Feedback of a seller on the buyer of one payment.

    Attributes:
        tags: Up to ten words.
        note: A remark. The service may publish it.
    """

    tags: tuple[str, ...] = ()
    note: str = ""

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the body of the request, signed by the wallet that was paid or the owner of that time."""
        content = self.score, content_hash(list(self.tags)), text_hash(self.note)
        sides = {"buyerAddress": self.payment.buyer, "sellerGlobalId": self.payment.seller}
        fields = {**sides, "score": self.score, "tags": list(self.tags), "note": self.note}
        return self.payment.signed(BuyerFeedback, content, fields, signer)


def ask_buyer(
    service: str,
    buyer: str,
    *,
    chain_id: int | None = None,
    policy: str | None = None,
    http: httpx.Client | None = None,
) -> Mapping[str, Any]:
    """Ask a service for the profile of a buyer."""
    query = {"chainId": chain_id, "policy": policy}
    return _ask(f"{base_of(service)}{PROVIDER}/{checksummed(buyer)}", query, http)


def ask_discount(
    service: str, buyer: str, seller: str, *, policy: str | None = None, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Ask a service for the discount that a seller gives a buyer."""
    query = {"sellerGlobalId": seller, "policy": policy}
    return _ask(f"{base_of(service)}{PROVIDER}/{checksummed(buyer)}/discount", query, http)


def _ask(url: str, query: Mapping[str, object], http: httpx.Client | None) -> Mapping[str, Any]:
    params = {name: str(value) for name, value in query.items() if value is not None}
    return answer_of("GET", url, http, params=params)


def send_feedback(
    service: str, feedback: PaidFeedback, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Sign feedback, and send it to a service. Safe to retry: the same feedback counts once."""
    url = f"{base_of(service)}{PROVIDER}/feedback"
    return answer_of("POST", url, http, json=feedback.signed(signer))


def base_of(service: str) -> str:
    """Return the URL of a service without the path of buyers."""
    parts = urlsplit(service)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InvalidArgumentError(f"{quoted(service)} is not the http or https URL of a service")
    return service.rstrip("/").removesuffix(PROVIDER)


def answer_of(method: str, url: str, http: httpx.Client | None, **options: Any) -> Mapping[str, Any]:
    """Send a request to a service, and return its answer."""
    try:
        with nullcontext(http) if http is not None else httpx.Client(timeout=_SECONDS) as client:
            return _read(client, method, url, options)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise BuyerServiceFailedError(f"the service {quoted(url)} does not answer: {type(error).__name__}") from error


def _read(http: httpx.Client, method: str, url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    content = bytearray()
    with http.stream(method, url, **options) as response:
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _MAX_ANSWER:
                raise BuyerServiceFailedError(f"the answer of the service exceeds the limit of {_MAX_ANSWER} bytes")
    try:
        decoded = decode_object(bytes(content))
    except MalformedDocumentError as error:
        problem = f"the service answers {response.status_code}, and not as one: {error}"
        raise BuyerServiceFailedError(problem) from None
    if response.is_success:
        return decoded
    detail = str(decoded.get("detail") or decoded.get("error") or decoded.get("title") or "without a reason")
    raise BuyerServiceRefusedError(response.status_code, str(decoded.get("code") or "")[:100], detail[:1000])


_HASH_BYTES: Final = 32  # of keccak-256


@dataclass(frozen=True)
class PaymentProof:
    """The payment that a message is about (`proofOfPayment`).

    Attributes:
        buyer: The account that paid.
        seller: The global id of the paid agent, such as `eip155:8453:0x8004…#247`.
        payee: The account that was paid: the wallet that the agent had then.
        transaction_hash: The hash of the payment's transaction, 32 bytes.
        log_index: The number of the payment's log in its block. Needed if the transaction has several that fit.
    """

    buyer: str
    seller: str
    payee: str
    transaction_hash: bytes
    log_index: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        object.__setattr__(self, "payee", checksummed(self.payee))
        if len(self.transaction_hash) != _HASH_BYTES:
            raise InvalidArgumentError(f"a transaction's hash has 32 bytes, not {len(self.transaction_hash)}")
        domain_of_agent(self.seller)

    @property
    def domain(self) -> Domain:
        """The EIP-712 domain of messages about the payment."""
        return domain_of_agent(self.seller)

    @property
    def body(self) -> dict[str, Any]:
        """The field `proofOfPayment` of a message."""
        position = {} if self.log_index is None else {"logIndex": self.log_index}
        accounts = {"fromAddress": self.buyer, "toAddress": self.payee, "chainId": self.domain.chain_id}
        return {"txHash": encode_hex(self.transaction_hash), **accounts, **position}

    def signed(
        self,
        kind: Callable[..., TypedMessage],
        content: tuple[object, ...],
        fields: Mapping[str, Any],
        signer: TransactionSigner,
    ) -> dict[str, Any]:
        """Return the body of a message about the payment, with its signature."""
        domain, agent_id = self.domain, int(GlobalAgentId.parse(self.seller).agent)
        sides = self.buyer, domain.verifying_contract, agent_id
        message = kind(*sides, *content, self.transaction_hash, domain.chain_id)
        return {**fields, "proofOfPayment": self.body, "signature": signature_of(message, domain, signer)}


def domain_of_agent(seller: str) -> Domain:
    """Return the EIP-712 domain of messages about an agent."""
    registry = GlobalAgentId.parse(seller).registry
    if not registry.chain.is_evm:
        raise InvalidArgumentError(f"{quoted(seller)} is not an agent of an EVM chain")
    return Domain(registry.chain.evm_chain_id, registry.address)  # type: ignore[arg-type]  # it is checksummed


def signature_of(message: TypedMessage, domain: Domain, signer: TransactionSigner) -> str:
    """Sign a message, and return the signature as JSON has it: 0x and hexadecimal digits."""
    with signer_errors():
        return encode_hex(bytes(signer.sign_message(message.signable(domain)).signature))

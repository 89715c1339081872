"""Sign messages about payments, and sellers' services, and send them to a service for buyers over HTTP.

Feedback of sellers is in `bilateral.buyers.remote`. Each function is safe to retry: the same message counts once.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import httpx
from eth_account.messages import encode_defunct
from eth_utils.hexadecimal import encode_hex

from bilateral.buyers.errors import BuyerServiceFailedError
from bilateral.buyers.messages import (
    AgentEnrichment,
    AgentReview,
    BuyerDispute,
    BuyerReply,
    CredentialRequest,
    content_hash,
    text_hash,
)
from bilateral.buyers.remote import (
    PROVIDER,
    PaymentProof,
    ScoredPayment,
    answer_of,
    base_of,
    domain_of_agent,
    signature_of,
)
from bilateral.client.inputs import TransactionSigner
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential, policy_hash
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId, checksummed
from bilateral.core.signatures import Domain, signer_errors
from bilateral.core.text import quoted

_MESSAGE_ID: Final = re.compile(r"[0-9a-fA-F]{64}")
_SECONDS: Final = 300
"""The seconds for which a buyer's request is valid. The service takes up to 600, and clocks may differ."""


@dataclass(frozen=True)
class PaidReview(ScoredPayment):
    """A review of a seller by the buyer of one payment.

    Attributes:
        tag1: The main tag.
        tag2: The second tag.
        note: A remark. The service may publish it.
    """

    tag1: str = ""
    tag2: str = ""
    note: str = ""

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the body of the request, signed by the buyer."""
        tags = {"tag1": self.tag1, "tag2": self.tag2}
        content = self.score, content_hash([self.tag1, self.tag2]), text_hash(self.note)
        fields = {"agentId": self.payment.seller, "score": self.score, **tags, "feedbackNote": self.note}
        return self.payment.signed(AgentReview, content, fields, signer)


@dataclass(frozen=True)
class PaidDispute:
    """A dispute of a seller about a payment, or its withdrawal.

    Attributes:
        is_withdrawn: True to withdraw the dispute that was filed.
    """

    payment: PaymentProof
    reason: str = ""
    is_withdrawn: bool = False

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the body of the request, signed by the wallet that was paid or the owner of that time."""
        state = "withdrawn" if self.is_withdrawn else "filed"
        fields = {"sellerGlobalId": self.payment.seller, "state": state, "reason": self.reason}
        return self.payment.signed(BuyerDispute, (state, text_hash(self.reason)), fields, signer)


@dataclass(frozen=True)
class ServiceOffer:
    """A service of a seller, with its price and its policy for buyers. It replaces the one with the same name.

    Attributes:
        seller: The global id of the seller, such as `eip155:8453:0x8004…#247`.
        name: The name of the service.
        price: The price of a call in dollars; None to name none.
        incentives: The policy for buyers, the JSON object `buyerIncentives`; None for a service without one.
        details: Further fields of the body, such as `serviceCategory` or `apiEndpoint`.
        issued_at: The time of the message, in Unix seconds; the present one if left out. A later one replaces it.
    """

    seller: str
    name: str
    price: Decimal | None = None
    incentives: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    issued_at: int | None = None

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the body of the request, signed by the agent's owner, wallet or operator."""
        domain = domain_of_agent(self.seller)
        issued_at = int(time.time()) if self.issued_at is None else self.issued_at
        names = {"globalId": self.seller, "serviceName": self.name}
        body: dict[str, Any] = {**self.details, **names, "issuedAt": issued_at}
        if self.price is not None:
            body["pricePerCallUsdc"] = int(self.price) if self.price == int(self.price) else float(self.price)
        if self.incentives is not None:
            body["buyerIncentives"] = dict(self.incentives)
        agent_id = int(GlobalAgentId.parse(self.seller).agent)
        message = AgentEnrichment(domain.verifying_contract, agent_id, content_hash(body), issued_at, domain.chain_id)
        return {**body, "signature": signature_of(message, domain, signer)}


@dataclass(frozen=True)
class MessageReply:
    """The reply of a buyer to feedback or a dispute about it. There is one to each.

    Attributes:
        message_id: The id of the message, 64 hexadecimal digits: see `ask_messages`.
        seller: The global id of the seller that the message is of.
        text: The reply.
    """

    message_id: str
    seller: str
    text: str

    def signed(self, signer: TransactionSigner) -> dict[str, Any]:
        """Return the body of the request, signed by the buyer."""
        domain = domain_of_agent(self.seller)
        if not _MESSAGE_ID.fullmatch(self.message_id):
            raise InvalidArgumentError(f"{quoted(self.message_id)} is not the id of a message: 64 hexadecimal digits")
        buyer: Any = checksummed(signer.address)
        message = BuyerReply(buyer, bytes.fromhex(self.message_id), text_hash(self.text), domain.chain_id)
        signature = signature_of(message, domain, signer)
        return {"messageId": self.message_id.lower(), "text": self.text, "signature": signature}


def send_review(
    service: str, review: PaidReview, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Sign a review of a seller as its buyer, and send it. The arguments and errors are those of `send_feedback`."""
    return answer_of("POST", f"{base_of(service)}/api/review", http, json=review.signed(signer))


def send_dispute(
    service: str, dispute: PaidDispute, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Sign a dispute about a payment as its seller, and send it. See `send_feedback` for arguments and errors."""
    url = f"{base_of(service)}{PROVIDER}/{dispute.payment.buyer}/disputes"
    return answer_of("POST", url, http, json=dispute.signed(signer))


def send_reply(
    service: str, reply: MessageReply, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Sign a reply to a message about the signer, and send it. See `send_feedback` for arguments and errors."""
    return answer_of("POST", f"{base_of(service)}{PROVIDER}/replies", http, json=reply.signed(signer))


def publish_service(
    service: str, offer: ServiceOffer, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> Mapping[str, Any]:
    """Sign a service of a seller with its policy, and publish it. See `send_feedback` for arguments and errors."""
    return answer_of("POST", f"{base_of(service)}/api/agent/enrichment", http, json=offer.signed(signer))


def ask_messages(
    service: str, chain_id: int, signer: TransactionSigner, *, http: httpx.Client | None = None
) -> tuple[Mapping[str, Any], ...]:
    """Ask for the messages about the signer, as only the buyer itself may."""
    buyer, until = checksummed(signer.address), int(time.time()) + _SECONDS
    text = f"Show the payments of eip155:{chain_id}:{buyer} until {until}"
    with signer_errors():
        signature = bytes(signer.sign_message(encode_defunct(text=text)).signature)
    headers = {"X-Buyer-Until": str(until), "X-Buyer-Signature": encode_hex(signature)}
    query = {"expand": "messages", "chainId": str(chain_id)}
    answer = answer_of("GET", f"{base_of(service)}{PROVIDER}/{buyer}", http, params=query, headers=headers)
    return tuple(answer.get("messages") or ())


_WORD: Final = 32  # bytes of a word of the contract ABI
_NOBODY: Final = "0x" + "00" * 20


@dataclass(frozen=True)
class SignedCredential:
    """A credential with the signature of the registry's attestor.

    Attributes:
        signature: The signature, 65 bytes.
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
    """Ask for a credential of the signer's tier for another address, as the buyer."""
    if len(scope) != _WORD:
        raise InvalidArgumentError(f"a scope has {_WORD} bytes, not {len(scope)}")
    accounts: tuple[Any, Any] = checksummed(signer.address), checksummed(holder)
    buyer, recipient = accounts
    expires_at = int(time.time()) + _SECONDS
    message = CredentialRequest(*accounts, policy, scope, chain_id, expires_at)
    body = {
        "holder": recipient,
        "chainId": chain_id,
        "policy": policy,
        "scope": "0x" + scope.hex(),
        "expiresAt": expires_at,
        "signature": signature_of(message, Domain(chain_id, _NOBODY), signer),  # type: ignore[arg-type]  # checksummed
    }
    answer = answer_of("POST", f"{base_of(service)}{PROVIDER}/{buyer}/credential", http, json=body)
    signed = _read_credential(answer)
    credential = signed.credential
    if (credential.holder, credential.scope, credential.policy) != (recipient, scope, policy_hash(policy)):
        raise BuyerServiceFailedError("the service answers with a credential for another holder, scope or policy")
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
        raise BuyerServiceFailedError(f"the service answers with no credential: {problem}") from None

"""Request bodies for messages, in the Buyer Reputation Protocol's formats, and the data that their authors sign."""

# ruff: noqa: N815  # the specification's names

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from bilateral.buyers import messages
from bilateral.buyers.discounts import BuyerIncentives, JsonNumber, Percent, WebUrl
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.proofs import PaymentClaim
from bilateral.buyers.records import parse_buyer
from bilateral.core.errors import MalformedIdentifierError
from bilateral.index.reading.registries import AgentKey

M = TypeVar("M", bound=BaseModel)
S = TypeVar("S")

_HASH: Final = r"^0x[0-9a-fA-F]{64}$"
_MARKUP: Final = re.compile(r"<[a-zA-Z/!?]")
_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")  # NUL and lone surrogates, which UTF-8 cannot encode
_Score = Annotated[int, Field(ge=0, le=100, strict=True)]
_Agent = Annotated[str, Field(max_length=200)]
_Address = Annotated[str, Field(min_length=42, max_length=42)]
_Note = Annotated[str, Field(max_length=1_000)]
_Tag = Annotated[str, Field(max_length=64)]
_Signature = Annotated[str, Field(max_length=20_000, pattern=r"^0x([0-9a-fA-F]{2})+$")]
_Price = Annotated[
    Decimal,
    JsonNumber,
    Field(ge=0, le=1_000_000, decimal_places=6),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1_000_000}),
]

Category = Annotated[str, Field(max_length=64, pattern=r"^[a-z0-9-]+$")]


class ProofOfPayment(BaseModel):
    """The payment that a message is about (section 5.3). `logIndex` is an extension."""

    model_config = ConfigDict(extra="ignore")

    txHash: Annotated[str, Field(pattern=_HASH)]
    fromAddress: _Address
    toAddress: _Address
    chainId: Annotated[int, Field(gt=0, lt=2**63, strict=True)]
    logIndex: Annotated[int, Field(ge=0, lt=2**31, strict=True)] | None = None

    @property
    def claim(self) -> PaymentClaim:
        """The payment in the form used to search the index."""
        transaction = bytes.fromhex(self.txHash[2:])
        payer, payee = address_of(self.fromAddress, "fromAddress"), address_of(self.toAddress, "toAddress")
        return PaymentClaim(self.chainId, transaction, payer, payee, self.logIndex)


class FeedbackBody(BaseModel):
    """A seller's feedback on a buyer (section 5.3). `signature` is an extension."""

    buyerAddress: _Address
    sellerGlobalId: _Agent
    score: _Score
    tags: Annotated[list[_Tag], Field(max_length=10)] = []
    note: _Note = ""
    proofOfPayment: ProofOfPayment
    signature: _Signature | None = None

    def message(self, seller: AgentKey) -> messages.BuyerFeedback:
        """Return the message that the seller signs."""
        content = self.score, messages.content_hash(self.tags), messages.text_hash(self.note)
        return _about(messages.BuyerFeedback, self.proofOfPayment, seller, *content)


class ReviewBody(BaseModel):
    """A buyer's review of a seller. `signature` is an extension."""

    agentId: _Agent
    score: _Score
    tag1: _Tag = ""
    tag2: _Tag = ""
    feedbackNote: _Note = ""
    proofOfPayment: ProofOfPayment
    signature: _Signature | None = None

    def message(self, seller: AgentKey) -> messages.AgentReview:
        """Return the message that the buyer signs."""
        content = self.score, messages.content_hash([self.tag1, self.tag2]), messages.text_hash(self.feedbackNote)
        return _about(messages.AgentReview, self.proofOfPayment, seller, *content)


def _about(kind: Callable[..., S], proof: ProofOfPayment, seller: AgentKey, *content: object) -> S:
    claim = proof.claim
    sides = claim.payer, seller.identity_registry, seller.agent_id
    return kind(*sides, *content, claim.transaction, claim.chain_id)


class DisputeBody(BaseModel):
    """A seller's dispute about a payment. The specification does not define disputes."""

    sellerGlobalId: _Agent
    state: Literal["filed", "withdrawn"] = "filed"
    reason: _Note = ""
    proofOfPayment: ProofOfPayment
    signature: _Signature

    def message(self, seller: AgentKey) -> messages.BuyerDispute:
        """Return the message that the seller signs."""
        content = self.state, messages.text_hash(self.reason)
        return _about(messages.BuyerDispute, self.proofOfPayment, seller, *content)


class ReplyBody(BaseModel):
    """A buyer's reply to feedback or a dispute about the buyer. It is not part of the specification."""

    messageId: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    text: Annotated[str, Field(min_length=1, max_length=1_000)]
    signature: _Signature

    def message(self, buyer: str, chain_id: int) -> messages.BuyerReply:
        """Return the message that the buyer signs."""
        account: Any = buyer
        return messages.BuyerReply(account, bytes.fromhex(self.messageId), messages.text_hash(self.text), chain_id)


class CredentialBody(BaseModel):
    """A buyer's request for a tier credential for a different address. It is not part of the specification."""

    holder: _Address
    chainId: Annotated[int, Field(gt=0, lt=2**63, strict=True)]
    policy: Annotated[str, Field(max_length=64)] | None = None
    scope: Annotated[str, Field(pattern=_HASH)]
    expiresAt: Annotated[int, Field(gt=0, lt=2**53, strict=True)]
    signature: _Signature

    def message(self, buyer: str, holder: str, policy: str) -> messages.CredentialRequest:
        """Return the message that the buyer signs."""
        accounts: tuple[Any, Any] = buyer, holder
        scope = bytes.fromhex(self.scope[2:])
        return messages.CredentialRequest(*accounts, policy, scope, self.chainId, self.expiresAt)


class EnrichmentBody(BaseModel):
    """A seller's service with its policy for buyers (section 6.1). `issuedAt` and `signature` are extensions."""

    model_config = ConfigDict(extra="forbid")

    globalId: _Agent
    serviceName: Annotated[str, Field(min_length=1, max_length=200)]
    serviceCategory: Category | None = None
    serviceDescription: _Note | None = None
    pricePerCallUsdc: _Price | None = None
    pricingModel: Annotated[str, Field(max_length=64)] | None = None
    avgLatencyMs: Annotated[int, Field(ge=0, le=86_400_000, strict=True)] | None = None
    uptimePercent: Percent | None = None
    rateLimitRpm: Annotated[int, Field(ge=0, le=10**9, strict=True)] | None = None
    apiEndpoint: WebUrl | None = None
    docsUrl: WebUrl | None = None
    x402Enabled: Annotated[bool, Field(strict=True)] | None = None
    supportedFormats: Annotated[list[_Tag], Field(max_length=20)] = []
    tags: Annotated[list[_Tag], Field(max_length=20)] = []
    buyerIncentives: BuyerIncentives | None = None
    issuedAt: Annotated[int, Field(gt=0, lt=2**53, strict=True)]
    signature: _Signature

    def message(self, seller: AgentKey, content: bytes) -> messages.AgentEnrichment:
        """Return the message that the seller signs."""
        registry: Any = seller.identity_registry
        return messages.AgentEnrichment(registry, seller.agent_id, content, self.issuedAt, seller.chain_id)


def parse_body(kind: type[M], value: Mapping[str, Any]) -> M:
    """Parse and validate a request body."""
    try:
        message = kind.model_validate(value)
    except ValidationError as problem:
        errors = [{"in": ".".join(map(str, error["loc"])), "problem": error["msg"]} for error in problem.errors()[:20]]
        raise invalid("{in}: {problem}".format_map(errors[0]), errors=errors) from None
    for name, content in message:
        for text in content if isinstance(content, list) else [content]:
            if isinstance(text, str) and _MARKUP.search(text):
                detail = f"{name}: markup is not allowed: write plain text"
                raise BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "markup", detail)
            if isinstance(text, str) and _NO_TEXT.search(text):
                raise invalid(f"{name}: the text contains NUL or a lone surrogate")
    return message


def invalid(detail: str, **members: Any) -> BuyerRefusalError:
    """Return the error for an invalid request body."""
    return BuyerRefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_body", detail, **members)


def address_of(text: str, name: str) -> str:
    """Return an address from a request body in checksum form."""
    try:
        return parse_buyer(text)[1]
    except MalformedIdentifierError as problem:
        raise invalid(f"{name}: {problem}") from None

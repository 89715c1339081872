"""Actions that give, authorise, revoke or answer feedback, ratings and validation requests."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bilateral.api.actions.base import Action, Address, AgentText, Hash, Line, Points, Prose, Signature, Uri
from bilateral.client import Client, Handle
from bilateral.client.operations.authorized import LIFETIME
from bilateral.client.operations.registries import agent_of, call, chain_of
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import FeedbackId
from bilateral.core.signatures import Domain
from bilateral.core.values import FeedbackValue, value_for_tag
from bilateral.documents import FeedbackFile, prepare_feedback_file

Value = Annotated[Decimal, Field(ge=-(10**38), le=10**38, max_digits=57, decimal_places=18, allow_inf_nan=False)]


class GiveFeedback(Action):
    """Rate an agent as its client (ERC-8004, `giveFeedback`)."""

    final: ClassVar[str] = (
        "The feedback stays on the chain permanently, with its tags and its file. If you revoke it, it no longer "
        "counts, but it remains visible to everyone."
    )

    action: Literal["give_feedback"]
    agent: Annotated[AgentText, Field(description="The agent, such as 8453:247.")]
    value: Annotated[Value, Field(description="The value, on the scale of the first tag.")]
    tag1: Annotated[Line, Field(description="The measured quantity, such as `starred`.")] = ""
    tag2: Annotated[Line, Field(description="A qualifier for the first tag.")] = ""
    endpoint: Annotated[Uri, Field(description="The endpoint that was used.")] = ""
    text: Annotated[Prose, Field(description="The text for the feedback file.")] = ""
    payment: Annotated[
        Hash | None, Field(description="The transaction in which the account paid the agent; stored in the file.")
    ] = None
    uri: Annotated[Uri, Field(description="The URI of a feedback file hosted elsewhere.")] = ""
    hash: Annotated[Hash | None, Field(description="The keccak-256 hash of that file.")] = None

    @property
    def stored(self) -> FeedbackValue:
        """The value as the registry encodes it."""
        return value_for_tag(self.tag1, self.value, self.tag2)

    @property
    def sentence(self) -> str:
        under = f" under the tag {self.tag1}" if self.tag1 else ""
        return f"Rate agent {self.agent} with {self.stored}{under}."

    def file(self, client: str = "", wallet: str = "") -> FeedbackFile | None:
        """Return the feedback file; None if it would be empty."""
        if not (self.text or self.payment):
            return None
        if self.uri or self.hash:
            raise InvalidArgumentError(
                "uri and hash point to an existing file: pass either these or text and payment, not both"
            )
        names = ("fromAddress", "toAddress", "chainId", "txHash")
        proof = dict(zip(names, (client, wallet, str(self.chain_id), self.payment), strict=True))
        return prepare_feedback_file(text=self.text or None, proof_of_payment=proof if self.payment else None)

    def document(self) -> Any:
        _ = self.stored
        nobody = f"0x{'0' * 40}"
        file = self.file(nobody, nobody)
        if file is None:
            return None
        fields = file.to_object()
        for address in ("fromAddress", "toAddress") if self.payment else ():
            del fields["proofOfPayment"][address]  # the account and the agent's wallet are not known yet
        return fields

    def perform(self, client: Client) -> Handle[Any]:
        wallet = ""
        if self.payment:
            agent = client.load_agent(self.agent, load_file=False)
            wallet = agent.wallet or agent.owner
        return client.give_feedback(
            self.agent,
            self.stored,
            self.tag1,
            self.tag2,
            self.endpoint,
            self.file(str(self.account), wallet),
            feedback_uri=self.uri,
            feedback_hash=self.hash,
        )


class _AboutFeedback(Action):
    """An action that concerns one feedback entry."""

    feedback: Annotated[
        str, Field(max_length=300, description="The feedback entry, as 8453:247:0x…:0; the last number starts at 0.")
    ]

    @property
    def target(self) -> FeedbackId:
        """The feedback entry."""
        return FeedbackId.parse(self.feedback)

    @property
    def chain_id(self) -> int:
        return chain_of(self.target.agent)

    def document(self) -> Any:
        _ = self.target
        return None


class RevokeFeedback(_AboutFeedback):
    """Revoke your own feedback (ERC-8004, `revokeFeedback`)."""

    final: ClassVar[str] = "A revocation is final: the feedback never counts again."

    action: Literal["revoke_feedback"]

    @property
    def sentence(self) -> str:
        return f"Revoke your feedback {self.target.index + 1} on agent {self.target.agent}."

    def perform(self, client: Client) -> Handle[Any]:
        return client.revoke_feedback(self.target)


class AppendResponse(_AboutFeedback):
    """Respond to feedback, which anyone can do (ERC-8004, `appendResponse`)."""

    final: ClassVar[str] = "A response stays on the chain permanently. You can add others, but cannot remove any."

    action: Literal["append_response"]
    text: Annotated[Prose, Field(min_length=1, description="The response, which is stored as a data URI.")]

    @property
    def sentence(self) -> str:
        return f"Respond to feedback {self.target.index + 1} by {self.target.client} on agent {self.target.agent}."

    def perform(self, client: Client) -> Handle[Any]:
        return client.append_response(self.target, response=self.text)


class _Rating(Action):
    """A rating of an agent by the account's primary agent."""

    final: ClassVar[str] = (
        "A rating is final: you cannot change or revoke it, and you can rate this agent in this role only once."
    )
    words: ClassVar[str] = "Rate agent {self.agent} as a {self.role} with {self.rating} of 100."
    role: ClassVar[str]

    action: str
    agent: AgentText
    rating: Annotated[Points, Field(description="The rating, 0 to 100.")]

    def perform(self, client: Client) -> Handle[Any]:
        rate = client.rate_client if self.role == "client" else client.rate_validator
        return rate(self.agent, self.rating)


class RateClient(_Rating):
    """As the account's primary agent, rate a client (EIP-8004a, `rateClient`)."""

    role: ClassVar[str] = "client"

    action: Literal["rate_client"]
    agent: Annotated[AgentText, Field(description="The client, an agent such as 8453:247.")]


class RateValidator(_Rating):
    """As the account's primary agent, rate a validator (EIP-8004a, `rateValidator`)."""

    role: ClassVar[str] = "validator"

    action: Literal["rate_validator"]
    agent: Annotated[AgentText, Field(description="The validator, an agent such as 8453:247.")]


class RespondToValidation(Action):
    """As the validator, respond to a validation request (ERC-8004, `validationResponse`)."""

    final: ClassVar[str] = "The response stays on the chain. You can respond again, but only the last response counts."

    action: Literal["respond_to_validation"]
    chain: Annotated[int, Field(ge=1, lt=2**63, description="The chain.")]
    request: Annotated[Hash, Field(description="The hash that identifies the request.")]
    response: Annotated[Points, Field(description="0 for failed, 100 for passed, or anything between.")]
    tag: Annotated[Line, Field(description="A category that the validator defines.")] = ""
    uri: Annotated[Uri, Field(description="The URI of the evidence.")] = ""
    hash: Annotated[Hash | None, Field(description="The keccak-256 hash of the evidence.")] = None

    @property
    def sentence(self) -> str:
        return f"Respond to request {self.request[:10]}… with {self.response} of 100."

    def perform(self, client: Client) -> Handle[Any]:
        return client.respond_to_validation(self.request, self.response, self.uri, self.hash, self.tag)


class AuthorizeFeedback(Action):
    """Authorise a client to rate an agent, in registries that require this (FeedbackAuth). No transaction is sent."""

    final: ClassVar[str] = "You cannot withdraw the authorisation: it is valid until it expires or is used up."

    action: Literal["authorize_feedback"]
    agent: Annotated[AgentText, Field(description="The agent, which the account owns.")]
    client: Annotated[Address, Field(description="The account that may rate it.")]
    count: Annotated[int, Field(ge=1, le=1_000, description="The number of additional feedback entries.")] = 1
    index_limit: Annotated[int | None, Field(ge=0, lt=2**63, description="The limit in `signature`.")] = None
    expiry: Annotated[int | None, Field(ge=0, lt=2**40, description="The expiry in `signature`.")] = None
    signature: Annotated[Signature | None, Field(description="The owner's signature over `FeedbackAuth`.")] = None

    @property
    def sentence(self) -> str:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"Let {self.client} rate agent {self.agent} {times} within a day."

    def perform(self, client: Client) -> str:
        deployment = client.get_deployment()
        if self.signature is None:
            token = agent_of(deployment, self.agent).token_id
            (last,) = client.runner.run(call(client.state, Registry.AUTHORIZED, "getLastIndex", token, self.client))
            self.index_limit = last + self.count
            self.expiry = int((datetime.now(UTC) + LIFETIME).timestamp())
        if self.expiry is None or self.index_limit is None:
            raise InvalidArgumentError("expiry or index_limit is missing: a signature requires both")
        authorization = client.authorize_feedback(
            self.agent, self.client, index_limit=self.index_limit, expiry=datetime.fromtimestamp(self.expiry, UTC)
        )
        domain = Domain(deployment.chain_id, deployment.address_of(Registry.AUTHORIZED))  # type: ignore[arg-type]
        if not client.is_valid_signature(str(self.account), authorization.auth.digest(domain), authorization.signature):
            raise InvalidArgumentError(f"signature was not made by {self.account}: sign with this account")
        return str(authorization)

"""Actions of servers and validators: to rate clients and validators, to answer requests, and to authorise clients."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bilateral.api.actions.base import Action, Address, AgentText, Hash, Line, Points, Signature, Uri
from bilateral.client.operations.authorized import LIFETIME
from bilateral.client.operations.registries import agent_of, call
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.signatures import Domain

if TYPE_CHECKING:
    from bilateral.client import Client, Handle


class _Rating(Action):
    """A rating of an agent by the account's primary agent."""

    final: ClassVar[str] = (
        "A rating is final: you can neither change nor revoke it, and rate this agent as this only once."
    )
    role: ClassVar[str]

    action: str
    agent: AgentText
    rating: Annotated[Points, Field(description="The rating, 0 to 100.")]

    @property
    def sentence(self) -> str:
        return f"Rate agent {self.agent} as a {self.role} with {self.rating} of 100."

    def perform(self, client: Client) -> Handle[Any]:
        rate = client.rate_client if self.role == "client" else client.rate_validator
        return rate(self.agent, self.rating)


class RateClient(_Rating):
    """Rate a client, as the account's primary agent (EIP-8004a, `rateClient`)."""

    role: ClassVar[str] = "client"

    action: Literal["rate_client"]
    agent: Annotated[AgentText, Field(description="The client, an agent such as 8453:247.")]


class RateValidator(_Rating):
    """Rate a validator, as the account's primary agent (EIP-8004a, `rateValidator`)."""

    role: ClassVar[str] = "validator"

    action: Literal["rate_validator"]
    agent: Annotated[AgentText, Field(description="The validator, an agent such as 8453:247.")]


class RespondToValidation(Action):
    """Answer a validation request as the validator that it names (ERC-8004, `validationResponse`)."""

    final: ClassVar[str] = "The answer stays on the chain for ever. You can answer again: then the last answer counts."

    action: Literal["respond_to_validation"]
    chain: Annotated[int, Field(ge=1, lt=2**63, description="The chain.")]
    request: Annotated[Hash, Field(description="The hash that names the request.")]
    response: Annotated[Points, Field(description="0 for failed, 100 for passed, or anything between.")]
    tag: Annotated[Line, Field(description="A category of the validator's own.")] = ""
    uri: Annotated[Uri, Field(description="The URI of the evidence.")] = ""
    hash: Annotated[Hash | None, Field(description="The keccak-256 hash of the evidence.")] = None

    @property
    def chain_id(self) -> int:
        return self.chain

    @property
    def sentence(self) -> str:
        return f"Answer the request {self.request[:10]}… with {self.response} of 100."

    def perform(self, client: Client) -> Handle[Any]:
        return client.respond_to_validation(self.request, self.response, self.uri, self.hash, self.tag)


class AuthorizeFeedback(Action):
    """Let a client rate an agent in the registry that asks for this (FeedbackAuth). Nothing is sent."""

    final: ClassVar[str] = "You cannot take the authorisation back: the client can use it until it ends, or is used up."

    action: Literal["authorize_feedback"]
    agent: Annotated[AgentText, Field(description="The agent, which the account owns.")]
    client: Annotated[Address, Field(description="The account that may rate it.")]
    count: Annotated[int, Field(ge=1, le=1_000, description="The number of further feedbacks.")] = 1
    index_limit: Annotated[int | None, Field(ge=0, lt=2**63, description="With `signature`: the signed limit.")] = None
    expiry: Annotated[int | None, Field(ge=0, lt=2**40, description="With `signature`: the signed expiry.")] = None
    signature: Annotated[Signature | None, Field(description="The owner's signature of `FeedbackAuth`.")] = None

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
            raise InvalidArgumentError("expiry or index_limit is missing: a signature comes with both")
        authorization = client.authorize_feedback(
            self.agent, self.client, index_limit=self.index_limit, expiry=datetime.fromtimestamp(self.expiry, UTC)
        )
        domain = Domain(deployment.chain_id, deployment.address_of(Registry.AUTHORIZED))  # type: ignore[arg-type]
        if not client.is_valid_signature(str(self.account), authorization.auth.digest(domain), authorization.signature):
            raise InvalidArgumentError(f"signature is not of {self.account}: sign with this account")
        return str(authorization)

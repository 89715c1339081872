"""The action of a buyer: to publish a review of a purchase (Buyer Reputation Protocol, `/api/review`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import Field, PrivateAttr

from bilateral.api.actions.base import Action, AgentText, Hash, Points
from bilateral.buyers.requests import ReviewBody
from bilateral.client.elsewhere import SignatureNeededError
from bilateral.client.operations.registries import agent_of
from bilateral.core.signatures import Domain
from bilateral.index.reading.registries import AgentKey

if TYPE_CHECKING:
    from bilateral.client import Client

Tag = Annotated[str, Field(max_length=64)]


class PublishReview(Action):
    """Publish a review of a purchase, which this service keeps. Nothing is sent to a chain."""

    final: ClassVar[str] = "The review is public, and one payment has one review. It costs nothing."

    action: Literal["publish_review"]
    agent: Annotated[AgentText, Field(description="The seller, such as 8453:247.")]
    score: Annotated[Points, Field(description="The score, 0 to 100.")]
    payment: Annotated[Hash, Field(description="The transaction in which the account paid the seller.")]
    tag1: Annotated[Tag, Field(description="The first tag.")] = ""
    tag2: Annotated[Tag, Field(description="The second tag.")] = ""
    note: Annotated[str, Field(max_length=1_000, description="Words.")] = ""

    _body: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def sentence(self) -> str:
        return f"Review your purchase from agent {self.agent} with {self.score} of 100."

    def perform(self, client: Client) -> NoReturn:
        deployment = client.get_deployment()
        agent = client.load_agent(agent_of(deployment, self.agent), load_file=False)
        account, payee = str(self.account), agent.wallet or agent.owner
        self._body = {
            "agentId": str(agent.global_id),
            "score": self.score,
            "tag1": self.tag1,
            "tag2": self.tag2,
            "feedbackNote": self.note,
            "proofOfPayment": {
                "txHash": self.payment,
                "fromAddress": account,
                "toAddress": payee,
                "chainId": deployment.chain_id,
            },
        }
        seller = AgentKey(deployment.chain_id, deployment.identity, agent.id.token_id, ())
        message = ReviewBody.model_validate(self._body).message(seller)
        domain = Domain(deployment.chain_id, deployment.identity)  # type: ignore[arg-type]  # it is checksummed
        raise SignatureNeededError(account, message.signable(domain).typed_data)

    def request_of(self, typed_data: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        del typed_data
        return "/api/review", self._body

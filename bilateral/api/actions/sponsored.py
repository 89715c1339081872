"""Actions that cost the visitor no gas: feedback, signed twice and sent by the aggregator, and reviews."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import BeforeValidator, Field, PrivateAttr

from bilateral.api.actions.base import Action, AgentText, Hash, Line, Points, Prose, Signature, Uri
from bilateral.api.aggregator import FEEDBACK_PATH
from bilateral.buyers.requests import ReviewBody
from bilateral.client import Client
from bilateral.client.operations.registries import agent_of, chain_of
from bilateral.client.state import RemoteSigner, SignatureNeededError
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId, checksummed
from bilateral.core.signatures import Domain, Feedback
from bilateral.core.values import value_for_tag
from bilateral.documents import FeedbackFile
from bilateral.index.reading.registries import AgentKey

if TYPE_CHECKING:
    from bilateral.x402.proof.types import InteractionData

_LONGEST = 20_000
"""The maximum length of a payment statement in characters; 2,000 is typical."""

_UNSIGNED = b"\0"
_TAG2 = "x402"
"""The second tag of all feedback under the `reputation` profile."""


def _object(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST:
        raise ValueError(f"{len(value)} characters exceed the limit of {_LONGEST}")
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("not valid JSON: copy the whole statement, including its braces") from None


class SponsoredFeedback(Action):
    """Rate an agent for a paid request, and let this service's aggregator pay for the gas (`giveFeedbackBySig`)."""

    final: ClassVar[str] = (
        "The feedback stays on the chain permanently, with its tags and its file. If you revoke it, in a transaction "
        "that you pay for, it no longer counts, but it remains visible to everyone."
    )
    needs_aggregator: ClassVar[bool] = True

    action: Literal["sponsored_feedback"]
    agent: Annotated[AgentText, Field(description="The agent, such as 8453:247.")]
    value: Annotated[
        Decimal, Field(ge=0, le=100, max_digits=20, decimal_places=18, description="The value, from 0 to 100.")
    ]
    tag1: Annotated[Line, Field(description="The measured quantity, such as `starred`.")] = ""
    endpoint: Annotated[Uri, Field(description="The endpoint that was used.")] = ""
    text: Annotated[Prose, Field(description="The text for the feedback file.")] = ""
    statement: Annotated[
        dict[str, Any],
        Field(description="The agent's signed statement about the paid answer (x402, 8004-reputation), or its JSON."),
        BeforeValidator(_object),
    ]
    client_signature: Annotated[
        Signature | None, Field(description="The account's signature over agent, payment and value (EIP-191).")
    ] = None

    _file: FeedbackFile | None = PrivateAttr(default=None)
    _agent: GlobalAgentId | None = PrivateAttr(default=None)

    @property
    def interaction(self) -> InteractionData:
        """The statement about the paid interaction that the client rates."""
        from bilateral.x402.proof.types import InteractionData  # noqa: PLC0415  # the extra of aggregators

        return InteractionData.of(self.statement)

    @property
    def sentence(self) -> str:
        stored = value_for_tag(self.tag1, self.value, _TAG2)
        first = "First sign whom you rate, for which payment, and the value"
        step = first if self.client_signature is None else "Then sign the feedback itself"
        under = f" under the tag {self.tag1}" if self.tag1 else ""
        return f"Rate agent {self.agent} with {stored}{under}. {step}."

    @property
    def signature_place(self) -> str:
        return "client_signature" if self.client_signature is None else "sponsored.signature"

    def document(self) -> Any:
        interaction = self.interaction
        network = f"eip155:{chain_of(self.agent)}"
        if str(interaction.network) != network:
            raise InvalidArgumentError(f"the statement is for a payment on {interaction.network}, not on {network}")
        stored = value_for_tag(self.tag1, self.value, _TAG2)
        fields = {"taskRef": interaction.task_ref, "value": stored.value, "valueDecimals": stored.decimals}
        texts = {"tag1": self.tag1, "tag2": _TAG2, "endpoint": self.endpoint, "comment": self.text}
        return fields | {name: text for name, text in texts.items() if text}

    def perform(self, client: Client) -> NoReturn:
        from bilateral.x402.clients.feedback import Tags, draft_file, feedback_file, specified_file  # noqa: PLC0415

        deployment, interaction, account = client.get_deployment(), self.interaction, str(self.account)
        loaded = client.load_agent(agent_of(deployment, self.agent), load_file=False)
        agent = GlobalAgentId(deployment.agent_registry, str(loaded.id.token_id))
        if interaction.agent_id != agent.agent or interaction.agent_registry not in (None, agent.registry):
            raise InvalidArgumentError(f"the statement is for agent {interaction.agent_id}, not for {agent}")
        stored, tags = value_for_tag(self.tag1, self.value, _TAG2), Tags(self.tag1, _TAG2)
        signed = None if self.client_signature is None else bytes.fromhex(self.client_signature[2:])
        make = specified_file if interaction.data_hash is None else draft_file
        self._agent = agent
        self._file = feedback_file(
            make(agent, interaction, stored, tags, RemoteSigner(account, signed)),
            self.text or None,
            {
                "fromAddress": account,
                "toAddress": loaded.wallet or loaded.owner,
                "chainId": str(deployment.chain_id),
                "txHash": interaction.payment.transaction,
            },
        )
        client.sign_feedback(agent, stored, *tags, self.endpoint, self._file)
        raise AssertionError("the signer has no key")

    def request_of(self, typed_data: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        if typed_data is None or self._file is None or self._agent is None:
            return super().request_of(typed_data)
        from bilateral.x402.aggregator.messages import Submission  # noqa: PLC0415
        from bilateral.x402.clients.feedback import client_signature_of  # noqa: PLC0415

        message, interaction = typed_data["message"], self.interaction
        submission = Submission(
            agent=self._agent,
            task_ref=interaction.task_ref,
            interaction_hash=interaction.interaction_hash,
            agent_signature=interaction.signature,
            reviewer=type(self._agent.registry)(self._agent.registry.chain, str(self.account)),
            reviewer_signature=client_signature_of(self._file),
            feedback=Feedback(
                agent_id=int(message["agentId"]),
                client_address=checksummed(str(self.account)),  # type: ignore[arg-type]  # it is checksummed
                feedback_index=int(message["feedbackIndex"]),
                value=int(message["value"]),
                value_decimals=int(message["valueDecimals"]),
                tag1=message["tag1"],
                tag2=message["tag2"],
                endpoint=message["endpoint"],
                feedback_uri=message["feedbackURI"],
                feedback_hash=bytes.fromhex(message["feedbackHash"].removeprefix("0x")),
                deadline=int(message["deadline"]),
            ),
            signature=_UNSIGNED,
            data_hash=interaction.data_hash,
        )
        return FEEDBACK_PATH, submission.to_object()


Tag = Annotated[str, Field(max_length=64)]


class PublishReview(Action):
    """Publish a review of a purchase, which this service stores. No transaction is sent."""

    final: ClassVar[str] = "The review is public. You can review each payment once, free of charge."

    words: ClassVar[str] = "Review your purchase from agent {self.agent} with {self.score} of 100."

    action: Literal["publish_review"]
    agent: Annotated[AgentText, Field(description="The seller, such as 8453:247.")]
    score: Annotated[Points, Field(description="The score, 0 to 100.")]
    payment: Annotated[Hash, Field(description="The transaction in which the account paid the seller.")]
    tag1: Annotated[Tag, Field(description="The first tag.")] = ""
    tag2: Annotated[Tag, Field(description="The second tag.")] = ""
    note: Annotated[str, Field(max_length=1_000, description="The text of the review.")] = ""

    _body: dict[str, Any] = PrivateAttr(default_factory=dict)

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

"""Actions of clients: to give feedback, to revoke it, and to respond to it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bilateral.api.actions.base import Action, AgentText, Hash, Line, Prose, Uri
from bilateral.client.operations.registries import chain_of
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import FeedbackId
from bilateral.core.values import FeedbackValue, value_for_tag
from bilateral.documents import FeedbackFile, prepare_feedback_file

if TYPE_CHECKING:
    from bilateral.client import Client, Handle

Value = Annotated[Decimal, Field(ge=-(10**38), le=10**38, max_digits=57, decimal_places=18, allow_inf_nan=False)]


class GiveFeedback(Action):
    """Rate an agent as its client (ERC-8004, `giveFeedback`)."""

    final: ClassVar[str] = (
        "The feedback stays on the chain for ever, with its tags and its file. You can revoke it: then it counts no "
        "more, and everybody still sees it."
    )

    action: Literal["give_feedback"]
    agent: Annotated[AgentText, Field(description="The agent, such as 8453:247.")]
    value: Annotated[Value, Field(description="The value, on the scale of the first tag.")]
    tag1: Annotated[Line, Field(description="The measured quantity, such as `starred`.")] = ""
    tag2: Annotated[Line, Field(description="The qualifier.")] = ""
    endpoint: Annotated[Uri, Field(description="The endpoint that was used.")] = ""
    text: Annotated[Prose, Field(description="Words for the feedback file.")] = ""
    payment: Annotated[
        Hash | None, Field(description="The transaction in which the account paid the agent, for the file.")
    ] = None
    uri: Annotated[Uri, Field(description="The URI of a feedback file that is kept elsewhere.")] = ""
    hash: Annotated[Hash | None, Field(description="The keccak-256 hash of that file.")] = None

    @property
    def stored(self) -> FeedbackValue:
        """The value in the registry's form.

        Raises:
            UnrepresentableValueError: It means nothing under its tags.
        """
        return value_for_tag(self.tag1, self.value, self.tag2)

    @property
    def sentence(self) -> str:
        under = f" under the tag {self.tag1}" if self.tag1 else ""
        return f"Rate agent {self.agent} with {self.stored}{under}."

    def file(self, client: str = "", wallet: str = "") -> FeedbackFile | None:
        """Return the feedback file; None if it would say nothing.

        Args:
            client: The account that paid.
            wallet: The account that was paid.

        Raises:
            InvalidArgumentError: A file and the URI of another one are given.
        """
        if not (self.text or self.payment):
            return None
        if self.uri or self.hash:
            raise InvalidArgumentError("uri and hash are of a file elsewhere: leave them out, or text and payment")
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
        file = self.file(str(self.account), wallet)
        return client.give_feedback(
            self.agent,
            self.stored,
            self.tag1,
            self.tag2,
            self.endpoint,
            file,
            feedback_uri=self.uri,
            feedback_hash=self.hash,
        )


class _AboutFeedback(Action):
    """An action about one feedback."""

    feedback: Annotated[
        str, Field(max_length=300, description="The feedback, as 8453:247:0x…:0: its last number counts from 0.")
    ]

    @property
    def named(self) -> FeedbackId:
        """The feedback.

        Raises:
            MalformedIdentifierError: The id is malformed.
        """
        return FeedbackId.parse(self.feedback)

    @property
    def chain_id(self) -> int:
        return chain_of(self.named.agent)

    def document(self) -> Any:
        _ = self.named
        return None


class RevokeFeedback(_AboutFeedback):
    """Revoke one's own feedback (ERC-8004, `revokeFeedback`)."""

    final: ClassVar[str] = "A revocation is final: the feedback never counts again."

    action: Literal["revoke_feedback"]

    @property
    def sentence(self) -> str:
        return f"Revoke your feedback {self.named.index + 1} on agent {self.named.agent}."

    def perform(self, client: Client) -> Handle[Any]:
        return client.revoke_feedback(self.named)


class AppendResponse(_AboutFeedback):
    """Respond to a feedback, which anybody may (ERC-8004, `appendResponse`)."""

    final: ClassVar[str] = "A response stays on the chain for ever. You can add another one, and remove none."

    action: Literal["append_response"]
    text: Annotated[Prose, Field(min_length=1, description="The response, which is stored as a data URI.")]

    @property
    def sentence(self) -> str:
        return f"Respond to feedback {self.named.index + 1} of {self.named.client} on agent {self.named.agent}."

    def perform(self, client: Client) -> Handle[Any]:
        return client.append_response(self.named, response=self.text)

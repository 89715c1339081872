"""Routes of checks: should I pay this server, should I serve this client?"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from bilateral.api.answers import answer, one_of
from bilateral.api.service import service_of
from bilateral.api.stored_buyers import stored_buyers
from bilateral.api.texts import require_storable
from bilateral.checks import Check, Payment, Policy, check_client, check_server, stored_findings
from bilateral.checks.policy import policy_of
from bilateral.checks.presets import PolicyName
from bilateral.errors import InvalidArgumentError
from bilateral.query.blind import Blind

router = APIRouter(prefix="/v1/checks", tags=["checks"])

_Text = Annotated[str, Field(max_length=200)]
_Texts = Annotated[list[_Text], Field(max_length=200)]
_Block = Annotated[int, Field(ge=0, lt=2**63)]


class Moment(BaseModel):
    """The moment of a check: a block, and the sources of an earlier answer that is repeated."""

    model_config = ConfigDict(extra="forbid")

    at_block: Annotated[_Block | None, Field(description="The block; the last indexed one if left out.")] = None
    history: Annotated[
        str | None,
        Field(pattern="^0x[0-9a-fA-F]{64}$", description="The `history` of an earlier answer: refuse another fork."),
    ] = None
    analysis: Annotated[_Block | None, Field(description="The `analysis` of an earlier answer, to repeat it.")] = None
    findings: Annotated[bool, Field(description="False to leave out the findings of trust analysis.")] = True

    def moment(self) -> dict[str, Any]:
        """Return the options of the check that say its moment, and whether findings count."""
        return {
            "at_block": self.at_block,
            "history": None if self.history is None else bytes.fromhex(self.history[2:]),
            "analysis": self.analysis,
            "findings": stored_findings if self.findings else None,
        }


class PolicyQuery(Moment):
    """The policy and the moment of a check. Without a policy's field its default counts, see docs/checks.md."""

    policy: Annotated[PolicyName | None, Field(description="The policy that counts for fields left out.")] = None
    minimum_rating: Decimal | None = None
    tag: _Text | None = None
    minimum_raters: int | None = None
    first_purchase: Decimal | None = None
    newcomers: _Text | None = None
    trust_account: Annotated[_Texts, Field(description="An account whose feedback counts; may be repeated.")] = []
    trust_agent: Annotated[_Texts, Field(description="An agent whose ratings count; may be repeated.")] = []
    own_experience: bool = False
    minimum_lower_bound: Decimal | None = None
    blind: Annotated[Blind | None, Field(description="`only` counts ratings that were sealed before.")] = None
    maximum_rating_age_days: int | None = None
    maximum_repeats: int | None = None
    repeat_days: int | None = None
    minimum_age_days: int | None = None
    recent_days: int | None = None
    severity: Annotated[_Texts, Field(description="code:severity, such as inactive:decline; may be repeated.")] = []

    def chosen_policy(self) -> Policy:
        """Return the policy.

        Raises:
            InvalidArgumentError: A field is out of its limits.
        """
        own = {*PolicyQuery.model_fields, *_OF_THE_QUESTION} - _SHARED
        fields: dict[str, Any] = {
            name: value for name, value in self.model_dump().items() if name not in own and value is not None
        }
        fields["name"] = self.policy or PolicyName.BALANCED
        fields["trust"] = {
            "accounts": self.trust_account,
            "agents": self.trust_agent,
            "own_experience": self.own_experience,
            "minimum_lower_bound": self.minimum_lower_bound,
        }
        fields["severities"] = dict(_severity(text) for text in self.severity)
        require_storable(self.tag)
        return policy_of(fields)


class OfServer(BaseModel):
    """The subject of a question about a server."""

    agent: Annotated[_Text, Field(description="The server, such as 8453:247.")]
    pay_to: Annotated[_Text | None, Field(description="The account that a payment would go to.")] = None
    amount: Annotated[Decimal | None, Field(ge=0, description="The money asked for, in units of the token.")] = None
    payment_chain: Annotated[_Block | None, Field(description="The chain of the payment.")] = None
    client: Annotated[_Text | None, Field(description="The client that asks: an account or an agent.")] = None
    files: Annotated[_Block | None, Field(description="The `files` of an earlier answer, to repeat it.")] = None

    def payment(self) -> Payment | None:
        """Return the payment that the question is about.

        Raises:
            InvalidArgumentError: It has a chain, and no account.
        """
        if self.pay_to is None and self.payment_chain is not None:
            raise InvalidArgumentError("payment_chain is of a payment: give pay_to too")
        return None if self.pay_to is None else Payment(self.pay_to, self.payment_chain)


class OfClient(BaseModel):
    """The subject of a question about a client."""

    client: Annotated[_Text, Field(description="The client: an account, or an agent such as 8453:247.")]
    server: Annotated[_Text | None, Field(description="The server that asks: an agent or its account.")] = None
    chain: Annotated[_Block | None, Field(description="The chain of an account.")] = None
    payments: Annotated[_Block | None, Field(description="The `payments` of an earlier answer, to repeat it.")] = None


class ServerQuery(OfServer, PolicyQuery):
    """A question about a server."""

    require_payment_proof: bool | None = None
    validator: Annotated[_Texts, Field(description="A validator whose answers count; may be repeated.")] = []
    minimum_validations: int | None = None
    minimum_validation: Decimal | None = None
    require_domain: bool | None = None


class ClientQuery(OfClient, PolicyQuery):
    """A question about a client."""

    anonymous: _Text | None = None
    minimum_buyer_score: Decimal | None = None


class Question(Moment):
    """The policy and the moment of a check, as a body."""

    policy: Annotated[Policy, Field(description="The policy, see docs/checks.md; its defaults if left out.")] = Policy()

    def options(self) -> dict[str, Any]:
        """Return the options of the check: its policy, its moment, and whether findings count."""
        require_storable(self.policy.tag)
        return {"policy": self.policy, **self.moment()}


class ServerQuestion(OfServer, Question):
    """A question about a server, as a body."""


class ClientQuestion(OfClient, Question):
    """A question about a client, as a body."""


_SHARED = {
    *("minimum_rating", "tag", "minimum_raters", "first_purchase", "newcomers"),
    *("blind", "maximum_rating_age_days", "maximum_repeats", "repeat_days", "minimum_age_days", "recent_days"),
}
_OF_THE_QUESTION = {*OfServer.model_fields, *OfClient.model_fields, "validator"}


@router.get("/server", response_class=Response, responses=one_of(Check, 404, 409, 422))
def read_server_check(request: Request, query: Annotated[ServerQuery, Query()]) -> Response:
    """Answer the question: should I pay this server? The answer names the block that it was made at."""
    policy = query.chosen_policy()
    if query.validator:
        policy = policy_of({**policy.model_dump(), "validators": query.validator})
    check = service_of(request).read(
        check_server,
        query.agent,
        payment=query.payment(),
        amount=query.amount,
        policy=policy,
        for_client=query.client,
        files=query.files,
        **query.moment(),
    )
    return answer(request, Check, check)


@router.get("/client", response_class=Response, responses=one_of(Check, 404, 409, 422))
def read_client_check(request: Request, query: Annotated[ClientQuery, Query()]) -> Response:
    """Answer the question: should I serve this client? The answer names the block that it was made at."""
    client = service_of(request).read(
        check_client,
        query.client,
        for_server=query.server,
        policy=query.chosen_policy(),
        chain_id=query.chain,
        payments=query.payments,
        buyers=stored_buyers,
        **query.moment(),
    )
    return answer(request, Check, client)


@router.post("/server", response_class=Response, responses=one_of(Check, 404, 409, 422))
def answer_server_check(request: Request, question: ServerQuestion) -> Response:
    """Answer the same question under a whole policy, which the body holds. Nothing is stored."""
    check = service_of(request).read(
        check_server,
        question.agent,
        payment=question.payment(),
        amount=question.amount,
        for_client=question.client,
        files=question.files,
        **question.options(),
    )
    return answer(request, Check, check)


@router.post("/client", response_class=Response, responses=one_of(Check, 404, 409, 422))
def answer_client_check(request: Request, question: ClientQuestion) -> Response:
    """Answer the same question under a whole policy, which the body holds. Nothing is stored."""
    client = service_of(request).read(
        check_client,
        question.client,
        for_server=question.server,
        chain_id=question.chain,
        payments=question.payments,
        buyers=stored_buyers,
        **question.options(),
    )
    return answer(request, Check, client)


def _severity(text: str) -> tuple[str, str]:
    """Split `code:severity`."""
    code, colon, severity = text.partition(":")
    if not colon:
        raise InvalidArgumentError("a severity is written as code:severity, such as inactive:decline")
    return code, severity

"""Routes of checks: should I pay this server, should I serve this client?"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from bilateral.api.answers import answer, one_of
from bilateral.api.service import service_of
from bilateral.api.stored_buyers import stored_buyers
from bilateral.api.texts import require_storable
from bilateral.checks import Check, Policy
from bilateral.checks.policy import PolicyName, policy_of
from bilateral.checks.questions import Moment, OfClient, OfServer, Text
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.blind import Blind

router = APIRouter(prefix="/v1/checks", tags=["checks"], default_response_class=Response)

_Texts = Annotated[list[Text], Field(max_length=200)]


class PolicyQuery(Moment, BaseModel):
    """The policy and the moment of a check. Without a policy's field its default counts, see docs/checks.md."""

    policy: Annotated[PolicyName | None, Field(description="The policy that counts for fields left out.")] = None
    minimum_rating: Decimal | None = None
    tag: Text | None = None
    minimum_raters: int | None = None
    first_purchase: Decimal | None = None
    minimum_evidence: Decimal | None = None
    newcomers: Text | None = None
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

    def options(self) -> dict[str, Any]:
        """Return the options of the check: its policy, its moment, and whether findings count.

        Raises:
            InvalidArgumentError: A field is out of its limits.
        """
        own = Policy.model_fields.keys() - {"name", "trust", "severities"}
        fields: dict[str, Any] = self.model_dump(include=own, exclude_unset=True, exclude_none=True)
        fields["name"] = self.policy or PolicyName.BALANCED
        fields["trust"] = {
            "accounts": self.trust_account,
            "agents": self.trust_agent,
            "own_experience": self.own_experience,
            "minimum_lower_bound": self.minimum_lower_bound,
        }
        fields["severities"] = dict(_severity(text) for text in self.severity)
        require_storable(self.tag)
        return {"policy": policy_of(fields), **self.moment()}


class ServerQuery(OfServer, PolicyQuery):
    """A question about a server."""

    require_payment_proof: bool | None = None
    validators: Annotated[
        _Texts, Field(alias="validator", description="A validator whose answers count; may be repeated.")
    ] = []
    minimum_validations: int | None = None
    minimum_validation: Decimal | None = None
    require_domain: bool | None = None


class ClientQuery(OfClient, PolicyQuery):
    """A question about a client."""

    anonymous: Text | None = None
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


@router.get("/server", responses=one_of(Check, 404, 409, 422))
def read_server_check(request: Request, query: Annotated[ServerQuery, Query()]) -> Response:
    """Answer the question: should I pay this server? The answer names the block that it was made at."""
    return _answer(request, query)


@router.get("/client", responses=one_of(Check, 404, 409, 422))
def read_client_check(request: Request, query: Annotated[ClientQuery, Query()]) -> Response:
    """Answer the question: should I serve this client? The answer names the block that it was made at."""
    return _answer(request, query, buyers=stored_buyers)


@router.post("/server", responses=one_of(Check, 404, 409, 422))
def answer_server_check(request: Request, question: ServerQuestion) -> Response:
    """Answer the same question under a whole policy, which the body holds. Nothing is stored."""
    return _answer(request, question)


@router.post("/client", responses=one_of(Check, 404, 409, 422))
def answer_client_check(request: Request, question: ClientQuestion) -> Response:
    """Answer the same question under a whole policy, which the body holds. Nothing is stored."""
    return _answer(request, question, buyers=stored_buyers)


def _answer(
    request: Request, question: ServerQuery | ClientQuery | ServerQuestion | ClientQuestion, **options: Any
) -> Response:
    return answer(request, Check, service_of(request).read(question.check, **question.options(), **options))


def _severity(text: str) -> tuple[str, str]:
    """Split `code:severity`."""
    code, colon, severity = text.partition(":")
    if not colon:
        raise InvalidArgumentError("a severity is written as code:severity, such as inactive:decline")
    return code, severity

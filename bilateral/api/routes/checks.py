"""Check routes: should I pay this server, should I serve this client?"""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Final, Optional, TypeVar, Union, get_args, get_origin

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, create_model

from bilateral.api.answers import answer, one_of
from bilateral.api.parameters import require_storable
from bilateral.api.service import service_of
from bilateral.api.stored_buyers import stored_buyers
from bilateral.checks import Check, Policy
from bilateral.checks.policy import Newcomers, PolicyName, policy_of
from bilateral.checks.questions import OfClient, OfServer, Snapshot, Text
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.summaries import Blind

router = APIRouter(prefix="/v1/checks", tags=["checks"], default_response_class=Response)

M = TypeVar("M", bound=BaseModel)


def _texts(about: str, alias: str | None = None) -> tuple[Any, list[str]]:
    """Return a repeatable parameter as a field for `create_model`."""
    return Annotated[list[Text], Field(max_length=200, alias=alias, description=about)], []


_OF_SERVERS: Final = (
    "require_payment_proof",
    "validators",
    "minimum_validations",
    "minimum_validation",
    "require_domain",
    "watchtowers",
    "maximum_measurement_age_hours",
)
_OF_CLIENTS: Final = ("anonymous", "minimum_buyer_score")
"""The policy fields for checks of clients only."""

_AS_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "name": {
        "policy": (Annotated[PolicyName | None, Field(description="The policy that supplies omitted fields.")], None)
    },
    "trust": {
        "trust_account": _texts("An account whose feedback counts; may be repeated."),
        "trust_agent": _texts("An agent whose ratings count; may be repeated."),
        "own_experience": (bool, False),
        "minimum_lower_bound": (Decimal | None, None),
    },
    "blind": {
        "blind": (Annotated[Blind | None, Field(description="`only`: count only sealed (blind) ratings.")], None)
    },
    "validators": {"validators": _texts("A validator whose responses count; may be repeated.", "validator")},
    "watchtowers": {"watchtowers": _texts("A watchtower whose signals count; may be repeated.", "watchtower")},
    "severities": {"severity": _texts("code:severity, such as inactive:decline; may be repeated.")},
}
"""Query parameters for policy fields that need a different form. Other fields become parameters as they are."""


def _asks_for(*names: str) -> Callable[[type[M]], type[M]]:
    """Convert policy fields to query parameters. The policy checks their limits, with its own error messages."""

    def decorate(query: type[M]) -> type[M]:
        fields: dict[str, Any] = {}
        for name in names:
            fields |= _AS_PARAMETERS.get(name) or {name: (_parameter(Policy.model_fields[name].annotation), None)}
        return create_model(query.__name__, __base__=query, __doc__=query.__doc__, **fields)

    return decorate


def _parameter(kind: Any) -> Any:
    """Return a policy field's type, but optional and without limits. The policy parses text values later."""
    options = [get_args(part)[0] if get_origin(part) is Annotated else part for part in get_args(kind) or (kind,)]
    return Optional[Union[tuple(Text if option in (str, Newcomers) else option for option in options)]]  # noqa: UP007, UP045


@_asks_for(*(name for name in Policy.model_fields if name not in (*_OF_SERVERS, *_OF_CLIENTS)))
class PolicyQuery(Snapshot):
    """A check's policy and block. Omitted policy fields get defaults (see docs/checks.md)."""

    def options(self) -> dict[str, Any]:
        """Return the check's options: its policy, its block, and whether findings count."""
        own, values = Policy.model_fields.keys() - {"name", "trust", "severities"}, dict(self)
        fields: dict[str, Any] = self.model_dump(include=own, exclude_unset=True, exclude_none=True)
        fields["name"] = values["policy"] or PolicyName.BALANCED
        fields["trust"] = {
            "accounts": values["trust_account"],
            "agents": values["trust_agent"],
            **{name: values[name] for name in ("own_experience", "minimum_lower_bound")},
        }
        fields["severities"] = dict(map(_severity, values["severity"]))
        require_storable(values["tag"])
        return {"policy": policy_of(fields), **self.snapshot_options()}


@_asks_for(*_OF_SERVERS)
class ServerQuery(OfServer, PolicyQuery):
    """A question about a server."""


@_asks_for(*_OF_CLIENTS)
class ClientQuery(OfClient, PolicyQuery):
    """A question about a client."""


class Question(Snapshot):
    """A check's policy and block, as a request body."""

    policy: Annotated[Policy, Field(description="The policy, see docs/checks.md; the default policy if omitted.")] = (
        Policy()
    )

    def options(self) -> dict[str, Any]:
        """Return the check's options: its policy, its block, and whether findings count."""
        require_storable(self.policy.tag)
        return {"policy": self.policy, **self.snapshot_options()}


class ServerQuestion(OfServer, Question):
    """A question about a server, as a request body."""


class ClientQuestion(OfClient, Question):
    """A question about a client, as a request body."""


@router.get("/server", responses=one_of(Check, 404, 409, 422))
def read_server_check(request: Request, query: Annotated[ServerQuery, Query()]) -> Response:
    """Answer the question "should I pay this server?". The response includes the block on which it is based."""
    return _answer(request, query)


@router.get("/client", responses=one_of(Check, 404, 409, 422))
def read_client_check(request: Request, query: Annotated[ClientQuery, Query()]) -> Response:
    """Answer the question "should I serve this client?". The response includes the block on which it is based."""
    return _answer(request, query, buyers=stored_buyers)


@router.post("/server", responses=one_of(Check, 404, 409, 422))
def answer_server_check(request: Request, question: ServerQuestion) -> Response:
    """Answer the same question as the GET request, under the complete policy in the request body. Nothing is stored."""
    return _answer(request, question)


@router.post("/client", responses=one_of(Check, 404, 409, 422))
def answer_client_check(request: Request, question: ClientQuestion) -> Response:
    """Answer the same question as the GET request, under the complete policy in the request body. Nothing is stored."""
    return _answer(request, question, buyers=stored_buyers)


def _answer(
    request: Request, question: ServerQuery | ClientQuery | ServerQuestion | ClientQuestion, **options: Any
) -> Response:
    return answer(request, Check, service_of(request).read(question.check, **question.options(), **options))


def _severity(text: str) -> tuple[str, str]:
    code, colon, severity = text.partition(":")
    if not colon:
        raise InvalidArgumentError("expected code:severity, such as inactive:decline")
    return code, severity

"""Parameters shared by many routes."""

from collections import Counter
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from fastapi import Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bilateral.api.answers import Format, answer_page
from bilateral.api.service import service_of
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.core.values.summaries import Blind
from bilateral.index.ratings.queries import Direction, RatedSide
from bilateral.index.reading.pages import DEFAULT_LIMIT, MAX_LIMIT, Page

_SINGLE: Final = ("/v1/", "/api/")
"""The prefixes of paths that reject repeated parameters."""

_STRICT: Final = "/v1/"
"""The prefix of the service's own API. Pages and compatible APIs ignore unknown parameters."""

AgentPath = Annotated[
    str,
    Path(
        alias="agent",
        max_length=200,
        description="The agent's id: 8453:247, eip155:8453:0x…#247 (with # as %23) or eip155:8453:0x…:247.",
        examples=["8453:247"],
    ),
]
"""An agent in the path, in any published form of its id. `Service.agent_key` parses the id."""

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The maximum number of entries.")]
"""The maximum number of entries in a list. The default is `DEFAULT_LIMIT`."""

Cursor = Annotated[str | None, Query(max_length=1_200, description="The cursor `next` from the previous page.")]
"""The cursor of the page to return."""

ListFormat = Annotated[Format, Query(alias="format", description="The format of the list.")]
"""The format of a list. The default is `Format.JSON`."""

ChainId = Annotated[int, Query(alias="chain", ge=1, lt=2**63, description="The chain's EIP-155 id.")]
"""The id of the chain to query."""

AddressPath = Annotated[
    str,
    Path(
        alias="address",
        max_length=42,
        description="An account's address: 0x and 40 hexadecimal digits.",
        examples=["0x8004B663056A597Dffe9eCcC1965A193B7388713"],
    ),
]
"""An account in the path. `bilateral.core.identifiers.checksummed` checks the address."""

Client = Annotated[str | None, Query(max_length=42, description="The client's address.")]
"""The client whose records are listed."""

SealedOnly = Annotated[
    Blind | None,
    Query(alias="blind", description="`only`: ratings that were sealed before either side saw the other's."),
]
"""A filter for ratings that were sealed before either side saw the other's rating."""

Tag = Annotated[str | None, Query(max_length=1_000, description="The exact tag.")]
"""A feedback tag: untrusted text that may be empty."""


Revoked = Annotated[bool, Query(description="True to include revoked feedback.")]


class ListQuery(BaseModel):
    """The parameters for a list's page and format, which follow the list's own parameters."""

    limit: Limit = DEFAULT_LIMIT
    cursor: Cursor = None
    list_format: ListFormat = Format.JSON

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Move the shared fields after the subclass's own, so that the documentation lists them last."""
        for name in ListQuery.model_fields:
            cls.model_fields[name] = cls.model_fields.pop(name)
        cls.model_rebuild(force=True)

    def answer(
        self, request: Request, kind: Any, query: Callable[..., Page[Any]], *parts: Any, **options: Any
    ) -> Response:
        """Read the page, and respond with it."""
        page = service_of(request).read(query, *parts, limit=self.limit, cursor=self.cursor, **options)
        return answer_page(request, kind, page, self.list_format)


class RatingFilters(BaseModel):
    """Filters for ratings that servers gave, shared by REST routes and MCP tools."""

    direction: Annotated[Direction, Query(description="Ratings of the agent or by the agent.")] = Direction.RECEIVED
    side: Annotated[RatedSide | None, Query(description="The role in which the rated agent acted.")] = None


async def refuse_wrong_parameters(request: Request) -> None:
    """Reject unknown parameters, and repeated parameters that take a single value.

    If a misspelt filter were ignored, a search would find everything. If a parameter has two values, it is unclear
    which one the caller means.
    """
    route = request.scope["route"]
    if not request.query_params or not isinstance(route, APIRoute):
        return
    fields, is_refused = _fields(route)
    names = Counter(name for name, _ in request.query_params.multi_items())
    if route.path.startswith(_SINGLE):
        for name, count in names.items():
            if count > 1 and name in fields and not _is_list(fields[name]):
                raise InvalidArgumentError(f"the parameter {quoted(name)} was passed {count} times: pass it once")
    if is_refused or not route.path.startswith(_STRICT):
        return  # a model rejects them with its own message
    for name in names:
        if name not in fields:
            has = f"use {', '.join(fields)}" if fields else "it accepts none"
            raise InvalidArgumentError(f"the path has no parameter {quoted(name)}: {has}")


def _fields(route: APIRoute) -> tuple[dict[str, FieldInfo], bool]:
    """Return a route's parameters by name, and whether a model already rejects all others."""
    fields: dict[str, FieldInfo] = {}
    is_refused = False
    for parameter in route.dependant.query_params:
        kind = parameter.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            is_refused |= kind.model_config.get("extra") == "forbid"
            fields |= {field.alias or name: field for name, field in kind.model_fields.items()}
        else:
            fields[parameter.alias] = parameter.field_info
    return fields, is_refused


def _is_list(field: FieldInfo) -> bool:
    """Return True if a parameter may have several values."""
    options = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else (field.annotation,)
    return any(get_origin(_bare(option)) in (list, tuple, set, frozenset) for option in options)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


T = TypeVar("T", str, str | None)


def require_storable(text: T) -> T:
    """Check that the database can store a text. Otherwise, it could not even search for the text."""
    if text is not None and ("\0" in text or any("\ud800" <= character <= "\udfff" for character in text)):
        raise InvalidArgumentError("the text contains U+0000 or a lone surrogate, which no record can contain")
    return text

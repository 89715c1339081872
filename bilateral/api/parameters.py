"""Parameters that many routes have."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from bilateral.api.answers import Format
from bilateral.errors import InvalidArgumentError
from bilateral.query.pages import MAX_LIMIT
from bilateral.text import quoted

_STRICT: Final = "/v1/"
"""The paths of the service's own interface. Pages, and paths of other interfaces, take further parameters."""

AgentPath = Annotated[
    str,
    Path(
        alias="agent",
        max_length=200,
        description="The agent's id: 8453:247, eip155:8453:0x…#247 (with # as %23) or eip155:8453:0x…:247.",
        examples=["8453:247"],
    ),
]
"""An agent in the path, by any published form of its id. `Service.agent_key` parses it."""

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of entries.")]
"""The largest number of entries of a list. `DEFAULT_LIMIT` is its default."""

Cursor = Annotated[str | None, Query(max_length=1_200, description="The cursor `next` of the former page.")]
"""The place in a list."""

ListFormat = Annotated[Format, Query(alias="format", description="The format of the list.")]
"""The format of a list. `Format.JSON` is its default."""

ChainId = Annotated[int, Query(alias="chain", ge=1, lt=2**63, description="The chain's EIP-155 id.")]
"""A chain."""

AddressPath = Annotated[
    str,
    Path(
        alias="address",
        max_length=42,
        description="An account's address: 0x and 40 hexadecimal digits.",
        examples=["0x8004B663056A597Dffe9eCcC1965A193B7388713"],
    ),
]
"""An account in the path. `checksummed` of `bilateral.identifiers` checks it."""

Client = Annotated[str | None, Query(max_length=42, description="The client's address.")]
"""A client whose records to show."""

Tag = Annotated[str | None, Query(max_length=1_000, description="The tag, exactly.")]
"""A tag of feedback. Its text is a stranger's, and may be empty."""


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have: without a misspelt filter, a search would find everything.

    Args:
        request: The request, after its route was found.

    Raises:
        InvalidArgumentError: There is such a parameter.
    """
    route = request.scope["route"]
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith(_STRICT):
        return
    fields = route.dependant.query_params
    if any(isinstance(kind := it.field_info.annotation, type) and issubclass(kind, BaseModel) for it in fields):
        return  # the model refuses them, with its own words
    known = [it.alias for it in fields]
    for name in request.query_params:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InvalidArgumentError(f"the path has no parameter {quoted(name)}: {has}")

"""GraphQL routes: one for each chain, and one for all of them."""

import time
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Path, Request, Response
from graphql import GraphQLError

from bilateral.api.answers import ProblemError
from bilateral.api.graphql.execution import Checked, GraphqlRequest, InvalidQueryError
from bilateral.api.service import Service, service_of
from bilateral.index.errors import LargeAnswerError, QueryTimeoutError, StarvedError

router = APIRouter(tags=["graphql"])

_MEDIA_TYPE: Final = "application/json"
_LARGEST_CHAIN: Final = 2**63 - 1  # the largest BIGINT
_TEXT: Final = {"type": "string"}
_SHAPE: Final = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": _TEXT,
        "variables": {"type": ["object", "null"]},
        "operationName": {"type": ["string", "null"]},
    },
}
_OPTIONS: Final[dict[str, Any]] = {
    "response_class": Response,
    "responses": {
        200: {"description": "The answer, or `errors`", "content": {_MEDIA_TYPE: {"schema": {"type": "object"}}}}
    },
    "openapi_extra": {"requestBody": {"required": True, "content": {_MEDIA_TYPE: {"schema": _SHAPE}}}},
}


class _Posted(msgspec.Struct):
    """The body of a GraphQL request."""

    query: str
    variables: dict[str, Any] | None = None
    operationName: str | None = None  # noqa: N815  # the name that clients send


@router.post("/graphql/{chain}", **_OPTIONS)
async def query_chain(request: Request, chain: Annotated[int, Path(ge=0, le=_LARGEST_CHAIN)]) -> Response:
    """Answer a GraphQL query about one chain."""
    return await _answer(request, chain)


@router.post("/graphql", **_OPTIONS)
async def query_all_chains(request: Request) -> Response:
    """Answer a GraphQL query about all indexed chains."""
    return await _answer(request, None)


async def _answer(request: Request, chain_id: int | None) -> Response:
    """Handle a request in a thread, because its statements wait for the database."""
    body = await request.body()
    return Response(await to_thread.run_sync(_answered, service_of(request), body, chain_id), media_type=_MEDIA_TYPE)


def _answered(service: Service, body: bytes, chain_id: int | None) -> bytes:
    registries = service.registries()
    registries.require_indexed(() if chain_id is None else (chain_id,))
    began = time.thread_time()
    posted = _posted(body)
    try:
        request = GraphqlRequest(posted.query, posted.variables or {}, posted.operationName)
        checked = Checked(request, service.reader.seconds)
        spent = time.thread_time() - began
        return service.reader.visit(lambda connection: checked.answer(connection, registries, chain_id), spent)
    except GraphQLError as problem:
        return _errors(problem)
    except QueryTimeoutError as problem:
        # PostgreSQL does not distinguish expensive queries from busy machines. SDKs read `errors` as "no results".
        if isinstance(problem, StarvedError) or service.reader.has_server:
            raise
        return _errors(GraphQLError(str(problem)))
    except LargeAnswerError as problem:
        return _errors(GraphQLError(str(problem)))


def _posted(body: bytes) -> _Posted:
    try:
        return msgspec.json.decode(body, type=_Posted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        detail = f"the body is not a GraphQL request in JSON: {problem}"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "malformed_body", detail) from None


def _errors(problem: GraphQLError) -> bytes:
    errors = problem.errors if isinstance(problem, InvalidQueryError) else (problem,)
    return msgspec.json.encode({"errors": [error.formatted for error in errors]})

"""Errors of the service as problem details (RFC 9457): one shape for all of them."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from bilateral.buyers.errors import BuyerRefusalError
from bilateral.checks.errors import CheckError, HistoryTooLongError, OtherHistoryError
from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedIdentifierError
from bilateral.core.errors.invalid_fields import message_of
from bilateral.core.text.log_lines import SeldomFilter
from bilateral.index import errors as index_errors
from bilateral.index.changes.queries import FeedPrunedError
from bilateral.index.errors import DatabaseUnavailableError, NotIndexedError

T = TypeVar("T")

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:bilateral:problem:"

FAILED: Final = "the service failed: try again later"
"""The sentence about a fault of the service. Its details are for the operator alone."""

_RETRY_SECONDS: Final = 1
"""A busy reader is free again within its time limit, which is of this order."""

_MOST_ERRORS: Final = 20
"""The errors of one request that its answer lists. A body of 1 MiB can have some ten thousand."""

_LOGGER: Final = logging.getLogger("bilateral.api")
_DATABASE_LOGGER: Final = logging.getLogger("bilateral.api.database")
_DATABASE_LOGGER.addFilter(SeldomFilter())  # each request fails while the database is away

_STATUS: Final[Mapping[type[BilateralError], HTTPStatus]] = {
    index_errors.QueryTimeoutError: HTTPStatus.SERVICE_UNAVAILABLE,
    index_errors.ReadersBusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    DatabaseUnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    FeedPrunedError: HTTPStatus.GONE,
    InvalidArgumentError: HTTPStatus.BAD_REQUEST,
    MalformedIdentifierError: HTTPStatus.BAD_REQUEST,
    NotIndexedError: HTTPStatus.NOT_FOUND,
    CheckError: HTTPStatus.NOT_FOUND,
    OtherHistoryError: HTTPStatus.CONFLICT,
    HistoryTooLongError: HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""The status of the package's errors, by their class or its nearest base. Others are faults of the service."""

_CODES: Final = {
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.BAD_REQUEST: "invalid_argument",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal_error",
}


@dataclass(frozen=True)
class Problem:
    """The answer to a request that failed (RFC 9457). Some problems have further members.

    Attributes:
        type: The kind of problem, `urn:bilateral:problem:` and the code.
        title: The kind of problem in words.
        status: The HTTP status.
        detail: The value that is wrong, and the way on.
        code: The kind of problem, for programs; stable from release to release.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str


class ProblemError(Exception):
    """A request fails. Routes raise it, and the service answers with its problem.

    Attributes:
        status: The HTTP status.
        code: The kind of problem: lower case with underscores, stable from release to release.
        detail: The sentence for people.
        headers: Further headers of the answer.
        members: Further members of the problem.
    """

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members

    def response(self) -> Response:
        """Return the answer."""
        title = self.code.replace("_", " ").capitalize()
        problem = Problem(f"{TYPE_PREFIX}{self.code}", title, int(self.status), self.detail, self.code)
        content = {**vars(problem), **self.members}
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(msgspec.json.encode(content), self.status, headers, MEDIA_TYPE)


def missing(kind: str, name: object) -> ProblemError:
    """Return the problem of a thing that the index does not have."""
    return ProblemError(HTTPStatus.NOT_FOUND, f"{kind}_not_found", str(NotIndexedError(kind, name)))


def existing(value: T | None, kind: str, name: object) -> T:
    """Return a value unless it is missing, which is a problem with a code of its kind."""
    if value is None:
        raise missing(kind, name)
    return value


def indexed(value: T | None, kind: str, name: object) -> T:
    """Return a value unless it or its contents are missing, which is an error."""
    if not value:
        raise NotIndexedError(kind, name)
    return value


def problem_of(error: BilateralError | BuyerRefusalError | ProblemError) -> ProblemError:
    """Return the problem that an error of the package is for a caller of the service. Log what callers do not learn."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, BuyerRefusalError):
        headers = {} if error.retry_seconds is None else {"Retry-After": str(error.retry_seconds)}
        return ProblemError(error.status, error.code, error.detail, headers=headers, **error.members)
    status = next((_STATUS[base] for base in type(error).__mro__ if base in _STATUS), None)
    if status is None:
        _LOGGER.error("the service failed", exc_info=error)
        return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", FAILED)
    if status is not HTTPStatus.SERVICE_UNAVAILABLE:
        return ProblemError(status, error.reason, str(error))
    detail = str(error)
    if isinstance(error, DatabaseUnavailableError) and not isinstance(error, index_errors.MissingChainError):
        _DATABASE_LOGGER.error("%s", error)  # for the operator alone: it names hosts and paths
        detail = "the database does not answer: try again later"
    return ProblemError(status, error.reason, detail, headers={"Retry-After": str(_RETRY_SECONDS)})


def add_handlers(app: FastAPI, page: Callable[[Request, ProblemError], Awaitable[Response | None]] | None) -> None:
    """Make an application answer every error with a problem, to browsers as a page."""

    async def on_error(request: Request, error: Exception) -> Response:
        problem = _problem_of_any(error)
        answer = None if page is None else await page(request, problem)
        return answer or answer_to(request.url.path, problem)

    for kind in (ProblemError, BuyerRefusalError, BilateralError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, on_error)


def _problem_of_any(error: Exception) -> ProblemError:
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        return ProblemError(status, _CODES.get(status, status.name.lower()), status.phrase, headers=error.headers)
    if isinstance(error, RequestValidationError):
        listed = error.errors()[:_MOST_ERRORS]
        errors = [{"in": ".".join(map(str, error["loc"])), "problem": message_of(error)} for error in listed]
        detail = f"{errors[0]['in']}: {errors[0]['problem']}"
        return ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail, errors=errors)
    assert isinstance(error, BilateralError | BuyerRefusalError | ProblemError)  # noqa: S101  # by its registration
    return problem_of(error)


def answer_to(path: str, problem: ProblemError) -> Response:
    """Answer with a problem. Published clients of `/api/` read its sentence in the member `error`."""
    if path.startswith("/api/"):
        problem.members = {**problem.members, "error": problem.detail}
    return problem.response()

"""The routes' responses: JSON, JSON Lines and CSV with an ETag, and errors as problem details (RFC 9457)."""

import csv
import io
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from bilateral.buyers.errors import BuyerRefusalError
from bilateral.checks.errors import CheckError, HistoryTooLongError, OtherHistoryError
from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedIdentifierError
from bilateral.core.errors.invalid_fields import message_of
from bilateral.core.text.log_lines import SeldomFilter
from bilateral.index import errors as index_errors
from bilateral.index.changes.queries import FeedPrunedError
from bilateral.index.errors import DatabaseUnavailableError, NotIndexedError
from bilateral.index.reading.pages import Page

T = TypeVar("T")

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:bilateral:problem:"

FAILED: Final = "the service failed: try again later"
"""The message that callers receive for an internal error, whose details only the operator sees."""

_RETRY_SECONDS: Final = 1
"""Seconds after which a client should retry. A busy database reader becomes free within about this time."""

_MOST_ERRORS: Final = 20
"""The maximum number of errors per response. A body of 1 MiB can contain about ten thousand errors."""

_LOGGER: Final = logging.getLogger("bilateral.api")
_DATABASE_LOGGER: Final = logging.getLogger("bilateral.api.database")
_DATABASE_LOGGER.addFilter(SeldomFilter())  # every request fails while the database is unavailable

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
"""The HTTP status for each of the package's errors, by class or nearest base class. All others are internal errors."""

_CODES: Final = {
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.BAD_REQUEST: "invalid_argument",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal_error",
}


@dataclass(frozen=True)
class Problem:
    """The response to a failed request (RFC 9457). Some problems have additional members.

    Attributes:
        type: The kind of problem: `urn:bilateral:problem:` followed by the code.
        title: The kind of problem as text.
        status: The HTTP status.
        detail: A message that states which value is wrong and what to do.
        code: The kind of problem, for programs; stable across releases.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str


class ProblemError(Exception):
    """The failure of a request. Routes raise this error, and the service responds with the problem.

    Attributes:
        status: The HTTP status.
        code: The kind of problem: lower case with underscores, stable across releases.
        detail: The message for human readers.
        headers: Additional response headers.
        members: Additional members of the problem.
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
        """Return the response."""
        title = self.code.replace("_", " ").capitalize()
        problem = Problem(f"{TYPE_PREFIX}{self.code}", title, int(self.status), self.detail, self.code)
        content = {**vars(problem), **self.members}
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(msgspec.json.encode(content), self.status, headers, MEDIA_TYPE)


def missing(kind: str, name: object) -> ProblemError:
    """Return the problem for an object that is not in the index."""
    return ProblemError(HTTPStatus.NOT_FOUND, f"{kind}_not_found", str(NotIndexedError(kind, name)))


def existing(value: T | None, kind: str, name: object) -> T:
    """Return a value or, if it is missing, raise a problem whose code depends on the kind of value."""
    if value is None:
        raise missing(kind, name)
    return value


def indexed(value: T | None, kind: str, name: object) -> T:
    """Return a value, or raise `NotIndexedError` if it is missing or empty."""
    if not value:
        raise NotIndexedError(kind, name)
    return value


def problem_of(error: BilateralError | BuyerRefusalError | ProblemError) -> ProblemError:
    """Return the problem that reports an error to callers. Confidential details are only logged."""
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
        _DATABASE_LOGGER.error("%s", error)  # only for the operator, because it contains hosts and paths
        detail = "the database did not respond: try again later"
    return ProblemError(status, error.reason, detail, headers={"Retry-After": str(_RETRY_SECONDS)})


def add_handlers(app: FastAPI, page: Callable[[Request, ProblemError], Awaitable[Response | None]] | None) -> None:
    """Make an application respond to every error with a problem, which browsers receive as a page."""

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
    """Respond with a problem. Under `/api/`, the member `error` repeats its message for published clients."""
    if path.startswith("/api/"):
        problem.members = {**problem.members, "error": problem.detail}
    return problem.response()


JSON: Final = "application/json"
JSON_LINES: Final = "application/jsonl"
CSV: Final = "text/csv; charset=utf-8"

_SIGNS: Final = (
    "=+@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}-"
)
"""The characters that start a spreadsheet formula. The hyphen is last, as a regex character class requires."""

_RARE_ENDS: Final = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters, other than carriage return and line feed, that some programs treat as line ends."""

_RARE_END: Final = re.compile(f"[{_RARE_ENDS}]")

_NOT_OF_NAMES: Final = re.compile("[^A-Za-z0-9]+")

_ESCAPED_ENDS: Final = tuple(
    (character.encode(), f"\\u{ord(character):04x}".encode()) for character in "\x85\u2028\u2029"
)
"""The line-end characters that JSON need not escape, with their optional escapes."""

_BLANKS: Final = " \N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}"
_DROPPED: Final = f'"{_BLANKS}{_RARE_ENDS}'
"""The characters that some programs strip from the start of a spreadsheet cell."""

_BEGINNING: Final = re.compile(
    f"(?:^[{_BLANKS}]*+(?:[{_RARE_ENDS}][{_DROPPED}]*+)?|(?<=[;\t\r\n{_RARE_ENDS}])[{_DROPPED}]*+)[{_SIGNS}]?"
)
"""The beginning of a cell. If a match ends with a formula character, a spreadsheet evaluates the cell.

Some programs also start a cell after a semicolon, a tab or a line end, and strip quotation marks and blanks before its
text. A match consumes these characters whether or not a formula character follows. Otherwise, backtracking over each of
them would take minutes for a hostile text that consists of nothing else.
"""


Described = dict[int | str, dict[str, Any]]
"""Responses by HTTP status, in FastAPI's format for the OpenAPI document."""


class Format(StrEnum):
    """The formats in which routes return lists."""

    JSON = "json"
    JSON_LINES = "jsonl"
    CSV = "csv"


def one_of(kind: Any, *problems: int) -> Described:
    """Describe, for the OpenAPI document, the responses of a route that returns a single value."""
    return {200: {"model": kind}, 304: {"description": "Not modified"}, **_problems(*problems)}


def list_of(kind: Any, *problems: int, page: Any = None) -> Described:
    """Describe the responses of a route that returns a list in any format."""
    text = {"schema": {"type": "string"}}
    described = {"model": page or Page[kind], "content": {JSON_LINES: text, "text/csv": text}}
    return {200: described, 304: {"description": "Not modified"}, **_problems(*problems)}


def _problems(*further: int) -> Described:
    return {status: dict(PROBLEM) for status in sorted({400, 413, 414, 429, 431, 500, 503, *further})}


PROBLEM: Final[Mapping[str, Any]] = {
    "description": "A problem (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
"""The description of the response to a failed request, for the OpenAPI document."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the encoder for a type. The encoder does not validate values again."""
    return TypeAdapter(kind)


def answer(request: Request, kind: Any, value: Any) -> Response:
    """Respond with a value as JSON."""
    return tagged(request, adapter(kind).dump_json(value), JSON)


def answer_page(request: Request, kind: Any, page: Page[Any], list_format: Format = Format.JSON) -> Response:
    """Respond with one page of a list. In every format, a `Link` header points to the next page."""
    if list_format is Format.JSON:
        response = answer(request, Page[kind] if type(page) is Page else type(page), page)
    elif list_format is Format.JSON_LINES:
        response = tagged(request, json_lines(kind, page.items), JSON_LINES)
    else:
        response = tagged(request, csv_lines(kind, page.items), CSV)
        response.headers["Content-Disposition"] = attachment(request.url.path.removeprefix("/v1/"))
    if page.next is not None:
        query = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        path = request.scope.get("raw_path", b"").decode("latin-1")
        response.headers["Link"] = f'<{path}?{urlencode([*query, ("cursor", page.next)])}>; rel="next"'
    return response


def tagged(request: Request, body: bytes, media_type: str = JSON) -> Response:
    """Respond with a body and its ETag, or only with the ETag if the client already has the body."""
    client_tags = ",".join(request.headers.getlist("if-none-match"))
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if client_tags.strip() == "*" or tag in (part.strip().removeprefix("W/") for part in client_tags.split(",")):
        return Response(None, HTTPStatus.NOT_MODIFIED, headers)
    return Response(body, HTTPStatus.OK, headers, media_type)


def json_lines(kind: Any, items: Iterable[Any]) -> bytes:
    """Return entries as JSON Lines. Characters that programs might treat as line ends are escaped."""
    encode = adapter(kind).dump_json
    written = b"".join(encode(item) + b"\n" for item in items)
    for end, escaped in _ESCAPED_ENDS:
        written = written.replace(end, escaped)
    return written


def attachment(name: str) -> str:
    """Return the response header that gives a downloaded CSV file its name."""
    return f'attachment; filename="{_NOT_OF_NAMES.sub("-", name).strip("-")[:120]}.csv"'


def csv_lines(kind: Any, items: Iterable[Any], *, has_header: bool = True) -> bytes:
    """Return entries as CSV (RFC 4180). Strings that a spreadsheet would evaluate get a leading apostrophe."""
    names = [field.name for field in fields(kind)]
    written = io.StringIO()
    writer, quoting = csv.writer(written), csv.writer(written, quoting=csv.QUOTE_ALL)
    if has_header:
        writer.writerow(names)
    dump = adapter(kind).dump_python
    numbers = {name for name in names if _is_number(kind, name)}
    for item in items:
        entry = dump(item, mode="json")
        cells = [_cell(entry[name], is_number=name in numbers) for name in names]
        has_rare_end = any(map(_RARE_END.search, cells))  # without quotation marks, it would end the row
        (quoting if has_rare_end else writer).writerow(cells)
    return written.getvalue().encode()


@cache
def _is_number(kind: Any, name: str) -> bool:
    schema = adapter(kind).json_schema(mode="validation")["properties"][name]
    return any(option.get("type") in ("integer", "number") for option in schema.get("anyOf", [schema]))


def _cell(value: Any, *, is_number: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    text = str(value)
    if is_number:
        return text
    first = "'" if text.startswith(("\t", "\r", "\n")) else ""
    return first + _BEGINNING.sub(_not_computed, text)


def _not_computed(beginning: re.Match[str]) -> str:
    text = beginning[0]
    if not text or text[-1] not in _SIGNS:
        return text
    return "'" + _RARE_END.sub(r"\g<0>'", text)

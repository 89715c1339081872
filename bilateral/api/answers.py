"""Answers of the routes: JSON, JSON Lines and CSV, with an ETag."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request, Response
from pydantic import TypeAdapter

from bilateral.api.problems import MEDIA_TYPE
from bilateral.index.reading.pages import Page

JSON: Final = "application/json"
JSON_LINES: Final = "application/jsonl"
CSV: Final = "text/csv; charset=utf-8"

_SIGNS: Final = (
    "=+@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}-"
)
"""The characters with which a formula begins. The last one is a hyphen, for use in a class of characters."""

_RARE_ENDS: Final = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters, beside carriage return and line feed, at which some programs end a line."""

_RARE_END: Final = re.compile(f"[{_RARE_ENDS}]")

_NOT_OF_NAMES: Final = re.compile("[^A-Za-z0-9]+")

_ESCAPED_ENDS: Final = tuple(
    (character.encode(), f"\\u{ord(character):04x}".encode()) for character in "\x85\u2028\u2029"
)
"""Those that JSON leaves as they are, and how it may escape them."""

_BLANKS: Final = " \N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}"
_DROPPED: Final = f'"{_BLANKS}{_RARE_ENDS}'
"""The characters that some programs drop before the text of a cell."""

_BEGINNING: Final = re.compile(
    f"(?:^[{_BLANKS}]*+(?:[{_RARE_ENDS}][{_DROPPED}]*+)?|(?<=[;\t\r\n{_RARE_ENDS}])[{_DROPPED}]*+)[{_SIGNS}]?"
)
"""The beginning of a cell. A spreadsheet computes it if it ends with a sign.

Some programs begin a cell behind a semicolon, a tab or a line end, too. They drop quotation marks and blanks before its
text. A match takes these with it, whether or not a sign follows. To look at each of them again would take minutes for a
text of a stranger that has nothing else.
"""


Described = dict[int | str, dict[str, Any]]
"""Answers by status, as FastAPI takes them for the OpenAPI document."""


class Format(StrEnum):
    """The formats of a list."""

    JSON = "json"
    JSON_LINES = "jsonl"
    CSV = "csv"


def one_of(kind: Any, *problems: int) -> Described:
    """Describe the answers of a route in the OpenAPI document."""
    return {200: {"model": kind}, 304: {"description": "Not modified"}, **_problems(*problems)}


def list_of(kind: Any, *problems: int, page: Any = None) -> Described:
    """Describe the answers of a route that returns a list in each format."""
    text = {"schema": {"type": "string"}}
    described = {"model": page or Page[kind], "content": {JSON_LINES: text, "text/csv": text}}
    return {200: described, 304: {"description": "Not modified"}, **_problems(*problems)}


def _problems(*further: int) -> Described:
    return {status: dict(PROBLEM) for status in sorted({400, 413, 414, 429, 431, 500, 503, *further})}


PROBLEM: Final[Mapping[str, Any]] = {
    "description": "A problem (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
"""The answer to a request that failed, in the OpenAPI document."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the encoder of a type. It does not check its values again."""
    return TypeAdapter(kind)


def answer(request: Request, kind: Any, value: Any) -> Response:
    """Answer with one value as JSON."""
    return tagged(request, adapter(kind).dump_json(value), JSON)


def answer_page(request: Request, kind: Any, page: Page[Any], list_format: Format = Format.JSON) -> Response:
    """Answer with a page of a list. A `Link` header names the next page in each format."""
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
    """Answer with a body and its ETag; without the body if the client has it."""
    client_tags = ",".join(request.headers.getlist("if-none-match"))
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if client_tags.strip() == "*" or tag in (part.strip().removeprefix("W/") for part in client_tags.split(",")):
        return Response(None, HTTPStatus.NOT_MODIFIED, headers)
    return Response(body, HTTPStatus.OK, headers, media_type)


def json_lines(kind: Any, items: Iterable[Any]) -> bytes:
    """Return entries as JSON Lines. No text in them ends a line, for whatever program."""
    encode = adapter(kind).dump_json
    written = b"".join(encode(item) + b"\n" for item in items)
    for end, escaped in _ESCAPED_ENDS:
        written = written.replace(end, escaped)
    return written


def attachment(name: str) -> str:
    """Return the header that gives a CSV file its name."""
    return f'attachment; filename="{_NOT_OF_NAMES.sub("-", name).strip("-")[:120]}.csv"'


def csv_lines(kind: Any, items: Iterable[Any], *, has_header: bool = True) -> bytes:
    """Return entries as CSV (RFC 4180). An apostrophe is before each text that a spreadsheet would compute."""
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
        has_rare_end = any(map(_RARE_END.search, cells))  # it would end the row unless it is quoted
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

"""Lists as CSV and JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis.strategies import lists, text, tuples

from bilateral.api.answers import _cell, csv_lines, json_lines
from tests.api.world import FORMULA_TAG

pytestmark = pytest.mark.one_engine


@dataclass
class Entry:
    """An entry with one text."""

    text: str


@dataclass
class Pair:
    """An entry with two texts."""

    first: str
    second: str


def rows(response):
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def test_json_lines_have_the_entries_of_json(api):
    items = api.get("/v1/agents/31337:1/feedback").json()["items"]
    response = api.get("/v1/agents/31337:1/feedback", params={"format": "jsonl"})
    assert response.headers["content-type"].startswith("application/jsonl")
    assert [json.loads(line) for line in response.content.splitlines()] == items


def test_csv_has_the_entries_of_json(api):
    items = api.get("/v1/agents/31337:1/feedback", params={"tag2": "day"}).json()["items"]
    (row,) = rows(api.get("/v1/agents/31337:1/feedback", params={"tag2": "day", "format": "csv"}))
    assert row["id"] == items[0]["id"]
    assert (row["value"], row["is_revoked"], row["revoked_block"]) == ("96", "false", "")
    assert json.loads(row["file"]) == items[0]["file"]


def test_a_text_that_a_spreadsheet_would_compute_is_quoted_and_a_number_is_not(api, api_world):
    (row,) = rows(api.get(f"/v1/agents/31337:{api_world.hostile}/feedback", params={"format": "csv"}))
    assert (row["tag1"], row["tag2"]) == ("'" + FORMULA_TAG, "'\n'@x")
    (loss,) = rows(api.get(f"/v1/agents/31337:{api_world.painter}/feedback", params={"format": "csv"}))
    assert loss["value"] == "-3.2"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\n=1", "'\n'=1"),
        ("\N{FULLWIDTH EQUALS SIGN}1", "'\N{FULLWIDTH EQUALS SIGN}1"),
        ("\N{FULLWIDTH PLUS SIGN}1", "'\N{FULLWIDTH PLUS SIGN}1"),
        ("\N{FULLWIDTH HYPHEN-MINUS}1", "'\N{FULLWIDTH HYPHEN-MINUS}1"),
        ("\N{FULLWIDTH COMMERCIAL AT}1", "'\N{FULLWIDTH COMMERCIAL AT}1"),
        ("fine;=1+1;fine", "fine;'=1+1;fine"),
        ("fine\r\n=1", "fine\r\n'=1"),
        ("fine\t-1", "fine\t'-1"),
        ('x;"=1+1;"', 'x;\'"=1+1;"'),
        ('x\n""@SUM(A1)', 'x\n\'""@SUM(A1)'),
        (" =1", "' =1"),
        ("\ufeff\u3000=1", "'\ufeff\u3000=1"),
        ("fine; =1", "fine;' =1"),
        ("fine\u2028=1", "fine\u2028'=1"),
        ("\u2028=1", "'\u2028'=1"),
        ("fine\u2028 and\x85fine", "fine\u2028 and\x85fine"),
        ("a\r\nb\r\n\r\nc\n\nd", "a\r\nb\r\n\r\nc\n\nd"),
        ('"fine"; "fine"\t"fine"', '"fine"; "fine"\t"fine"'),
        ("a=b; c - d, -1 @e", "a=b; c - d, -1 @e"),
        ("", ""),
    ],
    ids=range(25),
)
def test_no_cell_of_a_text_is_a_formula_also_where_semicolons_begin_cells(text, cell):
    ((_, *_), (read_cell,)) = csv.reader(io.StringIO(csv_lines(Entry, [Entry(text)]).decode(), newline=""))
    assert read_cell == cell


@pytest.mark.sample(9)
@pytest.mark.parametrize("many", ["\v", "\u2028", '"', " ", ";", '\v"', ";\v "])
@pytest.mark.parametrize("end", ["", "x", "="])
def test_cell_of_nothing_but_beginnings_is_looked_at_once(many, end):
    """It would take an hour otherwise."""
    cell = _cell(many * 500_000 + end, is_number=False)
    assert cell.replace("'", "") == many * 500_000 + end
    assert ("'" in cell) == (end == "=" and many != '"')


@given(texts=lists(text(alphabet='\v\f\x1c\x1d\x1e\x85\u2028\u2029\r\n," a'), max_size=3))
def test_no_text_ends_a_line_of_its_own(texts):
    entries = [Entry(text) for text in texts]
    lines = json_lines(Entry, entries).decode().splitlines()
    assert [json.loads(line)["text"] for line in lines] == texts
    read = list(csv.reader(csv_lines(Entry, entries).decode().splitlines(keepends=True)))
    assert [cell for (cell,) in read[1:]] == [_cell(cell, is_number=False) for cell in texts]


@given(texts=lists(tuples(*[text(alphabet="=+-@;,\"'\t\r\n a")] * 2), max_size=3))
@example(texts=[("fine", 'x;"=1+1;"')])
@example(texts=[("fine", 'x\t""=1+1')])
def test_no_program_finds_a_formula_whatever_begins_its_cells(texts):
    written = csv_lines(Pair, [Pair(*fields) for fields in texts]).decode()
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(written, newline=""), delimiter=delimiter):
            assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("shown_as", ["json", "jsonl", "csv"])
def test_every_format_links_to_the_next_page(api, shown_as):
    response = api.get("/v1/agents/31337:1/feedback", params={"limit": 2, "format": shown_as, "tag1": "starred"})
    link = response.links["next"]["url"]
    asked = parse_qs(urlsplit(link).query)
    assert (asked["limit"], asked["format"], asked["tag1"]) == (["2"], [shown_as], ["starred"])
    following = api.get(link)
    assert following.status_code == 200
    assert following.content != response.content


def test_every_format_has_a_tag_of_its_own(api):
    tags = {
        api.get("/v1/agents/31337:1/feedback", params={"format": name}).headers["etag"]
        for name in ("json", "jsonl", "csv")
    }
    assert len(tags) == 3


def test_hostile_text_is_valid_json_as_it_is(api, api_world):
    response = api.get(f"/v1/agents/31337:{api_world.hostile}")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "<script>" in response.json()["registration"]["name"]


@pytest.mark.one_engine
@pytest.mark.parametrize(
    "path",
    [
        *("/openapi.json", "/readyz", "/healthz", "/metrics", "/v1/nothing", "/v1/agents/31337:1", "/v1/agents/x"),
        *("/v1/checks/server?agent=31337:1", "/v1/leaders?tag=starred&format=csv", "/31337/1.json", "/favicon.ico"),
        *("/nowhere", "/graphql/31337", "/mcp", "/embed/31337/1.svg", "/docs"),
    ],
)
def test_browsers_take_every_answer_for_what_it_says_that_it_is(api, path):
    assert api.get(path, follow_redirects=False).headers["x-content-type-options"] == "nosniff"

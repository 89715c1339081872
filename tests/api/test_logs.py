"""Log lines: no text of a stranger begins a line of its own, or moves the cursor of a terminal."""

from __future__ import annotations

import io
import logging
import re
import sys

import httpx
import pytest

from bilateral.api.answers import problem_of
from bilateral.api.app import create_app
from bilateral.core.errors import BilateralError
from bilateral.core.text.log_lines import SafeFormatter, SeldomFilter, safe_handler
from bilateral.index.errors import DatabaseUnavailableError
from tests.api.world import served

HOSTILE = "nice\r\ntime=1 level=ERROR forged \x1b[2J\x07\u202eback\u2028next\x00\ud800"


def is_safe(line):
    return line.isprintable() and "\ud800" not in line


def test_message_is_one_line_and_keeps_what_can_be_read():
    record = logging.LogRecord("x", logging.INFO, "", 1, "name=%s", (HOSTILE,), None)
    line = SafeFormatter().format(record)
    assert is_safe(line)
    assert line.startswith(r"name=nice\r\ntime=1 level=ERROR forged \x1b[2J\x07\u202eback\u2028next\x00\ud800")
    plain = logging.LogRecord("x", logging.INFO, "", 1, "C:\\path 'ü'", (), None)
    assert SafeFormatter().format(plain) == "C:\\path 'ü'"


def test_time_is_of_utc_and_says_so():
    stream = io.StringIO()
    record = logging.LogRecord("x", logging.INFO, "", 1, "text", (), None)
    record.created, record.msecs = 1_795_478_257.25, 250.0
    safe_handler(stream).handle(record)
    assert stream.getvalue() == "time=2026-11-23T23:57:37.250Z level=INFO text\n"


def test_lines_of_a_traceback_and_of_a_stack_are_indented():
    try:
        raise ValueError(HOSTILE)  # noqa: TRY301  # to have a traceback
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "failed", (), sys.exc_info(), sinfo=f"Stack:\n{HOSTILE}")
    record.exc_text = HOSTILE  # of another formatter
    first, *rest = SafeFormatter().format(record).split("\n")
    assert first == "failed"
    assert len(rest) > 4
    assert all(is_safe(line) and line.startswith("    ") for line in rest)


@pytest.fixture
def service_log():
    """The log of the HTTP server, as the command writes it."""
    stream = io.StringIO()
    handler = safe_handler(stream)
    logger = logging.getLogger("uvicorn")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def test_fault_of_the_service_is_logged_safely_and_not_told(api_settings, service_log):
    def make(settings):
        app = create_app(settings)

        @app.get("/fault")
        def fail(text: str):
            raise RuntimeError(text)

        app.router.routes.insert(0, app.router.routes.pop())  # before the pages, which take any path
        return app

    with served(api_settings, make) as url:
        response = httpx.get(f"{url}/fault", params={"text": HOSTILE[:-1]}, timeout=120)
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "forged" not in response.text
    records = re.split(r"^(?=time=)", service_log.getvalue(), flags=re.MULTILINE)
    (fault,) = (record for record in records if " level=ERROR " in record)  # the server may tell that it starts, too
    _, *rest = fault.splitlines()
    assert any("forged \\x1b[2J\\x07\\u202e" in line for line in rest)
    assert all(is_safe(line) and line.startswith("    ") for line in rest)


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (DatabaseUnavailableError("db.example does not answer"), 503, "the database did not respond: try again later"),
        (BilateralError("db.example is at fault"), 500, "the service failed: try again later"),
    ],
    ids=["database", "fault"],
)
def test_operator_learns_from_the_log_what_callers_do_not(error, status, detail, caplog):
    problem = problem_of(error)
    assert (problem.status, problem.detail) == (status, detail)
    assert "db.example" in caplog.text


def test_same_text_passes_at_most_once_in_some_seconds():
    now = 0.0
    seldom = SeldomFilter(10, lambda: now)

    def passes(text):
        return seldom.filter(logging.LogRecord("x", logging.ERROR, "", 1, "failed: %s", (text,), None))

    assert [passes(character) for character in "aab"] == [True, False, True]
    now = 9.9
    assert [passes(character) for character in "abc"] == [False, False, True]
    now = 10.0
    assert [passes(character) for character in "abca"] == [True, True, False, False]


def test_texts_that_differ_are_few_in_some_seconds():
    now = 0.0
    seldom = SeldomFilter(10, lambda: now)
    records = [logging.LogRecord("x", logging.ERROR, "", 1, f"failed: {number}", (), None) for number in range(100)]
    assert [seldom.filter(record) for record in records] == [True] * 16 + [False] * 84
    now = 10.0
    assert sum(map(seldom.filter, records)) == 16


def test_database_that_is_away_writes_one_safe_line_however_many_ask():
    stream = io.StringIO()
    handler = safe_handler(stream)
    logger = logging.getLogger("bilateral.api")
    logger.addHandler(handler)
    try:
        for _ in range(100):
            problem = problem_of(DatabaseUnavailableError(f"away: {HOSTILE[:-1]}"))  # xdist sends no surrogate
    finally:
        logger.removeHandler(handler)
    assert (problem.status, problem.detail) == (503, "the database did not respond: try again later")
    (line,) = stream.getvalue().split("\n")[:-1]
    assert is_safe(line)
    assert r"level=ERROR away: nice\r\ntime=1 level=ERROR forged \x1b[2J" in line

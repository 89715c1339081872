"""The header Retry-After as seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bilateral.core.http.waits import seconds_to_wait


@pytest.mark.parametrize(("value", "seconds"), [("0", 0), ("120", 120), ("999999999", 999_999_999)])
def test_a_number_is_seconds(value, seconds):
    assert seconds_to_wait(value) == seconds


def test_a_date_is_the_time_until_then():
    moment = datetime.now(UTC) + timedelta(hours=1)
    assert 3590 <= seconds_to_wait(format_datetime(moment, usegmt=True)) <= 3600


def test_a_date_that_has_passed_asks_for_no_wait():
    assert seconds_to_wait("Sun, 06 Nov 1994 08:49:37 GMT") == 0


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
def test_a_date_is_in_greenwich_time(zone):
    moment = datetime.now(UTC) + timedelta(minutes=2)
    assert 110 <= seconds_to_wait(moment.strftime(f"%a, %d %b %Y %H:%M:%S {zone}")) <= 120


@pytest.mark.parametrize(
    "value", ["", "-1", "1.5", "soon", "\u0661", "1" * 10, "Sun, 99 Nov 2026 08:49:37 GMT", "Sun, 06 Nov 99999"]
)
def test_another_form_says_nothing(value):
    assert seconds_to_wait(value) is None

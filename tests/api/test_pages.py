"""Cursors of lists, which come back from strangers."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.reading.pages import InvalidCursorError, Small, Wide, decode_cursor, encode_cursor, require_limit

KEYS = st.tuples(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.integers(0, 2**256 - 1),
    st.integers(0, 2**31 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50),
    st.binary(max_size=32),
)


@given(KEYS)
def test_a_cursor_comes_back_as_it_was(key):
    assert decode_cursor("list", encode_cursor("list", *key), int, Wide, Small, float, str, bytes) == key


def forged(text):
    return urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!",
        "é",
        forged("{}"),
        forged("null"),
        forged('["other", 1]'),
        forged('["list"]'),
        forged('["list", 1, 2]'),
        forged('["list", true]'),
        forged('["list", "1"]'),
        forged('["list", 1.5]'),
        forged('["list", null]'),
        forged('["list", 9223372036854775808]'),
        forged('["list", ' + "1" * 500 + "]"),
        forged("[" * 800),
        "A" * 1_201,
    ],
    ids=range(16),
)
def test_a_forged_cursor_is_refused(cursor):
    with pytest.raises(InvalidCursorError):
        decode_cursor("list", cursor, int)


@pytest.mark.parametrize("number", [10**400, -(10**400)])
def test_a_number_of_a_cursor_beyond_floats_is_refused(number):
    with pytest.raises(InvalidCursorError):
        decode_cursor("list", encode_cursor("list", number), float)


def test_a_whole_number_of_a_cursor_is_a_float_for_the_database():
    (cursor,) = decode_cursor("list", forged(f'["list", {2**64}]'), float)
    assert isinstance(cursor, float)


def test_a_small_number_of_a_cursor_has_31_bits():
    assert decode_cursor("list", encode_cursor("list", 2**31 - 1), Small) == (2**31 - 1,)
    with pytest.raises(InvalidCursorError):
        decode_cursor("list", encode_cursor("list", 2**31), Small)


@pytest.mark.parametrize(
    ("text", "kind"),
    [('["list", "\\u0000"]', str), ('["list", "\\ud800"]', str), ('["list", "xyz"]', bytes), ('["list", NaN]', float)],
    ids=["NUL", "a surrogate", "no digits", "no number"],
)
def test_a_value_that_no_database_takes_is_refused(text, kind):
    with pytest.raises(InvalidCursorError):
        decode_cursor("list", forged(text), kind)


@given(st.text(max_size=60))
def test_no_text_is_more_than_refused(cursor):
    with pytest.raises(InvalidCursorError):
        decode_cursor("list", cursor, int)


@pytest.mark.parametrize("limit", [1, 1_000])
def test_a_limit_in_range_is_accepted(limit):
    assert require_limit(limit) == limit


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_limit_out_of_range_is_refused(limit):
    with pytest.raises(InvalidArgumentError):
        require_limit(limit)

"""JSON documents: decoded strictly, encoded in one form."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text.encoding import MAX_DEPTH, decode_object, encode_object

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=4)


@given(objects)
@settings(max_examples=40)
def test_an_object_survives_its_encoding(value):
    assert decode_object(encode_object(value)) == value


@given(objects)
@settings(max_examples=40)
def test_an_object_written_by_others_is_read(value):
    assert decode_object(json.dumps(value, indent=2).encode()) == value


@given(st.binary())
def test_any_bytes_are_an_object_or_refused(content):
    try:
        value = decode_object(content)
    except MalformedDocumentError as error:
        assert str(error).isprintable()
    else:
        assert isinstance(value, dict)


def test_the_encoding_is_that_of_javascript():
    assert encode_object({"b": [1, True, None], "a": "é\u2028/\n"}) == '{"b":[1,true,null],"a":"é\u2028/\\n"}'.encode()


def test_a_byte_order_mark_is_skipped():
    assert decode_object(b"\xef\xbb\xbf{}") == {}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{}{}", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b"<!DOCTYPE html>", "not JSON"),
        (b"\xff{}", "not UTF-8: invalid start byte at byte 0"),
        (b'{"a": "\xc3"}', "not UTF-8"),
        (b"[]", "a JSON list, not an object"),
        (b'"a"', "a JSON str, not an object"),
        (b"null", "a JSON NoneType, not an object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1e400}', 'the number "1e400" is too large'),
        (b'{"a": ' + b"1" * 5000 + b"}", "a number that is too long"),
        (b'{"signers": [], "signers": []}', 'the name "signers" occurs twice'),
        (b'{"a": {"b": 1, "c": 2, "b": 1}}', 'the name "b" occurs twice'),
        (b'{"a": "\\ud800"}', "lone surrogate"),
        (b'{"\\udc00": 1}', "lone surrogate"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
    ],
)
def test_json_other_than_an_object_is_refused_with_its_type(content, problem):
    with pytest.raises(MalformedDocumentError) as refusal:
        decode_object(content)
    assert problem in str(refusal.value)
    assert refusal.value.reason == "malformed_document"


def test_a_document_of_brackets_does_not_crash_a_program_with_a_high_recursion_limit():
    program = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from bilateral.core.text.encoding import decode_object\n"
        "try: decode_object(b'[' * 500_000)\n"
        "except ValueError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)  # noqa: S603
    assert (result.returncode, result.stdout) == (0, "the document is nested deeper than 64 levels\n")


@pytest.mark.parametrize(
    "text",
    ['"' + '\\"' * 400_000, '"' * 900_001, '{"a":"' + "[" * 900_000 + '"}', "[]" * 400_000],
    ids=["escapes", "quotes", "brackets in a text", "brackets"],
)
def test_no_text_takes_long_to_be_measured(text):
    started = time.thread_time()  # other programs do not count
    with contextlib.suppress(MalformedDocumentError):
        decode_object(text.encode())
    assert time.thread_time() - started < 5


def test_brackets_in_a_text_do_not_count_as_nesting():
    value = {"a": "[{" * 1000 + '\\"[' * 1000}
    assert decode_object(encode_object(value)) == value


def test_nesting_as_deep_as_the_limit_is_read_and_one_level_more_is_refused():
    decode_object(b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH)
    with pytest.raises(MalformedDocumentError, match="nested deeper than 64 levels"):
        decode_object(b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": float("nan")}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": b"bytes"}, "cannot be written as JSON"),
        ({"a": {1, 2}}, "cannot be written as JSON"),
    ],
)
def test_a_value_without_a_json_form_is_not_written(value, problem):
    with pytest.raises(MalformedDocumentError, match=problem):
        encode_object(value)


@pytest.mark.parametrize("content", [None, "{}", 5, ["{}"]])
def test_a_document_must_be_bytes(content):
    with pytest.raises(MalformedDocumentError, match="a document must be bytes"):
        decode_object(content)

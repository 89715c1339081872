"""Bodies are decoded as applications see them, within a limit."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.x402 import BodyTooLargeError, UnsupportedBodyError
from bilateral.x402.proof.fields import decode_body
from bilateral.x402.server.asgi import _Body

BODY = b"It snows in Oslo. " * 100


def raw_deflate(data):
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": lambda body: brotli.compress(body, quality=2)}


@pytest.mark.parametrize("encoding", ["", "identity", " , IDENTITY"])
def test_body_without_encoding_stays(encoding):
    assert decode_body(BODY, encoding) == BODY


@settings(max_examples=60, deadline=None, derandomize=True)
@given(body=st.binary(max_size=3000), encodings=st.lists(st.sampled_from(list(ENCODERS)), min_size=1, max_size=3))
def test_any_body_survives_encodings_in_any_order(body, encodings):
    encoded = body
    for encoding in encodings:
        encoded = ENCODERS[encoding](encoded)
    assert decode_body(encoded, ", ".join(encodings)) == body


def test_names_are_read_in_any_case_and_deflate_in_both_forms():
    assert decode_body(gzip.compress(BODY), "X-GZip") == BODY
    assert decode_body(raw_deflate(BODY), "deflate") == BODY


def test_empty_body_may_have_any_known_encoding():
    assert decode_body(b"", "gzip") == b""


@pytest.mark.parametrize("encoding", ["zstd", "compress", "gzip, zstd", "gzip;q=1", "x" * 5000])
def test_unknown_encoding_is_refused(encoding):
    with pytest.raises(UnsupportedBodyError, match="only gzip, deflate and br are supported"):
        decode_body(BODY, encoding)


def test_more_than_three_encodings_are_refused():
    with pytest.raises(UnsupportedBodyError, match="more than 3 encodings"):
        decode_body(b"", "gzip, gzip, gzip, gzip")


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize(
    "damage",
    [lambda value: value[:-3], lambda value: value + b"more", lambda value: b"?" + value],
    ids=["cut", "longer", "other"],
)
def test_damaged_body_is_refused(encoding, damage):
    with pytest.raises(UnsupportedBodyError):
        decode_body(damage(ENCODERS[encoding](BODY)), encoding)


@pytest.mark.parametrize("encoding", ["", *ENCODERS])
def test_limit_holds_for_the_decoded_body(encoding):
    body = b"a" * 100_000
    encoded = ENCODERS.get(encoding, bytes)(body)
    assert decode_body(encoded, encoding, limit=100_000) == body
    with pytest.raises(BodyTooLargeError, match="99999 bytes"):
        decode_body(encoded, encoding, limit=99_999)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_bomb_is_not_unpacked(encoding):
    bomb = ENCODERS[encoding](bytes(20_000_000))
    with pytest.raises(BodyTooLargeError):
        decode_body(bomb, encoding, limit=1000)


def test_pieces_of_a_body_are_freed_when_they_are_joined():
    freed = []

    class Piece(bytes):
        def __del__(self):
            freed.append(bytes(self))

    body = _Body()
    body.add(Piece(b"snow "))
    assert (body.joined, freed) == (b"snow ", [])
    for piece in (b"in ", b"", b"Oslo"):
        body.add(Piece(piece))
    assert (body.joined, body.size) == (b"snow in Oslo", 12)
    assert sorted(freed) == sorted([b"snow ", b"in ", b"", b"Oslo"])

"""Addresses are derived as solders derives them, and known ones are those that SATI publishes."""

from __future__ import annotations

import random

import pytest
from solders.pubkey import Pubkey

from bilateral.core.errors import MalformedIdentifierError
from bilateral.solana.addresses import (
    SATI,
    address_bytes,
    address_text,
    index_address,
    is_on_curve,
    program_address,
    registry_address,
    token_account,
)


def test_registry_and_first_agent_have_the_addresses_that_sati_uses():
    assert registry_address() == "EdtfLCcsiMPuNdVTUivqAsomTYwqdLcha7Y8KM8ndB5p"
    assert index_address(1) == "HrNNo81K4wpUEYu2My77Gyg5eGM72WxkHvrRU5R11egq"
    assert program_address(SATI, b"registry")[1] == 254


def test_derived_addresses_are_those_of_solders():
    chance = random.Random(8)  # noqa: S311  # test data
    for _ in range(200):
        seeds = [chance.randbytes(chance.randrange(33)) for _ in range(chance.randrange(6))]
        program = Pubkey.from_bytes(chance.randbytes(32))
        address, bump = Pubkey.find_program_address(seeds, program)
        assert program_address(str(program), *seeds) == (str(address), bump)


@pytest.mark.parametrize(
    "content",
    [bytes(32), b"\x01" + bytes(31), b"\xff" * 32, b"\xec" + b"\xff" * 30 + b"\x7f", b"\xed" + b"\xff" * 30 + b"\x7f"],
)
def test_points_at_the_edges_are_judged_as_solders_judges_them(content):
    assert is_on_curve(content) == Pubkey.from_bytes(content).is_on_curve()


def test_addresses_are_written_as_solders_writes_them():
    chance = random.Random(9)  # noqa: S311  # test data
    for length in range(33):
        content = bytes(length) + chance.randbytes(32 - length)
        assert address_text(content) == str(Pubkey.from_bytes(content))
        assert address_bytes(address_text(content)) == content


def test_too_many_or_too_long_seeds_are_refused():
    program_address(SATI, *[b"a"] * 15)
    with pytest.raises(ValueError, match="at most 15 seeds"):
        program_address(SATI, *[b"a"] * 16)
    with pytest.raises(ValueError, match="at most 32 bytes"):
        program_address(SATI, b"a" * 33)


def test_malformed_address_is_named():
    with pytest.raises(MalformedIdentifierError, match="32 bytes in base 58"):
        token_account("0OIl", SATI, SATI)

"""People see the fields that say something, whole identifiers, and amounts with their units."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.cli.output import Output, cell_text
from bilateral.core.values.currency import ether, symbol_of

HASH = "0x" + "ab" * 32
ADDRESS = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


class Terminal(io.StringIO):
    """A terminal, as Rich sees one."""

    def isatty(self):
        return True


@pytest.fixture
def lines(monkeypatch):
    """Shows fields at a terminal of some width: its lines."""

    def show(fields, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "stdout", Terminal())
        Output(as_json=False).result(fields)
        return [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in sys.stdout.getvalue().splitlines()]

    return show


def test_a_hash_and_an_address_are_whole_on_one_line_of_80_columns(lines):
    assert lines({"transaction": HASH, "owner": ADDRESS}) == [f"transaction  {HASH}", f"owner        {ADDRESS}"]


def test_a_hash_that_does_not_fit_is_shortened_and_stays_on_its_line(lines):
    (line,) = lines({"confirmed by": HASH}, width=79)
    assert re.fullmatch(r"confirmed by  0x[0-9a-f]+…[0-9a-f]+", line)
    assert len(line) <= 79


def test_empty_fields_and_zero_hashes_are_left_out(lines):
    empty = {"uri": "", "metadata": [], "file": None, "hash": "0x" + "00" * 32, "wallet": "0x" + "00" * 20}
    assert lines(empty | {"value": 0, "has_rating": False}) == ["value       0", "has rating  no"]


def test_a_data_uri_is_shortened():
    uri = "data:application/json;base64," + "e30=" * 50
    assert cell_text(uri).plain == f"{uri[:60]}… ({len(uri)} characters)"
    assert cell_text(uri[:60]).plain == uri[:60]


@pytest.mark.parametrize(
    ("wei", "text"),
    [(0, "0"), (1, "0.000000000000000001"), (10**18, "1"), (1234567 * 10**12, "1.23457"), (10**24, "1000000")],
)
def test_an_amount_has_six_digits_at_most(wei, text):
    assert ether(wei) == text


@given(st.integers(0, 2**256 - 1))
def test_an_amount_is_never_in_exponential_form(wei):
    assert re.fullmatch(r"\d+(\.\d+)?", ether(wei))


def test_the_currency_is_the_chains():
    assert (symbol_of(8453), symbol_of(43113), symbol_of(137)) == ("ETH", "AVAX", "POL")


def test_a_write_tells_what_it_costs_at_most(bilateral, owner):
    ran = bilateral("agent", "register", key=owner)
    assert re.search(r"^max cost +[\d.]+ ETH \(\d+ gas estimated\)$", ran.out, re.MULTILINE)


def test_an_error_of_the_node_names_its_host_and_no_key(bilateral):
    ran = bilateral("info", BILATERAL_RPC_URL="http://user:hidden@127.0.0.1:9/v2/hidden")
    assert (ran.code, "127.0.0.1" in ran.err, "hidden" in ran.err) == (5, True, False)

"""Changes of facts are told once, with old and new, and facts that rotate are told as such."""

from __future__ import annotations

import random

import pytest

from bilateral.watchtower.endpoints import ROTATES, compare

ENDPOINT = b"e" * 32
SIX_HOURS = 6 * 3600


def changes_of(kind, values, seconds=SIX_HOURS):
    """The changes that a series of deep probes confirms."""
    memory, changes = {}, []
    for number, value in enumerate(values):
        memory, confirmed = compare(ENDPOINT, memory, {kind: value}, number * seconds)
        changes += [(number, change) for change in confirmed]
    return changes


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("price", {"eip155:8453/usdc": "1000"}, {"eip155:8453/usdc": "1600"}),
        ("pay_to", ["0xaa"], ["0xbb"]),
        ("networks", ["eip155:8453"], ["eip155:8453", "eip155:137"]),
        ("keys", ["k1"], []),
        ("tools", "aa" * 32, "bb" * 32),
        ("card", "aa" * 32, "bb" * 32),
        ("signature", "valid", None),
    ],
)
def test_a_change_is_told_once_at_the_second_probe_that_shows_it(kind, old, new):
    ((number, change),) = changes_of(kind, [old] * 3 + [new] * 20)
    assert number == 4
    assert (change.endpoint_id, change.kind, change.old, change.new) == (ENDPOINT, kind, old, new)
    assert (change.at, change.code) == (3 * SIX_HOURS, None)


def test_a_change_is_confirmed_by_a_read_at_least_a_minute_later():
    assert changes_of("price", [1, 2, 2], 59) == []
    assert len(changes_of("price", [1, 2, 2], 60)) == 1


def test_a_single_wrong_answer_is_no_change():
    assert changes_of("tools", [1, 1, 1, 2, 1, 1, 1, 1]) == []


def test_a_fact_that_differs_is_to_be_read_again_soon():
    memory, _ = compare(ENDPOINT, {}, {"price": 1}, 0)
    assert "differs_at" not in memory["price"]
    memory, _ = compare(ENDPOINT, memory, {"price": 2}, 60)
    assert "differs_at" in memory["price"]
    memory, _ = compare(ENDPOINT, memory, {"price": 2}, 120)
    assert "differs_at" not in memory["price"]


def test_a_fact_that_a_probe_does_not_show_is_not_compared():
    memory, _ = compare(ENDPOINT, {}, {"price": 1}, 0)
    assert compare(ENDPOINT, memory, {}, 60) == (memory, [])


def test_an_address_that_is_new_for_each_payment_is_one_note_in_1000_probes():
    ((number, change),) = changes_of("pay_to", [f"0x{number:040x}" for number in range(1000)])
    assert (number, change.code) == (2, ROTATES)


@pytest.mark.parametrize("seed", range(5))
def test_two_backends_that_differ_rotate(seed):
    backend = random.Random(seed)  # noqa: S311  # which backend answers
    changes = changes_of("tools", [backend.choice("AB") for _ in range(1000)])
    assert [change.code for _, change in changes].count(ROTATES) == 1
    assert len(changes) <= 3


def test_a_fact_that_no_longer_rotates_is_compared_again():
    values = [f"0x{number:040x}" for number in range(10)] + ["0xaa"] * 21 + ["0xbb"] * 5
    assert [change.code for _, change in changes_of("pay_to", values)] == [ROTATES, None]

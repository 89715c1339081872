"""Many paid requests at once mix no proofs, and the measurements of paid requests run. `make prove` plays 10,000."""

from __future__ import annotations

import pytest

from bench.x402.__main__ import Verdict, hashing_seconds, verification_seconds
from bench.x402.proofs import AT_ONCE, play
from bench.x402.shop import LARGE, SMALL, Overhead, measure, open_market, open_shop


@pytest.fixture(scope="module")
def bench_shop(rpc):
    with open_shop(rpc, AT_ONCE) as shop:
        yield shop


def test_simultaneous_requests_lose_and_mix_no_proofs(bench_shop):
    assert play(bench_shop, 40) == 40
    assert (bench_shop.extension.signed_responses, bench_shop.extension.unsigned_responses) == (40, 0)


def test_overhead_is_measured_on_answered_requests():
    figures = measure(SMALL, 2)
    assert figures.bare > 0
    assert figures.signed > 0


def test_overhead_is_measured_with_payments_on_a_chain(rpc):
    with open_market(rpc) as market:
        assert measure(SMALL, 1, market).signed > 0
    assert hashing_seconds(SMALL) > 0


def test_verification_is_measured_on_a_verified_answer(rpc):
    assert verification_seconds(rpc, 2) > 0


@pytest.mark.parametrize(
    ("bare", "signed", "text", "is_accepted"),
    [
        (0.4, 0.6, "holds", True),
        (0.4, 0.61, "missed", False),
        (0.2, 0.3, "holds", True),
        (0.2, 0.38, "missed: hashing alone makes it 1.80 times", True),
        (0.2, 0.4, "missed: hashing alone makes it 1.80 times", False),
    ],
)
def test_verdict_on_large_bodies_names_the_floor(bare, signed, text, is_accepted):
    verdict = Verdict.of_large(Overhead(LARGE, 7, bare, signed), hashing=0.16)
    assert (verdict.text, verdict.is_accepted, verdict.limit) == (text, is_accepted, "1.5 times")

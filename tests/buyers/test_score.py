"""Score and tier: Solidity and Python compute the same from one file of vectors, to the last unit."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilateral.buyers import BuyerMetrics, BuyerTier, break_down, score_of, tier_of
from bilateral.core.errors import InvalidArgumentError
from tests.buyers import vectors
from tests.buyers.conftest import BASE_CHAIN, payment_word, tx_hash

DAY = 86_400
VECTORS = json.loads(vectors.FILE.read_text())
EACH_VECTOR = pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])


@pytest.fixture(scope="session")
def library(deployer, project):
    """The library of the registry, open to any metrics."""
    return deployer.deploy(project.MockBuyerScore)


def metrics_of(vector):
    """Return the metrics of a vector. A sum of mean votes may be a fraction, which is text."""
    values = dict(vector["metrics"])
    if isinstance(values["feedback_sum"], str):
        values["feedback_sum"] = Fraction(values["feedback_sum"])
    return BuyerMetrics(**values)


def judged(library, metrics):
    """Return what the contracts say about metrics: score, tier, fairness as a fraction.

    The registry has one whole vote a seller. The mean of several may be a fraction: then its fairness is handed over.
    """
    if Fraction(metrics.feedback_sum).denominator > 1:
        fairness = metrics.effective_fairness or Fraction(0)
        score, tier = library.judgeFairness(
            *(metrics.payments, metrics.volume, metrics.age_days, metrics.disputes),
            *(fairness.numerator, fairness.denominator),
        )
        return int(score), BuyerTier.of_level(int(tier)), fairness
    reviews = [metrics.reviews, metrics.review_sum, metrics.feedback_sellers, int(metrics.feedback_sum)]
    score, tier, fair, whole = library.judge(
        metrics.payments, metrics.volume, metrics.age_days, metrics.disputes, reviews
    )
    return int(score), BuyerTier.of_level(int(tier)), Fraction(int(fair), int(whole))


def test_file_of_vectors_is_the_generated_one():
    assert json.loads(vectors.FILE.read_text()) == list(vectors.written())


@EACH_VECTOR
def test_python_computes_the_vector(vector):
    metrics = metrics_of(vector)
    assert score_of(metrics) == vector["score"]
    assert str(break_down(metrics).total) == vector["exactScore"]
    assert tier_of(metrics) == vector["tier"]
    assert metrics.effective_fairness == (None if vector["fairness"] is None else Fraction(vector["fairness"]))


@EACH_VECTOR
def test_solidity_computes_the_vector(library, vector):
    score, tier, fairness = judged(library, metrics_of(vector))
    assert (score, tier) == (vector["score"], vector["tier"])
    assert fairness == Fraction(vector["fairness"] or 0)


def test_score_of_the_specified_record_is_56_and_not_78():
    """The sample of section 4.1 holds but for its score, which cannot exceed 68.79 with its payments and volume."""
    metrics = BuyerMetrics(47, 234_500_000, 53, 32, 2_320, disputes=1)
    assert score_of(metrics) == 56
    assert tier_of(metrics) is BuyerTier.TRUSTED
    assert metrics.fairness == 85
    assert round(metrics.dispute_rate, 2) == Fraction("2.13")
    best = BuyerMetrics(47, 234_500_000, 365, 1, 65)
    assert break_down(best).total == Fraction("68.79")


@st.composite
def all_metrics(draw):
    reviews, sellers, parts = draw(st.integers(0, 65_535)), draw(st.integers(0, 65_535)), draw(st.integers(1, 7))
    return BuyerMetrics(
        payments=draw(st.integers(0, 120) | st.integers(0, 2**33)),
        volume=draw(st.integers(0, 1_100_000_000) | st.integers(0, 2**65)),
        age_days=draw(st.integers(0, 400) | st.integers(0, 50_000)),
        reviews=reviews,
        review_sum=draw(st.integers(0, 100 * reviews)),
        feedback_sellers=sellers,
        feedback_sum=Fraction(draw(st.integers(0, 100 * sellers * parts)), parts),
        disputes=draw(st.integers(0, 20) | st.integers(0, 65_535)),
    )


@settings(max_examples=150)
@given(metrics=all_metrics())
@example(metrics=BuyerMetrics(2**33, 2**65, 50_000, 65_535, 6_553_500, 65_535, 6_553_500, 65_535))
def test_solidity_and_python_agree_on_any_metrics(library, metrics):
    fairness = metrics.effective_fairness
    assert judged(library, metrics) == (score_of(metrics), tier_of(metrics), fairness or Fraction(0))
    assert 0 <= score_of(metrics) <= 100


def attest_metrics(registry, attestor, buyer, metrics, paid_at):
    """Record metrics through the registry."""
    amounts = [metrics.volume - metrics.payments + 1] + [1] * (metrics.payments - 1)
    batch = [(tx_hash(number), payment_word(buyer, amount, paid_at, 0)) for number, amount in enumerate(amounts)]
    registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    registry.recordReviews([(buyer, metrics.reviews, metrics.review_sum, metrics.disputes)], sender=attestor)


@pytest.mark.parametrize(
    ("metrics", "score", "tier"),
    [
        (BuyerMetrics(47, 234_500_000, 53, 32, 2_320, disputes=1), 56, "trusted"),
        (BuyerMetrics(3, 10_000_000, 0), 16, "verified"),
        (BuyerMetrics(3, 9_999_999, 0), 16, "new"),
        (BuyerMetrics(100, 1_000_000_000, 365, 1, 65), 100, "premium"),
    ],
    ids=["specified record", "least verified", "too little money", "best"],
)
def test_registry_scores_what_was_attested(registry, chain, attestor, client, metrics, score, tier):
    time = chain.blocks.head.timestamp
    attest_metrics(registry, attestor, client, metrics, time - metrics.age_days * DAY)
    assert registry.getBuyerScore(client) == score
    assert registry.getBuyerTier(client) == tier
    assert registry.buyerTierOf(client) == BuyerTier(tier).level
    assert tuple(registry.settlementScoreOf(client)) == (0, 0)


def test_account_without_payments_has_no_points(registry, client):
    assert registry.getBuyerScore(client) == 0
    assert registry.getBuyerTier(client) == "new"


def test_both_records_add_up(registry, settle, attest, client):
    for _ in range(2):
        settle(client, 5_000_000)
    assert (registry.getBuyerTier(client), registry.settlementScoreOf(client)[0]) == ("new", 16)
    attest(client, paid_at=1_500_000_000)
    assert registry.getBuyerTier(client) == "verified"
    # 3 payments: 0.9, 11 dollars: 0.22, no dispute: 15, more than a year: 10.
    assert registry.getBuyerScore(client) == 26


def test_age_counts_full_days_from_the_earliest_payment(registry, chain, settle, attestor, client):
    receipt = settle(client, 1)
    start = receipt.timestamp
    # 15.3 points and 10/365 a day: a half is passed after 8 days.
    for seconds, score in ((8 * DAY - 1, 15), (8 * DAY, 16)):
        chain.mine(timestamp=start + seconds)
        assert registry.getBuyerScore(client) == score
        assert registry.settlementScoreOf(client)[0] == score


@pytest.mark.parametrize(
    "wrong",
    [{"payments": -1}, {"volume": 1.5}, {"disputes": True}, {"reviews": 1, "review_sum": 101}, {"feedback_sum": 1}],
    ids=["negative", "fraction", "truth", "reviews over 100", "votes without sellers"],
)
def test_impossible_metrics_are_refused(wrong):
    with pytest.raises(InvalidArgumentError):
        BuyerMetrics(**wrong)


@pytest.mark.parametrize("level", [-1, 4, True])
def test_unknown_level_is_refused(level):
    with pytest.raises(InvalidArgumentError, match=r"out of range 0\.\.3"):
        BuyerTier.of_level(level)


def test_tiers_have_the_specified_discounts():
    assert {str(tier): tier.discount_eligibility for tier in BuyerTier} == {
        "new": 0, "verified": 5, "trusted": 10, "premium": 20,
    }  # fmt: skip

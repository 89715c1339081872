"""Writes `vectors.json`: scores and tiers for implementations in any language. Run as a module to renew it.

The figures come from the text of the Buyer Reputation Protocol, sections 2 and 3, in fractions. No code of the package
takes part. Votes of sellers take part in the fairness as docs/buyers.md says.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

FILE = Path(__file__).with_name("vectors.json")
NAMES = ("payments", "volume", "age_days", "reviews", "review_sum", "feedback_sellers", "feedback_sum", "disputes")
DOLLAR = 1_000_000

CASES = {
    "no payment": (0, 0, 0, 0, 0, 0, 0, 0),
    "reviews without a payment": (0, 0, 0, 5, 325, 0, 0, 0),
    "first payment": (1, 10_000, 0, 0, 0, 0, 0, 0),
    "specified record": (47, 234_500_000, 53, 32, 2_320, 0, 0, 1),
    "best": (100, 1000 * DOLLAR, 365, 1, 65, 0, 0, 0),
    "more than the best": (5_000, 10**15, 4_000, 1, 65, 0, 0, 0),
    "best without reviews": (100, 1000 * DOLLAR, 365, 0, 0, 0, 0, 0),
    "always 100": (50, 500 * DOLLAR, 100, 10, 1_000, 0, 0, 0),
    "always 0": (50, 500 * DOLLAR, 100, 10, 0, 0, 0, 0),
    "average of 15": (50, 500 * DOLLAR, 100, 10, 150, 0, 0, 0),
    "average just above 15": (50, 500 * DOLLAR, 100, 10, 151, 0, 0, 0),
    "average of a third": (50, 500 * DOLLAR, 100, 3, 200, 0, 0, 0),
    "two payments": (2, 10 * DOLLAR, 0, 0, 0, 0, 0, 0),
    "least verified": (3, 10 * DOLLAR, 0, 0, 0, 0, 0, 0),
    "a millionth below verified": (3, 10 * DOLLAR - 1, 0, 0, 0, 0, 0, 0),
    "trusted but for reviews": (10, 50 * DOLLAR, 0, 0, 0, 0, 0, 0),
    "least trusted": (10, 50 * DOLLAR, 0, 1, 85, 0, 0, 10),
    "trusted but for fairness": (10, 50 * DOLLAR, 0, 2, 171, 0, 0, 0),
    "nine payments": (9, 50 * DOLLAR, 0, 1, 65, 0, 0, 0),
    "a millionth below trusted": (10, 50 * DOLLAR - 1, 0, 1, 65, 0, 0, 0),
    "least premium": (50, 500 * DOLLAR, 0, 1, 80, 0, 0, 2),
    "forty-nine payments": (49, 500 * DOLLAR, 0, 1, 80, 0, 0, 2),
    "a millionth below premium": (50, 500 * DOLLAR - 1, 0, 1, 80, 0, 0, 2),
    "premium but for disputes": (60, 500 * DOLLAR, 0, 1, 80, 0, 0, 3),
    "premium, one dispute in 21": (63, 500 * DOLLAR, 0, 1, 80, 0, 0, 3),
    "premium but for fairness": (50, 500 * DOLLAR, 0, 2, 161, 0, 0, 0),
    "more disputes than payments": (5, 50 * DOLLAR, 10, 1, 65, 0, 0, 9),
    "a half of two fractions": (5, 0, 0, 0, 0, 0, 0, 5),
    "exactly a half": (15, 0, 0, 0, 0, 0, 0, 15),
    "a half of payments and volume": (4, 15 * DOLLAR, 0, 0, 0, 0, 0, 4),
    "a millionth below a half": (4, 15 * DOLLAR - 1, 0, 0, 0, 0, 0, 4),
    "three terms make a half": (73, 0, 73, 0, 0, 0, 0, 70),
    "one seller, one review": (10, 50 * DOLLAR, 0, 1, 65, 1, 0, 0),
    "sellers never outweigh": (10, 50 * DOLLAR, 0, 1, 65, 1_000, 0, 0),
    "twenty of each": (50, 500 * DOLLAR, 365, 20, 1_300, 20, 2_000, 0),
    "more than twenty of each": (50, 500 * DOLLAR, 365, 400, 26_000, 300, 9_000, 0),
    "sellers without reviews": (50, 500 * DOLLAR, 365, 0, 0, 20, 2_000, 0),
    "sellers lift a harsh buyer": (50, 500 * DOLLAR, 365, 10, 100, 10, 1_000, 0),
    "mean vote of 87.5": (12, 50 * DOLLAR, 53, 1, 65, 1, Fraction(175, 2), 0),
    "mean votes in thirds and halves": (10, 50 * DOLLAR, 53, 3, 195, 4, Fraction(1_099, 6), 0),
    "mean vote that just fails premium": (50, 500 * DOLLAR, 0, 1, 65, 1, Fraction(119, 3), 0),
    "mean vote that just reaches premium": (50, 500 * DOLLAR, 0, 1, 65, 1, Fraction(40), 0),
    "leap year": (100, 1000 * DOLLAR, 366, 1, 65, 0, 0, 0),
    "a day below a year": (100, 1000 * DOLLAR, 364, 1, 65, 0, 0, 0),
    "all fields full": (2**33 - 2, 2**65 - 2, 30_000, 65_535, 6_553_500, 65_535, 6_553_500, 65_535),
    "primes": (97, 997_000_003, 359, 31, 1_999, 17, 1_103, 13),
}


def fairness(reviews, total, sellers, votes):
    if reviews == 0:
        return None
    own = max(Fraction(0), 100 - abs(Fraction(total, reviews) - 65) * 2)
    if sellers == 0:
        return own
    weight = min(reviews, 20)
    other = min(sellers, weight, 20)
    return (weight * own + other * Fraction(votes, sellers)) / (weight + other)


def score(payments, volume, days, fair, disputes):
    if payments == 0:
        return Fraction(0)
    rate = min(Fraction(100), Fraction(disputes, payments) * 100)
    return (
        Fraction(min(payments, 100), 100) * 30
        + min(Fraction(volume, DOLLAR), Fraction(1000)) / 1000 * 20
        + (fair or 0) / Fraction(100) * 25
        + (100 - rate) / 100 * 15
        + Fraction(min(days, 365), 365) * 10
    )


def tier(payments, volume, fair, disputes):
    dollars = Fraction(volume, DOLLAR)
    rate = Fraction(disputes, payments) * 100 if payments else 0
    if payments >= 50 and dollars >= 500 and fair is not None and fair >= 70 and rate < 5:
        return "premium"
    if payments >= 10 and dollars >= 50 and fair is not None and fair >= 60:
        return "trusted"
    return "verified" if payments >= 3 and dollars >= 10 else "new"


def written():
    """Yield each vector."""
    for name, (payments, volume, days, reviews, total, sellers, votes, disputes) in CASES.items():
        fair = fairness(reviews, total, sellers, votes)
        exact = score(payments, volume, days, fair, disputes)
        yield {
            "name": name,
            "metrics": {key: _shown(value) for key, value in zip(NAMES, CASES[name], strict=True)},
            "fairness": None if fair is None else str(fair),
            "exactScore": str(exact),
            "score": (2 * exact + 1) // 2,
            "tier": tier(payments, volume, fair, disputes),
        }


def _shown(value):
    """Return a whole number, or a fraction as text: `175/2`."""
    return str(value) if Fraction(value).denominator > 1 else int(value)


if __name__ == "__main__":
    FILE.write_text(json.dumps(list(written()), indent=2) + "\n")

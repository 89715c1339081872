"""Figures of real data, with intervals by resampling of accounts."""

import numpy as np
import pytest

from bench.trust.measures import measured, recall_at


def _scored(accounts, seed=0):
    """Return labels of which a third is guilty, and scores that tell most of them."""
    random = np.random.default_rng(seed)
    label = (np.arange(accounts) % 3 == 0).astype(np.int64)
    return label, label + random.normal(0, 0.8, accounts)


def test_figure_is_the_mean_over_divisions():
    label, score = _scored(300)
    _, other = _scored(300, seed=1)
    first, second = (measured(label, [score], draws=5) for score in (score, other))
    both = measured(label, [score, other], draws=5)
    for name in ("AUC", "recall at 1 %"):
        assert both[name][0] == pytest.approx((first[name][0] + second[name][0]) / 2)


def test_interval_contains_the_figure_and_narrows_with_more_accounts():
    widths = []
    for accounts in (150, 6000):
        label, score = _scored(accounts)
        figure, low, high = measured(label, [score], draws=200)["AUC"]
        assert low < figure < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_accounts_whose_label_a_division_knew_do_not_count_in_it():
    label, score = _scored(300)
    known = np.arange(300) < 30
    figures = measured(label, [np.where(known, np.nan, score)], draws=5)
    assert figures["recall at 1 %"][0] == recall_at(score[~known], label[~known])


def test_recall_counts_the_guilty_above_all_but_a_hundredth_of_the_others():
    label = np.array([0] * 100 + [1] * 4)
    score = np.array([*range(100), 98, 98.5, 99, 200.0])
    assert recall_at(score, label) == 3 / 4

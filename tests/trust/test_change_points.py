"""Opinions before a turn of their subject count little, and neither a failed job nor praise makes a turn."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.trust.scores.change_points import Voices, persistence

DAY = 86_400.0


def voices(values, weight=1.0, days=None):
    """Return opinions about one subject, one a day or at some days."""
    weights = np.broadcast_to(np.asarray(weight, float), len(values)).copy()
    at = DAY * (np.arange(len(values)) if days is None else np.array(days, float))
    alike = np.ones(len(values), bool)
    return Voices(np.zeros(len(values), np.int64), np.array(values, float), at, weights, weights, alike)


def kept(values, weight=1.0, days=None):
    """The probabilities that opinions about one subject last."""
    entries = voices(values, weight, days)
    return persistence(entries, 1.5, entries.at.max(initial=0.0))[0]


def test_opinions_before_a_turn_count_little_and_those_since_then_count():
    turns = kept([90, 84, 88, 95, 79, 91, 20, 14, 25, 18])
    assert turns[:6].max() < 0.15
    assert turns[6:].min() > 0.95


@pytest.mark.parametrize("values", [[90, 84, 88, 95, 79, 91, 88, 12], [90, 84, 5, 95, 79, 91, 88, 85], [80] * 300])
def test_steady_opinions_last_beside_a_failed_job(values):
    assert kept(values).min() > 0.99


def test_a_turn_is_seen_between_praise_of_those_who_call_everything_excellent():
    turns = kept([90, 84, 88, 95, 79, 91, 20, 100, 14, 25, 96, 18])
    assert turns[:6].max() < 0.2


STEADY = [90, 84, 88, 95, 79, 91, 88, 85, 90, 82]


def test_many_bad_opinions_within_hours_are_slander_and_no_turn():
    for count in (4, 8, 40):
        days = [*range(10), *np.linspace(9.5, 9.7, count)]
        entries = voices(STEADY + [3] * count, days=days)
        current, genuine = persistence(entries, 1.5, entries.at.max())
        assert current[:10].min() > 0.75
        assert genuine[10:].sum() < 3 + 0.2 * count


@pytest.mark.parametrize(("praise", "turns"), [(0, True), (1, True), (5, False), (8, False)])
def test_good_opinions_of_the_same_days_refute_a_turn(praise, turns):
    bad = np.linspace(10, 16, 8)
    good = np.linspace(10.4, 15.8, praise)
    days = np.array([*range(10), *bad, *good])
    values = np.array(STEADY + [5] * 8 + [88] * praise)
    lasting = kept(values[np.argsort(days)], days=np.sort(days))[:9]
    assert (lasting.max() < 0.3) == turns
    assert (lasting.min() > 0.7) == (not turns)


def test_praise_at_the_end_does_not_make_a_bad_agent_good():
    assert kept([22, 15, 31, 26, 18, 100, 97]).min() > 0.9


@pytest.mark.parametrize(("weight", "lasts"), [(0.3, True), (0.9, False)])
def test_opinions_since_a_turn_need_some_weight(weight, lasts):
    turns = kept([90, 84, 88, 95, 79, 91, 3, 0], [1.0] * 6 + [weight] * 2)
    assert (turns[:6].min() > 0.99) == lasts


def test_subjects_do_not_see_each_other():
    draw = np.random.default_rng(3)
    subject = np.sort(draw.integers(0, 400, 3000))
    late = np.arange(3000) - np.searchsorted(subject, subject) > 4
    values = np.where(late & (subject % 2 == 0), 20, 85) + draw.normal(0, 9, 3000)
    weight = draw.uniform(0.2, 1, 3000)
    at = DAY * (np.arange(3000) - np.searchsorted(subject, subject))
    entries = Voices(subject, values, at, weight, weight, np.ones(3000, bool))
    together, _ = persistence(entries, 1.5, at.max())
    alone = [persistence(entries[subject == n], 1.5, at.max())[0] for n in range(400)]
    assert together == pytest.approx(np.concatenate(alone), abs=1e-5)
    many = np.bincount(subject)[subject] > 7
    turned = subject % 2 == 0
    assert together[many & turned & ~late].mean() < 0.4
    assert together[~turned].mean() > 0.95


def test_without_opinions_nothing_lasts():
    assert len(kept([])) == 0

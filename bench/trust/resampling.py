"""Measures of real data, with intervals by resampling of the labelled accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from sklearn.metrics import roc_auc_score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bilateral.trust.tables.arrays import Floats, Ints

Triple = tuple[float, float, float]
"""A figure, and the limits of its interval."""

_DRAWS: Final = 1000
"""Resamples of an interval: its limits, the 25th value from either end, differ little from run to run."""


def recall_at(score: Floats, label: Ints) -> float:
    """Return the recall at 1 % false positives.

    Args:
        score: The scores.
        label: 1 for guilty.
    """
    ordered = np.sort(score[label == 0])[::-1]
    return float((score[label == 1] > ordered[len(ordered) // 100]).mean())


def measured(label: Ints, scores: Sequence[Floats], draws: int = _DRAWS) -> dict[str, Triple]:
    """Return the AUC and the recall at 1 % false positives, with intervals that hold in 95 of 100 cases.

    The figure is the mean over the scores. Each resample draws accounts, the same for all scores, so the interval shows
    how much the figure depends on who is labelled.

    Args:
        label: 1 for guilty, 0 for others.
        scores: Scores of the same accounts, from several divisions of them; nan where a division knew the label.
        draws: The number of resamples.
    """
    random = np.random.default_rng(0)
    everybody = np.arange(len(label))
    resamples = [random.integers(len(label), size=len(label)) for _ in range(draws)]
    measures: dict[str, Callable[[Floats, Ints], float]] = {"AUC": _auc, "recall at 1 %": recall_at}
    triples = {}
    for name, measure in measures.items():
        values = [_mean(measure, label, scores, chosen) for chosen in resamples if 0 < label[chosen].mean() < 1]
        low, high = np.quantile(values, [0.025, 0.975])
        triples[name] = (_mean(measure, label, scores, everybody), float(low), float(high))
    return triples


def _auc(score: Floats, label: Ints) -> float:
    return float(roc_auc_score(label, score))


def _mean(measure: Callable[[Floats, Ints], float], label: Ints, scores: Sequence[Floats], chosen: Ints) -> float:
    """Return the mean of a measure over scores, of some accounts."""
    values = []
    for score in scores:
        hidden = chosen[np.isfinite(score[chosen])]
        values.append(measure(score[hidden], label[hidden]))
    return float(np.mean(values))

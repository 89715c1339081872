"""The bias of each rater, beside the quality of each subject.

A value is modelled as the subject's quality plus the rater's bias plus noise. A rater who always gives the same value
tells nothing. Bias differs from fraud: harsh and generous raters exist, so it corrects scores and flags nobody.
"""

from typing import Final, Self

import numpy as np

from bilateral.trust.tables.arrays import Floats, Groups, Ints

_HUBER: Final = 14.0
"""The residual in points from which a value weighs less: about the deviation of an ordinary value."""

_CONSTANT: Final = 3
"""The number of equal values from which a rater counts as one that always gives the same."""


class BiasModel:
    """Additive model of qualities and biases, fitted by weighted alternating means.

    Attributes:
        quality_: The quality of each subject, from 0 to 100; the prior's mean without evidence.
        bias_: The bias of each rater.
        information_: The weight of the evidence about each subject, in opinions of an ordinary rater.
        weight_: The weight of each value.
        spread_: The standard deviation of an ordinary value.
    """

    def __init__(self, iterations: int = 12, prior_subject: float = 0.6, prior_rater: float = 2.0) -> None:
        self.iterations = iterations
        self.prior_subject = prior_subject
        self.prior_rater = prior_rater

    def fit(self, rater: Ints, subject: Ints, values: Floats, trust: Floats, raters: int, subjects: int) -> Self:  # noqa: PLR0913, PLR0917
        """Fit the model."""
        values = np.asarray(values, np.float32)  # rows in single precision, sums in double
        rater, subject = rater.astype(np.intp, copy=False), subject.astype(np.intp, copy=False)  # once for all rounds
        by_rater, by_subject = Groups.by(rater, raters), Groups.by(subject, subjects)
        trust = np.asarray(trust * _informative(by_rater, values), np.float32)
        mean = float(np.average(values, weights=trust)) if trust.sum() > 0 else 50.0
        bias, quality = np.zeros(raters), np.full(subjects, mean)
        weight = trust.copy()
        shift, rest, scratch = (np.zeros_like(values) for _ in range(3))  # reused, because they may be large
        # Places are valid. To clip them avoids the copy that `numpy.take` makes otherwise, to raise an error.
        for _ in range(self.iterations):
            np.multiply(weight, np.subtract(values, shift, out=rest), out=rest)
            total = by_subject.sums(weight) + self.prior_subject
            quality = (by_subject.sums(rest) + self.prior_subject * mean) / total
            np.subtract(values, np.take(quality.astype(np.float32), subject, out=scratch, mode="clip"), out=rest)
            summed = by_rater.sums(np.multiply(weight, rest, out=scratch))
            bias = summed / (by_rater.sums(weight) + self.prior_rater)
            np.subtract(rest, np.take(bias.astype(np.float32), rater, out=shift, mode="clip"), out=rest)
            np.divide(_HUBER, np.maximum(np.abs(rest, out=rest), 1e-9, out=scratch), out=scratch)
            np.multiply(trust, np.minimum(1.0, scratch, out=scratch), out=weight)
            np.multiply(weight, np.sqrt(scratch, out=scratch), out=weight)
        squares = np.multiply(weight, np.square(rest, out=scratch), out=scratch).sum(dtype=np.float64)
        self.spread_ = (
            max(float(np.sqrt(squares / max(weight.sum(dtype=np.float64), 1e-9))), 5.0) if len(rest) else 15.0
        )
        self.quality_, self.bias_, self.weight_ = np.clip(quality, 0, 100), bias, weight
        self.information_ = by_subject.sums(weight)
        return self


def _informative(by_rater: Groups, values: Floats) -> Floats:
    """Return a weight for each value: little for raters whose values never differ."""
    count = by_rater.count
    usual, squares = np.maximum(count, 1), by_rater.sums(values.astype(np.float64) ** 2)
    variance = squares / usual - (by_rater.sums(values) / usual) ** 2
    constant = (count >= _CONSTANT) & (variance < 1.0)
    full = (count < _CONSTANT)[by_rater.of] & (values >= 100.0)  # noqa: PLR2004  # a full mark, of which we see no other
    return np.where(constant[by_rater.of], 0.05, np.where(full, 0.4, 1.0))

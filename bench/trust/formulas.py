"""Formulas for Bitcoin-OTC, chosen on Bitcoin-Alpha, so that none is chosen on what it is reported on.

Nobody published labels of Alpha. They follow from its ratings by the rule that made those of OTC: benign is who was
rated 5 or more by trusted traders, fraud who was rated -3 or less by one of them. Trusted are user 1 and whom user 1
rated 2 or more: with 5 or more, as on OTC, only 48 traders would have a label.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from bench.trust.otc import Otc, balance, fairness, span, standing
from bilateral.trust.tables.arrays import Flags, Floats, group_sums

if TYPE_CHECKING:
    from pathlib import Path

_TRUSTED: Final = 2
_GOOD: Final = 5
_BAD: Final = -3


def alpha(folder: Path) -> Otc:
    """Return the ratings of Bitcoin-Alpha without the edges that its labels follow from.

    Args:
        folder: The folder `bitcoin` of the data.
    """
    table = np.loadtxt(folder / "soc-sign-bitcoinalpha.csv", delimiter=",")
    source, target, value = table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
    trusted = np.append(target[(source == 1) & (value >= _TRUSTED)], 1)
    by_trusted = np.isin(source, trusted)
    good = np.unique(target[by_trusted & (value >= _GOOD)])
    bad = np.setdiff1d(target[by_trusted & (value <= _BAD)], trusted)
    nodes = np.setxor1d(good, bad)
    names = np.unique(np.concatenate([source, target]))
    kept = ~(by_trusted & np.isin(target, nodes))
    return Otc(
        np.searchsorted(names, source[kept]),
        np.searchsorted(names, target[kept]),
        value[kept] / 10,
        table[kept, 3],
        int((~kept).sum()),
        np.searchsorted(names, nodes),
        np.isin(nodes, bad).astype(np.int64),
        len(names),
    )


def formulas(otc: Otc, *, received: bool) -> dict[str, Floats]:
    """Return formulas without labels, higher for fraud: figures, and pairs of figures by the sum of their ranks.

    Args:
        otc: The ratings.
        received: True to look at received ratings too; without it, only at given ones.
    """
    good, fair = fairness(otc)
    trust = standing(otc)
    maximum = np.maximum(np.bincount(otc.rater, minlength=otc.size), 1)
    taken = np.maximum(np.bincount(otc.rated, minlength=otc.size), 1)

    def mean(values: Floats | Flags, *, out: bool) -> Floats:
        side, count = (otc.rater, maximum) if out else (otc.rated, taken)
        return np.asarray(group_sums(np.asarray(values, np.float64), side, otc.size) / count)

    single: dict[str, Floats] = {"unfairness": -fair, "short activity": -span(otc)}
    if received:
        single |= {
            "goodness": -good,
            "balance": balance(otc, trust),
            "mean": -mean(otc.value, out=False),
            "total": -mean(otc.value, out=False) * taken,
            "standing": -trust,
            "complaints by standing": group_sums(np.maximum(-otc.value, 0) * trust[otc.rater], otc.rated, otc.size),
            "share of complaints": mean(otc.value < 0, out=False),
        }
    else:
        single |= {
            "few ratings": -maximum.astype(np.float64),
            "share of low ratings": mean(otc.value < 0, out=True),
            "goodness of the rated": -mean(good[otc.rated], out=True),
            "standing of the rated": -mean(np.log(trust[otc.rated] + 1e-9), out=True),
        }
    both = {
        f"{first} and {second}": np.asarray(rankdata(single[first]) + rankdata(single[second]))
        for first, second in combinations(single, 2)
    }
    return single | both


def chosen(tuned: Otc, reported: Otc, *, received: bool) -> tuple[str, Floats]:
    """Return the formula that is best on other data, and its scores.

    Args:
        tuned: The data on which it is chosen.
        reported: The data that it is reported on.
        received: As for `formulas`.
    """
    active = np.bincount(tuned.rater, minlength=tuned.size)[tuned.nodes] > 0
    kept = np.ones(len(tuned.nodes), bool) if received else active
    figures = {
        name: float(roc_auc_score(tuned.label[kept], score[tuned.nodes][kept]))
        for name, score in formulas(tuned, received=received).items()
    }
    best = max(figures, key=lambda name: (figures[name], name))
    return best, formulas(reported, received=received)[best]

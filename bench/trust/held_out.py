"""`python -m bench.trust.held_out`: train without some structures of drawn attacks, and measure on these alone.

So the parts and the training are chosen by attacks that the models have not met, and by no family of the figures.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from rich.console import Console

from bench.trust.measures import Truth, ranking
from bench.trust.train import SEEDS, Sample, analysed, train
from bench.trust.worlds.drawn import EVERY, FAMILY
from bilateral.trust.signs import Model

_FOLDS: Final = 4


def structures(family: str) -> frozenset[str]:
    """Return the structures of a drawn attack.

    Args:
        family: The family that it is recorded under.
    """
    return frozenset(family.removeprefix(f"{FAMILY}: ").split(", "))


def without(truth: Truth, held: frozenset[str]) -> np.ndarray:
    """Mark the accounts that count, except members of attacks that use held-out structures.

    Args:
        truth: The truth.
        held: The structures.
    """
    numbers = [number for number, family in truth.family.items() if structures(family) & held]
    marked: np.ndarray = truth.judged & ~np.isin(truth.attack, numbers)
    return marked


def main() -> None:
    """Train and measure without each quarter of the structures, on other worlds than those of the training."""
    console, names = Console(), list(dict.fromkeys(world.__name__[1:] for world in EVERY))
    worlds = [analysed(seed) for seed in SEEDS]
    for fold in range(_FOLDS):
        held = frozenset(names[fold::_FOLDS])
        learned = [world for number, world in enumerate(worlds) if number % _FOLDS != fold]
        samples = [Sample.of(engine.context_, without(truth, held), truth.attack >= 0) for engine, truth in learned]
        model, rows = Model.of(train(samples)), []
        for engine, truth in worlds[fold::_FOLDS]:
            families = frozenset(family for family in truth.family.values() if structures(family) & held)
            score = np.full(len(truth.judged), -np.inf)
            chosen = np.flatnonzero(truth.judged)
            score[chosen] = model.scores(engine.context_, chosen)[0]
            rows.append(ranking(score, truth, families))
        means = {measure: round(float(np.mean([row[measure] for row in rows])), 3) for measure in rows[0]}
        console.print(f"without {', '.join(sorted(held))}: {means}")


if __name__ == "__main__":
    main()

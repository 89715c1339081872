"""The study of worlds: families seen while the engine was built, families watched or written later, honest worlds."""

import numpy as np

from bench.trust.baselines import baselines
from bench.trust.measures import Truth, ranking, scoring, threshold
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import KINDS
from bilateral.trust.engine import Engine
from bilateral.trust.tables.arrays import Floats, Ints

Row = dict[str, float]


def run(kind: str, seed: int) -> tuple[Engine, Truth]:
    """Build a world and analyse it.

    Args:
        kind: One of `KINDS`.
        seed: The seed.
    """
    tables, truth = KINDS[kind].world(seed).tables()
    engine = Engine().fit(tables)
    return engine, Truth.of(engine, truth)


def known_honest(truth: Truth) -> Ints:
    """Return fifty honest accounts, as a reader might know them.

    Args:
        truth: The truth.
    """
    honest = np.flatnonzero(truth.judged & (truth.attack < 0))
    return np.random.default_rng(0).choice(honest, min(50, len(honest)), replace=False)


def study(kind: str) -> dict[str, dict[str, list[float]]]:
    """Return the measures of each method over several worlds.

    Args:
        kind: One of `KINDS`.

    Returns:
        For "Bilateral", for each baseline and for each family, the values of each measure, one a world.
    """
    out: dict[str, dict[str, list[float]]] = {}
    for seed in KINDS[kind].seeds:
        engine, truth = run(kind, seed)
        total = engine.suspicion_.total
        _add(out, "Bilateral", {**ranking(total, truth), **threshold(engine, truth), **scoring(engine, truth)})
        for name, score in baselines(engine.context_, known_honest(truth)).items():
            _add(out, name, ranking(_finite(score), truth))
        for family in KINDS[kind].families:
            _add(out, f"family {family}", ranking(total, truth, frozenset({family})))
        for group in sorted({name for name in truth.group if name}):
            without = Truth(**{**vars(truth), "judged": truth.judged & (np.array(truth.group) != group)})
            _add(out, f"without {group}", ranking(total, without))
    return out


def rotated(kind_seeds: range) -> Row:
    """Choose the threshold on one half of the seen families, and report precision and recall on the other half.

    Args:
        kind_seeds: The seeds.
    """
    gaps, precision, recall = [], [], []
    for seed in kind_seeds:
        engine, truth = run("seen", seed)
        total = engine.suspicion_.unranked
        honest = truth.judged & (truth.attack < 0)
        names = np.random.default_rng(seed).permutation(sorted(set(truth.family.values())))
        halves = (set(names[: len(names) // 2]), set(names[len(names) // 2 :]))
        for tuned, tested in (halves, halves[::-1]):
            members = [
                truth.judged & np.isin(truth.attack, [n for n, family in truth.family.items() if family in half])
                for half in (tuned, tested)
            ]
            grid = np.arange(0.5, 6.1, 0.25)
            balanced = [_balanced(total >= limit, members[0], honest) for limit in grid]
            flagged = total >= grid[int(np.argmax(balanced))]
            gaps.append(max(balanced) - _balanced(flagged, members[1], honest))
            precision.append(float(members[1][flagged & (members[1] | honest)].mean()))
            recall.append(float(flagged[members[1]].mean()))
    return {"gap": float(np.mean(gaps)), "precision": float(np.mean(precision)), "recall": float(np.mean(recall))}


def honest_only(seeds: range) -> float:
    """Return the share of accounts that are flagged in worlds without attacks.

    Args:
        seeds: The seeds.
    """
    shares = []
    for seed in seeds:
        engine = Engine().fit(honest_world(seed).tables()[0])
        shares.append(float(engine.suspicion_.flagged[engine.judged()].mean()))
    return float(np.mean(shares))


def _balanced(flagged: np.ndarray, guilty: np.ndarray, honest: np.ndarray) -> float:
    """Return the harmonic mean of precision and recall."""
    hits, false = (flagged & guilty).sum(), (flagged & honest).sum()
    return float(2 * hits / max(2 * hits + false + (guilty & ~flagged).sum(), 1))


def _finite(score: Floats) -> Floats:
    return np.asarray(np.nan_to_num(score, nan=0.0, posinf=1e18, neginf=-1e18), np.float64)


def _add(out: dict[str, dict[str, list[float]]], name: str, row: Row) -> None:
    for measure, value in row.items():
        out.setdefault(name, {}).setdefault(measure, []).append(value)

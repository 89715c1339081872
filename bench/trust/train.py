"""`python -m bench.trust.train`: train the ranking by weak signs on drawn attacks, and write it into the package.

No family with a name takes part, so no figure is about attacks that were learned. Each model is trained on one half of
the worlds to score the other half, in turn, so that the next one learns from scores such as it will see.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Final

import numpy as np
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier

from bench.trust.measures import Truth
from bench.trust.worlds.drawn import drawn_world
from bilateral.trust.engine import Engine
from bilateral.trust.features.context import Context
from bilateral.trust.features.features import features
from bilateral.trust.features.judgements import Judgements
from bilateral.trust.features.signs import LARGEST, MODEL, Model, around, finite
from bilateral.trust.tables.arrays import Flags, Floats
from bilateral.trust.tables.opinions import Kind

SEEDS: Final = range(5101, 5271)
_HONEST: Final = 3
"""One in so many honest accounts takes part, and counts as many times: more worlds teach more than more of the same."""

_DEPTH: Final = 4
_TREES: Final = 200
_MODELS: Final = ("alone", "among", "again")
_QUANTILES: Final = np.unique(
    np.concatenate([np.linspace(0.02, 0.98, 49), [0.001, 0.003, 0.01], [0.99, 0.997, 0.999, 0.9997]])
)
"""The quantiles of a feature between which its codes lie, more of them at the ends, where attackers are."""


@dataclass(frozen=True)
class Sample:
    """One world to learn from.

    Attributes:
        context: The ledger and what detectors share.
        columns: The features that see the account alone, by name.
        judged: Marks the accounts that count.
        guilty: Marks the attackers.
        framed: Marks the honest accounts that attackers judge.
    """

    context: Context
    columns: dict[str, Floats]
    judged: Flags
    guilty: Flags
    framed: Flags

    @classmethod
    def of(cls, context: Context, judged: Flags, guilty: Flags) -> "Sample":
        """Work out the features of a world.

        Args:
            context: The ledger and what detectors share.
            judged: Marks the accounts that count.
            guilty: Marks the attackers.
        """
        columns = {name: finite(column) for name, column in features(context, Judgements.of(context))}
        ledger, opinions = context.ledger, context.ledger.opinions
        rows = (guilty | ~judged)[opinions.rater] & (opinions.kind != Kind.CONSTANT_TAG)
        framed = np.zeros(len(guilty), bool)
        framed[ledger.subject_account[opinions.subject[rows]]] = True
        return cls(context, columns, judged, guilty, framed & ~guilty)


def train(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return all models as lists and objects.

    Args:
        samples: The worlds.
    """
    edges = _edges([sample.columns for sample in samples], samples)
    own = coded = [_coded(sample.columns, edges) for sample in samples]
    models = {"alone": _written(_fitted(coded, samples))}
    more: dict[str, Floats] = {}
    for name in ("among", "again"):
        beside = []
        for sample, seen in zip(samples, _unseen(coded, samples), strict=True):
            score, judgements = np.where(_acting(sample.context), seen, 0), Judgements.of(sample.context)
            columns = around(sample.context, judgements, score.astype(np.float32))
            beside.append({key: finite(column) for key, column in columns})
        more = more or _edges(beside, samples)
        coded = [
            np.concatenate([codes, _coded(columns, more)], axis=1) for codes, columns in zip(own, beside, strict=True)
        ]
        models[name] = _written(_fitted(coded, samples))
    listed = {name: [float(value) for value in values] for name, values in {**edges, **more}.items()}
    return pruned({"edges": listed, **models})


def _unseen(coded: Sequence[Any], samples: Sequence[Sample]) -> list[Floats]:
    """Return the scores of each half of the worlds by trees that were fitted to the other one."""
    out: list[Floats] = [np.zeros(0)] * len(samples)
    for half in (0, 1):
        trees = _fitted(coded[1 - half :: 2], samples[1 - half :: 2])
        for n in range(half, len(samples), 2):
            out[n] = np.clip(trees.decision_function(coded[n]), -LARGEST, LARGEST)
    return out


def pruned(data: dict[str, Any]) -> dict[str, Any]:
    """Return models without the edges that no tree looks at: to compare with edges takes most of the time of codes.

    Args:
        data: All models as lists and objects.
    """
    pairs = [pair for name in _MODELS for tree in _places(data[name]) for pair in tree]
    edges: dict[str, list[float]] = {}
    places: dict[tuple[int, int], int] = {}
    for number, (name, values) in enumerate(data["edges"].items()):
        used = sorted({above for feature, above in pairs if feature == number and above < len(values)})
        edges[name] = [values[above] for above in used]
        places |= {(number, above): place for place, above in enumerate(used)}
    trees = {name: [[places.get(pair, 255) for pair in tree] for tree in _places(data[name])] for name in _MODELS}
    return {"edges": edges} | {name: data[name] | {"above": above} for name, above in trees.items()}


def _places(model: dict[str, Any]) -> list[list[tuple[int, int]]]:
    """Return the feature and the edge of each node, by tree."""
    return [list(zip(*tree, strict=True)) for tree in zip(model["feature"], model["above"], strict=True)]


def _acting(context: Context) -> Flags:
    """Mark the accounts that judge or are judged, or own an agent."""
    ledger = context.ledger
    out = np.zeros(ledger.accounts, bool)
    out[ledger.opinions.rater] = True
    out[ledger.subject_account[ledger.opinions.subject]] = True
    out[ledger.owner] = True
    return out


def _edges(columns: Sequence[dict[str, Floats]], samples: Sequence[Sample]) -> dict[str, Floats]:
    """Return the values between which the codes of each feature lie."""
    out = {}
    for name in columns[0]:
        column = np.concatenate(
            [column_of[name][sample.judged] for column_of, sample in zip(columns, samples, strict=True)]
        )
        out[name] = np.unique(np.quantile(column, _QUANTILES).astype(np.float32))
    return out


def _coded(columns: dict[str, Floats], edges: dict[str, Floats]) -> Any:
    return np.column_stack([np.searchsorted(edges[name], column) for name, column in columns.items()]).astype(np.uint8)


def _fitted(coded: Sequence[Any], samples: Sequence[Sample]) -> HistGradientBoostingClassifier:
    """Return trees for the accounts that count."""
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES, learning_rate=0.12, max_depth=_DEPTH, max_leaf_nodes=16, min_samples_leaf=150,
        l2_regularization=5.0, max_features=0.3, early_stopping=False, random_state=0,
    )  # fmt: skip
    chosen = [_chosen(sample) for sample in samples]
    every = np.concatenate([codes[some] for codes, some in zip(coded, chosen, strict=True)])
    guilty = np.concatenate([sample.guilty[some] for sample, some in zip(samples, chosen, strict=True)])
    return trees.fit(every, guilty, sample_weight=np.where(guilty, 1, _HONEST))


def _chosen(sample: Sample) -> Flags:
    """Mark the accounts of a world that trees are fitted to: all attackers and whom they judge, and some others."""
    # So whom attackers judge counts more than others do: anybody can praise or slander anybody.
    some = np.random.default_rng(len(sample.judged)).random(len(sample.judged)) < 1 / _HONEST
    return sample.judged & (sample.guilty | sample.framed | some)


def _written(trees: HistGradientBoostingClassifier) -> dict[str, Any]:
    """Return trees as lists, each filled up to the same depth."""
    inner = 2**_DEPTH - 1
    base, predictors = trees._baseline_prediction, trees._predictors  # noqa: SLF001  # scikit-learn has no other way out
    out: dict[str, Any] = {"base": float(base.item()), "feature": [], "above": [], "value": []}
    for (tree,) in predictors:
        feature, above, value = [0] * inner, [255] * inner, [0.0] * (inner + 1)

        def fill(node: Any, place: int, nodes: Any, lists: tuple[list[int], list[int], list[float]]) -> None:
            if place >= inner:
                lists[2][place - inner] = round(float(node["value"]), 5)
            elif node["is_leaf"]:
                fill(node, 2 * place + 1, nodes, lists)
                fill(node, 2 * place + 2, nodes, lists)
            else:
                lists[0][place], lists[1][place] = int(node["feature_idx"]), int(np.floor(node["num_threshold"]))
                fill(nodes[node["left"]], 2 * place + 1, nodes, lists)
                fill(nodes[node["right"]], 2 * place + 2, nodes, lists)

        fill(tree.nodes[0], 0, tree.nodes, (feature, above, value))
        for name, values in (("feature", feature), ("above", above), ("value", value)):
            out[name].append(values)
    return out


def analysed(seed: int) -> tuple[Engine, Truth]:
    """Return a drawn world's analysis without weak signs, and its truth.

    Args:
        seed: The seed.
    """
    tables, told = drawn_world(seed).tables()
    engine = Engine(detectors=[], learned=False).fit(tables)
    return engine, Truth.of(engine, told)


def sampled(seed: int) -> Sample:
    """Return a drawn world to learn from."""
    engine, truth = analysed(seed)
    return Sample.of(engine.context_, truth.judged, truth.attack >= 0)


def main() -> None:
    """Build the worlds, on all processors, train, and write the models."""
    console, samples = Console(), []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for seed, sample in zip(SEEDS, pool.map(sampled, SEEDS), strict=True):
            console.print(f"world {seed}")
            samples.append(sample)
    write(train(samples))
    console.print(f"written: {MODEL.name}")


def write(data: dict[str, Any]) -> None:
    """Write the models.

    Args:
        data: All models as lists and objects.
    """
    Model.of(data)
    lines = json.dumps(data, separators=(",", ":")).replace("],", "],\n")
    MODEL.write_text(lines + "\n")


if __name__ == "__main__":
    main()

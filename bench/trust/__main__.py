"""`make evaluate DATA=folder`: measures the trust analysis, and writes the figures into docs/trust-figures.md.

Without DATA, the figures of real data stay as they were recorded. The data are not part of the project:
`hop/` is from the repository hop-protocol/hop-airdrop: `eligibleAddresses.txt`, `eliminatedSybilAttackers.csv` and
the transfers as `transfers.parquet` with the columns from, to, kind, chain.
"""

import argparse
import csv
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GroupKFold

from bench.trust import page, study
from bench.trust.measures import measured
from bench.trust.speed import speed
from bench.trust.worlds.kinds import KINDS
from bilateral.trust.detectors.cases import CaseModel, conduct
from bilateral.trust.tables.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Hop:
    """The transfers and the labels.

    Attributes:
        source, target: The ends of each transfer.
        sort: The kind and chain of each transfer.
        label: 1 for removed, 0 for eligible, -1 for others.
        component: The connected component of each address.
    """

    source: Ints
    target: Ints
    sort: Ints
    label: Ints
    component: Ints

    @classmethod
    def read(cls, folder: Path) -> "Hop":
        """Read the data.

        Args:
            folder: The folder `hop` of the data.
        """
        table = pq.read_table(folder / "transfers.parquet")
        source, target = pc.utf8_lower(table["from"]), pc.utf8_lower(table["to"])
        addresses = pc.unique(pa.chunked_array([*source.chunks, *target.chunks]))
        left = np.asarray(pc.index_in(source, addresses))
        right = np.asarray(pc.index_in(target, addresses))
        sort = pc.binary_join_element_wise(table["kind"].cast(pa.string()), table["chain"].cast(pa.string()), "/")
        codes = np.asarray(pc.index_in(sort, pc.unique(sort).sort()))
        with (folder / "eliminatedSybilAttackers.csv").open() as file:
            removed = {row["address"].lower() for row in csv.DictReader(file)}
        eligible = {line.strip().lower() for line in (folder / "eligibleAddresses.txt").open()}
        label = np.array([1 if a in removed else 0 if a in eligible else -1 for a in addresses.to_pylist()])
        graph = sparse.csr_matrix((np.ones(len(left)), (left, right)), (len(label), len(label)))
        return cls(left, right, codes, label, connected_components(graph, directed=False)[1])


def by_seeds(hop: Hop, draws: int) -> tuple[list[Floats], Ints]:
    """Return scores and labels where a tenth of the labels is known, for several draws; nan for whose label is known.

    Args:
        hop: The data.
        draws: The number of draws.
    """
    table = conduct(hop.source, hop.target, hop.sort, hop.label >= 0)
    labelled = np.flatnonzero(hop.label >= 0)
    scores = []
    for draw in range(draws):
        known = np.random.default_rng(draw).choice(labelled, len(labelled) // 10, replace=False)
        probability = CaseModel(draw).fit(*_cases(hop, known), table).probability_
        scores.append(np.where(np.isin(labelled, known), np.nan, probability[labelled]))
    return scores, hop.label[labelled]


def by_component(hop: Hop) -> tuple[Floats, Ints]:
    """Return scores and labels where whole components are held out, in five parts.

    Args:
        hop: The data.
    """
    table = conduct(hop.source, hop.target, hop.sort, hop.label >= 0)
    labelled = np.flatnonzero(hop.label >= 0)
    label = hop.label[labelled]
    score = np.zeros(len(labelled))
    for fit, held in GroupKFold(5).split(labelled, label, hop.component[labelled]):
        learned = CaseModel(neighbours=False).fit(*_cases(hop, labelled[fit]), table)
        score[held] = learned.probability_[labelled[held]]
    return score, label


def _cases(hop: Hop, known: Ints) -> tuple[Ints, Ints, Ints, Ints, Flags]:
    """Return what the engine's model learns from, if only some labels are known."""
    label = np.full(len(hop.label), -1, np.int64)
    label[known] = hop.label[known]
    return hop.source, hop.target, hop.sort, label, hop.label >= 0


def worlds(console: Console, before: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of worlds.

    Args:
        console: Shows what is measured.
        before: The recorded figures, of which those of the first run stay.
    """
    out: dict[str, Any] = {"sets": {}}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for kind, measures in zip(KINDS, pool.map(study.study, KINDS), strict=True):
            console.print(f"worlds: {kind}")
            out["sets"][kind] = measures
    out["honest"] = study.honest_only(range(1031, 1034))
    out["claims"] = study.sybil_networks()
    out["price"] = study.price()
    out.update({name: run for name, run in before.items() if name.endswith(" run")})
    return out


def real(folder: Path, console: Console) -> dict[str, Any]:
    """Return the figures of real data.

    Args:
        folder: The folder of the data.
        console: Shows what is measured.
    """
    console.print("Hop")
    transfers = Hop.read(folder / "hop")
    score, label = by_component(transfers)
    scores, label_of_draws = by_seeds(transfers, 20)
    of_draws = {"divisions": len(scores), **measured(label_of_draws, scores, 200)}  # 32,000 accounts take time
    return {"hop": {"by component": measured(label, [score]), "by seeds": of_draws}}


def main() -> None:
    """Measure, record and write the page."""
    parser = argparse.ArgumentParser(prog="make evaluate", description="Measure the trust analysis.")
    parser.add_argument("data", nargs="?", type=Path, help="the folder of the real data; see the top of this module")
    parser.add_argument("--large", action="store_true", help="measure the speed at ten million opinions, too")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--worlds", action="store_true", help="measure the worlds alone")
    only.add_argument("--speed", action="store_true", help="measure the speed alone")
    only.add_argument("--real", action="store_true", help="measure the real data alone")
    only.add_argument("--page", action="store_true", help="write the page from the recorded figures")
    arguments = parser.parse_args()
    console = Console()
    figures = page.recorded()
    chosen = {name for name in ("worlds", "speed", "real", "page") if getattr(arguments, name)}
    if "real" in chosen and arguments.data is None:
        parser.error("--real needs the folder of the data")
    if chosen <= {"worlds"}:
        figures["worlds"] = worlds(console, figures["worlds"])
        _record(figures)
    if arguments.data is not None and chosen <= {"real"}:
        figures["real"] = real(arguments.data, console)
        _record(figures)
    if chosen <= {"speed"}:
        console.print("speed")
        sizes = [1_000_000, *([10_000_000] if arguments.large else [])]
        figures["speed"] = {**figures.get("speed", {}), **speed(sizes)}
    _record(figures)
    page.write(figures)
    console.print(f"written: {page.PAGE.name}")


def _record(figures: dict[str, Any]) -> None:
    """Write the figures down, so that a run that ends early loses nothing."""
    page.FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

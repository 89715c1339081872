"""Real data: the airdrop of Hop, whose Sybils were removed after a review."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GroupKFold

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

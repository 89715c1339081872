"""Proofs of tiers that Semaphore's own package made, from `tier_vectors.json`; `tier_vectors.mjs` writes them."""

from __future__ import annotations

import json
from pathlib import Path

VECTORS = json.loads((Path(__file__).parent / "tier_vectors.json").read_text())
PROOFS = VECTORS["proofs"]
GATE, EPOCH = VECTORS["gate"], VECTORS["epoch"]
ROOTS = [int(root) for root in VECTORS["roots"]]
SCALAR_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617


def word(text):
    """Return the bytes of a hexadecimal word."""
    return bytes.fromhex(text.removeprefix("0x"))


POLICY, REQUEST = word(VECTORS["policy"]), word(VECTORS["request"])


def tier_proof(name):
    """Return a proof as the contracts take it: the nullifier and the points."""
    proof = PROOFS[name]
    return int(proof["nullifier"]), [int(point) for point in proof["points"]]

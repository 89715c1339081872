"""Verify private tier proofs without a node, with `py_ecc` and Semaphore's verification key for depth 20.

A verification takes about two seconds of CPU time, so verifications run one at a time. Callers must supply the roots,
for example by calling `Client.get_tier_roots` once a day.
"""

import json
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from py_ecc import optimized_bn128 as curve

from bilateral.buyers.errors import TierProofRefusedError
from bilateral.buyers.private.tiers import BASE_ORDER, SCALAR_ORDER, TIERS, TierProof, Verification, signal_of

Roots = tuple[int, int, int]

_ONE_AT_A_TIME: Final = threading.Lock()


def offline(roots: Callable[[bytes, int], Roots | None]) -> Verification:
    """Return a function that verifies proofs without a node."""

    def verify(proof: TierProof, scope: bytes, message: bytes) -> None:
        posted = roots(proof.policy, proof.epoch)
        if posted is None:
            raise TierProofRefusedError("unknown_root", f"no roots for day {proof.epoch} are available")
        signals = [posted[TIERS.index(proof.minimum)], proof.nullifier, signal_of(message), signal_of(scope)]
        with _ONE_AT_A_TIME:
            is_valid = verify_points(proof.points, signals)
        if not is_valid:
            raise TierProofRefusedError("proof_refused", "the proof is not valid for this group, scope and holder")

    return verify


def verify_points(points: Sequence[int], signals: Sequence[int]) -> bool:
    """Return whether a Groth16 proof is valid for its public signals."""
    if any(not 0 <= signal < SCALAR_ORDER for signal in signals) or any(not 0 <= p < BASE_ORDER for p in points):
        return False
    a, b, c = _g1(points[0], points[1]), _g2((points[3], points[2]), (points[5], points[4])), _g1(points[6], points[7])
    if a is None or b is None or c is None:
        return False
    key = _key()
    sum_of_signals = key["IC"][0]
    for signal, point in zip(signals, key["IC"][1:], strict=True):
        sum_of_signals = curve.add(sum_of_signals, curve.multiply(point, signal))
    product = curve.FQ12.one()
    pairs = ((b, curve.neg(a)), (key["beta"], key["alpha"]), (key["gamma"], sum_of_signals), (key["delta"], c))
    for second, first in pairs:
        product *= curve.pairing(second, first, final_exponentiate=False)
    return bool(curve.final_exponentiate(product) == curve.FQ12.one())


@cache
def _key() -> dict[str, Any]:
    text = (files("bilateral.buyers") / "private" / "verification_key.json").read_text(encoding="utf-8")
    written = json.loads(text)

    def first(point: Sequence[str]) -> Any:
        return _g1(int(point[0]), int(point[1]))

    def second(point: Sequence[Sequence[str]]) -> Any:
        (x0, x1), (y0, y1) = ((int(part[0]), int(part[1])) for part in point[:2])
        return _g2((x0, x1), (y0, y1))

    return {
        "alpha": first(written["vk_alpha_1"]),
        **{name: second(written[f"vk_{name}_2"]) for name in ("beta", "gamma", "delta")},
        "IC": [first(point) for point in written["IC"]],
    }


def _g1(x: int, y: int) -> Any:
    """Return a point in the first group, or None if it is not on the curve."""
    point = (curve.FQ(x), curve.FQ(y), curve.FQ(1))
    return point if curve.is_on_curve(point, curve.b) else None


def _g2(x: tuple[int, int], y: tuple[int, int]) -> Any:
    """Return a point in the second group, or None if it is not on the curve or in the subgroup of the right order."""
    point = (curve.FQ2(x), curve.FQ2(y), curve.FQ2((1, 0)))
    if not curve.is_on_curve(point, curve.b2) or not curve.is_inf(curve.multiply(point, curve.curve_order)):
        return None
    return point

"""All gas cases, and their last recorded figures."""

import json
from pathlib import Path

import ape

from bench import authorized, blind, buyers, companion, identity, ratings, reputation, tier_proofs, validation
from bench.measurement import GasCase, World
from scripts._anvil import restore

CASES: dict[str, list[GasCase]] = {
    "IdentityRegistry": identity.CASES,
    "BidirectionalReputationRegistry": [*reputation.CASES, *ratings.CASES, *blind.CASES],
    "AuthorizedReputationRegistry": authorized.CASES,
    "ValidationRegistry": validation.CASES,
    "CompanionDirectory": companion.CASES,
    "BuyerReputationRegistry": buyers.CASES,
    "BuyerTierProofs": tier_proofs.CASES,
}
"""The cases of each registry."""

FIGURES = Path(__file__).with_name("gas.json")
"""The figures of the last `make bench`: `{registry: {call: gas}}`."""


def measure(case: GasCase, world: World | None = None) -> int:
    """Measure one case, and leave the chain as it was.

    Args:
        case: The case.
        world: The registries to measure, as they were deployed; registries of its own, if None.

    Returns:
        Gas.
    """
    snapshot = ape.chain.snapshot()
    try:
        return case.measure(world or World())
    finally:
        restore(ape.chain, snapshot)


def recorded_figures() -> dict[str, dict[str, int]]:
    """Read the figures that `make bench` wrote.

    Returns:
        Gas by registry and call.
    """
    figures: dict[str, dict[str, int]] = json.loads(FIGURES.read_text())
    return figures

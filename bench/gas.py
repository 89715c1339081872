"""All gas cases, their last figures, and docs/gas-tables.md, which `make bench` writes and a test compares."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import ape

from bench import buyers, registries, reputation
from bench.measurement import GasCase, World
from scripts._anvil import restore
from scripts._build import build_all

CASES: dict[str, list[GasCase]] = {
    "IdentityRegistry": registries.IDENTITY_CASES,
    "BidirectionalReputationRegistry": reputation.CASES,
    "AuthorizedReputationRegistry": registries.AUTHORIZED_CASES,
    "ValidationRegistry": registries.VALIDATION_CASES,
    "CompanionDirectory": registries.COMPANION_CASES,
    "BuyerReputationRegistry": buyers.BUYERS_CASES,
    "BuyerTierProofs": buyers.TIER_PROOFS_CASES,
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
        spent = case.measure(world or World())
        return int(getattr(spent, "gas_used", spent))
    finally:
        restore(ape.chain, snapshot)


def recorded_figures() -> dict[str, dict[str, int]]:
    """Read the figures that `make bench` wrote.

    Returns:
        Gas by registry and call.
    """
    figures: dict[str, dict[str, int]] = json.loads(FIGURES.read_text())
    return figures


PAGE = Path(__file__).parents[1] / "docs/gas-tables.md"

FLOORS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("floors.toml").read_text())["table"]
"""The gas that each part of a call needs at least: tables with `title`, `calls` and `parts`."""

BATCH = 32
"""The ratings of the largest measured batch, whose figure is the share of one."""

CODE_LIMIT = 24_576
"""The maximum size of a contract's code, in bytes (EIP-170)."""

HEAD = """# Gas tables

`make bench` writes this page: it measures every call with real transactions on a local chain. [gas.md](gas.md) says
what to make of the figures.

## Calls

*Gas* is the gas of the whole transaction, or of the execution alone where the call says "execution". *Floor* is the
least that any contract with this behaviour needs ([how it is computed](#floors)), and *above* is by how much the gas
exceeds it. *At most* is the limit that a test enforces. *Official* is the gas of the registry that the authors of
ERC-8004 deployed, behind its proxy. *Other* is the gas of another public implementation."""

FLOORS_HEAD = f"""
## Floors

The parts of each floor by the gas schedule of Cancun. "New" words of storage were zero before, and "cold" accounts and
words are accessed for the first time in the transaction. Figures of a batch are for all of its {BATCH} ratings."""


def shown(gas: int | None) -> str:
    """Format a figure for people; return an empty string for None."""
    return "" if gas is None else f"{gas:,}"


def floors() -> dict[str, int]:
    """Add the parts of each floor, and return the sums by call."""
    by_call: dict[str, int] = {}
    for table in FLOORS:
        for call, *parts in zip(table["calls"], *table["parts"].values(), strict=True):
            by_call[call] = sum(parts) // (BATCH if call.endswith(", each") else 1)
    return by_call


def with_code(call: str) -> str:
    """Mark a signature such as `register(uri)` in a call's name as code."""
    return re.sub(r"\w+\([^)]*\)", r"`\g<0>`", call)


def table_of(first: str, *rest: str) -> list[str]:
    """Return the head of a Markdown table whose other columns are numbers."""
    return ["| " + " | ".join([first, *rest]) + " |", "|---|" + "---:|" * len(rest)]


def written_page() -> str:
    """Draw the recorded figures and the floors as tables.

    Returns:
        The text of docs/gas-tables.md.
    """
    lines, figures, lowest = [HEAD], recorded_figures(), floors()
    for registry, cases in CASES.items():
        lines += ["", f"### {registry}", "", *table_of("call", "gas", "floor", "above", "at most", "official", "other")]
        for case in cases:
            gas, floor = figures[registry].get(case.call), lowest.get(case.call)
            above = f"{gas / floor - 1:.1%}" if gas and floor else ""
            limits = map(shown, (case.at_most, case.official, case.other))
            lines.append(" | ".join([f"| {with_code(case.call)}", shown(gas), shown(floor), above, *limits]) + " |")
    lines += ["", "## Code", "", *table_of("registry", "bytes", "below the limit of EIP-170")]
    sizes = {registry: len(contract.runtime_code) for registry, contract in sorted(build_all(CASES).items())}
    lines += [f"| {registry} | {size:,} | {CODE_LIMIT - size:,} |" for registry, size in sizes.items()]
    lines.append(FLOORS_HEAD)
    for table in FLOORS:
        calls = [call.removesuffix(", each").removesuffix(", execution") for call in table["calls"]]
        lines += ["", f"### {table['title']}", "", *table_of("part", *map(with_code, calls))]
        sums = [sum(column) for column in zip(*table["parts"].values(), strict=True)]
        for part, numbers in (table["parts"] | {"**floor**": sums}).items():
            lines.append(f"| {part} | " + " | ".join(shown(number or None) for number in numbers) + " |")
    return "\n".join(lines) + "\n"

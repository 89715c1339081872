"""All gas cases, their last figures, and the tables of docs/gas.md, which `make bench` writes and a test compares."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

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


PAGE = Path(__file__).parents[1] / "docs/gas.md"

HEADING = "## Figures\n"
"""The first line of the generated part of the page, which reaches to the end."""

BATCH = 32
"""The ratings of the largest measured batch, whose figure is the share of one."""

CODE_LIMIT = 24_576
"""The maximum size of a contract's code, in bytes (EIP-170)."""


def shown(gas: int | None) -> str:
    """Format a figure for people; return an empty string for None."""
    return "" if gas is None else f"{gas:,}"


def columns(text: str) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Read the tables of the page.

    Yields:
        Of each column the first cell of the table's head, its own head, and its numbers by the first cell of the row.
    """
    for block in re.findall(r"(?:^\|.*\n)+", text.replace("`", "").replace("*", ""), re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines())
        for i, name in enumerate(head[1:], start=1):
            yield head[0], name, {row[0]: int(re.sub(r"\D", "", row[i]) or 0) for row in rows}


def floors(prose: str) -> dict[str, int]:
    """Read the floors that the page explains, by call."""
    by_call: dict[str, int] = {}
    for subject, name, column in columns(prose):
        if "floor" in column:
            if name == f"rateClients, {BATCH} new neighbours":
                by_call[f"{name}, each"] = column["floor"] // BATCH
            else:
                by_call |= dict.fromkeys((name, f"{subject}, {name}", f"{name}, execution"), column["floor"])
    return by_call


def figures_section(prose: str) -> str:
    """Draw the recorded figures as tables.

    Args:
        prose: The part of the page before them, which explains floors.

    Returns:
        The generated part of docs/gas.md, in Markdown.
    """
    lines = [
        HEADING,
        "`make bench` writes these tables. A figure is the gas of a whole transaction, or of the execution alone if",
        "the call says so. *Floor* is explained under [Floors](#floors), and *above* is the rest in percent of it. *At",
        "most* is the promised limit. *Official* is the gas of the registry that the ERC's authors deployed, behind",
        "its proxy. *Other* is the gas of another public implementation.",
    ]
    figures, lowest = recorded_figures(), floors(prose)
    for registry, cases in CASES.items():
        lines += ["", f"### {registry}", "", "| call | gas | floor | above | at most | official | other |"]
        lines.append("|---|---:|---:|---:|---:|---:|---:|")
        for case in cases:
            gas, floor = figures[registry].get(case.call), lowest.get(case.call)
            above = f"{gas / floor - 1:.1%}" if gas and floor else ""
            cells = [shown(gas), shown(floor), above, *map(shown, (case.at_most, case.official, case.other))]
            lines.append(" | ".join([f"| {case.call}", *cells]) + " |")
    lines += ["", "### Code", "", "| registry | bytes | below the limit of EIP-170 |", "|---|---:|---:|"]
    for registry, contract in sorted(build_all(CASES).items()):
        size = len(contract.runtime_code)
        lines.append(f"| {registry} | {size:,} | {CODE_LIMIT - size:,} |")
    return "\n".join(lines) + "\n"


def written_page() -> str:
    """Put the recorded figures into the page.

    Returns:
        The text of docs/gas.md.
    """
    prose, _, _ = PAGE.read_text().partition(HEADING)
    return prose + figures_section(prose)

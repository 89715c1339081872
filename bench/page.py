"""The tables of figures in docs/gas.md. `make bench` writes them, and a test compares them."""

from __future__ import annotations

from pathlib import Path

from bench.gas import CASES, recorded_figures
from scripts._build import build_all

PAGE = Path(__file__).parents[1] / "docs/gas.md"

HEADING = "## Figures\n"
"""The first line of the generated part of the page, which reaches to the end."""


CODE_LIMIT = 24_576
"""The maximum size of a contract's code, in bytes (EIP-170)."""


def shown(gas: int | None) -> str:
    """Format a figure for people; return an empty string for None."""
    return "" if gas is None else f"{gas:,}"


def figures_section() -> str:
    """Draw the recorded figures as tables.

    Returns:
        The generated part of docs/gas.md, in Markdown.
    """
    lines = [
        HEADING,
        "`make bench` writes these tables. A figure is the gas of a whole transaction, or of the execution alone if",
        "the call says so. *At most* is the promised limit. *Official* is the gas of the registry that the ERC's",
        "authors deployed, behind its proxy. *Other* is the gas of another public implementation.",
    ]
    figures = recorded_figures()
    for registry, cases in CASES.items():
        lines += ["", f"### {registry}", "", "| call | gas | at most | official | other |", "|---|---:|---:|---:|---:|"]
        for case in cases:
            cells = (figures[registry].get(case.call), case.at_most, case.official, case.other)
            lines.append(" | ".join([f"| {case.call}", *map(shown, cells)]) + " |")
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
    return prose + figures_section()

"""The tables of figures in docs/gas.md, which `make bench` writes and a test compares."""

from __future__ import annotations

from pathlib import Path

from bench.gas import CASES, recorded_figures
from scripts._build import build_all

PAGE = Path(__file__).parents[1] / "docs/gas.md"

HEADING = "## Figures\n"
"""What the generated part of the page begins with. It goes to the end."""


CODE_LIMIT = 24_576
"""The most bytes of code that a contract may have (EIP-170)."""


def shown(gas: int | None) -> str:
    """A figure as people read it; nothing if there is none."""
    return "" if gas is None else f"{gas:,}"


def figures_section() -> str:
    """Draw the recorded figures as tables.

    Returns:
        The generated part of docs/gas.md, in Markdown.
    """
    lines = [
        HEADING,
        "Written by `make bench`, in gas: of whole transactions, or of the execution alone where it says so. *At most*",
        "is what the project promises, *official* what the registry deployed by the ERC's authors takes, behind its",
        "proxy, *other* what the other public implementation takes.",
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
        What docs/gas.md must say.
    """
    prose, _, _ = PAGE.read_text().partition(HEADING)
    return prose + figures_section()

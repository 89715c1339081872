"""The tables of figures in docs/gas.md. `make bench` writes them, and a test compares them."""

import re
from collections.abc import Iterator
from pathlib import Path

from bench.gas import CASES, recorded_figures
from scripts._build import build_all

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

"""`make bench`: measures every gas case, prints the table, and records the figures, also in docs/gas.md."""

import json
import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.gas import CASES, FIGURES, PAGE, measure, shown, written_page
from bench.report import local_chain


def main() -> int:
    """Measure, print and record.

    Returns:
        The exit code: 1 if a call takes more than the project promises.
    """
    console = Console(width=100)
    figures: dict[str, dict[str, int]] = {}
    dearer = []
    with local_chain():
        for registry, cases in CASES.items():
            table = Table("call", "gas", "at most", "official", "other reference", title=registry)
            for column in table.columns[1:]:
                column.justify = "right"
            figures[registry] = {}
            for case in track(cases, description=registry, console=console, transient=True):
                gas = figures[registry][case.call] = measure(case)
                table.add_row(case.call, *map(shown, (gas, case.at_most, case.official, case.other)))
                if gas > case.at_most:
                    dearer.append(f"{registry}: {case.call} takes {gas:,} gas, {case.at_most:,} are promised")
            console.print(table)
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    PAGE.write_text(written_page())
    for line in dearer:
        console.print(line, style="red")
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())

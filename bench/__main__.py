"""`make bench`: measures every gas case, prints the table, and records the figures, also in docs/gas-tables.md."""

import json
import sys

from bench.gas import CASES, FIGURES, PAGE, measure, shown, written_page
from bench.report import local_chain, print_table


def main() -> int:
    """Measure, print and record.

    Returns:
        The exit code: 1 if a call takes more than the project promises.
    """
    figures: dict[str, dict[str, int]] = {}
    dearer = []
    with local_chain():
        for registry, cases in CASES.items():
            figures[registry] = {case.call: measure(case) for case in cases}
            gas = figures[registry]
            limits = {case.call: (case.at_most, case.official, case.other) for case in cases}
            rows = [(call, *map(shown, (spent, *limits[call]))) for call, spent in gas.items()]
            print_table(registry, "call", "gas", "at most", "official", "other reference", rows=rows)
            dearer += [
                f"{registry}: {call} takes {spent:,} gas, {limits[call][0]:,} are promised"
                for call, spent in gas.items()
                if spent > limits[call][0]
            ]
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    PAGE.write_text(written_page())
    print("\n".join(dearer))
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())

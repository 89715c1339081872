"""`make bench-prover`: processor time and memory of a private proof of a tier, by the real prover at its depth of 20.

The table goes into docs/private-tiers.md. The exit code is 1 if a proof takes more than the project promises.
"""

import resource
import statistics
import sys
from typing import Final

from eth_utils.crypto import keccak

from bench.report import DOCS, write_part
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.tiers import SCALAR_ORDER, signal_of
from scripts._build import ROOT

PAGE: Final = DOCS / "private-tiers.md"
BEGIN: Final = "<!-- prover: written by `make bench-prover` -->\n"
END: Final = "<!-- end of prover -->\n"

SECONDS: Final = 4.0
"""The promised processor time of a proof on a shared core, which a buyer waits for once a day and seller."""

MEGABYTES: Final = 250
GROUPS: Final = (20, 1_000, 10_000)
"""The sizes of groups: the smallest that is used unasked, and larger ones. The depth of the proof stays the same."""

RUNS: Final = 3
_SECRET: Final = keccak(text="a buyer of the benchmark")


def _used() -> float:
    """Return the processor time of all ended child processes, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _group(prover: Prover, size: int) -> list[int]:
    """Return a group of made-up commitments with that of the secret in the middle."""
    others = [int.from_bytes(keccak(text=f"member {number}")) % SCALAR_ORDER for number in range(size - 1)]
    return [*others[: size // 2], prover.commitment(_SECRET), *others[size // 2 :]]


def measure(prover: Prover, size: int) -> float:
    """Return the median of the processor time of a proof in a group, in seconds.

    Args:
        prover: The prover.
        size: The number of members.
    """
    members, times = _group(prover, size), []
    for run in range(RUNS):
        before = _used()
        prover.prove(_SECRET, members, signal_of(keccak(text=f"place {run}")), signal_of(keccak(text="use")))
        times.append(_used() - before)
    return statistics.median(times)


def main() -> int:
    """Measure, write the table, and print it."""
    prover = Prover(ROOT / ".cache" / "prover")
    seconds = {size: measure(prover, size) for size in GROUPS}
    # Linux counts kilobytes. It is the largest of all processes above.
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1_024 / 1_000_000
    rows = [f"| {size:,} | {spent:.1f} |" for size, spent in seconds.items()]
    table = "\n".join(["| members | processor seconds |", "| ---: | ---: |", *rows, ""])
    promised = f"The benchmark fails above {SECONDS:.0f} s for up to {GROUPS[1]:,} members, and above {MEGABYTES} MB."
    section = f"{table}\nThe largest process had {megabytes:.0f} MB. {promised}\n"
    write_part(PAGE, BEGIN, END, section)
    sys.stdout.write(section)
    return 1 if max(seconds[size] for size in GROUPS[:2]) > SECONDS or megabytes > MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())

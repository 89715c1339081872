"""`python -m tests.payments [COUNT] [--seed SEED]`: many made-up payments of all kinds, compared with a plain model.

Every payment goes through a server, which refuses it or settles it on a real chain, through a client that verifies the
answer, and through two indexes, of which one has a node that traces. All must agree with a model that knows what was
signed and paid, and reads nothing of the chain.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time

from ape.logging import LogLevel, logger

from scripts._anvil import running_anvil
from tests.payments.chain import OPTIONS
from tests.payments.trial import run

SECONDS_BETWEEN_LINES = 30


def main():
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.payments", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="the number of payments")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logger.set_level(LogLevel.WARNING)
    start = last = time.monotonic()

    def show(number):
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{number:,} of {arguments.count:,} payments, {last - start:.0f} s", flush=True)

    with running_anvil(*OPTIONS) as url, tempfile.TemporaryDirectory() as folder:
        trial = run(url, arguments.count, arguments.seed, f"sqlite:///{folder}/index.sqlite", show)
    counted = trial.tally["index with traces"]
    print(f"{arguments.count:,} payments, of which {counted:,} count, in {time.monotonic() - start:.0f} s")
    print("\n".join(trial.disagreements) or "Client, server and index agree with the model about every one.")
    return 1 if trial.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.system [EXAMPLES]`: the long run of the system-wide machine, with its progress."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import timedelta

from tests.system.run import REFUSALS, STEPS, calls, run, shortcomings, unseen_refusals

SECONDS_BETWEEN_LINES = 30
"""The number of examples between two lines of progress, for output that cannot be overwritten."""


class Progress:
    """A line with the progress of the run.

    Attributes:
        examples: The number of examples of the run.
    """

    def __init__(self, examples):
        self.examples = examples
        self.start = self.last = time.monotonic()
        self.is_terminal = sys.stdout.isatty()

    def show(self, tally):
        now = time.monotonic()
        pause = 0.5 if self.is_terminal else SECONDS_BETWEEN_LINES
        if tally["examples"] and now - self.last >= pause:
            self.last = now
            print(self.line(tally, now - self.start), end="\r" if self.is_terminal else "\n", flush=True)

    def end(self, tally):
        print(self.line(tally, time.monotonic() - self.start))

    def line(self, tally, seconds):
        done, steps = tally["examples"], tally["steps"]
        left = timedelta(seconds=round(seconds / done * (self.examples - done)))
        accepted = calls(tally, "accepted") / calls(tally)
        return (
            f"{done:,} of {self.examples:,} examples, {steps:,} steps, {accepted:.0%} of {calls(tally):,} calls"
            f" accepted, {steps / seconds:.0f} steps/s, {left} left"
        )


def main():
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.system", description=__doc__)
    parser.add_argument("examples", type=int, nargs="?", default=2_000, help=f"examples of {STEPS} steps")
    progress = Progress(parser.parse_args().examples)
    tally = run(progress.examples, progress.show)
    progress.end(tally)
    rarest = min(REFUSALS, key=lambda refusal: (tally[refusal], refusal))
    print(f"{len(REFUSALS)} refusals, the rarest {tally[rarest]:,} times: {' '.join(rarest)}")
    refusals = shortcomings(tally, progress.examples) + unseen_refusals(tally)
    print("\n".join(refusals) or "The registries answered like the model after every step.")
    return 1 if refusals else 0


if __name__ == "__main__":
    sys.exit(main())

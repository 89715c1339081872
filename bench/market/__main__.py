"""`make market`: buyers follow each policy in turn, and attackers search for acts that pay against it.

It writes the page docs/decisions.md, its picture and the figures, in an hour on two cores.
"""

import argparse
import os

from rich.console import Console
from rich.markdown import Markdown

from bench.market import page, study


def main() -> None:
    """Measure, record, and write the page."""
    parser = argparse.ArgumentParser(prog="make market", description="Measure decisions in money.")
    parser.add_argument("parts", nargs="*", help=f"the parts to measure, all by default: {', '.join(study.STEPS)}")
    parser.add_argument("--only", help="the only figure to measure in these parts, such as the name of a policy")
    parser.add_argument("--page", action="store_true", help="write the page from the recorded figures")
    arguments = parser.parse_args()
    console = Console(width=160)
    figures = study.recorded()
    parts = [] if arguments.page else arguments.parts or list(study.STEPS)
    if unknown := set(parts) - set(study.STEPS):
        parser.error(f"unknown part {min(unknown)}: expected some of {', '.join(study.STEPS)}")
    jobs = [job for part in study.STEPS if part in parts for job in study.STEPS[part]()]
    chosen = [job for job in jobs if arguments.only in (None, job.name)]
    if jobs and not chosen:
        parser.error(f"unknown figure: expected one of {', '.join(dict.fromkeys(job.name for job in jobs))}")
    os.environ["OMP_NUM_THREADS"] = "1"  # each process has one core
    study.measure(chosen, figures, console.print)
    page.write(figures)
    console.print(Markdown(page.text(figures)))
    console.print(f"written: {page.PAGE.name}")


if __name__ == "__main__":
    main()

"""`make market`: buyers follow each policy in turn, and attackers search for acts that pay against it.

It prints the table of docs/decisions.md, and writes the page, its pictures and the figures. All parts take hours.
"""

import argparse
from typing import Final

from rich.console import Console
from rich.markdown import Markdown

from bench.market import page, study

PARTS: Final = tuple(study.STEPS)


def main() -> None:
    """Measure, record, and write the page."""
    parser = argparse.ArgumentParser(prog="make market", description="Measure decisions in money.")
    parser.add_argument("parts", nargs="*", help=f"the parts to measure, all by default: {', '.join(PARTS)}")
    parser.add_argument("--policy", help="the only policy to measure in the parts attacked and framed")
    parser.add_argument("--page", action="store_true", help="write the page from the recorded figures")
    arguments = parser.parse_args()
    console = Console(width=160)
    figures = study.recorded()
    parts = [] if arguments.page else arguments.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown part {min(unknown)}: expected some of {', '.join(PARTS)}")
    chosen = [policy for policy in study.policies() if arguments.policy in (None, policy.name)]
    if not chosen:
        parser.error(f"unknown policy: expected one of {', '.join(policy.name for policy in study.policies())}")
    for part in PARTS:
        if part in parts:
            study.measure(part, figures, chosen, console.print)
    page.write(figures)
    console.print(Markdown(page.text(figures)))
    console.print(f"written: {page.PAGE.name}")


if __name__ == "__main__":
    main()

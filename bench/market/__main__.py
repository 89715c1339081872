"""`make market`: buyers follow each policy in turn, and attackers search for acts that pay against it."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from bench.market.measures import outcome, play
from bench.market.ours import Lower
from bench.market.policies import simple
from bench.market.settings import Settings


def main() -> None:
    """Play one market under each policy, and print the measures."""
    parser = argparse.ArgumentParser(prog="make market", description="Measure decisions in money.")
    parser.add_argument("--accounts", type=int, default=Settings.accounts, help="the honest accounts")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the market")
    parser.add_argument("--rehearsals", type=int, default=1, help="the markets that attackers learn from before")
    arguments = parser.parse_args()
    settings = Settings(accounts=arguments.accounts)
    table = Table("buyers follow", "lost, %", "value, $", "good declined, %", "profit per $", "needs served, %")
    for policy in [*simple(), Lower()]:
        measured = outcome(*play(settings, policy, arguments.seed, arguments.rehearsals))
        table.add_row(
            policy.name,
            f"{100 * measured.lost:.1f}",
            f"{measured.value:,.0f}",
            f"{100 * measured.declined:.2f}",
            f"{measured.profit:+.2f}",
            f"{100 * measured.served:.1f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()

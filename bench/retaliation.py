"""`make bench-retaliation`: a market in which honest clients fear a server's revenge, with open and with blind ratings.

It measures one claim alone: the share of bad experiences that clients report. The anchor is Fradkin, Grewal and Holtz
(2021, doi 10.1287/mksc.2021.1311): reviews that stay hidden until both sides have written bring less retaliation and
lower ratings, and no better matches. The market makes no claim about matches or money.
"""

import sys
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import track

from bench.report import DOCS, interval_cell, print_table, table_row, write_part

PAGE: Final = DOCS / "blind-ratings.md"
BEGIN: Final = "<!-- retaliation: written by `make bench-retaliation` -->\n"
END: Final = "<!-- end of retaliation -->\n"

SEEDS: Final = 40
"""Markets for each row. With 40, the intervals of the shares are a few percentage points wide."""

_ADOPTIONS: Final = (0.0, 0.5, 1.0)
_LOSSES: Final = (1.0, 3.0, 9.0)


@dataclass(frozen=True)
class Assumptions:
    """The assumptions about a market. They are chosen, not measured; the table varies those that decide.

    Attributes:
        servers: The number of servers.
        clients: The number of clients, each with one purchase a day.
        days: The number of days.
        good: The mean share of good experiences with a server. Each server draws its own from a beta distribution.
        avengers: The share of servers that answer a bad word with a bad rating.
        adoption: The share of servers whose paid answer carries a sealed rating.
        loss: The loss by a bad rating, in prices of a purchase: other servers decline the client for a while.
        motive: The mean motive to report an experience, in prices of a purchase. Each client draws one each time.
        suspicion: The retaliations that a client assumes before it has seen any, among `caution` bad words.
        caution: See `suspicion`. A newcomer believes that one bad word in four is answered.
    """

    servers: int = 100
    clients: int = 1_000
    days: int = 30
    good: float = 0.8
    avengers: float = 0.3
    adoption: float = 0.0
    loss: float = 3.0
    motive: float = 1.0
    suspicion: float = 1.0
    caution: float = 4.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one market.

    Attributes:
        reported_bad: The share of bad experiences that clients reported.
        reported_good: The share of good experiences that clients reported.
        retaliations: The bad ratings that servers gave in revenge, for each bad word.
        flattery: The points by which the mean rating of servers lies above the mean experience with them.
    """

    reported_bad: float
    reported_good: float
    retaliations: float
    flattery: float


def market(assumptions: Assumptions, seed: int) -> Outcome:
    """Play one market.

    An open bad word to an avenger is answered. A server that seals its rating before it knows the word cannot answer
    it. Clients see on chain how many open bad words were answered so far, and expect the same for theirs.

    Args:
        assumptions: The assumptions.
        seed: Decides all draws.
    """
    chance = np.random.default_rng(seed)
    # The sum of the parameters is 10: quality differs between servers as much as ten experiences would tell.
    quality = chance.beta(10 * assumptions.good, 10 * (1 - assumptions.good), assumptions.servers)
    is_avenger = chance.random(assumptions.servers) < assumptions.avengers
    seals = chance.random(assumptions.servers) < assumptions.adoption
    open_bad = answered = 0
    experiences, reports = np.zeros(2), np.zeros(2)  # of bad and of good ones
    for _ in range(assumptions.days):
        server = chance.integers(assumptions.servers, size=assumptions.clients)
        is_good = chance.random(assumptions.clients) < quality[server]
        motive = chance.exponential(assumptions.motive, assumptions.clients)
        # Good words cost the time to write them, a quarter of a purchase; bad ones also what revenge may cost.
        fear = (answered + assumptions.suspicion) / (open_bad + assumptions.caution) * assumptions.loss
        cost = 0.25 + np.where(is_good | seals[server], 0.0, fear)
        reports_it = motive > cost
        bad_words = reports_it & ~is_good & ~seals[server]
        open_bad += int(bad_words.sum())
        answered += int((bad_words & is_avenger[server]).sum())
        experiences += np.bincount(is_good, minlength=2)
        reports += np.bincount(is_good[reports_it], minlength=2)
    bad, good = experiences
    shown = 100 * reports[1] / reports.sum()
    lived = 100 * good / (bad + good)
    return Outcome(
        reported_bad=float(reports[0] / bad),
        reported_good=float(reports[1] / good),
        retaliations=float(answered / max(reports[0], 1.0)),
        flattery=float(shown - lived),
    )


_FORMS: Final = {
    "reported_bad": (100, 1, " %"),
    "reported_good": (100, 1, " %"),
    "retaliations": (100, 1, ""),
    "flattery": (1, 1, ""),
}
"""The factor, the digits and the unit of each figure."""


def rows(seeds: int = SEEDS) -> list[tuple[str, ...]]:
    """Play all markets.

    Args:
        seeds: The number of markets for each row.

    Returns:
        The loss, the share of servers that seal, and the figures with their intervals.
    """
    written: list[tuple[str, ...]] = []
    plans = [(loss, adoption) for loss in _LOSSES for adoption in _ADOPTIONS]
    for loss, adoption in track(plans, description="markets", console=Console(stderr=True), transient=True):
        assumptions = replace(Assumptions(), loss=loss, adoption=adoption)
        outcomes = [market(assumptions, seed) for seed in range(seeds)]
        cells = (
            interval_cell([getattr(outcome, name) for outcome in outcomes], *form) for name, form in _FORMS.items()
        )
        written.append((f"{loss:g}", f"{adoption:.0%}".replace("%", " %"), *cells))
    return written


COLUMNS: Final = (
    *("loss by a bad rating", "servers that seal", "bad experiences reported", "good ones reported"),
    *("retaliations for 100 bad words", "rating above experience, points"),
)


def main() -> int:
    """Play the markets, print the table, and write it into the page."""
    written = rows()
    print_table("", *COLUMNS, rows=written)
    lines = [table_row(*COLUMNS), f"|{'---:|' * len(COLUMNS)}", *(table_row(*row) for row in written)]
    write_part(PAGE, BEGIN, END, "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The study: each policy in the same markets, with intervals over seeds, and the figures that are recorded."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from bench.market import checked as check
from bench.market.measures import SIZES, free_market, held_back, outcome, play, worst
from bench.market.play import Market, Policy
from bench.market.policies import PARTS, Ranking, Standings, Truth, by_counts, simple, state
from bench.market.settings import Settings

FIGURES: Final = Path(__file__).parent / "figures.json"
SEEDS: Final = (301, 302, 303)
"""The seeds of the study. No policy was chosen by them."""

PEACEFUL: Final = tuple(range(301, 313))
"""The seeds of markets without attackers. One market's value differs from the next by 2 to 3 % of the oracle's, and the
bar is as near; twelve make the interval narrow enough to tell."""

CHECKED: Final = (403, 404)
"""The seeds of the markets about which the check is asked. The policies were chosen by others: 401, 402, 405 to 408."""

STUDY: Final = Settings(accounts=3_000)
"""The market of the study. Forty attackers for 3,000 accounts are many, so the figures are those of a hard market."""

BEFORE: Final = "profit before"
"""The key of the profit that the same attackers made in the market before, while they did not know the policy."""

ORACLE: Final = "oracle"
OURS: Final = "our standing"
WEIGHED: Final = "`bilateral trust decide`"
_EVERY: Final = 1
"""The days between analyses of the study, in which attackers act unseen. Fewer days take longer."""

_TRIES: Final = 3
"""The numbers that are tried for each kind of framing."""


def policies() -> list[Policy]:
    """Return all policies of the study, anew."""
    return [*simple(), Standings(OURS, every=_EVERY), Standings(WEIGHED, weighs=True, every=_EVERY)]


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def record(figures: dict[str, Any]) -> None:
    """Write the figures down.

    Args:
        figures: The figures.
    """
    figures["analysis"] = state()
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


Figures = Iterator[tuple[str, Any]]
"""Figures of a part by their names, one after the other."""


def attacked(chosen: Sequence[Policy]) -> Figures:
    """Play attacked markets under some policies. The attackers learn in one market before."""
    for policy in chosen:
        yield policy.name, [_attacked(policy, seed) for seed in SEEDS]


def _attacked(policy: Policy, seed: int) -> dict[str, object]:
    """Return the measures of an attacked market, and the profit of the same attackers in the market before it."""
    before, measured = (outcome(*played) for played in play(STUDY, policy, seed, rehearsals=1))
    return asdict(measured) | {BEFORE: before.profit}


def framed(chosen: Sequence[Policy]) -> Figures:
    """Search for slander and framing that costs good sellers most, under policies that do not know the truth."""
    market = Market(replace(STUDY, days=45), Ranking("mean by counts", by_counts), 11).run()
    for policy in chosen:
        if not isinstance(policy, Truth):
            yield policy.name, worst(market, policy, _TRIES)


def peaceful(_: Sequence[Policy]) -> Figures:
    """Play markets without attackers under our policies, and an oracle's beside them."""
    for policy in (Truth(0, ORACLE), Standings(OURS, every=_EVERY), Standings(WEIGHED, weighs=True, every=_EVERY)):
        yield policy.name, [asdict(outcome(Market(STUDY, policy, seed).run())) for seed in PEACEFUL]


def sizes(_: Sequence[Policy]) -> Figures:
    """Measure who is held back in markets without attackers, by size."""
    for accounts in SIZES:
        yield f"{accounts:,} accounts", held_back(free_market(STUDY, accounts, 7))


def ablated(_: Sequence[Policy]) -> Figures:
    """Play one attacked market with each part of the engine left out."""
    for part in ("", *PARTS):
        (played,) = play(STUDY, Standings(OURS, without=part, every=2 * _EVERY), SEEDS[-1] + 1)
        yield part or "nothing", asdict(outcome(*played))


def checked(_: Sequence[Policy]) -> Figures:
    """Ask the real check, under each named policy, about purchases of indexed markets."""
    for seed in CHECKED:
        yield f"seed {seed}", check.measured(seed)


STEPS: Final[dict[str, tuple[str, Callable[[Sequence[Policy]], Figures]]]] = {
    "attacked": ("policies", attacked),
    "framed": ("framing", framed),
    "peaceful": ("peaceful", peaceful),
    "sizes": ("sizes", sizes),
    "ablated": ("ablation", ablated),
    "checked": ("checked", checked),
}
"""The parts of the study: the key of their figures, and what measures them."""


def measure(part: str, figures: dict[str, Any], chosen: Sequence[Policy], tell: Callable[[str], None]) -> None:
    """Measure a part, and record each of its figures. Those of other policies stay.

    Args:
        part: One of `STEPS`.
        figures: The figures, which are added to.
        chosen: The policies of the parts that play under each of them.
        tell: Shows the progress.
    """
    key, steps = STEPS[part]
    before = figures.get(key, {}) if part in {"attacked", "framed"} else {}
    measured = dict(before)
    for name, value in steps(chosen):
        measured[name] = value
        figures[key] = list(measured.values()) if part in {"sizes", "checked"} else measured
        tell(f"{part}: {name}")
        record(figures)

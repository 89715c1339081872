"""The study: each policy in the same markets, with intervals over seeds, and the figures that are recorded."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.market import checked as check
from bench.market.measures import as_record, free_market, held_back, outcome, play, worst
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
    return [
        *simple(),
        Standings(OURS, every=_EVERY),
        Standings(WEIGHED, weighs=True, every=_EVERY),
    ]


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


def attacked(
    figures: dict[str, Any], chosen: Sequence[Policy], seeds: Sequence[int], tell: Callable[[str], None]
) -> None:
    """Play attacked markets under some policies. The attackers learn in one market before.

    Args:
        figures: The figures, which are added to after each policy.
        chosen: The policies.
        seeds: The seeds.
        tell: Shows the progress.
    """
    figures.setdefault("policies", {})
    for policy in chosen:
        started = time.perf_counter()
        figures["policies"][policy.name] = [_attacked(policy, seed) for seed in seeds]
        tell(f"{policy.name}: {time.perf_counter() - started:.0f} s")
        record(figures)


def _attacked(policy: Policy, seed: int) -> dict[str, object]:
    """Return the measures of an attacked market, and the profit of the same attackers in the market before it."""
    before, measured = (outcome(*played) for played in play(STUDY, policy, seed, rehearsals=1))
    return as_record(measured) | {BEFORE: before.profit}


def peaceful(figures: dict[str, Any], seeds: Sequence[int], tell: Callable[[str], None]) -> None:
    """Play markets without attackers under our policies, and an oracle's beside them.

    Args:
        figures: The figures, which are added to.
        seeds: The seeds.
        tell: Shows the progress.
    """
    figures["peaceful"] = {}
    for policy in (Truth(0, ORACLE), Standings(OURS, every=_EVERY), Standings(WEIGHED, weighs=True, every=_EVERY)):
        outcomes = [as_record(outcome(Market(STUDY, policy, seed).run())) for seed in seeds]
        figures["peaceful"][policy.name] = outcomes
        tell(f"without attackers, {policy.name}")
        record(figures)


def checked(figures: dict[str, Any], tell: Callable[[str], None]) -> None:
    """Ask the real check, under each named policy, about purchases of indexed markets.

    Args:
        figures: The figures, which are added to.
        tell: Shows the progress.
    """
    figures["checked"] = [check.measured(seed) for seed in CHECKED]
    tell("the named policies of check_server")
    record(figures)


def sizes(figures: dict[str, Any], chosen: Sequence[int], tell: Callable[[str], None]) -> None:
    """Measure who is held back in markets without attackers, by size.

    Args:
        figures: The figures, which are added to.
        chosen: The numbers of accounts.
        tell: Shows the progress.
    """
    figures["sizes"] = []
    for accounts in chosen:
        figures["sizes"].append(held_back(free_market(STUDY, accounts, 7)))
        tell(f"without attackers, {accounts:,} accounts: {figures['sizes'][-1]['seconds']:.0f} s")
        record(figures)


def framed(figures: dict[str, Any], chosen: Sequence[Policy], tell: Callable[[str], None]) -> None:
    """Search for slander and framing that costs good sellers most.

    Args:
        figures: The figures, which are added to.
        chosen: The policies.
        tell: Shows the progress.
    """
    settings = replace(STUDY, days=45)
    market = Market(settings, Ranking("mean by counts", by_counts), 11).run()
    figures.setdefault("framing", {})
    for policy in chosen:
        figures["framing"][policy.name] = worst(market, policy, _TRIES)
        tell(f"framing under {policy.name}")
        record(figures)


def ablated(figures: dict[str, Any], seed: int, tell: Callable[[str], None]) -> None:
    """Play one attacked market with each part of the engine left out.

    Args:
        figures: The figures, which are added to.
        seed: The seed.
        tell: Shows the progress.
    """
    figures["ablation"] = {}
    for part in ("", *PARTS):
        (played,) = play(STUDY, Standings(OURS, without=part, every=2 * _EVERY), seed)
        figures["ablation"][part or "nothing"] = as_record(outcome(*played))
        tell(f"without {part or 'nothing'}")
        record(figures)

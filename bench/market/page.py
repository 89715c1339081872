"""The page docs/decisions.md and its picture, from the recorded figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.market import checked, study
from bench.market.framing import BUDGET, GROUPS
from bench.market.measures import CHEAP, WARM
from bench.market.policies import state
from bench.market.settings import GAS, Deaths
from bench.report import DOCS, draw_intervals, interval, rendered, table_row

TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "decisions.md"
_KINDS: Final = 3
"""The kinds of framing in the table."""


def bar(  # noqa: PLR0913
    measure: str, values: Sequence[float], must: float, aim: float, *, is_least: bool = False, unit: str = " %"
) -> str:
    """Return the row of a measure with the values that it must and should reach; the worse end of its interval counts.

    Args:
        measure: The measure.
        values: Its values; shares if the unit is per cent.
        must: The value that it must reach.
        aim: The value that it should reach.
        is_least: True if more is better.
        unit: The unit, behind figures.
    """
    if not len(values):
        return table_row(measure, "not measured", f"{must:g}{unit}", f"{aim:g}{unit}")
    mean, low, high = interval([100 * value if unit == " %" else value for value in values])
    worse, sign = (low, "≥") if is_least else (high, "≤")
    figure = f"{mean:.2f}" + (f" ({worse:.2f})" if len(values) > 1 else "")
    verdicts = ["pass" if (worse >= limit if is_least else worse <= limit) else "**miss**" for limit in (must, aim)]
    limits = [f"{sign} {limit:g}{unit}: {verdict}" for limit, verdict in zip((must, aim), verdicts, strict=True)]
    return table_row(measure, figure, *limits)


def cell(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> str:
    """Return a mean, and how far the limits of its interval are from it."""
    mean, _, high = interval([scale * value for value in values])
    return f"{mean + 0.0:.{digits}f}±{high - mean:.{digits}f}"


def of(outcomes: list[dict[str, Any]], name: str) -> list[float]:
    """Return a measure of each market.

    Args:
        outcomes: The measures of markets.
        name: The measure.
    """
    return [outcome[name] for outcome in outcomes]


def differences(pairs: list[dict[str, Any]], name: str) -> list[float]:
    """Return how much a measure differs with measurements from without them, for each seed."""
    return [pair["with"][name] - pair["without"][name] for pair in pairs]


def shares(outcomes: list[dict[str, Any]], oracle: list[dict[str, Any]]) -> list[float]:
    """Return the value received as a share of the oracle's, for each seed.

    Args:
        outcomes: The measures of markets.
        oracle: Those of an oracle, for the same seeds.
    """
    return [own["value"] / best["value"] for own, best in zip(outcomes, oracle, strict=False)]


def profits(outcomes: list[dict[str, Any]], strategy: str) -> tuple[float, float, list[float]]:
    """Return the cost of a strategy by market and by campaign, and its profit per dollar in each market.

    To serve buyers well costs its price here, because that is no fraud. Each market counts with the one before it, in
    which attackers tried all strategies.
    """
    keys = ("strategies", study.STRATEGIES_BEFORE)
    rows = np.array([np.sum([outcome[key].get(strategy, np.zeros(5)) for key in keys], axis=0) for outcome in outcomes])
    runs, cost, revenue, _, served = rows.T
    cost = cost + (1 - study.STUDY.fee - study.STUDY.cost) * served
    by_market = (revenue / np.maximum(cost, 1e-9) - 1)[cost > 1]
    return float(cost.mean() / len(keys)), float(cost.sum() / max(runs.sum(), 1)), by_market.tolist()


def best_strategy(outcomes: list[dict[str, Any]], *, by_campaign: bool) -> tuple[str, list[float]]:
    """Return the strategy with the greatest profit among those that are not cheap, and its profits.

    Args:
        outcomes: The measures of markets.
        by_campaign: True if a campaign must cost more than `CHEAP`; all campaigns of a market by default.
    """
    found = {name: profits(outcomes, name) for name in strategies(outcomes)}
    dear = {name: values for name, (*costs, values) in found.items() if values and costs[by_campaign] > CHEAP}
    best = max(dear, key=lambda name: float(np.mean(dear[name])), default="")
    return best or "none", dear.get(best, [])


def strategies(outcomes: list[dict[str, Any]]) -> list[str]:
    """Return the names of all strategies that were played."""
    return sorted({name for row in outcomes for key in ("strategies", study.STRATEGIES_BEFORE) for name in row[key]})


def lost_by_strategy(outcomes: list[dict[str, Any]], strategy: str) -> float:
    """Return the dollars lost to a strategy, by market."""
    return float(np.mean([row["strategies"].get(strategy, (0, 0, 0, 0, 0))[3] for row in outcomes]))


def worst_framing(rows: list[dict[str, Any]]) -> tuple[str, float]:
    """Return the kind of framing that costs most, with the victims' size, and the share lost."""
    lost = {f"{row['kind']}, {group}": row[group] for row in rows for group in GROUPS}
    return max(lost.items(), key=lambda entry: entry[1])


def largest_held(sizes: dict[str, Any]) -> tuple[float, str]:
    """Return the greatest share of good sellers that are held back without any attack, and the market."""
    return max((row["held of good"], name) for name, (row,) in sizes.items())


def costly(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], float]:
    """Return the kinds of framing that cost most, and what the other ones cost at most."""
    ordered = sorted(rows, key=lambda row: -max(row[group] for group in GROUPS))
    rest = [row[group] for row in ordered[_KINDS:] for group in GROUPS]
    return ordered[:_KINDS], max([0.0, *rest])


def write(figures: dict[str, Any]) -> None:
    """Write the page and its picture."""
    PAGE.write_text(text(figures), encoding="utf-8")
    rows = [
        (name, interval([100 * value for value in of(outcomes, "lost")]), "#4477aa")
        for name, outcomes in figures.get("attacked", {}).items()
    ]
    if rows:
        draw_intervals("decisions-lost", "money lost to fraud, %", rows, 0.3)


def text(figures: dict[str, Any]) -> str:
    """Return the page with recorded figures. Parts that were not measured yet are left out."""
    own = (best_strategy, cell, costly, differences, largest_held, lost_by_strategy, of, profits, shares, strategies)
    functions: tuple[Any, ...] = (*own, bar, worst_framing, len, list, max, zip)
    values: dict[str, Any] = {function.__name__: function for function in functions}
    values |= {"study": study.STUDY, "small": checked.SMALL, "until": checked.UNTIL, "warm": WARM, "mean": np.mean}
    values |= {"oracle": study.ORACLE, "weighed": study.WEIGHED, "before": study.BEFORE, "gas": GAS, "budget": BUDGET}
    values |= {"tries": study.TRIES, "groups": GROUPS, "compared": study.FRAMED[1:], "deaths": Deaths()}
    searches = sum(len(found) for found in figures.get("evidence", {}).values())
    values |= {"plans": 8 * study.FORGERY_ROUNDS, "searches": searches}
    parts = ("attacked", "framed", "peaceful", "sizes", "asks", "evidence", "ablated", "checked", "dead")
    values |= {name: figures.get(name, {}) for name in parts}
    states = figures.get("states", {})
    return rendered(TEMPLATE, **values, stale=[part for part in parts if states.get(part) != state()])

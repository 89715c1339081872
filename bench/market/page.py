"""The page docs/decisions.md and its pictures, from the recorded figures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bench.market import checked as check
from bench.market.measures import CHEAP, WARM
from bench.market.policies import state
from bench.market.study import BEFORE, ORACLE, OURS, STUDY, WEIGHED
from bench.report import DOCS, draw_intervals, interval, pyplot, rendered, save_picture

_LARGE: Final = 40_000

TEMPLATE: Final = Path(__file__).with_name("page.md.jinja")
PAGE: Final = DOCS / "decisions.md"
_PREFIXES: Final = {OURS: "", WEIGHED: "`decide`: "}
"""The policies that the bars are for, with the beginning of the names of their measures."""


class Bar(NamedTuple):
    """A measure and its bars.

    Attributes:
        measure: The measure.
        mean: Its mean.
        worst: The end of its interval that is worse.
        must: The value that it must reach.
        aim: The value that it should reach.
        is_least: True if more is better.
        unit: The unit, behind figures.
    """

    measure: str
    mean: float
    worst: float
    must: float
    aim: float
    is_least: bool = False
    unit: str = " %"

    def passes(self, bar: float) -> str:
        """Return pass or miss; the interval counts.

        Args:
            bar: The bar.
        """
        return "pass" if (self.worst >= bar if self.is_least else self.worst <= bar) else "miss"


def bars(figures: dict[str, Any]) -> list[Bar]:
    """Return the bars of the recorded figures."""
    out: list[Bar] = []
    for name, prefix in _PREFIXES.items():
        out += _attacked(prefix, figures["policies"].get(name, []), figures["policies"].get(ORACLE, []))
    if checked := [rows[0] for rows in figures.get("checked", [])]:
        out += [
            _bar("default check: needs served", of(checked, "served"), 97, 99, is_least=True),
            _bar("default check: money lost to fraud", of(checked, "lost"), 4, 2),
            _bar("default check: good sellers declined", of(checked, "sellers declined"), 0.5, 0.1),
        ]
    for name, prefix in _PREFIXES.items():
        for kind, lost in figures.get("framing", {}).get(name, {}).items():
            out.append(_bar(f"{prefix}revenue lost by framing: {kind}", [lost], 5, 1))
    if free := figures.get("peaceful"):
        for name, prefix in _PREFIXES.items():
            value = shares(free[name], free[ORACLE])
            out.append(_bar(f"{prefix}without attacks: value received", value, 95, 97, is_least=True))
    for row in figures.get("sizes", []):
        out.append(
            _bar(f"without attacks, {row['accounts']:,} accounts: good held back", [row["held of good"]], 0.5, 0.1)
        )
        if row["accounts"] == _LARGE:
            out += [
                _bar(f"without attacks, {_LARGE:,} accounts: agents held back", [row["held"]], 0.5, 0.1),
                Bar("the same, of the 100 most paid", *2 * (float(row["held of the most paid"]),), 0, 0, unit=""),
                _bar("the same, of payments", [row["held of payments"]], 0.5, 0.1),
            ]
    return out


def _attacked(prefix: str, rows: list[dict[str, Any]], best: list[dict[str, Any]]) -> list[Bar]:
    """Return the bars of a policy in attacked markets; none without figures.

    Args:
        prefix: Goes before each measure.
        rows: The outcomes under the policy.
        best: The outcomes under the oracle, of the same seeds.
    """
    if not rows:
        return []
    return [
        _bar(f"{prefix}money lost to fraud", of(rows, "lost"), 4, 2),
        _bar(f"{prefix}value received, of the oracle's", shares(rows, best), 89, 94, is_least=True),
        _bar(f"{prefix}good sellers declined, attacked", of(rows, "declined"), 0.5, 0.1),
        *(
            _bar(f"{prefix}attackers' profit per $, {market} market", of(rows, key), -0.55, -0.75, unit="")
            for market, key in (("first", BEFORE), ("second", "profit"))
        ),
        _bar(f"{prefix}good newcomers without a sale", of(rows, "newcomers"), 27, 18),
        _bar(f"{prefix}needs served", of(rows, "served"), 97, 99, is_least=True),
        Bar(f"{prefix}strategies that pay, and are not cheap", *2 * (_paying(rows),), 0, 0, unit=""),
    ]


def _bar(  # noqa: PLR0913
    measure: str, values: Sequence[float], must: float, aim: float, *, is_least: bool = False, unit: str = " %"
) -> Bar:
    """Return a bar. Values with the unit per cent are shares."""
    mean, low, high = interval([100 * value if unit == " %" else value for value in values])
    return Bar(measure, mean, low if is_least else high, must, aim, is_least, unit)


def _paying(outcomes: list[dict[str, Any]]) -> float:
    """Return the number of strategies that pay although a campaign is not cheap."""
    names = {name for outcome in outcomes for name in outcome["strategies"]}
    count = 0
    for name in names:
        sums = np.sum([outcome["strategies"].get(name, (0, 0, 0, 0)) for outcome in outcomes], axis=0)
        runs, cost, revenue, _ = sums
        count += bool(revenue > cost and cost / max(runs, 1) > CHEAP)
    return float(count)


def cell(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> str:
    """Return a mean with its interval.

    Args:
        values: A value for each market.
        scale: The factor of the unit.
        digits: The digits behind the point.
    """
    mean, low, high = (round(scale * value, digits) + 0.0 for value in interval(list(values)))
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def of(outcomes: list[dict[str, Any]], name: str) -> list[float]:
    """Return a measure of each market.

    Args:
        outcomes: The measures of markets.
        name: The measure.
    """
    return [outcome[name] for outcome in outcomes]


def shares(outcomes: list[dict[str, Any]], oracle: list[dict[str, Any]]) -> list[float]:
    """Return the value received as a share of the oracle's, for each seed.

    Args:
        outcomes: The measures of markets.
        oracle: Those of an oracle, for the same seeds.
    """
    return [own["value"] / best["value"] for own, best in zip(outcomes, oracle, strict=False)]


def write(figures: dict[str, Any]) -> None:
    """Write the page and its pictures."""
    PAGE.write_text(text(figures), encoding="utf-8")
    pictures(figures)


def text(figures: dict[str, Any]) -> str:
    """Return the page with recorded figures."""
    policies = figures["policies"]
    names = {name for rows in policies.values() for row in rows for name in row["strategies"]}
    functions = {"cell": cell, "of": of, "shares": shares, "strategy": _strategy, "why_not": _why_not}
    functions |= {"mean": np.mean, "max": max, "vars": vars, "zip": zip}
    values = {"policies": policies, "best": policies[ORACLE], "strategies": sorted(names), "bars": bars(figures)}
    values |= {"study": STUDY, "small": check.SMALL, "until": check.UNTIL, "warm": WARM, "cheap": CHEAP}
    values |= {"oracle": ORACLE, "ours": OURS, "weighed": WEIGHED, "before": BEFORE}
    values |= {name: figures.get(name) for name in ("framing", "checked", "sizes", "ablation")}
    values |= {"free": figures.get("peaceful"), "is_stale": figures.get("analysis") != state()}
    return rendered(TEMPLATE, **functions, **values)


def _strategy(rows: list[dict[str, Any]], name: str) -> str:
    """Return the money lost to a strategy a market, and its profit per dollar, under one policy."""
    runs, cost, revenue, lost = np.sum([row["strategies"].get(name, (0, 0, 0, 0)) for row in rows], axis=0)
    if not cost:
        return ""
    profit = (revenue - cost) / cost
    figures = f"{lost / len(rows):.0f}; {profit:+.2f}" + ("*" if profit > 0 and cost / runs > CHEAP else "")
    return f"**{figures}**" if profit > 0 else figures


def _why_not(rows: list[dict[str, Any]]) -> str:
    """Return the commonest reasons against good purchases."""
    reasons = sum((Counter(row["why not"]) for row in rows), Counter[str]())
    return ", ".join(f"`{code}` {count}" for code, count in reasons.most_common(3))


def pictures(figures: dict[str, Any]) -> None:
    """Draw the money lost by policy, and who is held back by size."""
    rows = [
        (name, interval([100 * value for value in of(outcomes, "lost")]), "#4477aa")
        for name, outcomes in figures["policies"].items()
    ]
    draw_intervals("decisions-lost", "money lost to fraud, %", rows, 0.3)
    if sizes := figures.get("sizes"):
        figure, axes = pyplot().subplots(figsize=(6, 3))
        accounts = [row["accounts"] for row in sizes]
        for name, label in (("held", "agents held back"), ("flagged accounts", "accounts flagged")):
            axes.plot(accounts, [100 * row[name] for row in sizes], marker="o", label=label)
        axes.set(xscale="log", ylim=(0, None), xlabel="accounts", ylabel="%")
        axes.legend()
        save_picture(figure, "decisions-sizes")
